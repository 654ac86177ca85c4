//! Sessions that the server forgets, and how they end.

use contexture::client::Event;
use contexture::{Client, Error};
use serde_json::json;

use crate::streams::listening;
use crate::support::{Fixture, MODERN, SESSION, handshake, pair, said};

/// Opens a second session.
async fn open_again(fixture: &mut Fixture, revision: &str) {
    let hello = fixture.post("initialize").await;
    assert_eq!(hello.request.header("mcp-session-id"), None, "the old session is not named");
    hello.opens("session-2", handshake(revision)).await;
    let done = fixture.post("notifications/initialized").await;
    assert_eq!(done.request.header("mcp-session-id"), Some("session-2"));
    done.accept().await;
    fixture.verb("GET").await.refuse(405, "").await;
}

/// Row D02 of the security bar.
// covers: HTTP-SESSION-404-REINIT, HTTP-SESSION-ECHO
#[tokio::test]
async fn a_forgotten_session_is_opened_anew_and_the_call_made_once_more() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (client, mut fixture) = pair(Client::builder(), revision).await;
        let mut events = client.events();
        let (subscribed, ()) = tokio::join!(client.subscribe("file:///a"), async {
            fixture.post("resources/subscribe").await.result(json!({})).await;
        });
        subscribed.expect("subscribed");
        let other = client.call("other", ()).start();
        let held = fixture.post("tools/call").await;
        let (reply, ()) = tokio::join!(client.call("t", json!({ "a": 1 })).into_future(), async {
            let seen = fixture.post("tools/call").await;
            let asked = seen.request.body["params"].clone();
            seen.refuse(404, "no such session").await;
            open_again(&mut fixture, revision).await;
            // What was subscribed to still is.
            let again = fixture.post("resources/subscribe").await;
            assert_eq!(again.request.header("mcp-session-id"), Some("session-2"));
            again.result(json!({})).await;
            let seen = fixture.post("tools/call").await;
            assert_eq!(seen.request.body["params"], asked);
            assert_eq!(seen.request.header("mcp-session-id"), Some("session-2"));
            seen.result(said("again")).await;
        });
        assert_eq!(reply.expect("a reply").text(), "again");
        // Of what was under way nobody knows how far it got.
        let lost = other.await;
        assert!(matches!(&lost, Err(Error::Closed(how)) if how.contains("session")), "{lost:?}");
        drop(held);
        while !matches!(events.next().await, Some(Event::Reconnected)) {}
        let ((), ()) = tokio::join!(client.close(), async {
            let seen = fixture.verb("DELETE").await;
            assert_eq!(seen.request.header("mcp-session-id"), Some("session-2"));
            seen.refuse(200, "").await;
        });
        assert_eq!(fixture.count("DELETE"), 1, "a forgotten session need not be ended");
    }
}

#[tokio::test]
async fn a_call_is_made_once_more_and_not_for_ever() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.refuse(404, "").await;
        open_again(&mut fixture, "2025-06-18").await;
        fixture.post("tools/call").await.refuse(404, "").await;
    });
    assert!(matches!(reply, Err(Error::SessionEnded)), "{reply:?}");
    // The next call tries again; if no session can be had, it says so.
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("initialize").await.refuse(503, "").await;
    });
    assert!(matches!(reply, Err(Error::Http(refusal)) if refusal.status == 503));
}

/// A server that restarts is away for a while: whoever comes next tries again, however the last attempt ended.
#[tokio::test]
async fn a_new_session_that_cannot_be_had_is_asked_for_again() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.refuse(404, "").await;
        fixture.post("initialize").await.refuse(503, "").await;
    });
    assert!(matches!(&reply, Err(Error::Http(refusal)) if refusal.status == 503), "{reply:?}");
    assert!(!client.is_closed());
    // Nor does it matter that the one who asked for it has lost interest.
    tokio::select! {
        reply = client.call("t", ()).into_future() => panic!("{reply:?}"),
        seen = fixture.post("initialize") => seen.cut(),
    }
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        open_again(&mut fixture, "2025-06-18").await;
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-session-id"), Some("session-2"));
        seen.result(said("again")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "again");
    assert_eq!(fixture.methods().iter().filter(|method| *method == "tools/call").count(), 2);
    fixture.close(&client).await;
    assert!(client.is_closed());
}

/// Closed is closed, whatever became of the session.
#[tokio::test]
async fn a_closed_client_opens_no_session() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.refuse(404, "").await;
        fixture.post("initialize").await.refuse(503, "").await;
    });
    assert!(reply.is_err());
    client.close().await;
    assert!(client.is_closed());
    let reply = client.call("t", ()).await;
    assert!(matches!(reply, Err(Error::Closed(_))), "{reply:?}");
}

/// Row C12: who cannot go on listening because the session is gone says so to the next call.
#[tokio::test]
async fn the_stream_of_the_server_tells_of_a_forgotten_session() {
    let mut fixture = Fixture::start().await;
    let (client, mut stream) = listening(&mut fixture, Client::builder()).await;
    stream.raw("id: g-1\nretry: 1\ndata:\n\n").await;
    stream.end().await;
    fixture.verb("GET").await.refuse(404, "no such session").await;
    fixture.settle().await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        open_again(&mut fixture, "2025-06-18").await;
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-session-id"), Some("session-2"));
        seen.result(said("again")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "again");
    assert_eq!(fixture.methods().iter().filter(|method| *method == "tools/call").count(), 1);
}

/// Several calls that meet the same end share the new beginning.
#[tokio::test]
async fn many_calls_open_one_session() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let calls: Vec<_> = (0..3).map(|number| client.call(format!("t{number}"), ()).start()).collect();
    let mut seen = Vec::new();
    for _ in &calls {
        seen.push(fixture.post("tools/call").await);
    }
    for seen in seen {
        seen.refuse(404, "").await;
    }
    open_again(&mut fixture, "2025-06-18").await;
    let mut replies = tokio::task::JoinSet::new();
    for call in calls {
        replies.spawn(call);
    }
    let mut done = 0;
    while !replies.is_empty() {
        tokio::select! {
            seen = fixture.post("tools/call") => seen.result(said("again")).await,
            Some(reply) = replies.join_next() => match reply.expect("no panic") {
                Ok(_) => done += 1,
                // It was still under way when the first one learned of the end.
                Err(Error::Closed(_)) => {}
                Err(error) => panic!("{error:?}"),
            },
        }
    }
    assert!(done >= 1);
    assert_eq!(fixture.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

/// Without a session, and in the modern era, 404 is only a status.
#[tokio::test]
async fn without_a_session_nothing_is_opened_anew() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.refuse(404, "").await;
    });
    assert!(matches!(reply, Err(Error::Http(refusal)) if refusal.status == 404));
    assert_eq!(fixture.methods(), ["server/discover", "tools/call"]);
}

/// Ending a session never keeps anybody.
// covers: HTTP-SESSION-DELETE
#[tokio::test]
async fn a_server_that_does_not_answer_cannot_keep_a_client() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let ((), mut seen) = tokio::join!(client.close(), fixture.verb("DELETE"));
    assert_eq!(seen.request.header("mcp-session-id"), Some(SESSION));
    assert_eq!(seen.request.header("mcp-protocol-version"), Some("2025-06-18"));
    seen.gone().await;
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    drop(client);
    fixture.verb("DELETE").await.refuse(405, "").await;
}

#[tokio::test]
async fn reconnecting_is_a_new_session() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (renewed, ()) = tokio::join!(client.reconnect(), async {
        fixture.verb("DELETE").await.refuse(200, "").await;
        open_again(&mut fixture, "2025-06-18").await;
    });
    renewed.expect("connected again");
    let (pinged, ()) = tokio::join!(client.ping(), async {
        fixture.post("ping").await.result(json!({})).await;
    });
    pinged.expect("an answer");
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let (renewed, ()) = tokio::join!(client.reconnect(), fixture.shake_hands(MODERN));
    renewed.expect("connected again");
}
