//! How a session begins, and what may be said before.

use contexture::{Args, Server, tool};
use serde_json::{Value, json};

use super::support::{LEGACY, Peer};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
}

// covers: LIFE-VERSION-ECHO, LIFE-INIT-SERVER-RESPONDS, SCHEMA-INIT-RESULT
#[tokio::test]
async fn a_server_answers_with_the_version_that_it_was_asked_for() {
    for revision in LEGACY {
        let mut peer = Peer::of(server());
        let answer = peer.initialize(revision, json!({})).await.expect("an answer");
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(answer["result"]["serverInfo"], json!({ "name": "test", "version": "1.0.0" }));
        assert!(answer["result"]["capabilities"]["tools"].is_object());
    }
}

// covers: LIFE-VERSION-COUNTER, LIFE-VERSION-COUNTER-LATEST
#[tokio::test]
async fn an_unknown_version_gets_a_counter_offer() {
    for unknown in ["1999-01-01", "2026-07-28", "soon", ""] {
        let answer = Peer::of(server()).initialize(unknown, json!({})).await.expect("an answer");
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    }
}

// covers: LIFE-INIT-FIRST, PING-EITHER-SIDE
#[tokio::test]
async fn before_the_handshake_only_pings_are_served() {
    let mut peer = Peer::of(server());
    assert_eq!(peer.request("ping", Value::Null).await.expect("an answer")["result"], json!({}));
    let refused = peer.request("tools/list", json!({})).await.expect("an answer");
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["data"]["supported"].is_array());
    peer.initialize("2025-06-18", json!({})).await.expect("still possible");
    assert!(peer.request("tools/list", json!({})).await.expect("an answer")["result"]["tools"].is_array());
}

#[test]
fn state_that_is_missing_is_found_before_serving() {
    use contexture::server::State;
    let server = || {
        Server::new("stateful", "1").tool(
            contexture::tool("count").handler(|State(count): State<u32>| async move { count.to_string() }),
        )
    };
    let refused = server().build().expect_err("no state").to_string();
    assert!(refused.contains("count") && refused.contains("State<u32>"), "{refused}");
    server().state(0_u32).build().expect("complete");
}

#[test]
fn completers_of_nothing_are_found_before_serving() {
    use contexture::server::Choices;
    let server = || Server::new("completing", "1").complete_prompt("poem", "style", Choices::new(["sonnet"]));
    let refused = server().build().expect_err("no such prompt").to_string();
    assert!(refused.contains("poem") && refused.contains("style"), "{refused}");
    server().prompt(contexture::prompt("poem").handler(|| async { "a poem" })).build().expect("complete");
    server().empty_lists().build().expect("it may come later");
}
