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
use tokio::sync::Notify;

/// Connects and disconnects.
const CLIENTS: usize = 10_000;
/// At once.
const LANES: usize = 16;
/// Every so many is in a call that takes long when its server is killed.
const KILLED: usize = 20;

/// One client: opens a session, has its server started by a call, and leaves.
///
/// The server of any client may be the one that is killed, so that its call may fail, but it must end.
async fn come_and_go(url: &str) -> bool {
    let client = connect(url).await;
    let said = client.call("demo__echo", json!({ "message": "here" })).await;
    client.close().await;
    said.is_ok_and(|reply| reply.text() == "here")
}

/// One whose server is killed while it works, which it says by its progress. Children do not say whose they are, so those that
/// came after this client are killed, oldest first, until the call has ended.
async fn be_killed(url: &str, gateway: &Gateway) -> bool {
    let others = gateway.children();
    let client = connect(url).await;
    let begun = Arc::new(Notify::new());
    let works = Arc::clone(&begun);
    let mut call = client
        .call("demo__countdown", json!({ "steps": 1_000, "delay_ms": 1_000 }))
        .on_progress(move |_| works.notify_one())
        .start();
    let mut outcome = tokio::select! {
        outcome = &mut call => Some(outcome),
        () = begun.notified() => None,
    };
    while outcome.is_none() {
        gateway.kill_a_child(&others);
        outcome = tokio::select! {
            outcome = &mut call => Some(outcome),
            () = gateway.moment() => None,
        };
    }
    client.close().await;
    outcome.is_some_and(|outcome| outcome.is_err())
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
        assert!(come_and_go(&gateway.url).await, "the first are served, before anything is killed");
    }
    gateway.settles(None).await;
    let before = gateway.possessions();

    let (next, served, killed) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let lanes: Vec<_> = (0..LANES)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            let (next, served, killed) = (Arc::clone(&next), Arc::clone(&served), Arc::clone(&killed));
            tokio::spawn(async move {
                loop {
                    let (went_well, count) = match next.fetch_add(1, Ordering::Relaxed) {
                        number if number >= CLIENTS => return,
                        number if number % KILLED == 0 => (be_killed(&gateway.url, &gateway).await, &killed),
                        _ => (come_and_go(&gateway.url).await, &served),
                    };
                    count.fetch_add(usize::from(went_well), Ordering::Relaxed);
                }
            })
        })
        .collect();
    for lane in lanes {
        lane.await.expect("no client panics");
    }

    let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
    assert_eq!(count(&killed), CLIENTS / KILLED, "a call survived the death of its server");
    let others = CLIENTS - CLIENTS / KILLED;
    assert!(count(&served) > others * 9 / 10, "only {} of {others} were served", count(&served));
    gateway.settles(Some(before)).await;
    let gateway = Arc::into_inner(gateway).expect("the lanes are over");
    assert!(gateway.terminate().success(), "the gateway does not end well");
}
