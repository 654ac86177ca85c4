//! A configuration that changes while the gateway runs.

use serde_json::json;

use crate::stage::{Gateway, Home, until};

#[tokio::test]
async fn a_new_server_comes_and_calls_to_others_go_on() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--watch", "--listen", "127.0.0.1:0"]);
    let client = gateway.client().await;
    let long = tokio::spawn(client.call("one__sleep", json!({ "ms": 3_000 })).start());
    until("the server runs", async || home.running() == 1).await;
    home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    until("the new one is listed", async || gateway.tools().await.iter().any(|tool| tool == "two__echo"))
        .await;
    let client = gateway.client().await;
    let reply = client.call("two__echo", json!({ "message": "hello" })).await.expect("an answer");
    assert_eq!(reply.text(), "hello");
    long.await.expect("no panic").expect("the call that was under way");
}

#[tokio::test]
async fn a_server_that_is_taken_out_goes_and_a_mistake_changes_nothing() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--watch", "--listen", "127.0.0.1:0"]);
    assert!(gateway.tools().await.iter().any(|tool| tool == "two__echo"));
    until("both run", async || home.running() == 2).await;
    home.config(&json!({ "one": home.demo() }));
    until("one is gone", async || home.running() == 1).await;
    assert!(gateway.tools().await.iter().all(|tool| tool.starts_with("one__")));
    std::fs::write(&config, "{ this is not JSON").expect("it can be written");
    until("it is said", async || gateway.said().iter().any(|line| line.contains("config.json"))).await;
    until("what counts is said", async || gateway.said().join("\n").contains("stays in force")).await;
    let again = || gateway.said().iter().filter(|line| line.contains("was read again")).count();
    assert_eq!(again(), 1, "{:?}", gateway.said());
    assert!(gateway.tools().await.iter().any(|tool| tool == "one__echo"));
    // Mended, and as it was before; then it is another.
    home.config(&json!({ "one": home.demo() }));
    until("it is said", async || gateway.said().join("\n").contains("nothing has changed")).await;
    assert_eq!(again(), 1, "{:?}", gateway.said());
    home.config(&json!({ "two": home.demo() }));
    until("it is another", async || again() == 2).await;
}
