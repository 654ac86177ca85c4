//! A project's own configuration starts nothing until somebody trusts it.

use serde_json::json;

use crate::stage::{Gateway, Home};

#[tokio::test]
async fn what_lies_in_a_folder_is_not_run() {
    let home = Home::new();
    let marker = home.path().join("was-run");
    let script = format!("touch '{}'; exec '{}' demo", marker.display(), home.server());
    let server = json!({ "command": "/bin/sh", "args": ["-c", script] });
    home.write("project/contexture.json", &json!({ "servers": { "theirs": server } }));
    let gateway = Gateway::start(&home, &["run", "--listen", "127.0.0.1:0"]);
    assert_eq!(gateway.tools().await, Vec::<String>::new());
    let client = gateway.client().await;
    client.call("theirs__echo", json!({ "message": "x" })).await.expect_err("it is not there");
    assert!(!marker.exists(), "it was started");
    let said = gateway.said().join("\n");
    assert!(said.contains("theirs") && said.contains("contexture trust"), "{said}");
    let ready = gateway.get("/readyz", None);
    assert!(ready.contains("\"theirs\""), "{ready}");
}
