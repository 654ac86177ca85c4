//! Connections: kept, shared one after the other, and given up when the server has.

use std::time::Duration;

use contexture::{Client, Error};

use crate::support::{MODERN, pair, said};

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    for _ in 0..5 {
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            fixture.post("tools/call").await.result(said("x")).await;
        });
        reply.expect("a reply");
    }
    assert_eq!(fixture.connections(), 1);
    // Two at once need two, and both are kept.
    for _ in 0..2 {
        let calls = [client.call("a", ()).start(), client.call("b", ()).start()];
        let (first, second) = (fixture.post("tools/call").await, fixture.post("tools/call").await);
        first.result(said("x")).await;
        second.result(said("x")).await;
        for call in calls {
            call.await.expect("a reply");
        }
        assert_eq!(fixture.connections(), 2);
    }
    fixture.close(&client).await;
}

/// What finds its connection closed has not been sent, so it goes over another; once.
#[tokio::test]
async fn a_kept_connection_that_the_server_closed_loses_nothing() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    for connections in 1..4 {
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            fixture.post("tools/call").await.last_result(said("x")).await;
        });
        reply.expect("a reply");
        assert_eq!(fixture.methods().len(), 1 + connections, "each call was sent once");
        // Strangers have five connections of their own.
        fixture.settle().await;
        assert_eq!(fixture.connections(), 6 * connections);
    }
    fixture.close(&client).await;
}

/// A connection whose answer nobody has read to its end serves nobody else.
#[tokio::test]
async fn a_connection_with_half_an_answer_is_not_kept() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let call = client.call("t", ()).start();
    let seen = fixture.post("tools/call").await;
    let mut stream = seen.stream().await;
    stream.raw(": nothing yet\n\n").await;
    call.cancel("enough");
    assert!(matches!(call.await, Err(Error::Cancelled)));
    stream.0.gone().await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.result(said("x")).await;
    });
    reply.expect("a reply");
    assert_eq!(fixture.connections(), 2);
    fixture.close(&client).await;
}

/// Nobody has to call again for that: a server is not kept waiting for good by a client that has nothing to say.
#[tokio::test]
async fn a_kept_connection_that_nobody_uses_is_closed() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let calls = [client.call("a", ()).start(), client.call("b", ()).start()];
    let (mut first, mut second) = (fixture.post("tools/call").await, fixture.post("tools/call").await);
    first.whole_result(said("x")).await;
    second.whole_result(said("x")).await;
    for call in calls {
        call.await.expect("a reply");
    }
    assert_eq!(fixture.connections(), 2);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(91)).await;
    tokio::time::resume();
    first.gone().await;
    second.gone().await;
    // The next call has a connection of its own.
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.result(said("x")).await;
    });
    reply.expect("a reply");
    assert_eq!(fixture.connections(), 3);
    fixture.close(&client).await;
}
