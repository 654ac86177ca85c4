//! The end: in good order, in time, and with nothing left behind.

use contexture::Client;
use serde_json::json;

use crate::stage::{Gateway, Home, until};

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
    assert!(!calls[0].is_finished(), "what has begun goes on");
}
