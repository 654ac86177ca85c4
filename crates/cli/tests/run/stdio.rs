//! As a host starts it: over standard input and output.

use contexture::Client;
use contexture::revision::Revision;
use contexture::transport::ChildCommand;
use serde_json::json;

use crate::stage::{BINARY, Home, until};

fn gateway(home: &Home, config: &str) -> ChildCommand {
    ChildCommand::new(BINARY)
        .args(["run", "--config", config])
        .env("HOME", home.path())
        .current_dir(home.path())
}

#[tokio::test]
async fn clients_of_both_eras_call_through_it() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    for revisions in [Revision::LEGACY.as_slice(), Revision::MODERN.as_slice()] {
        let client =
            Client::builder().revisions(revisions).spawn(gateway(&home, &config)).await.expect("a client");
        let reply = client.call("two__echo", json!({ "message": "hello" })).await.expect("an answer");
        assert_eq!(reply.text(), "hello");
        client.close().await;
        until("its servers are gone with it", async || home.running() == 0).await;
    }
}

#[tokio::test]
async fn a_client_that_vanishes_leaves_nothing_running() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let client = Client::spawn(gateway(&home, &config)).await.expect("a client");
    let call = client.call("one__sleep", json!({ "ms": 600_000 })).start();
    until("the server runs", async || home.running() == 1).await;
    drop(call);
    drop(client);
    until("it is gone", async || home.running() == 0).await;
}

#[test]
fn the_end_of_input_is_a_good_end() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let run = home.command(&["run", "--stdio", "--config", &config]).output().expect("the binary runs");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.stdout.is_empty(), "nothing was asked");
}
