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
