//! Batches: an array of messages, in the one revision that has them.

use contexture::{Args, Context, Server, tool};
use serde_json::{Value, json};

use super::support::{EVERY, Peer, with_meta};

const BATCHING: &str = "2025-03-26";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn server() -> Server {
    Server::new("batches", "1")
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
        .tool(tool("wait").handler(|context: Context| async move {
            context.progress(1.0, None);
            std::future::pending::<String>().await
        }))
        .tool(tool("later").handler(|| async {
            tokio::task::yield_now().await;
            "later"
        }))
}

fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

fn echo(id: impl Into<Value>, message: &str) -> Value {
    call(id, "echo", json!({ "message": message }))
}

/// The next message, which must be a batch: its responses by id, with how many there were.
async fn batch(peer: &mut Peer) -> (usize, std::collections::HashMap<String, Value>) {
    let answer = peer.receive().await.expect("an answer");
    let items = answer.as_array().expect("a batch").clone();
    (items.len(), items.into_iter().map(|item| (item["id"].to_string(), item)).collect())
}

#[tokio::test]
async fn requests_that_came_together_are_answered_together() {
    let mut peer = Peer::session(server(), BATCHING, json!({})).await;
    peer.settle().await.expect("ready");
    let messages = json!([
        echo("a", "one"),
        call("later", "later", json!({})),
        { "jsonrpc": "2.0", "method": "notifications/whatever" },
        { "jsonrpc": "2.0", "id": "p", "method": "ping" },
        { "jsonrpc": "2.0", "id": "x", "method": "no/such/method" },
        { "jsonrpc": "1.0", "id": "v", "method": "ping" },
        { "jsonrpc": "2.0", "id": null, "method": "ping" },
        7,
        echo("b", "two\nlines"),
    ]);
    peer.send(messages).await.expect("sent");
    let (count, answers) = batch(&mut peer).await;
    assert_eq!(count, 8, "one for each but the notification: {answers:?}");
    assert_eq!(answers[r#""a""#]["result"]["content"][0]["text"], "one");
    assert_eq!(answers[r#""b""#]["result"]["content"][0]["text"], "two\nlines");
    assert_eq!(answers[r#""later""#]["result"]["content"][0]["text"], "later");
    assert_eq!(answers[r#""p""#]["result"], json!({}));
    assert_eq!(answers[r#""x""#]["error"]["code"], -32601);
    assert_eq!(answers[r#""v""#]["error"]["code"], -32600);
    assert_eq!(answers["null"]["error"]["code"], -32600);
    assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new());
}

#[tokio::test]
async fn where_nothing_is_to_be_answered_nothing_is_sent() {
    let mut peer = Peer::session(server(), BATCHING, json!({})).await;
    peer.settle().await.expect("ready");
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/whatever" });
    let response = json!({ "jsonrpc": "2.0", "id": 99, "result": {} });
    peer.send(json!([notification, response, notification])).await.expect("sent");
    assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new());
}

#[tokio::test]
async fn an_empty_batch_is_no_request() {
    let mut peer = Peer::session(server(), BATCHING, json!({})).await;
    peer.settle().await.expect("ready");
    peer.send(json!([])).await.expect("sent");
    let refused = peer.receive().await.expect("one answer, not an array");
    assert_eq!(
        (&refused["error"]["code"], refused.get("id")),
        (&json!(-32600), Some(&Value::Null)),
        "{refused}"
    );
}

#[tokio::test]
async fn initialize_is_never_part_of_a_batch() {
    let initialize = json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
        "protocolVersion": BATCHING, "capabilities": {}, "clientInfo": { "name": "raw", "version": "0" } } });
    let mut fresh = Peer::of(server());
    fresh.send(json!([initialize])).await.expect("sent");
    assert_eq!(fresh.receive().await.expect("an answer")["error"]["code"], -32600);
    let answer = fresh.initialize(BATCHING, json!({})).await.expect("still possible");
    assert_eq!(answer["result"]["protocolVersion"], BATCHING);

    fresh.send(json!([initialize, { "jsonrpc": "2.0", "id": "p", "method": "ping" }])).await.expect("sent");
    let (count, answers) = batch(&mut fresh).await;
    assert_eq!((count, &answers[r#""i""#]["error"]["code"]), (2, &json!(-32600)));
    assert_eq!(answers[r#""p""#]["result"], json!({}));
}

#[tokio::test]
async fn a_cancelled_request_does_not_hold_its_batch_back() {
    let mut peer = Peer::session(server(), BATCHING, json!({})).await;
    let mut wait = call("w", "wait", json!({}));
    wait["params"]["_meta"] = json!({ "progressToken": "t" });
    peer.send(json!([echo("a", "one"), wait])).await.expect("sent");
    peer.expect("notifications/progress").await.expect("at work");
    assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "the batch is not complete");
    peer.notify("notifications/cancelled", json!({ "requestId": "w" })).await.expect("sent");
    let (count, answers) = batch(&mut peer).await;
    assert_eq!(count, 1, "what was cancelled is not answered");
    assert_eq!(answers[r#""a""#]["result"]["content"][0]["text"], "one");
}

#[tokio::test]
async fn batches_are_bounded() {
    let mut peer = Peer::session(server(), BATCHING, json!({})).await;
    peer.settle().await.expect("ready");
    let many: Vec<_> = (0..101).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect();
    peer.send(json!(many[..100])).await.expect("sent");
    assert_eq!(batch(&mut peer).await.0, 100);
    peer.send(json!(many)).await.expect("sent");
    assert_eq!(peer.receive().await.expect("an answer")["error"]["code"], -32600);
    peer.send_line("[[{}],").await.expect("sent");
    assert_eq!(peer.receive().await.expect("an answer")["error"]["code"], -32700);
}

// covers: BASE-NO-BATCH
#[tokio::test]
async fn other_revisions_have_no_batches() {
    for revision in EVERY.into_iter().filter(|revision| *revision != BATCHING) {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        let mut inside = echo("a", "one");
        inside["params"] = with_meta(inside["params"].clone(), json!({}));
        for messages in [json!([echo("a", "one")]), json!([inside]), json!([])] {
            peer.send(messages).await.expect("sent");
            let refused = peer.receive().await.expect("one answer");
            assert_eq!(refused["error"]["code"], -32600, "{revision} {refused}");
            assert!(refused.get("id").is_none_or(Value::is_null), "{refused}");
        }
        assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "nothing was run");
        let arrays = peer.transcript().entries();
        let server = contexture::testing::Side::Server;
        assert!(arrays.iter().all(|entry| entry.from != server || entry.value().is_object()));
    }
}
