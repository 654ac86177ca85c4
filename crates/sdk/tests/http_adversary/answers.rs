//! Answers that are none: other statuses, other types, other ids, bytes without end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use contexture::Error;
use serde_json::json;

use crate::support::{Act, LEGACY, MODERN, calls, head, json_answer, said, whole, within};

const JSON: (&str, &str) = ("content-type", "application/json");
const HTML: &[u8] = b"<!doctype html><title>no</title><script>alert(1)</script>\x1b[31m";

/// B33: whatever the status and whatever comes with it: one attempt, one typed error, and the next call works.
#[tokio::test]
async fn statuses() {
    let huge = vec![b'x'; 8 << 20];
    for revision in [MODERN, LEGACY] {
        for status in [400, 401, 403, 405, 409, 410, 413, 415, 418, 429, 431, 500, 501, 502, 503, 504, 511] {
            for (kind, body) in [
                ("text/html", HTML),
                ("application/json", b""),
                ("text/plain", &huge[..]),
                ("application/json", b"{\"error\":7}"),
            ] {
                let body = body.to_vec();
                let (rude, client) =
                    calls(revision, move |heard| match heard.body["params"]["name"].as_str() {
                        Some("fine") => json_answer(&said(&heard.body["id"], "fine")),
                        _ => whole(status, &[("content-type", kind), ("retry-after", "1000000000")], &body),
                    })
                    .await;
                let end = within(client.call("t", ())).await;
                let Err(error) = end else { panic!("B33 {revision} {status}: {end:?}") };
                if let Error::Http(refusal) = &error {
                    assert_eq!(refusal.status, status, "B33 {revision}");
                    let capped =
                        refusal.retry_after.is_none_or(|wait| wait <= Duration::from_secs(7 * 24 * 3600));
                    assert!(capped, "B33: {:?}", refusal.retry_after);
                }
                let text = error.to_string();
                assert!(text.len() < 4096, "B33 {revision} {status}: {} bytes", text.len());
                assert!(!text.contains('\u{1b}'), "K12 {revision} {status}: {text:?}");
                assert_eq!(rude.count("POST", "tools/call"), 1, "B33 J15 {revision} {status}: sent again");
                let next = within(client.call("fine", ())).await;
                assert_eq!(next.expect("B33: the next call").text(), "fine", "{revision} {status}");
            }
        }
    }
}

/// B34, B22: a success that answers nothing.
#[tokio::test]
async fn successes_that_are_none() {
    for revision in [MODERN, LEGACY] {
        let rows: Vec<(&str, Vec<u8>)> = vec![
            ("html", answer(200, &[("content-type", "text/html")], HTML)),
            ("no type", answer(200, &[], br#"{"jsonrpc":"2.0"}"#)),
            ("empty", answer(200, &[JSON], b"")),
            ("202", answer(202, &[], b"")),
            ("204", b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
            ("205", answer(205, &[], b"")),
            ("206", answer(206, &[JSON], b"{}")),
            ("304", b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
            ("300", answer(300, &[], b"")),
            ("not JSON", answer(200, &[JSON], b"hello")),
            ("null", answer(200, &[JSON], b"null")),
            ("array", answer(200, &[JSON], b"[]")),
            ("half", answer(200, &[JSON], br#"{"jsonrpc":"2.0","id":1,"resu"#)),
            ("deep", answer(200, &[JSON], "[".repeat(100_000).as_bytes())),
            (
                "gzip",
                answer(
                    200,
                    &[JSON, ("content-encoding", "gzip")],
                    b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0",
                ),
            ),
            ("utf-16", answer(200, &[JSON], b"\xff\xfe{\0}\0")),
            ("empty stream", answer(200, &[("content-type", "text/event-stream")], b"")),
        ];
        for (row, bytes) in rows {
            let bytes = bytes.clone();
            let (rude, client) = calls(revision, move |_| Act::Say(vec![bytes.clone()])).await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "B34 {revision} {row}: {end:?}");
            assert_eq!(rude.count("POST", "tools/call"), 1, "J15 {revision} {row}: sent again");
        }
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    [head(status, headers), body.to_vec()].concat()
}

/// Bytes that are not HTTP, or HTTP that stops.
#[tokio::test]
async fn answers_that_are_not_http() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n", "x".repeat(4 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(100_000));
    for revision in [MODERN, LEGACY] {
        for (row, bytes) in [
            ("nothing", ""),
            ("garbage", "hello\r\n\r\n"),
            ("another protocol", "SSH-2.0-OpenSSH_9.0\r\n"),
            ("no status", "HTTP/1.1 \r\n\r\n"),
            ("status of another kind", "HTTP/1.1 9999 x\r\n\r\n"),
            ("half a head", "HTTP/1.1 200 OK\r\ncontent-ty"),
            (
                "length and less",
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{}",
            ),
            (
                "two lengths",
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
            ),
            (
                "no chunk",
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            ),
            (
                "half a chunk",
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}",
            ),
            (
                "huge chunk",
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            ),
            ("upgrade", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
            ("a long header", long.as_str()),
            ("many headers", many.as_str()),
        ] {
            let bytes = bytes.as_bytes().to_vec();
            let (rude, client) = calls(revision, move |_| Act::Say(vec![bytes.clone()])).await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "B34 {revision} {row}: {end:?}");
            assert_eq!(rude.count("POST", "tools/call"), 1, "J15 {revision} {row}: sent again");
            client.close().await;
        }
    }
}

/// B35: somebody else's answer is nobody's.
#[tokio::test]
async fn answers_to_others() {
    for revision in [MODERN, LEGACY] {
        let (rude, client) = calls(revision, |heard| {
            let id = &heard.body["id"];
            let other = match id {
                serde_json::Value::Number(number) => json!(number.as_i64().unwrap_or_default() + 1),
                other => json!(format!("{}x", other.as_str().unwrap_or_default())),
            };
            match heard.body["params"]["name"].as_str().unwrap_or_default() {
                "next" => json_answer(&said(&other, "stolen")),
                "string" => json_answer(&said(&json!(id.to_string()), "stolen")),
                "null" => json_answer(&said(&json!(null), "stolen")),
                "float" => json_answer(&said(&json!(1.5), "stolen")),
                "none" => json_answer(&json!({"jsonrpc": "2.0", "result": {"content": []}})),
                "request" => json_answer(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})),
                "error" => {
                    json_answer(&json!({"jsonrpc": "2.0", "id": other, "error": {"code": 1, "message": "m"}}))
                }
                // The one that could be answered by mistake: its answer comes late, and is its own.
                "patient" => Act::Say(vec![
                    head(200, &[("content-type", "text/event-stream")]),
                    b": wait\n\n".to_vec(),
                    crate::support::event(&said(id, "mine")).into_bytes(),
                ]),
                _ => json_answer(&said(id, "fine")),
            }
        })
        .await;
        for tool in ["next", "string", "null", "float", "none", "request", "error"] {
            let (end, patient) =
                tokio::join!(within(client.call(tool, ())), within(client.call("patient", ())));
            assert!(end.is_err(), "B35 {revision} {tool}: {end:?}");
            assert_eq!(patient.expect("B35: its own answer").text(), "mine", "{revision} {tool}");
        }
        assert_eq!(rude.count("POST", "tools/call"), 14, "J15 {revision}");
    }
}

/// Name, status, type, what comes first, and what comes again and again.
type Row = (&'static str, u16, (&'static str, &'static str), &'static [u8], &'static [u8]);

/// B36, C03: bodies and events without end are cut off where the policy says.
#[tokio::test]
async fn bytes_without_end() {
    let rows: [Row; 7] = [
        ("JSON", 200, JSON, br#"{"jsonrpc":"2.0","id":1,"result":{"x":""#, &[b'x'; 64 << 10]),
        ("blanks", 200, JSON, b"", &[b' '; 64 << 10]),
        ("data", 200, ("content-type", "text/event-stream"), b"data: ", &[b'x'; 64 << 10]),
        (
            "lines of data",
            200,
            ("content-type", "text/event-stream"),
            b"",
            b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        ),
        ("a field", 200, ("content-type", "text/event-stream"), b"", &[b'x'; 64 << 10]),
        ("an id", 200, ("content-type", "text/event-stream"), b"id: ", &[b'x'; 64 << 10]),
        ("a refusal", 500, ("content-type", "text/html"), b"", &[b'x'; 64 << 10]),
    ];
    for revision in [MODERN, LEGACY] {
        for (row, status, kind, first, again) in rows {
            let (rude, client) = calls(revision, move |_| {
                Act::Flood([head(status, &[kind]), first.to_vec()].concat(), again.to_vec())
            })
            .await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "B36 {revision} {row}: {end:?}");
            client.close().await;
            let flooded = rude.flooded.load(Ordering::SeqCst);
            assert!(flooded < 32 << 20, "B36 {revision} {row}: {flooded} bytes were taken");
            assert_eq!(rude.count("POST", "tools/call"), 1, "J15 {revision} {row}: sent again");
        }
    }
}

/// Interim answers without end are no answer: the call's own time ends it.
#[tokio::test]
async fn interim_answers_without_end() {
    for revision in [MODERN, LEGACY] {
        let (_rude, client) = calls(revision, |_| {
            let again = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
            Act::Trickle(again.clone(), again, Duration::from_millis(5))
        })
        .await;
        let end = within(client.call("t", ()).timeout(Duration::from_millis(500))).await;
        assert!(end.is_err(), "B34 {revision}: {end:?}");
    }
}

/// A server that takes the call and says nothing, and one that trickles: the time of the call is the time.
#[tokio::test]
async fn silence() {
    for revision in [MODERN, LEGACY] {
        let kind = ("content-type", "text/event-stream");
        for row in 0..4 {
            let (rude, client) = calls(revision, move |_| match row {
                0 => Act::Stall(Vec::new()),
                1 => Act::Stall(head(200, &[JSON])),
                2 => Act::Trickle(head(200, &[kind]), b": still here\n\n".to_vec(), Duration::from_millis(5)),
                _ => Act::Trickle(head(200, &[JSON]), b" ".to_vec(), Duration::from_millis(5)),
            })
            .await;
            let end = within(client.call("t", ()).timeout(Duration::from_millis(300))).await;
            assert!(matches!(end, Err(Error::Timeout(_))), "C04 G01 {revision} {row}: {end:?}");
            assert_eq!(client.waiting(), 0, "G01 {revision} {row}");
            assert_eq!(rude.count("POST", "tools/call"), 1, "J15 {revision} {row}: sent again");
        }
    }
}

/// Go #1184: the end does not wait for a server that ignores it.
#[tokio::test]
async fn go_1184_ends_that_are_ignored() {
    let rude =
        crate::support::Rude::start(LEGACY, |heard| (heard.verb == "DELETE").then(|| Act::Stall(Vec::new())))
            .await;
    let client = crate::support::client(LEGACY, &rude).await;
    within(client.close()).await;
    assert_eq!(rude.count("DELETE", ""), 1);
}

/// D02: a session that is forgotten is opened anew without the old id; what was refused is sent once more.
#[tokio::test]
async fn sessions_that_are_forgotten() {
    use std::sync::atomic::AtomicUsize;
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&calls);
    let rude = crate::support::Rude::start(LEGACY, move |heard| {
        let first = heard.method() == "tools/call" && counted.fetch_add(1, Ordering::SeqCst) == 0;
        first.then(|| whole(404, &[], b""))
    })
    .await;
    let client = crate::support::client(LEGACY, &rude).await;
    assert_eq!(within(client.call("t", ())).await.expect("D02").text(), "fine");
    let opened: Vec<_> = rude.heard().into_iter().filter(|heard| heard.method() == "initialize").collect();
    assert_eq!(opened.len(), 2, "D02");
    assert!(opened.iter().all(|heard| heard.header("mcp-session-id").is_none()), "D02: {opened:?}");
    assert_eq!(rude.count("POST", "tools/call"), 2, "D02");
}

/// D02: one that is forgotten every time is not opened for ever.
#[tokio::test]
async fn sessions_that_are_always_forgotten() {
    let (rude, client) = calls(LEGACY, |_| whole(404, &[], b"")).await;
    let end = within(client.call("t", ())).await;
    assert!(end.is_err(), "D02: {end:?}");
    assert!(rude.count("POST", "initialize") <= 4, "D02: {}", rude.count("POST", "initialize"));
    assert!(rude.count("POST", "tools/call") <= 3, "D02: {}", rude.count("POST", "tools/call"));
}
