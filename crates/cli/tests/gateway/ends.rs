//! How a gateway ends: under load, with stubborn children, and when nobody talks to it any more (H04, H15, J17).

use std::time::Duration;

use serde_json::json;

use crate::stage::{ERAS, Folder, Gateway, Pipe, allowing, call, is_alive, meta, text, until, within};
use crate::upstream::Upstream;

#[tokio::test]
async fn h04_stubborn_children_are_killed() {
    let folder = Folder::new();
    let one = Upstream::by(&folder, "one", "legacy stubborn", "trap '' TERM INT HUP;");
    let mut gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "one__echo", json!({})).await;
    drop(client);
    gateway.signal("TERM");
    let status = gateway.ended().await;
    assert!(status.success(), "H04: {status}\n{}", gateway.log.text());
    let pids = one.pids();
    assert!(!pids.is_empty());
    until("H04: they are gone", || pids.iter().all(|pid| !is_alive(*pid))).await;
}

/// Not about the gateway, which cannot do anything any more: tests leave nothing behind.
#[tokio::test]
async fn stubborn_children_end_with_their_test() {
    let folder = Folder::new();
    let one = Upstream::by(&folder, "one", "legacy stubborn", "trap '' TERM INT HUP;");
    let gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "one__echo", json!({})).await;
    let pids = one.pids();
    assert!(!pids.is_empty());
    drop((client, gateway));
    until("they are gone", || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[tokio::test]
async fn h15_calls_under_way_are_finished_at_the_end_of_input() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut pipe = Pipe::start(folder, &allowing(json!({ "one": one.entry })));
    let line = |id: u64, ms: u64| {
        let params = json!({ "name": "one__sleep", "arguments": { "ms": ms }, "_meta": meta() });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    };
    pipe.send(line(1, 0).as_bytes()).await;
    pipe.answer(&json!(1)).await;
    pipe.send(format!("{}{}", line(2, 500), line(3, 300)).as_bytes()).await;
    drop(pipe.stdin.take());
    let mut answered = Vec::new();
    while let Some(line) = pipe.line().await {
        if line["result"].is_object() {
            answered.push(line["id"].as_u64());
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, [Some(2), Some(3)], "H15: {}", pipe.log.text());
    let status = within("H15: it ends", pipe.child.wait()).await.expect("a status");
    assert!(status.success(), "H15: {status}");
    let pids = one.pids();
    until("H15: the children are gone", || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[tokio::test]
async fn j17_a_gateway_that_is_told_to_end_finishes_what_it_has_begun() {
    for revision in ERAS {
        let folder = Folder::new();
        let one = Upstream::new(&folder, "one", "legacy");
        let mut gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
        let client = gateway.client(revision).await;
        text(&client, "one__echo", json!({})).await;
        let under_way = tokio::spawn({
            let client = client.clone();
            async move { call(&client, "one__sleep", json!({ "ms": 1500 })).await }
        });
        until("J17: the call is under way", || one.calls("sleep") == 1).await;
        gateway.signal("TERM");
        let reply = within("J17", under_way).await.expect("no panic");
        assert_eq!(reply.unwrap_or_else(|error| panic!("J17: {error}")).text(), "slept");
        let status = gateway.ended().await;
        assert!(status.success(), "J17: {status}\n{}", gateway.log.text());
        let pids = one.pids();
        until("J17: the children are gone", || pids.iter().all(|pid| !is_alive(*pid))).await;
    }
}

#[tokio::test]
async fn j17_told_twice_it_ends_at_once() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut gateway =
        Gateway::with(folder, allowing(json!({ "one": one.entry })), &["--grace", "50"], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "one__echo", json!({})).await;
    let under_way = tokio::spawn({
        let client = client.clone();
        async move { call(&client, "one__hang", json!({})).await }
    });
    until("J17: the call is under way", || one.calls("hang") == 1).await;
    gateway.signal("TERM");
    until("J17: it heard", || gateway.log.text().contains("told to end")).await;
    gateway.signal("TERM");
    let ended = tokio::time::timeout(Duration::from_secs(20), gateway.ended()).await;
    assert!(ended.is_ok(), "J17: told twice, and it waits");
    under_way.abort();
    let pids = one.pids();
    until("J17: the children are gone", || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[tokio::test]
async fn j17_while_it_ends_it_is_not_ready() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let ready = |port: u16| async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        answer.split(' ').nth(1)?.parse::<u16>().ok()
    };
    assert_eq!(ready(gateway.port).await, Some(200), "J17");
    let client = gateway.client(ERAS[0]).await;
    let under_way = tokio::spawn({
        let client = client.clone();
        async move { call(&client, "one__sleep", json!({ "ms": 2000 })).await }
    });
    until("J17: the call is under way", || one.calls("sleep") == 1).await;
    gateway.signal("TERM");
    until("J17: it heard", || gateway.log.text().contains("told to end")).await;
    let now = ready(gateway.port).await;
    assert!(matches!(now, None | Some(503)), "J17: {now:?}");
    let reply = under_way.await.expect("no panic");
    assert!(reply.is_ok(), "J17: {reply:?}");
    assert!(gateway.ended().await.success(), "J17");
}
