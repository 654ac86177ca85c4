//! What a review found wrong, each as a test of its own.

use std::sync::Arc;
use std::time::Duration;

use contexture::{Context, Policy, Server, State, resource, tool};
use serde_json::json;
use tokio::sync::Notify;

use super::inside::{Inside, piece};
use super::resumption::begun;
use super::support::{LEGACY, POLLED, Peer, Site, hello, request, server, text_of};

/// A stream that is silent until it has something to say: nothing else may wake it.
fn without_comments() -> Policy {
    let mut policy = Policy::default();
    policy.stream_pulse = Duration::from_secs(3600);
    policy.drain = Duration::from_secs(3600);
    policy
}

#[tokio::test]
async fn a_handshake_that_is_too_long_to_keep_opens_nothing() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let large = json!({ "experimental": { "x": { "y": "z".repeat(100_000) } } });
        let mut refused = site.post(&request(1, "initialize", hello(revision, large))).send().await;
        assert_eq!(refused.status, 400, "{revision}");
        assert_eq!(refused.json().await["error"]["code"], -32602);
        assert_eq!(refused.header("mcp-session-id"), None);
    }
    assert_eq!(site.http.sessions(), 0);
}

#[tokio::test]
async fn who_takes_a_stream_over_is_woken_though_the_one_before_is_still_there() {
    let (server, mut calls) = server();
    let site = Site::of(server.policy(without_comments())).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let (mut first, call) = begun(&peer, &mut calls, "t").await;
        let seen = loop {
            let event = first.event().await.expect("an event");
            if !event.data.is_empty() {
                break event.id.expect("an id");
            }
        };
        let mut second = peer.resume(&seen).await;
        let mut third = peer.resume(&seen).await;
        assert_eq!(
            (first.event().await, second.rest().await.len()),
            (None, 0),
            "{revision}: they are let go"
        );
        call.context.progress(2.0, None);
        let told = third.next().await;
        assert_eq!(told["params"]["progress"].as_f64(), Some(2.0), "{revision}: at once");
        call.go.send(()).expect("it works on");
        assert_eq!(text_of(&third.next().await), "waited");
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_every_stream_of_a_session() {
    let (server, _calls) = server();
    let site = Site::of(server.policy(without_comments())).await;
    let peer = Peer::of(&site, POLLED).await;
    let (mut first, mut second) = (peer.listen().await, peer.listen().await);
    let done = site.stop();
    first.rest().await;
    second.rest().await;
    done.await.expect("no panic").expect("it stopped in good order");
}

#[tokio::test]
async fn a_client_can_be_let_go_again_and_again() {
    let (server, mut calls) = server();
    let site = Site::of(server.policy(without_comments())).await;
    let peer = Peer::of(&site, POLLED).await;
    let (mut reply, call) = begun(&peer, &mut calls, "t").await;
    reply.event().await.expect("where the stream is");
    let mut seen = reply.event().await.expect("progress").id.expect("an id");
    for round in 0..3 {
        call.context.hang_up(Duration::from_millis(5));
        while let Some(event) = reply.event().await {
            seen = event.id.expect("an id");
        }
        reply = peer.resume(&seen).await;
        assert_eq!(reply.status, 200, "round {round}");
    }
    call.go.send(()).expect("it works on");
    let last = reply.rest().await;
    assert_eq!(text_of(last.last().expect("an answer")), "waited");
}

#[tokio::test]
async fn what_a_call_says_to_nobody_is_kept_like_everything_else() {
    let mut policy = without_comments();
    policy.kept_events = 3;
    let (server, mut calls) = server();
    let site = Site::of(server.policy(policy).resource(resource("test://0").name("0").text("x"))).await;
    let peer = Peer::of(&site, POLLED).await;
    let (mut reply, call) = begun(&peer, &mut calls, "t").await;
    reply.event().await.expect("where the stream is");
    let seen = reply.event().await.expect("progress").id.expect("an id");
    drop(reply);
    for step in 2..10 {
        call.context.progress(f64::from(step), None);
    }
    let done = call.context.clone();
    call.go.send(()).expect("it works on");
    done.cancelled().await;
    // It may take a moment until the answer has been put away, and until then it is still to be had.
    while peer.resume(&seen).await.status == 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.resume(&seen).await.status, 404, "the oldest of it is gone");
}

/// Is cancelled while it does its last work, and answers all the same.
async fn last_moment(ctx: Context, here: State<Arc<Notify>>) -> &'static str {
    here.notify_one();
    while !ctx.is_cancelled() {
        std::thread::yield_now();
    }
    "too late"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cancellation_that_comes_with_the_answer_costs_no_place() {
    let mut policy = Policy::default();
    policy.in_flight = 2;
    let here = Arc::new(Notify::new());
    let server = Server::new("test", "1.0.0").state(Arc::clone(&here)).policy(policy);
    let server = server.tool(tool("now").handler(|| async { "now" })).tool(tool("last").handler(
        |ctx: Context, here: State<Arc<Notify>>| async move {
            // Not at the first poll: only what goes on for longer is in the table.
            tokio::task::yield_now().await;
            last_moment(ctx, here).await
        },
    ));
    let site = Site::of(server).await;
    let peer = Peer::of(&site, POLLED).await;
    for _ in 0..4 {
        let call = peer.request("tools/call", json!({ "name": "last", "arguments": {} }));
        let sent = tokio::spawn(peer.post(&call).send());
        here.notified().await;
        let cancelled = json!({ "requestId": call["id"] });
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled });
        assert_eq!(peer.tell(&cancelled).await, 202);
        drop(sent.await.expect("a response"));
    }
    let answer = peer.call("tools/call", json!({ "name": "now", "arguments": {} })).await;
    assert_eq!(text_of(&answer), "now");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_idle_from_the_end_of_its_last_stream() {
    let mut policy = Policy::default();
    policy.session_idle = Duration::from_secs(600);
    let (server, _calls) = server();
    let inside = Inside::of(server.policy(policy), |http| http);
    let session = inside.session(POLLED).await;
    let mut body = inside.send(session.get()).await.into_body();
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(3000) {
        piece(&mut body).await.expect("it stays open");
    }
    drop(body);
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(inside.http.sessions(), 1, "it was of use until a moment ago");
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(inside.http.sessions(), 0);
}
