//! `subscriptions/listen`: acknowledged first, tagged always, and nothing that was not asked for.

use contexture::server::layers::{Access, authorize};
use contexture::server::{BuiltServer, Registry};
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::memory;
use contexture::{Policy, Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::spoken::Spoken;
use super::support::{LEGACY, MODERN, with_meta};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool(tool("t").handler(|| async { "x" }))
        .prompt(prompt("p").handler(|| async { "x" }))
        .resource(resource("note://1").text("x"))
        .resource(resource("note://2").text("x"))
}

fn change_all(registry: &Registry) {
    registry.add_tool(tool("t2").handler(|| async { "x" })).expect("a tool");
    registry.add_prompt(prompt("p2").handler(|| async { "x" })).expect("a prompt");
    registry.add_resource(resource("note://3").text("x")).expect("a resource");
    registry.resource_updated("note://1");
    registry.resource_updated("note://2");
}

fn everything() -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["note://1"] })
}

async fn listen(peer: &mut Spoken, filter: Value) -> (Value, Value) {
    let id = peer.begin("subscriptions/listen", json!({ "notifications": filter })).await;
    let first = peer.receive().await.expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "first of all: {first}");
    assert_eq!(first["params"]["_meta"][ID], id);
    (id, first["params"]["notifications"].clone())
}

/// Methods (and URIs) of what was told, for each stream.
async fn told(peer: &mut Spoken, id: &Value) -> Vec<String> {
    let all = peer.settle().await.expect("lives");
    let (of_it, rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|message| message["params"]["_meta"][ID] == *id);
    assert!(rest.iter().all(|message| message["params"]["_meta"].get(ID).is_some()), "untagged: {rest:?}");
    of_it
        .iter()
        .map(|message| {
            let method = message["method"].as_str().expect("a notification");
            let uri = message["params"]["uri"].as_str().unwrap_or_default();
            format!("{}{uri}", method.trim_start_matches("notifications/"))
        })
        .collect()
}

#[tokio::test]
async fn a_stream_tells_what_was_asked_for_and_nothing_else() {
    let server = server().build().expect("a server");
    let registry = server.registry();
    let mut peer = Spoken::to_built(&server, MODERN, json!({})).await;
    let (id, honoured) = listen(&mut peer, everything()).await;
    assert_eq!(honoured, everything());
    change_all(&registry);
    assert_eq!(
        told(&mut peer, &id).await,
        ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updatednote://1"]
    );

    for (filter, expected) in [
        (json!({}), vec![]),
        (json!({ "toolsListChanged": false }), vec![]),
        (json!({ "toolsListChanged": true }), vec!["tools/list_changed"]),
        (json!({ "resourceSubscriptions": ["note://2"] }), vec!["resources/updatednote://2"]),
    ] {
        let mut peer = Spoken::to_built(&server, MODERN, json!({})).await;
        let (id, _) = listen(&mut peer, filter.clone()).await;
        for removed in ["t2", "p2"] {
            registry.remove_tool(removed);
            registry.remove_prompt(removed);
        }
        registry.remove_resource("note://3");
        change_all(&registry);
        assert_eq!(told(&mut peer, &id).await, expected, "{filter}");
    }
}

#[tokio::test]
async fn only_the_part_that_can_be_honoured_is_acknowledged() {
    let mut peer = Spoken::to(server().without_list_changed(), MODERN, json!({})).await;
    let (_, honoured) = listen(&mut peer, everything()).await;
    assert_eq!(honoured, json!({ "resourceSubscriptions": ["note://1"] }));

    let mut peer = Spoken::to(server().without_subscriptions(), MODERN, json!({})).await;
    let (_, honoured) = listen(&mut peer, everything()).await;
    assert_eq!(honoured.get("resourceSubscriptions"), None);

    let mut peer = Spoken::to(server(), MODERN, json!({})).await;
    let uris = json!({ "resourceSubscriptions": ["note://1", "note://none", "no uri"] });
    let (_, honoured) = listen(&mut peer, uris).await;
    assert_eq!(honoured, json!({ "resourceSubscriptions": ["note://1"] }));

    let mut peer = Spoken::to(Server::new("bare", "1.0.0"), MODERN, json!({})).await;
    let (_, honoured) = listen(&mut peer, everything()).await;
    assert_eq!(honoured, json!({}));
}

#[tokio::test]
async fn streams_live_side_by_side_until_each_is_cancelled() {
    let server = server();
    let registry = server.registry();
    let mut peer = Spoken::to(server, MODERN, json!({})).await;
    let (tools, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    let (notes, _) = listen(&mut peer, json!({ "resourceSubscriptions": ["note://1"] })).await;
    let (both, _) =
        listen(&mut peer, json!({ "toolsListChanged": true, "resourceSubscriptions": ["note://1"] })).await;
    change_all(&registry);
    let all = peer.settle().await.expect("lives");
    let of = |id: &Value| all.iter().filter(|message| message["params"]["_meta"][ID] == *id).count();
    assert_eq!((of(&tools), of(&notes), of(&both), all.len()), (1, 1, 2, 4));

    for (cancelled, left) in [(&both, 1), (&notes, 0)] {
        peer.notify("notifications/cancelled", json!({ "requestId": cancelled })).await.expect("is sent");
        peer.settle().await.expect("lives");
        registry.resource_updated("note://1");
        let told = peer.settle().await.expect("lives");
        assert_eq!(told.len(), left, "{told:?}");
    }
    assert!(registry.remove_tool("t2"));
    assert_eq!(told(&mut peer, &tools).await, ["tools/list_changed"], "the first still listens");
}

#[tokio::test]
async fn calls_go_on_while_a_stream_is_open() {
    let mut peer = Spoken::to(server(), MODERN, json!({})).await;
    let (id, _) = listen(&mut peer, everything()).await;
    assert!(peer.call("t", json!({})).await["result"].is_object());
    // Its id is taken for as long as it is open.
    let params = with_meta(json!({ "name": "t", "arguments": {} }), json!({}));
    peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
        .await
        .expect("is sent");
    assert_eq!(peer.response(&id).await.expect("a response")["error"]["code"], -32600);
}

#[tokio::test]
async fn streams_and_what_they_watch_are_bounded() {
    let mut policy = Policy::default();
    policy.listen_streams = 2;
    policy.subscriptions = 3;
    let mut peer = Spoken::to(server().policy(policy), MODERN, json!({})).await;
    let many = json!({ "resourceSubscriptions": ["note://1", "note://2", "note://3", "note://4"] });
    assert_eq!(peer.refused("subscriptions/listen", json!({ "notifications": many })).await, -32602);
    let (first, _) = listen(&mut peer, json!({})).await;
    listen(&mut peer, json!({})).await;
    assert_eq!(peer.refused("subscriptions/listen", json!({ "notifications": {} })).await, -32602);
    peer.notify("notifications/cancelled", json!({ "requestId": first })).await.expect("is sent");
    listen(&mut peer, json!({})).await;
    for wrong in
        [json!({}), json!({ "notifications": 7 }), json!({ "notifications": { "toolsListChanged": 1 } })]
    {
        assert_eq!(peer.refused("subscriptions/listen", wrong.clone()).await, -32602, "{wrong}");
    }
}

#[tokio::test]
async fn legacy_sessions_do_not_listen() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        assert_eq!(peer.refused("subscriptions/listen", json!({ "notifications": {} })).await, -32601);
        assert_eq!(peer.refused("server/discover", json!({})).await, -32601);
    }
}

#[tokio::test]
async fn who_may_not_read_is_not_told_even_later() {
    let allowed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let now = std::sync::Arc::clone(&allowed);
    let server = server().layer(authorize(move |_, access| {
        access == Access::Resource("note://1") && now.load(std::sync::atomic::Ordering::SeqCst)
    }));
    let server: BuiltServer = server.build().expect("a server");
    let registry = server.registry();
    let mut modern = Spoken::to_built(&server, MODERN, json!({})).await;
    let filter = json!({ "resourceSubscriptions": ["note://1", "note://2"] });
    let (_, honoured) = listen(&mut modern, filter).await;
    assert_eq!(honoured, json!({ "resourceSubscriptions": ["note://1"] }));
    let mut legacy = Spoken::to_built(&server, "2025-06-18", json!({})).await;
    legacy.ask("resources/subscribe", json!({ "uri": "note://1" })).await;
    registry.resource_updated("note://1");
    legacy.expect("notifications/resources/updated").await.expect("a subscriber hears of it");
    modern.expect("notifications/resources/updated").await.expect("so does a listener");

    allowed.store(false, std::sync::atomic::Ordering::SeqCst);
    registry.resource_updated("note://1");
    for peer in [&mut legacy, &mut modern] {
        peer.settle().await.expect("the question to the layers is answered");
        assert!(peer.heard("notifications/resources/updated").await.is_empty());
    }
}

/// The empty text is an id like any other; what the server does by itself must not answer to it.
#[tokio::test]
async fn an_update_is_never_taken_for_a_request_of_the_client() {
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let gone = std::sync::Arc::new(std::sync::Mutex::new(Some(gone)));
    let wait = tool("wait").handler(move || {
        let gone = gone.lock().expect("not poisoned").take();
        async move {
            gone.expect("called once").await.ok();
            "done"
        }
    });
    let server = server().tool(wait).layer(authorize(|_, _| true));
    let registry = server.registry();
    let mut peer = Spoken::to(server, "2025-06-18", json!({})).await;
    peer.ask("resources/subscribe", json!({ "uri": "note://1" })).await;
    let params = json!({ "name": "wait", "arguments": {} });
    peer.send(json!({ "jsonrpc": "2.0", "id": "", "method": "tools/call", "params": params }))
        .await
        .expect("is sent");
    peer.settle().await.expect("lives");
    registry.resource_updated("note://1");
    peer.expect("notifications/resources/updated").await.expect("is told");
    go.send(()).expect("still waits");
    let answer = peer.response(&json!("")).await.expect("a response");
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}

#[tokio::test]
async fn a_server_that_stops_takes_its_streams_back() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (own, other) = memory(1024 * 1024);
    let transcript = Transcript::new();
    let mut peer = RawPeer::over(Recording::new(own, Side::Client, transcript.clone()));
    let server = server().build().expect("a server");
    let serving = tokio::spawn(async move { server.serve_until(other, async { drop(stopped.await) }).await });
    let params = with_meta(json!({ "notifications": everything() }), json!({}));
    let id = json!(peer.start("subscriptions/listen", params).await.expect("is sent"));
    peer.expect("notifications/subscriptions/acknowledged").await.expect("is open");
    stop.send(()).expect("serves");
    let taken_back = peer.receive().await.expect("a message");
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], id);
    let result = peer.receive().await.expect("the result last");
    assert_eq!(result["id"], id);
    assert_eq!(result["result"]["_meta"][ID], id, "{result}");
    assert!(peer.receive().await.is_err(), "and then the end");
    serving.await.expect("no panic").expect("ends well");
    let mut watch = contexture_judge::Watch::new(contexture_judge::From::Server);
    for entry in transcript.entries() {
        let by_server = entry.from == Side::Server;
        let from = if by_server { contexture_judge::From::Server } else { contexture_judge::From::Client };
        watch.message(from, &entry.value());
    }
}
