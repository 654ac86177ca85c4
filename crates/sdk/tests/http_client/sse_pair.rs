//! HTTP+SSE: one stream to listen to, another address to speak to.

use contexture::client::{ElicitAnswer, Elicitation};
use contexture::{Client, Error};
use serde_json::json;

use crate::support::{Fixture, Sse, handshake, pair, said};

/// Refuses what the older transport does not know, and opens the stream.
async fn refuse_posts(fixture: &mut Fixture, status: u16) -> Sse {
    fixture.post("server/discover").await.refuse(status, "").await;
    fixture.post("initialize").await.refuse(status, "").await;
    let seen = fixture.verb("GET").await;
    assert_eq!(seen.request.header("accept"), Some("text/event-stream"));
    seen.stream().await
}

async fn shake_hands(fixture: &mut Fixture, stream: &mut Sse, endpoint: &str) {
    let before = fixture.requests().len();
    stream.raw(": one moment\n\n").await;
    assert_eq!(fixture.requests().len(), before, "nothing is sent before it is known where to");
    stream.raw(&format!("event: endpoint\ndata: {endpoint}\n\n")).await;
    let hello = fixture.post("initialize").await;
    let response = hello.response_with(handshake("2024-11-05"));
    hello.accept().await;
    stream.event(None, &response).await;
    fixture.post("notifications/initialized").await.accept().await;
}

// covers: SSE24-CLIENT-POST, SSE24-CLIENT-WAIT-ENDPOINT, HTTP-COMPAT-CLIENT-FALLBACK, HTTP-COMPAT-CLIENT-USE-OLD
// covers: HTTP-COMPAT-CLIENT-URL
#[tokio::test]
async fn an_old_server_is_found_behind_the_same_door() {
    for (status, endpoint) in
        [(404, "/messages?id=7"), (405, "messages?id=7"), (400, "{origin}/messages?id=7")]
    {
        let mut fixture = Fixture::start().await;
        let url = fixture.url();
        let endpoint = endpoint.replace("{origin}", &fixture.origin);
        let serve = async {
            let mut stream = refuse_posts(&mut fixture, status).await;
            shake_hands(&mut fixture, &mut stream, &endpoint).await;
            stream
        };
        let (client, mut stream) = tokio::join!(Client::connect(url), serve);
        let client = client.expect("connected");
        assert_eq!(client.revision().as_str(), "2024-11-05");
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            let seen = fixture.post("tools/call").await;
            let response = seen.response_with(said("old"));
            seen.answer(200, &[("content-type", "text/plain")], "Accepted").await;
            stream.event(None, &response).await;
        });
        assert_eq!(reply.expect("a reply").text(), "old");
        for request in fixture.requests().iter().skip(3) {
            assert_eq!((request.verb.as_str(), request.path.as_str()), ("POST", "/messages?id=7"));
        }
        // What is not taken fails alone.
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            fixture.post("tools/call").await.refuse(413, "").await;
        });
        assert!(matches!(reply, Err(Error::Http(refusal)) if refusal.status == 413));
    }
}

// covers: SSE24-CLOSE
#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_session() {
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let serve = async {
        let mut stream = refuse_posts(&mut fixture, 404).await;
        shake_hands(&mut fixture, &mut stream, "/messages").await;
        stream
    };
    let (client, stream) = tokio::join!(Client::connect(&url), serve);
    let client = client.expect("connected");
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.accept().await;
        stream.end().await;
    });
    assert!(matches!(reply, Err(Error::Closed(_))), "{reply:?}");
    assert!(client.is_closed());
    // What was found out is remembered: no probe, no POST to the wrong place.
    let (renewed, mut stream) = tokio::join!(client.reconnect(), async {
        let mut stream = fixture.verb("GET").await.stream().await;
        shake_hands(&mut fixture, &mut stream, "/messages").await;
        stream
    });
    renewed.expect("connected again");
    let (pinged, ()) = tokio::join!(client.ping(), async {
        let seen = fixture.post("ping").await;
        let response = seen.response_with(json!({}));
        seen.accept().await;
        stream.event(None, &response).await;
    });
    pinged.expect("an answer");
    client.close().await;
    stream.0.gone().await;
    assert_eq!(fixture.count("DELETE"), 0);
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let elsewhere = Fixture::start().await;
    for endpoint in
        [elsewhere.url(), "//127.0.0.1:1/x".into(), "file:///x".into(), "http://u:p@{host}/x".into()]
    {
        let mut fixture = Fixture::start().await;
        let url = fixture.url();
        let endpoint = endpoint.replace("{host}", fixture.origin.trim_start_matches("http://"));
        let (client, _stream) = tokio::join!(Client::connect(url), async {
            let mut stream = refuse_posts(&mut fixture, 404).await;
            stream.raw(&format!("event: endpoint\ndata: {endpoint}\n\n")).await;
            stream
        });
        assert!(matches!(client, Err(Error::PeerMisbehaved(_))), "{client:?}");
        assert_eq!(fixture.count("POST"), 2);
    }
    assert!(elsewhere.requests().is_empty());
}

/// What went wrong first says more than that there is nothing older either.
#[tokio::test]
async fn a_url_without_a_server_says_so() {
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let (client, ()) = tokio::join!(Client::connect(url), async {
        fixture.post("server/discover").await.refuse(404, "").await;
        fixture.post("initialize").await.refuse(404, "nothing here").await;
        fixture.verb("GET").await.refuse(405, "").await;
    });
    let Err(Error::Http(refusal)) = client else { panic!("{client:?}") };
    assert_eq!((refusal.status, refusal.message.as_str()), (404, "nothing here"));
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let (client, ()) = tokio::join!(Client::connect(url), async {
        let stream = refuse_posts(&mut fixture, 404).await;
        stream.end().await;
    });
    assert!(matches!(client, Err(Error::PeerMisbehaved(_))), "{client:?}");
}

/// What something in front of the server says while that is away is not remembered.
#[tokio::test]
async fn a_step_back_that_led_nowhere_is_forgotten() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.refuse(404, "").await;
        fixture.post("initialize").await.refuse(404, "nobody here").await;
        fixture.verb("GET").await.refuse(404, "").await;
    });
    assert!(matches!(&reply, Err(Error::Http(refusal)) if refusal.status == 404), "{reply:?}");
    // A stream alone is no handshake.
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("initialize").await.refuse(405, "").await;
        let mut stream = fixture.verb("GET").await.stream().await;
        stream.raw("event: endpoint\ndata: /messages\n\n").await;
        fixture.post("initialize").await.refuse(503, "").await;
    });
    assert!(matches!(&reply, Err(Error::Http(refusal)) if refusal.status == 503), "{reply:?}");
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.shake_hands("2025-06-18").await;
        fixture.post("tools/call").await.result(said("back")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "back");
}

/// A server may learn something newer.
#[tokio::test]
async fn a_server_that_has_no_such_stream_any_more_is_asked_for_what_it_has() {
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let serve = async {
        let mut stream = refuse_posts(&mut fixture, 404).await;
        shake_hands(&mut fixture, &mut stream, "/messages").await;
        stream
    };
    let (client, stream) = tokio::join!(Client::connect(&url), serve);
    let client = client.expect("connected");
    stream.end().await;
    let (renewed, ()) = tokio::join!(client.reconnect(), async {
        fixture.verb("GET").await.refuse(405, "").await;
    });
    assert!(matches!(renewed, Err(Error::Http(_))), "{renewed:?}");
    let (renewed, ()) = tokio::join!(client.reconnect(), fixture.shake_hands("2025-06-18"));
    renewed.expect("connected again");
    assert_eq!(client.revision().as_str(), "2025-06-18");
}

/// Questions of the server come on the stream, and their answers go where everything goes.
#[tokio::test]
async fn the_server_may_ask() {
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let elicitation = Elicitation::new(|_| async { ElicitAnswer::Decline });
    let serve = async {
        let mut stream = refuse_posts(&mut fixture, 404).await;
        shake_hands(&mut fixture, &mut stream, "/messages").await;
        stream
    };
    let (client, mut stream) = tokio::join!(Client::builder().elicitation(elicitation).connect(url), serve);
    let _client = client.expect("connected");
    stream.event(None, &json!({ "jsonrpc": "2.0", "id": "q", "method": "ping" })).await;
    let seen = fixture.response().await;
    assert_eq!((seen.request.path.as_str(), &seen.request.body["id"]), ("/messages", &json!("q")));
    seen.accept().await;
}
