//! What an answer may be, and what it may cost.

use std::time::Duration;

use contexture::auth::outbound::{Outbound, Reach, Unfetched};
use serde_json::{Value, json};

use crate::support::{Played, Reply, document, reply};

const JSON: &str = "content-type: application/json\r\n";

async fn fetched(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Result<Value, Unfetched> {
    let server = Played::start(move |_| answer()).await;
    Outbound::new(Reach::Loopback).get_json(&server.at("/document"), &[]).await
}

fn head(more: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{JSON}{more}\r\n")
}

// F18
#[tokio::test]
async fn a_document_has_a_size() {
    let fits = format!("\"{}\"", "x".repeat(1024 * 1024 - 2));
    let too_long = format!("\"{}\"", "x".repeat(1024 * 1024 - 1));
    assert!(fetched(move || document(&fits)).await.is_ok());
    assert_eq!(fetched(move || document(&too_long)).await, Err(Unfetched::TooLarge));
    let announced = || Reply::Stalls(head("content-length: 104857600\r\n"));
    assert_eq!(fetched(announced).await, Err(Unfetched::TooLarge), "without waiting for it");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let chunked = move || Reply::Endless(head("transfer-encoding: chunked\r\n"), chunk.clone());
    assert_eq!(fetched(chunked).await, Err(Unfetched::TooLarge));
    let endless = || Reply::Endless(head("connection: close\r\n"), "x".repeat(0x10000));
    assert_eq!(fetched(endless).await, Err(Unfetched::TooLarge));
    let headers = || Reply::Endless("HTTP/1.1 200 OK\r\n".into(), format!("x-a: {}\r\n", "x".repeat(4096)));
    assert!(matches!(fetched(headers).await, Err(Unfetched::Unreachable(_))), "a head has a size, too");
}

// F18
#[tokio::test]
async fn a_document_comes_in_time_or_not_at_all() {
    let outbound = Outbound::new(Reach::Loopback).within(Duration::from_millis(100));
    for begin in [
        String::new(),
        "HTTP/1.1 200 OK\r\n".into(),
        head("content-length: 10\r\n"),
        head("content-length: 10\r\n") + "{",
    ] {
        let server = Played::start(move |_| Reply::Stalls(begin.clone())).await;
        let results = [
            outbound.get(&server.at("/"), &[]).await,
            outbound.post_form(&server.at("/"), &[], &[]).await,
            outbound.post_json(&server.at("/"), &json!({}), &[]).await,
        ];
        for result in results {
            assert!(matches!(result, Err(Unfetched::Unreachable(_))), "{result:?}");
        }
    }
}

// F18
#[tokio::test]
async fn nothing_compressed_is_unpacked() {
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, gzip"] {
        let answer = move || reply("200 OK", &format!("{JSON}content-encoding: {coding}\r\n"), "{}");
        assert!(matches!(fetched(answer).await, Err(Unfetched::Malformed(_))), "{coding}");
    }
    let server =
        Played::start(|_| reply("200 OK", &format!("{JSON}content-encoding: identity\r\n"), "{}")).await;
    assert_eq!(Outbound::new(Reach::Loopback).get_json(&server.at("/"), &[]).await, Ok(json!({})));
    assert!(!server.requests()[0].to_lowercase().contains("accept-encoding"), "and it is not asked for");
}

// F18
#[tokio::test]
async fn a_page_is_no_document() {
    for kind in ["text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml"] {
        let answer = move || reply("200 OK", &format!("content-type: {kind}\r\n"), "{}");
        assert!(matches!(fetched(answer).await, Err(Unfetched::Malformed(_))), "{kind}");
    }
    for kind in ["application/json", "application/jwk-set+json; charset=utf-8", "text/plain"] {
        let answer = move || reply("200 OK", &format!("content-type: {kind}\r\n"), "{}");
        assert_eq!(fetched(answer).await, Ok(json!({})), "{kind}");
    }
    assert_eq!(fetched(|| reply("200 OK", "", "{}")).await, Ok(json!({})), "it need not say so");
}

#[tokio::test]
async fn what_is_not_json_is_not_repeated() {
    let deep = "[".repeat(200_000);
    for body in ["", "<html>hunter2", "{\"token\":\"hunter2\"", "hunter2", "{} hunter2", "\u{feff}{}", &deep]
    {
        let body = body.to_owned();
        let error = fetched(move || document(&body)).await.expect_err("not JSON");
        assert!(matches!(&error, Unfetched::Malformed(why) if !why.contains("hunter2")), "{error:?}");
    }
    let cut = || Reply::Whole(head("content-length: 10\r\nconnection: close\r\n") + "{}");
    assert!(matches!(fetched(cut).await, Err(Unfetched::Unreachable(_))), "half an answer is none");
}

#[tokio::test]
async fn another_status_is_no_document() {
    for status in [201, 202, 204, 206, 300, 304, 400, 401, 403, 404, 410, 429, 500, 502, 503] {
        let answer = move || {
            reply(&format!("{status} Some"), JSON, if status == 204 || status == 304 { "" } else { "{}" })
        };
        assert_eq!(fetched(answer).await, Err(Unfetched::Status(status)), "{status}");
    }
}

#[tokio::test]
async fn a_posted_form_is_answered_with_any_status() {
    let server = Played::start(|_| {
        reply(
            "400 Bad Request",
            &format!("{JSON}dpop-nonce: n\r\nx-twice: a\r\nx-twice: b\r\n"),
            r#"{"error":"invalid_grant"}"#,
        )
    })
    .await;
    let form = [("code", "a b&c=d+é"), ("empty", "")];
    let headers = [("authorization", "Basic eDp5")];
    let answer = Outbound::new(Reach::Loopback).post_form(&server.at("/token"), &form, &headers).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 400);
    assert_eq!(format!("{answer:?}"), "Answer(400, 25 bytes)", "what it says may be a secret");
    assert_eq!(answer.json::<Value>(), Ok(json!({ "error": "invalid_grant" })));
    assert_eq!((answer.header("dpop-nonce"), answer.header("x-twice")), (Some("n"), None));
    let request = &server.requests()[0];
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    assert_eq!(body, "code=a+b%26c%3Dd%2B%C3%A9&empty=");
    assert!(head.starts_with("POST /token HTTP/1.1\r\n"), "{head}");
    let head = head.to_lowercase();
    for line in [
        "content-type: application/x-www-form-urlencoded",
        "authorization: basic edp5",
        "accept: application/json",
    ] {
        assert!(head.contains(line), "{head}");
    }
}

#[tokio::test]
async fn no_cookies_are_kept() {
    let server =
        Played::start(|_| reply("200 OK", &format!("{JSON}set-cookie: a=b; path=/\r\n"), "{}")).await;
    let outbound = Outbound::new(Reach::Loopback);
    for _ in 0..2 {
        assert_eq!(outbound.get_json(&server.at("/"), &[]).await, Ok(json!({})));
    }
    for request in server.requests() {
        assert!(!request.to_lowercase().contains("cookie"), "{request}");
    }
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_sends_nothing() {
    let server = Played::start(|_| document("{}")).await;
    let outbound = Outbound::new(Reach::Loopback);
    for header in [("x\r\ny", "a"), ("x", "a\r\nb: c"), ("", "a"), ("x y", "a")] {
        let error = outbound.get(&server.at("/"), &[header]).await.expect_err("not sent");
        assert!(matches!(error, Unfetched::Forbidden(_)), "{error:?}");
    }
    assert!(server.requests().is_empty());
}
