//! Servers that are started anew: because the probe upset them, because they do not answer, because they ended.

use std::time::Duration;

use contexture::client::{Event, KeepAlive, OnPingFailure};
use contexture::revision::{Era, Revision};
use contexture::{Client, Error};
use serde_json::json;

use crate::child::{Log, hasty, server};

/// Some servers of old die of anything before `initialize`.
#[tokio::test]
async fn a_server_that_the_probe_upsets_is_started_anew() {
    let log = Log::new();
    let upset = log.of(server(&["die-on-probe"]));
    let client = Client::builder().policy(hasty()).spawn(upset).await.expect("connected");
    assert_eq!(client.era(), Era::Legacy);
    client.ping().await.expect("alive");
    assert_eq!(log.pids("start ").len(), 2);
    let known = client.known_era();
    client.close().await;
    let log = Log::new();
    let upset = log.of(server(&["die-on-probe"]));
    let client = Client::builder().known_era(known).spawn(upset).await.expect("connected");
    assert_eq!(log.pids("start ").len(), 1, "what is remembered saves a process");
    client.close().await;
    let modern_only = Client::builder().revisions(&Revision::MODERN);
    let error = modern_only.spawn(server(&["die-on-probe"])).await.expect_err("no falling back").to_string();
    assert!(error.contains("exited with 3") && error.contains("expected initialize"), "{error}");
}

// covers: PING-UNANSWERED-RECONNECT, PAGE-CURSOR-NO-PERSIST
#[tokio::test]
async fn a_server_that_does_not_answer_pings_is_started_anew() {
    let log = Log::new();
    let second = Duration::from_secs(1);
    let keep_alive = KeepAlive::every(second).timeout(second / 4).after(1, OnPingFailure::Reconnect);
    let builder = Client::builder().policy(hasty()).keep_alive(keep_alive);
    let client = builder.spawn(log.of(server(&["deaf"]))).await.expect("connected");
    client.tools().await.expect("two pages");
    let mut events = client.events();
    let mut seen = Vec::new();
    loop {
        match events.next().await.expect("an event") {
            Event::PingFailed { failures } => seen.push(format!("failed {failures}")),
            Event::Closed(_) => seen.push("closed".into()),
            Event::Reconnected => break,
            _ => {}
        }
    }
    assert_eq!(seen, ["failed 1", "closed"]);
    assert_eq!(log.pids("start ").len(), 2);
    let hellos = log.read().iter().filter(|note| note.contains(r#""method":"initialize""#)).count();
    assert_eq!(hellos, 2, "a fresh handshake");
    client.call("look", ()).await.expect("the new one answers");
    client.tools().await.expect("two pages");
    let lists = log.read().into_iter().filter(|note| note.contains("tools/list"));
    let cursors: Vec<bool> = lists.map(|note| note.contains("page-2")).collect();
    assert_eq!(cursors, [false, true, false, true], "a list begins anew");
    client.close().await;
}

#[tokio::test]
async fn a_server_that_ended_is_started_anew_but_not_one_that_was_closed() {
    let log = Log::new();
    let second = Duration::from_secs(1);
    let keep_alive = KeepAlive::every(second).after(1, OnPingFailure::Reconnect);
    let client =
        Client::builder().keep_alive(keep_alive).spawn(log.of(server(&[]))).await.expect("connected");
    let mut events = client.events();
    client.call("exit", json!({ "why": "x", "code": 1 })).await.expect_err("gone, and not sent again");
    while !matches!(events.next().await.expect("an event"), Event::Reconnected) {}
    client.ping().await.expect("a new process");
    assert_eq!(log.pids("start ").len(), 2);
    client.close().await;
    tokio::time::sleep(2 * second).await;
    assert_eq!(log.pids("start ").len(), 2, "closed is closed");
    assert!(matches!(client.ping().await, Err(Error::Closed(_))));
}
