//! The end: in good order, in time, and with nothing left behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use contexture::Client;
use contexture::revision::Revision;
use serde_json::json;

use crate::stage::{Gateway, Home, ended, terminate, until};

async fn calling(
    client: &Client,
    ms: u32,
    times: usize,
) -> Vec<tokio::task::JoinHandle<contexture::Result<String>>> {
    let call = |_| {
        let client = client.clone();
        tokio::spawn(async move { Ok(client.call("one__sleep", json!({ "ms": ms })).await?.text()) })
    };
    (0..times).map(call).collect()
}

fn in_flight(gateway: &Gateway, count: usize) -> bool {
    let page = gateway.get("/metrics", None);
    page.lines().any(|line| line == format!("contexture_upstream_calls_in_flight{{server=\"one\"}} {count}"))
}

#[tokio::test]
async fn what_has_begun_is_finished() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "30"]);
    let client = gateway.client().await;
    let calls = calling(&client, 2_000, 20).await;
    until("all calls are under way", async || in_flight(&gateway, 20)).await;
    gateway.terminate();
    for call in calls {
        call.await.expect("no panic").expect("it was finished");
    }
    assert_eq!(gateway.ended().await.code(), Some(0));
    until("no server is left", async || home.running() == 0).await;
}

#[tokio::test]
async fn what_takes_too_long_is_not_waited_for() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "0.5"]);
    let client = gateway.client().await;
    let calls = calling(&client, 600_000, 2).await;
    until("all calls are under way", async || in_flight(&gateway, 2)).await;
    gateway.terminate();
    for call in calls {
        call.await.expect("no panic").expect_err("it was not finished");
    }
    assert_eq!(gateway.ended().await.code(), Some(0));
    until("no server is left", async || home.running() == 0).await;
}

#[tokio::test]
async fn a_second_word_is_not_waited_for() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "600"]);
    let client = gateway.client().await;
    let _calls = calling(&client, 600_000, 2).await;
    until("all calls are under way", async || in_flight(&gateway, 2)).await;
    gateway.terminate();
    until("it is heard", async || gateway.said().iter().any(|line| line.contains("told to end"))).await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(130));
    until("no server is left", async || home.running() == 0).await;
}

#[tokio::test]
async fn a_gateway_that_ends_takes_no_new_clients() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "600"]);
    let client = gateway.client().await;
    let calls = calling(&client, 600_000, 1).await;
    until("the call is under way", async || in_flight(&gateway, 1)).await;
    gateway.terminate();
    let url = gateway.url.clone();
    until("nobody else gets in", async || Client::connect(url.as_str()).await.is_err()).await;
    let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("an address");
    assert!(std::net::TcpStream::connect(address).is_err(), "a probe sees that it is not ready");
    assert!(!calls[0].is_finished(), "what has begun goes on");
}

#[tokio::test]
async fn over_a_pipe_what_has_begun_is_finished_too() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let mut command = home.command(&["run", "--config", &config]);
    let mut gateway = command.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut input = gateway.stdin.take().expect("a pipe");
    let mut output = BufReader::new(gateway.stdout.take().expect("a pipe")).lines();
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let arguments = json!({ "steps": 10, "delay_ms": 150 });
    let call = json!({ "name": "one__countdown", "arguments": arguments, "_meta": { "progressToken": 7 } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        writeln!(input, "{message}").expect("it reads");
    }
    let begun = output.any(|line| line.is_ok_and(|line| line.contains("notifications/progress")));
    assert!(begun, "the call is under way");
    terminate(&gateway);
    let answer =
        output.find_map(|line| line.ok().filter(|line| line.contains("\"id\":2"))).expect("an answer");
    assert!(answer.contains("\"result\""), "{answer}");
    assert_eq!(ended(&mut gateway).await.code(), Some(0));
    until("no server is left", async || home.running() == 0).await;
}

#[tokio::test]
async fn a_server_that_never_answers_keeps_nobody_from_ending() {
    let home = Home::new();
    let mute = home.mute();
    let config = home.config(&json!({ "mute": { "command": mute }, "one": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "0.5"]);
    assert!(gateway.tools().await.iter().any(|tool| tool == "one__echo"), "the others are there");
    until("both were started", async || home.running() == 2).await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    until("no server is left", async || home.running() == 0).await;

    let mut bridge =
        home.command(&["bridge", "--listen", "127.0.0.1:0", "--", &mute]).spawn().expect("it runs");
    // The bridge has the name of the program in its own arguments, too.
    until("it was started", async || home.running() == 2).await;
    terminate(&bridge);
    assert_eq!(ended(&mut bridge).await.code(), Some(130), "it had not begun to serve");
    until("no server is left", async || home.running() == 0).await;
}

/// Clients that only listen have nothing that could be finished.
#[tokio::test]
async fn streams_that_only_listen_are_ended_at_once() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0", "--grace", "600"]);
    let legacy = gateway.client_of(&Revision::LEGACY).await;
    legacy.call("one__echo", json!({ "message": "x" })).await.expect("an answer");
    let modern = Client::builder().revisions(&Revision::MODERN).watch_lists();
    let modern = modern.connect(gateway.url.as_str()).await.expect("a client");
    modern.call("one__echo", json!({ "message": "x" })).await.expect("an answer");
    let page = gateway.get("/metrics", None);
    assert!(page.lines().any(|line| line == "contexture_sessions 1"), "{page}");
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
}

/// While it gets to know its servers it has not begun to serve, and still hears.
#[tokio::test]
async fn a_word_at_the_very_beginning_is_not_lost() {
    let home = Home::new();
    let config = home.config(&json!({ "mute": { "command": home.mute() } }));
    let mut command = home.command(&["run", "--config", &config]);
    let mut gateway = command.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let _input = gateway.stdin.take();
    until("the server was started", async || home.running() == 1).await;
    terminate(&gateway);
    assert_eq!(ended(&mut gateway).await.code(), Some(0));
    until("no server is left", async || home.running() == 0).await;
}
