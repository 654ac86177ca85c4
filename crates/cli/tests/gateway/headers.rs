//! What is at the edges of HTTP: headers that lie (J06), headers that are not for the server (J07), and calls whose answer got
//! lost (J15).

use contexture::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::stage::{ERAS, Folder, Gateway, allowing, call, meta, text, within};
use crate::upstream::Upstream;
use crate::website::{Does, Website};

/// One POST by hand: the status and the body.
async fn post(gateway: &Gateway, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).await.expect("it listens");
    let body = body.to_string();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        gateway.port,
        body.len(),
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("sent");
    let mut answer = String::new();
    within("an answer", stream.read_to_string(&mut answer)).await.expect("readable");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer)
}

fn calling(tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": {}, "_meta": meta() } })
}

#[tokio::test]
async fn j06_headers_that_say_something_else_are_refused() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let right =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "one__echo")];
    let (status, answer) = post(&gateway, "/mcp", &right, &calling("one__echo")).await;
    assert_eq!(status, 200, "{answer}");
    let before = one.heard().len();
    for (name, value) in [
        ("Mcp-Name", "one__fds"),
        ("Mcp-Name", "echo"),
        ("Mcp-Name", ""),
        ("Mcp-Method", "tools/list"),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "1999-01-01"),
    ] {
        let headers: Vec<(&str, &str)> =
            right.iter().map(|(known, is)| (*known, if *known == name { value } else { *is })).collect();
        let (status, answer) = post(&gateway, "/mcp", &headers, &calling("one__echo")).await;
        assert!((400..500).contains(&status), "J06 {name}: {value:?}: {answer}");
    }
    for (status, answer) in [
        post(&gateway, "/mcp", &right[..2], &calling("one__echo")).await,
        post(&gateway, "/mcp", &[&right[..], &[("Mcp-Name", "one__fds")]].concat(), &calling("one__echo"))
            .await,
    ] {
        assert!((400..500).contains(&status), "J06: {answer}");
    }
    assert_eq!(one.heard().len(), before, "J06: something was routed");
}

#[tokio::test]
async fn j07_headers_of_callers_stay_at_the_edge() {
    let site = Website::start(|_, _| None).await;
    let entry = json!({ "url": site.url, "headers": { "X-Configured": "yes" } });
    let gateway = Gateway::start(allowing(json!({ "site": entry }))).await;
    let canary = "canary-4711";
    let hostile = [
        ("Authorization", "Bearer canary-4711"),
        ("Cookie", "a=canary-4711"),
        ("X-Forwarded-For", "canary-4711"),
        ("X-Configured", "canary-4711"),
        ("X-Upstream", "canary-4711"),
        ("Forwarded", "for=canary-4711"),
        ("Last-Event-ID", "canary-4711"),
        ("Proxy-Authorization", "Basic canary-4711"),
        ("Mcp-Param-x", "canary-4711"),
    ];
    let modern =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "site__pay")];
    for extra in hostile {
        post(&gateway, "/mcp", &[&modern[..], &[extra]].concat(), &calling("site__pay")).await;
    }
    let mut builder = Client::builder().revisions(&[ERAS[0]]);
    for (name, value) in hostile.iter().filter(|(name, _)| !["Last-Event-ID", "Mcp-Param-x"].contains(name)) {
        builder = builder.header(*name, *value);
    }
    let client = gateway.connect(builder).await;
    assert_eq!(text(&client, "site__pay", json!({})).await, "paid");
    assert!(site.count("tools/call") > 0, "J07: nothing was asked");
    for heard in site.heard() {
        assert!(!format!("{:?}", heard.headers).contains(canary), "J07: {heard:?}");
        assert_eq!(heard.headers.get("x-configured").map(String::as_str), Some("yes"), "J07: {heard:?}");
    }
}

#[tokio::test]
async fn j08_no_server_is_added_by_callers() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let body =
        json!({ "name": "evil", "command": "/bin/sh", "args": ["-c", "true"], "url": "http://127.0.0.1:1/" });
    for path in ["/servers", "/api/servers", "/config", "/mcp/servers", "/admin", "/register", "/login"] {
        let (status, answer) = post(&gateway, path, &[], &body).await;
        assert!((400..500).contains(&status), "J08 {path}: {answer}");
    }
}

#[tokio::test]
async fn j15_a_call_whose_answer_got_lost_is_not_sent_again() {
    for revision in ERAS {
        let site = Website::start(|heard, before| {
            (heard.body["method"] == "tools/call" && before == 0).then_some(Does::HangsUp)
        })
        .await;
        let gateway = Gateway::start(allowing(json!({ "site": { "url": site.url, "era": "legacy" } }))).await;
        let client = gateway.client(revision).await;
        let lost = call(&client, "site__pay", json!({})).await;
        let error = format!("{:?}", lost.expect_err("J15: nobody knows"));
        assert_eq!(site.count("tools/call"), 1, "J15: sent again");
        assert!(error.contains("may have done"), "J15: {error}");
        assert_eq!(text(&client, "site__pay", json!({})).await, "paid");
    }
}

#[tokio::test]
async fn j15_a_session_that_was_forgotten_is_begun_anew() {
    for revision in ERAS {
        // The first call finds no session: nothing was done, so it may be sent once more.
        let site = Website::start(|heard, before| {
            let forgotten = heard.body["method"] == "tools/call" && before == 0;
            forgotten.then(|| Does::Status(404, "no such session".into()))
        })
        .await;
        let gateway = Gateway::start(allowing(json!({ "site": { "url": site.url, "era": "legacy" } }))).await;
        let client = gateway.client(revision).await;
        assert_eq!(text(&client, "site__pay", json!({})).await, "paid", "J15 {revision}");
        assert_eq!(site.count("tools/call"), 2, "J15");
        assert!(site.count("initialize") >= 2, "J15: it was begun anew");
    }
}

#[tokio::test]
async fn j15_a_server_that_always_forgets_is_given_up() {
    let site = Website::start(|heard, _| {
        (heard.body["method"] == "tools/call").then(|| Does::Status(404, "no such session".into()))
    })
    .await;
    let gateway = Gateway::start(allowing(json!({ "site": { "url": site.url, "era": "legacy" } }))).await;
    let client = gateway.client(ERAS[0]).await;
    assert!(call(&client, "site__pay", json!({})).await.is_err(), "J15");
    assert!(site.count("tools/call") <= 4, "J15: {} times", site.count("tools/call"));
}
