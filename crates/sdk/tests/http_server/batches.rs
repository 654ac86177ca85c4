//! Batches: several messages in one POST, in the one revision that has them.

use serde_json::{Value, json};

use super::support::{BATCHED, EVERY, Peer, Site, hello, notification, request, server, text_of};

fn call(id: &str, tool: &str, token: Option<&str>) -> Value {
    let mut params = json!({ "name": tool, "arguments": {} });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    request(id, "tools/call", params)
}

/// Answers by id: their order is nobody's concern.
fn answer<'a>(answers: &'a Value, id: &str) -> &'a Value {
    let all = answers.as_array().expect("an array");
    all.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{answers}"))
}

#[tokio::test]
async fn a_batch_is_answered_in_one_piece() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, BATCHED).await;
    let batch = json!([
        call("a", "now", None),
        notification("notifications/x"),
        request("b", "ping", json!({})),
        request("c", "no/such/method", json!({})),
        { "jsonrpc": "2.0", "id": "d", "method": 7 },
        { "jsonrpc": "2.0", "id": 99, "result": {} },
        request("e", "initialize", hello(BATCHED, json!({}))),
    ]);
    let mut reply = peer.post(&batch).send().await;
    assert_eq!(reply.status, 200);
    let answers = reply.json().await;
    assert_eq!(answers.as_array().expect("an array").len(), 5, "{answers}");
    assert_eq!(text_of(answer(&answers, "a")), "now");
    assert_eq!(answer(&answers, "b")["result"], json!({}));
    assert_eq!(answer(&answers, "c")["error"]["code"], -32601);
    assert_eq!(answer(&answers, "d")["error"]["code"], -32600);
    assert!(answer(&answers, "e").get("error").is_some());
}

#[tokio::test]
async fn what_is_said_on_the_way_makes_it_a_stream() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, BATCHED).await;
    let batch = json!([call("a", "steps", Some("t")), call("b", "steps", Some("u")), call("c", "now", None)]);
    let mut reply = peer.post(&batch).send().await;
    assert!(reply.is_events());
    let said = reply.rest().await;
    let progress = said.iter().filter(|message| message["method"] == "notifications/progress").count();
    assert_eq!(progress, 6, "{said:?}");
    let mut answers = Vec::new();
    for message in said.iter().filter(|message| message.get("method").is_none()) {
        match message {
            Value::Array(all) => answers.extend(all.clone()),
            one => answers.push(one.clone()),
        }
    }
    let answers = Value::Array(answers);
    assert_eq!(text_of(answer(&answers, "a")), "done");
    assert_eq!(text_of(answer(&answers, "b")), "done");
    assert_eq!(text_of(answer(&answers, "c")), "now");
}

// covers: HTTP-POST-NOTIF-202
#[tokio::test]
async fn a_batch_that_asks_nothing_is_only_acknowledged() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, BATCHED).await;
    let batch = json!([notification("notifications/x"), { "jsonrpc": "2.0", "id": 1, "result": {} }]);
    let mut reply = peer.post(&batch).send().await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.bytes().await, b"");
    assert_eq!(peer.post(&json!([])).status().await, 400, "nothing at all is not a batch");
}

#[tokio::test]
async fn other_revisions_have_none() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY.into_iter().filter(|revision| *revision != BATCHED) {
        let peer = Peer::of(&site, revision).await;
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        assert_eq!(peer.post(&json!([wait])).status().await, 400, "{revision}");
    }
    assert!(calls.try_recv().is_err(), "nothing of it ran");
}

#[tokio::test]
async fn a_batch_is_cancelled_one_by_one() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, BATCHED).await;
    let batch = json!([call("a", "wait", None), call("b", "wait", None)]);
    let reply = tokio::spawn(peer.post(&batch).send());
    let (first, second) = (calls.recv().await.expect("called"), calls.recv().await.expect("called"));
    let params = json!({ "requestId": "a" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(peer.tell(&cancel).await, 202);
    assert!(first.gone.await.is_err(), "the handler is dropped");
    second.go.send(()).expect("it waits");
    let answers = reply.await.expect("a response").json().await;
    assert_eq!(answers.as_array().expect("an array").len(), 1);
    assert_eq!(text_of(answer(&answers, "b")), "waited");
}
