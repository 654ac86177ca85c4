//! Giving up a call.

use std::time::Duration;

use contexture::{Client, Error};

use crate::support::{LEGACY, MODERN, pair, said};

/// In the legacy era the server is told; going away means nothing.
// covers: HTTP-CANCEL-EXPLICIT
#[tokio::test]
async fn a_legacy_server_is_told() {
    for revision in LEGACY {
        for streams in [false, true] {
            let (client, mut fixture) = pair(Client::builder(), revision).await;
            let call = client.call("t", ()).start();
            let seen = fixture.post("tools/call").await;
            let id = seen.request.body["id"].clone();
            let held = if streams { seen.stream().await.0 } else { seen };
            call.cancel("changed my mind");
            assert!(matches!(call.await, Err(Error::Cancelled)));
            let told = fixture.post("notifications/cancelled").await;
            assert_eq!(told.request.body["params"]["requestId"], id);
            assert_eq!(told.request.body["params"]["reason"], "changed my mind");
            told.accept().await;
            drop(held);
            let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
                fixture.post("tools/call").await.result(said("fine")).await;
            });
            reply.expect("the connection lives");
        }
    }
}

/// In the modern era going away is what tells the server.
#[tokio::test]
async fn a_modern_server_is_left() {
    for streams in [false, true] {
        let (client, mut fixture) = pair(Client::builder(), MODERN).await;
        let call = client.call("t", ()).start();
        let seen = fixture.post("tools/call").await;
        let mut held = if streams { seen.stream().await.0 } else { seen };
        drop(call);
        held.gone().await;
        let late = client.call("t", ()).timeout(Duration::from_millis(100)).into_future();
        let (reply, mut held) = tokio::join!(late, fixture.post("tools/call"));
        assert!(matches!(reply, Err(Error::Timeout(_))));
        held.gone().await;
        let closing = client.call("t", ()).start();
        let mut held = fixture.post("tools/call").await;
        client.close().await;
        assert!(matches!(closing.await, Err(Error::Closed(_))));
        held.gone().await;
        assert!(fixture.methods().iter().all(|method| method != "notifications/cancelled"));
    }
}

/// Closing tells of what is under way, then ends the session.
#[tokio::test]
async fn closing_a_session_gives_up_what_is_under_way() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let call = client.call("t", ()).start();
    let held = fixture.post("tools/call").await;
    let ((), ()) = tokio::join!(client.close(), async {
        fixture.post("notifications/cancelled").await.accept().await;
        fixture.verb("DELETE").await.refuse(200, "").await;
    });
    assert!(matches!(call.await, Err(Error::Closed(_))));
    drop(held);
}
