//! Bounds that callers share: sessions, requests at once, bodies. Each is filled, and found again when it empties.

use std::sync::Arc;
use std::time::Duration;

use contexture::revision::Revision;
use contexture::{Args, Policy, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Ask, LEGACY, MODERN, Served, ask, begin, eventually, serve, session};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// A server with a tool that answers, and one that waits for the gate.
async fn gated(change: impl FnOnce(&mut Policy)) -> (Served, Arc<Semaphore>) {
    let mut policy = Policy::default();
    change(&mut policy);
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let wait = tool("wait").handler(move || {
        let held = Arc::clone(&held);
        async move {
            held.acquire().await.expect("open").forget();
            "waited"
        }
    });
    let say = tool("say").handler(|Args(Text { text })| async move { text });
    let server =
        Server::new("bounds", "0").policy(policy).tool(wait).tool(say).into_http().expect("a server");
    (serve(server).await, gate)
}

fn nobody(ask: Ask) -> Ask {
    ask
}

/// D08: a session too many is refused with a time to come back; an ended one makes room.
#[tokio::test]
async fn sessions_of_nobody() {
    let (served, _) = gated(|policy| policy.anonymous_sessions = 3).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(session(&served, nobody).await.expect("room"));
    }
    assert_eq!(served.server.sessions(), 3);
    let refused = session(&served, nobody).await.expect_err("D08: no room");
    assert!([429, 503].contains(&refused.status), "D08: {refused:?}");
    assert!(refused.header("retry-after").is_some(), "D08: {refused:?}");
    assert_eq!(served.server.sessions(), 3, "D08");
    let over = ask(&served, &Ask::new("DELETE", "/mcp").session(&open[0])).await;
    assert!([200, 204].contains(&over.status), "D08: {over:?}");
    assert_eq!(served.server.sessions(), 2, "D08");
    session(&served, nobody).await.expect("D08: room again");
}

#[tokio::test]
async fn sessions_of_everybody() {
    let (served, _) = gated(|policy| policy.sessions = 2).await;
    session(&served, nobody).await.expect("room");
    session(&served, nobody).await.expect("room");
    let refused = session(&served, nobody).await.expect_err("D08: no room");
    assert!([429, 503].contains(&refused.status), "D08: {refused:?}");
}

/// CVE-2026-67430: sessions that nobody uses end by themselves, and the table is as before.
#[tokio::test]
async fn cve_2026_67430_sessions_that_never_expire() {
    let (served, _) = gated(|policy| {
        policy.session_idle = Duration::from_millis(300);
        policy.anonymous_sessions = 100;
    })
    .await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(session(&served, nobody).await.expect("room"));
    }
    eventually("D10: idle sessions end", async || served.server.sessions() == 0).await;
    let call = Ask::legacy(1, "say", json!({"text": "x"})).session(&ids[0]);
    assert_eq!(ask(&served, &call).await.status, 404, "D02");
    session(&served, nobody).await.expect("D08: room again");
}

/// A session that is used does not become older than it may.
#[tokio::test]
async fn sessions_that_are_kept_busy() {
    let (served, _) = gated(|policy| {
        policy.session_age = Duration::from_millis(500);
        policy.session_idle = Duration::from_secs(60);
    })
    .await;
    let id = session(&served, nobody).await.expect("room");
    let call = Ask::legacy(1, "say", json!({"text": "x"})).session(&id);
    assert_eq!(ask(&served, &call).await.status, 200, "D10");
    eventually("D10: old sessions end", async || ask(&served, &call).await.status == 404).await;
}

/// An open stream is use enough, and ends with its session.
#[tokio::test]
async fn sessions_that_only_listen() {
    let (served, _) = gated(|policy| {
        policy.session_idle = Duration::from_millis(300);
        policy.session_age = Duration::from_millis(900);
    })
    .await;
    let id = session(&served, nobody).await.expect("room");
    let listen = Ask::get("/mcp").header("mcp-protocol-version", LEGACY).session(&id);
    let (mut line, got) = begin(&served, &listen).await;
    assert_eq!(got.status, 200, "D10: {got:?}");
    line.to_the_end_of_the_stream().await;
    eventually("D10: nothing is left", async || served.server.sessions() == 0).await;
}

/// More at once than may be: refused with a time to come back, and the others finish.
#[tokio::test]
async fn requests_at_once() {
    let (served, gate) = gated(|policy| policy.requests_at_once = 2).await;
    let mut waiting = Vec::new();
    for id in 0..2 {
        let mut line = crate::support::Line::open(&served).await;
        line.write(&Ask::modern(id, "wait", json!({})).header("connection", "close").bytes(served.port))
            .await;
        waiting.push(line);
    }
    // That both are under way shows in a third being refused.
    eventually("J16: there is a bound", async || {
        let got = ask(&served, &Ask::modern(7, "say", json!({"text": "x"}))).await;
        if got.status != 200 {
            assert!([429, 503].contains(&got.status), "J16: {got:?}");
            assert!(got.header("retry-after").is_some(), "J16: {got:?}");
        }
        got.status != 200
    })
    .await;
    gate.add_permits(2);
    for mut line in waiting {
        let text = line.to_the_end().await;
        assert!(text.contains("waited"), "J16: {text}");
    }
    let got = ask(&served, &Ask::modern(7, "say", json!({"text": "x"}))).await;
    assert_eq!(got.status, 200, "J16: {got:?}");
}

/// Callers who leave give back what they held.
#[tokio::test]
async fn requests_of_callers_who_leave() {
    let (served, _gate) = gated(|policy| policy.requests_at_once = 2).await;
    for round in 0..20 {
        let mut line = crate::support::Line::open(&served).await;
        line.write(&Ask::modern(round, "wait", json!({})).bytes(served.port)).await;
        drop(line);
        eventually("C01: its place is free again", async || {
            ask(&served, &Ask::modern(7, "say", json!({"text": "x"}))).await.status == 200
        })
        .await;
    }
}

#[tokio::test]
async fn bodies() {
    let (served, _) = gated(|policy| policy.body_bytes = 1000).await;
    let got = ask(&served, &Ask::modern(1, "say", json!({"text": "x".repeat(500)}))).await;
    assert_eq!(got.status, 200, "A21: {got:?}");
    let got = ask(&served, &Ask::modern(1, "say", json!({"text": "x".repeat(1000)}))).await;
    assert_eq!(got.status, 413, "A21: {got:?}");
}

/// Many clients, all ids 1: every answer reaches its own.
#[tokio::test]
async fn answers_that_wait_together() {
    let (served, gate) = gated(|_| {}).await;
    let mut waiting = Vec::new();
    for _ in 0..50 {
        let mut line = crate::support::Line::open(&served).await;
        line.write(&Ask::modern(1, "wait", json!({})).header("connection", "close").bytes(served.port)).await;
        waiting.push(line);
    }
    gate.add_permits(50);
    for mut line in waiting {
        let text = line.to_the_end().await;
        assert_eq!(text.matches("waited").count(), 1, "CVE-2026-25536: {text}");
    }
}

/// B01: where only the modern era is served, GET and DELETE mean nothing, and `initialize` names what is spoken.
#[tokio::test]
async fn a_server_of_today_only() {
    let modern = Revision::parse(MODERN).expect("a revision");
    let say = tool("say").handler(|Args(Text { text })| async move { text });
    let server = Server::new("modern", "0").revisions(&[modern]).tool(say).into_http().expect("a server");
    let served = serve(server).await;
    for method in ["GET", "DELETE"] {
        let request = Ask::new(method, "/mcp").header("accept", "text/event-stream");
        for request in [request.clone(), request.session("no-such-session").header("last-event-id", "7")] {
            let got = ask(&served, &request).await;
            assert_eq!(got.status, 405, "B01 {method}: {got:?}");
            assert_eq!(got.header("allow"), Some("POST"), "B01 {method}: {got:?}");
        }
    }
    let got = ask(&served, &Ask::initialize()).await;
    assert!(got.text.contains(MODERN), "G10: names what is spoken: {got:?}");
    assert!(got.code().is_some() && got.header("mcp-session-id").is_none(), "G10: {got:?}");
    let got = ask(&served, &Ask::modern(1, "say", json!({"text": "x"}))).await;
    assert_eq!(got.status, 200, "B01: {got:?}");
}
