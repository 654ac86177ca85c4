//! What the gateway writes to standard error.

use serde_json::{Value, json};

use crate::stage::{Gateway, Home, until};

#[tokio::test]
async fn without_a_terminal_it_is_one_json_object_a_line_and_never_an_argument() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let mut command = home.command(&["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    command.env("RUST_LOG", "contexture_host=debug,contexture=debug");
    let gateway = Gateway::of(command);
    let client = gateway.client().await;
    let forged = "hunter2\n{\"level\":\"ERROR\"}";
    client.call("one__echo", json!({ "message": forged })).await.expect("an answer");
    let exchange = || {
        let lines = gateway.said();
        let objects = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        objects
            .into_iter()
            .find(|line| line["message"] == "exchange" && line["mcp.method.name"] == "tools/call")
    };
    until("the call is told", async || exchange().is_some()).await;
    let line = exchange().expect("it is there");
    assert_eq!(line["gen_ai.tool.name"], "one__echo", "{line}");
    assert_eq!(line["outcome"], "ok", "{line}");
    let behind = || {
        let lines = gateway.said();
        let objects = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        objects.into_iter().find(|line| line["server"] == "one" && line["mcp.method.name"] == "tools/call")
    };
    until("so is the server that was asked", async || behind().is_some()).await;
    assert!(line["principal"].is_string() && line["level"] == "DEBUG", "{line}");
    assert!(!gateway.said().join("\n").contains("hunter2"));
}

/// Of several servers, the one that talks beside the protocol is named.
#[tokio::test]
async fn what_is_no_message_is_said_of_its_server() {
    let home = Home::new();
    let chatty = format!("echo Welcome; exec {} demo", home.server());
    let chatty = json!({ "command": "/bin/sh", "args": ["-c", chatty] });
    let config = home.config(&json!({ "chatty": chatty, "one": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    assert!(gateway.tools().await.iter().any(|tool| tool == "chatty__echo"));
    let said = gateway.said();
    let lines = said.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let skipped: Vec<Value> =
        lines.filter(|line| line["message"] == "skipped a line that is not a message").collect();
    assert!(!skipped.is_empty() && skipped.iter().all(|line| line["server"] == "chatty"), "{said:?}");
}
