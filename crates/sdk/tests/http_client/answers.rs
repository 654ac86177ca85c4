//! Servers without manners, over HTTP: every call ends, and says why.

use std::time::Duration;

use contexture::client::ToolReply;
use contexture::{Client, Error, Policy};
use serde_json::json;

use crate::support::{Fixture, MODERN, Seen, pair, said};

type Headers<'a> = &'a [(&'a str, &'a str)];

/// A call that the server answers like this.
async fn call(
    client: &Client,
    fixture: &mut Fixture,
    serve: impl AsyncFnOnce(Seen),
) -> Result<ToolReply, Error> {
    let call = client.call("t", ()).into_future();
    let serve = async { serve(fixture.post("tools/call").await).await };
    tokio::join!(call, serve).0
}

async fn works(client: &Client, fixture: &mut Fixture) {
    let reply = call(client, fixture, async |seen| seen.result(said("fine")).await).await;
    assert_eq!(reply.expect("the connection lives").text(), "fine");
}

// covers: HTTP-POST-CLIENT-BOTH
#[tokio::test]
async fn an_answer_may_be_a_body_or_a_stream() {
    for revision in ["2025-03-26", "2025-06-18", MODERN] {
        let (client, mut fixture) = pair(Client::builder(), revision).await;
        works(&client, &mut fixture).await;
        let reply = call(&client, &mut fixture, async |seen| {
            let response = seen.response_with(said("streamed"));
            let mut stream = seen.stream().await;
            stream.raw(": a comment\r\n\r\nevent: heartbeat\rdata: {}\r\r").await;
            stream.event(None, &response).await;
            stream.end().await;
        });
        assert_eq!(reply.await.expect("a reply").text(), "streamed");
        drop(client);
    }
}

/// Row B33 of the security bar.
#[tokio::test]
async fn a_status_is_reported_with_what_it_says() {
    let page = "<html>".repeat(200_000);
    for revision in ["2025-06-18", MODERN] {
        let (client, mut fixture) = pair(Client::builder(), revision).await;
        for status in [400, 401, 403, 405, 409, 413, 429, 500, 502, 503] {
            let headers = [("content-type", "text/html"), ("retry-after", "1000000000")];
            for body in ["", "<p>no", &page] {
                let reply =
                    call(&client, &mut fixture, async |seen| seen.answer(status, &headers, body).await);
                let Err(Error::Http(refusal)) = reply.await else { panic!("{status}") };
                assert_eq!((refusal.status, refusal.message.as_str()), (status, ""));
                assert_eq!(refusal.retry_after, Some(Duration::from_secs(24 * 60 * 60)), "capped");
            }
        }
        let soon = [("retry-after", "7")];
        let reply = call(&client, &mut fixture, async |seen| seen.answer(429, &soon, "slow down\n").await);
        let error = reply.await.expect_err("refused");
        assert_eq!(
            error.to_string(),
            "the server answered with HTTP status 429; try again after 7s: slow down"
        );
        let later = [("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")];
        let reply = call(&client, &mut fixture, async |seen| seen.answer(503, &later, "").await).await;
        assert!(matches!(reply, Err(Error::Http(refusal)) if refusal.retry_after.is_none()));
        works(&client, &mut fixture).await;
        let calls = fixture.methods().iter().filter(|method| *method == "tools/call").count();
        assert_eq!(calls, 33, "nothing was tried again");
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_counts_more_than_its_status() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    for (status, code) in [(400, -32021), (404, -32601), (200, -32602), (400, -32000)] {
        let reply =
            call(&client, &mut fixture, async |seen| seen.error(status, code, json!(null)).await).await;
        assert!(matches!(reply, Err(Error::Remote(error)) if error.code == code), "{status}");
    }
    for id in ["null", "\"server-error\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":"bad"}}}}"#);
        let json = [("content-type", "application/json")];
        let reply = call(&client, &mut fixture, async |seen| seen.answer(400, &json, &body).await).await;
        assert!(matches!(reply, Err(Error::Remote(error)) if error.code == -32600), "{id}");
    }
    let reply = call(&client, &mut fixture, async |seen| seen.error(403, -32000, json!(null)).await).await;
    let Err(Error::Http(refusal)) = reply else { panic!("who may come in is a matter of HTTP") };
    assert_eq!((refusal.status, refusal.message.as_str()), (403, "no"));
    assert!(refusal.error.is_some_and(|error| error.code == -32000));
    let missing = [("content-type", "application/json")];
    let unread = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}"#;
    let reply = call(&client, &mut fixture, async |seen| seen.answer(200, &missing, unread).await).await;
    assert!(matches!(reply, Err(Error::Remote(error)) if error.code == -32700));
}

/// Rows B34 and B35.
#[tokio::test]
async fn what_is_no_answer_fails_its_call_at_once() {
    let json = ("content-type", "application/json");
    for revision in ["2025-06-18", MODERN] {
        let (client, mut fixture) = pair(Client::builder(), revision).await;
        let other = client.call("other", ()).start();
        let held = fixture.post("tools/call").await;
        let foreign = held.response_with(said("not for you")).to_string();
        let cases: [(u16, Headers<'_>, &str); 9] = [
            (200, &[("content-type", "text/html")], "<p>welcome"),
            (200, &[], ""),
            (202, &[], ""),
            (204, &[], ""),
            (200, &[json], "not JSON"),
            (200, &[json], "{}"),
            (200, &[json], &foreign),
            (200, &[json], r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#),
            (200, &[json], r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
        ];
        for (status, headers, body) in cases {
            let reply =
                call(&client, &mut fixture, async |seen| seen.answer(status, headers, body).await).await;
            assert!(matches!(reply, Err(Error::PeerMisbehaved(_))), "{status} {body}: {reply:?}");
        }
        held.result(said("for you")).await;
        assert_eq!(other.await.expect("a reply").text(), "for you", "untouched");
        works(&client, &mut fixture).await;
    }
}

/// Row B36, and C03: whatever does not end is cut.
#[tokio::test]
async fn what_has_no_end_is_cut() {
    let mut policy = Policy::default();
    policy.line_bytes = 100_000;
    let filler = "x".repeat(10_000);
    for revision in ["2025-06-18", MODERN] {
        let (client, mut fixture) = pair(Client::builder().policy(policy.clone()), revision).await;
        let declared = call(&client, &mut fixture, async |seen| {
            seen.answer(200, &[("content-type", "application/json")], &"x".repeat(100_001)).await;
        });
        assert!(matches!(declared.await, Err(Error::TooMuch(_))));
        for kind in ["application/json", "text/event-stream"] {
            let endless = call(&client, &mut fixture, async |seen| {
                let mut stream = seen.stream_of(kind).await;
                stream.raw("data: ").await;
                while stream.try_raw(&filler).await {}
            });
            let cut = endless.await;
            assert!(matches!(cut, Err(Error::TooMuch(_))), "{kind}: {cut:?}");
        }
        works(&client, &mut fixture).await;
    }
}

/// Row C04: comments keep a connection alive, but no call.
#[tokio::test]
async fn comments_do_not_extend_a_call() {
    for revision in ["2025-06-18", MODERN] {
        let (client, mut fixture) = pair(Client::builder(), revision).await;
        let short = client.call("t", ()).timeout(Duration::from_millis(200)).into_future();
        let (reply, ()) = tokio::join!(short, async {
            let mut stream = fixture.post("tools/call").await.stream().await;
            while stream.try_raw(": still here\n\n").await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(matches!(reply, Err(Error::Timeout(_))));
        works_after_cancelling(&client, &mut fixture, revision).await;
    }
}

async fn works_after_cancelling(client: &Client, fixture: &mut Fixture, revision: &str) {
    if revision != MODERN {
        fixture.post("notifications/cancelled").await.accept().await;
    }
    works(client, fixture).await;
}
