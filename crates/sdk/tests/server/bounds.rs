//! Whatever a client can make grow has an end, and the session outlives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::server::Session;
use contexture::{Context, Error, Policy, Server, tool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::{EVERY, MODERN, Peer, with_meta};

/// A tool that waits, and one that does not.
fn server(go: &Arc<Notify>) -> Server {
    let go = Arc::clone(go);
    Server::new("bounded", "1")
        .tool(tool("wait").handler(move |context: Context| {
            let go = Arc::clone(&go);
            async move {
                context.progress(1.0, None);
                go.notified().await;
                "waited"
            }
        }))
        .tool(tool("now").handler(|| async { "now" }))
}

fn wait(revision: &str, token: u64) -> Value {
    let params = json!({ "name": "wait", "_meta": { "progressToken": token } });
    if revision == MODERN { with_meta(params, json!({})) } else { params }
}

#[tokio::test]
async fn requests_in_flight_are_bounded() {
    let mut policy = Policy::default();
    policy.in_flight = 2;
    for revision in EVERY {
        let go = Arc::new(Notify::new());
        let mut peer = Peer::speaking(server(&go).policy(policy.clone()), revision, json!({})).await;
        let mut waiting = Vec::new();
        for token in 0..2 {
            waiting.push(peer.start("tools/call", wait(revision, token)).await.expect("sent"));
            peer.expect("notifications/progress").await.expect("at work");
        }
        let refused = peer.request("tools/call", wait(revision, 2)).await.expect("an answer");
        assert!(refused["error"]["code"].is_i64(), "{revision} {refused}");
        go.notify_one();
        go.notify_waiters();
        for id in waiting {
            let answer = peer.response(&json!(id)).await.expect("an answer");
            assert_eq!(answer["result"]["content"][0]["text"], "waited");
        }
        let after = peer.call("tools/call", json!({ "name": "now" })).await;
        assert_eq!(after["result"]["content"][0]["text"], "now", "{revision}: there is room again");
    }
}

#[tokio::test]
async fn an_id_that_is_in_use_is_not_used_again() {
    for revision in EVERY {
        let go = Arc::new(Notify::new());
        let mut peer = Peer::speaking(server(&go), revision, json!({})).await;
        let request =
            json!({ "jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": wait(revision, 0) });
        peer.send(request.clone()).await.expect("sent");
        peer.expect("notifications/progress").await.expect("at work");
        peer.send(request).await.expect("sent");
        let refused = peer.response(&json!("twice")).await.expect("an answer");
        assert_eq!(refused["error"]["code"], -32600, "{revision} {refused}");
        go.notify_one();
        let first = peer.response(&json!("twice")).await.expect("an answer");
        assert_eq!(first["result"]["content"][0]["text"], "waited", "{revision}: the first is not disturbed");
    }
}

#[tokio::test]
async fn questions_that_wait_for_one_client_are_bounded() {
    let mut policy = Policy::default();
    policy.pending = 2;
    let server = Server::new("asking", "1").policy(policy).tool(
        tool("ping").handler(|session: Option<Session>| async move {
            session.ok_or(Error::Cancelled)?.ping().await.map(|()| "there")
        }),
    );
    let mut peer = Peer::session(server, "2025-11-25", json!({})).await;
    for _ in 0..2 {
        peer.start("tools/call", json!({ "name": "ping" })).await.expect("sent");
        peer.expect("ping").await.expect("asked");
    }
    let refused = peer.call("tools/call", json!({ "name": "ping" })).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(refused.to_string().contains("over the limit"), "{refused}");
    assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "no third question");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_rubbish_gets_no_flood_of_complaints() {
    for revision in EVERY {
        let go = Arc::new(Notify::new());
        let mut peer = Peer::speaking(server(&go), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for _ in 0..1000 {
            peer.send_line("rubbish").await.expect("sent");
        }
        let complaints = peer.settle().await.expect("ready");
        assert_eq!(complaints.len(), 100, "{revision}");
        let after = peer.call("tools/call", json!({ "name": "now" })).await;
        assert_eq!(after["result"]["content"][0]["text"], "now", "{revision}");
    }
}

#[tokio::test]
async fn messages_are_bounded_in_depth() {
    for revision in EVERY {
        let go = Arc::new(Notify::new());
        let mut peer = Peer::speaking(server(&go), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for depth in [65, 100_000] {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":"d","method":"tools/list","params":{{"x":{deep}}}}}"#);
            peer.send_line(&line).await.expect("sent");
            let refused = peer.receive().await.expect("an answer");
            assert!(
                matches!(refused["error"]["code"].as_i64(), Some(-32700 | -32600)),
                "{revision} {refused}"
            );
        }
        let after = peer.call("tools/call", json!({ "name": "now" })).await;
        assert_eq!(after["result"]["content"][0]["text"], "now", "{revision}");
    }
}

/// Something that is alive, and counted.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, most: &AtomicUsize) -> Self {
        most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn calls_that_are_withdrawn_at_once_are_bounded_too() {
    let (alive, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let seen = Arc::clone(&most);
    let mut policy = Policy::default();
    policy.in_flight = 2;
    let server = Server::new("bounded", "1").policy(policy).tool(tool("wait").handler(move || {
        let counted = Counted::new(&alive, &most);
        async move {
            std::future::pending::<()>().await;
            drop(counted);
            "never"
        }
    }));
    let mut peer = Peer::session(server, "2025-11-25", json!({})).await;
    let mut lines = Vec::new();
    for id in 1..2_000 {
        let (params, withdrawn) = (json!({ "name": "wait" }), json!({ "requestId": id }));
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": withdrawn });
        lines.extend([call.to_string(), cancel.to_string()]);
    }
    for line in lines {
        peer.send_line(&line).await.expect("sent");
    }
    peer.settle().await.expect("ready");
    assert!(seen.load(Ordering::SeqCst) <= 2, "{} at once", seen.load(Ordering::SeqCst));
}

#[tokio::test]
async fn hooks_do_not_pile_up() {
    let (alive, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (seen, ran) = (Arc::clone(&most), Arc::<AtomicUsize>::default());
    let go = Arc::new(Notify::new());
    let (counted, gate) = (Arc::clone(&ran), Arc::clone(&go));
    let server = server(&go).on_roots_changed(move |_: Session| {
        counted.fetch_add(1, Ordering::SeqCst);
        let (counted, gate) = (Counted::new(&alive, &most), Arc::clone(&gate));
        async move {
            gate.notified().await;
            drop(counted);
        }
    });
    let mut peer = Peer::session(server, "2025-11-25", json!({ "roots": { "listChanged": true } })).await;
    for _ in 0..1_000 {
        peer.notify("notifications/roots/list_changed", json!({})).await.expect("sent");
    }
    peer.settle().await.expect("ready");
    assert_eq!(ran.load(Ordering::SeqCst), 1, "one at a time");
    go.notify_one();
    tokio::time::sleep(Duration::from_millis(20)).await;
    peer.settle().await.expect("ready");
    assert_eq!(ran.load(Ordering::SeqCst), 2, "and once more, for all that changed meanwhile");
    go.notify_one();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!((ran.load(Ordering::SeqCst), seen.load(Ordering::SeqCst)), (2, 1));
}
