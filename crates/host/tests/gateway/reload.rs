//! Another configuration, while calls go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use contexture::client::Event;
use contexture::revision::Era;
use serde_json::json;

use super::support::{ERAS, Gate, PATIENCE, Wire, able, child, config, until};

#[tokio::test]
async fn what_does_not_change_keeps_its_process_and_its_calls() {
    let gate = Gate::start(config(vec![child("stays", Era::Legacy), child("changes", Era::Modern)])).await;
    let client = gate.connect(able().watch_lists(), Era::Modern, Wire::Pipe).await;
    let stays = client.call("stays__pid", ()).await.expect("an answer").text();
    let changes = client.call("changes__pid", ()).await.expect("an answer").text();
    let mut events = client.events();

    let mut other = child("changes", Era::Modern);
    other.call_time = Duration::from_secs(7);
    gate.host
        .reload(config(vec![child("stays", Era::Legacy), other, child("joins", Era::Legacy)]))
        .await
        .expect("good");
    while !matches!(events.next().await, Some(Event::ToolsChanged)) {}
    assert_eq!(client.call("stays__pid", ()).await.expect("an answer").text(), stays);
    assert_ne!(client.call("changes__pid", ()).await.expect("an answer").text(), changes);
    assert!(client.call("joins__pid", ()).await.is_ok());
    until("the old one is gone", || async {
        (!std::path::Path::new(&format!("/proc/{changes}")).exists()).then_some(())
    })
    .await;

    gate.host.reload(config(vec![child("stays", Era::Legacy)])).await.expect("good");
    let tools = client.tools().await.expect("tools");
    assert!(tools.iter().all(|tool| tool.name.starts_with("stays__")));
    assert!(client.call("joins__pid", ()).await.is_err());
    gate.host.stop().await;
}

#[tokio::test]
async fn no_call_is_lost_under_load() {
    let gate =
        Arc::new(Gate::start(config(vec![child("up", Era::Legacy), child("other", Era::Modern)])).await);
    let (over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut callers = Vec::new();
    for number in 0..6 {
        let era = if number % 2 == 0 { Era::Legacy } else { Era::Modern };
        let front = if number % 3 == 0 { Wire::Http } else { Wire::Pipe };
        let client = gate.client(era, front).await;
        let (over, made) = (Arc::clone(&over), Arc::clone(&made));
        callers.push(tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                for tool in ["up__echo", "other__echo"] {
                    let text = format!("{number}");
                    let reply = client.call(tool, json!({ "text": text })).await;
                    assert_eq!(reply.unwrap_or_else(|error| panic!("{tool}: {error}")).text(), text);
                    made.fetch_add(1, Ordering::Relaxed);
                }
            }
        }));
    }
    for round in 0..5 {
        let before = made.load(Ordering::Relaxed);
        until("more calls", || async { (made.load(Ordering::Relaxed) > before + 20).then_some(()) }).await;
        let mut changed = child("other", Era::Modern);
        changed.call_time = Duration::from_secs(50 + round);
        gate.host.reload(config(vec![child("up", Era::Legacy), changed])).await.expect("good");
    }
    let before = made.load(Ordering::Relaxed);
    until("more calls", || async { (made.load(Ordering::Relaxed) > before + 20).then_some(()) }).await;
    over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no call failed");
    }
    gate.host.stop().await;
}

/// Whoever watches a resource of a server that was reconfigured hears the new one.
#[tokio::test]
async fn what_is_watched_is_watched_at_the_new_one() {
    for server in ERAS {
        let gate = Gate::start(config(vec![child("up", server)])).await;
        let client = gate.connect(able(), Era::Legacy, Wire::Pipe).await;
        let mut events = client.events();
        client.subscribe("up+test://doc").await.expect("watched");
        let mut other = child("up", server);
        other.call_time = Duration::from_secs(7);
        gate.host.reload(config(vec![other])).await.expect("good");
        let mut updated = async |what: &str| {
            let told = async { while !matches!(events.next().await, Some(Event::ResourceUpdated(_))) {} };
            assert!(tokio::time::timeout(PATIENCE, told).await.is_ok(), "{server:?}: never {what}");
        };
        updated("told that it may have changed meanwhile").await;
        client.call("up__touch", ()).await.expect("an answer");
        updated("told of a change").await;
        gate.host.stop().await;
    }
}
