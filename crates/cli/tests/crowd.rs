//! A crowd at the gateway: ten thousand clients come and go, each with a child process of its own behind it, and many of
//! those are killed in the middle of a call. Afterwards nothing is left: no child, no descriptor, no task.
//!
//! Counts only. What is waited for must come; the limits on waiting are nets under a test that would otherwise hang.
#![cfg(target_os = "linux")]

#[path = "crowd/gateway.rs"]
mod gateway;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::Client;
use contexture::revision::Revision;
use gateway::Gateway;
use serde_json::json;

/// Connects and disconnects.
const CLIENTS: usize = 10_000;
/// At once.
const LANES: usize = 16;
/// Every so many is in a call that takes long when its server is killed.
const KILLED: usize = 20;

/// One client: opens a session, has its server started by a call, and leaves.
async fn come_and_go(url: &str) {
    let client = connect(url).await;
    let said = client.call("demo__echo", json!({ "message": "here" })).await;
    // The server of any client may be the one that is killed, so that this one's call may fail, but it must end.
    if let Ok(reply) = said {
        assert_eq!(reply.text(), "here");
    }
    client.close().await;
}

/// One whose server is killed while it works.
async fn be_killed(url: &str, gateway: &Gateway) -> bool {
    let client = connect(url).await;
    let call = client.call("demo__sleep", json!({ "ms": 600_000 })).start();
    while !gateway.kill_a_child() && !gateway.is_over() {
        tokio::task::yield_now().await;
    }
    // Some other client's server may have been hit; then this one is cancelled by leaving.
    let ended = tokio::select! {
        outcome = call => Some(outcome),
        () = gateway.quarter_minute() => None,
    };
    client.close().await;
    ended.is_some_and(|outcome| outcome.is_err())
}

async fn connect(url: &str) -> Client {
    let builder = Client::builder().revisions(&[Revision::V2025_11_25]);
    builder.connect(url).await.expect("the gateway takes everybody")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_clients_leave_nothing_behind() {
    let gateway = Arc::new(Gateway::start(&json!({
        "servers": { "demo": { "command": env!("CARGO_BIN_EXE_contexture"), "args": ["demo"], "sharing": "session",
            "idleTimeout": "2s" } },
        "policy": { "default": "allow" },
    })));
    // What there is once, however many come, is there after the first.
    for _ in 0..LANES {
        come_and_go(&gateway.url).await;
    }
    gateway.settles().await;
    let before = gateway.possessions();

    let (next, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let lanes: Vec<_> = (0..LANES)
        .map(|_| {
            let (gateway, next, failed) = (Arc::clone(&gateway), Arc::clone(&next), Arc::clone(&failed));
            tokio::spawn(async move {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        number if number >= CLIENTS => return,
                        number if number % KILLED == 0 => {
                            let hit = be_killed(&gateway.url, &gateway).await;
                            failed.fetch_add(usize::from(hit), Ordering::Relaxed);
                        }
                        _ => come_and_go(&gateway.url).await,
                    }
                }
            })
        })
        .collect();
    for lane in lanes {
        lane.await.expect("no client panics");
    }

    assert!(failed.load(Ordering::Relaxed) > 0, "no call was ended by the death of its server");
    gateway.settles().await;
    let after = gateway.possessions();
    assert_eq!(after.children, 0, "children are left");
    assert!(after.descriptors <= before.descriptors, "descriptors: {before:?}, then {after:?}");
    assert!(after.tasks <= before.tasks, "tasks: {before:?}, then {after:?}");
    assert!(after.threads <= before.threads + 4, "threads: {before:?}, then {after:?}");
    let gateway = Arc::into_inner(gateway).expect("the lanes are over");
    assert!(gateway.terminate().success(), "the gateway does not end well");
}
