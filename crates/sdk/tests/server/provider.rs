//! A provider in the place of the registry: it is all that is offered, in every revision.

use std::sync::Arc;

use contexture::model::{CallToolResult, ErrorObject, ListToolsResult};
use contexture::server::layers::{Access, authorize};
use contexture::server::{Operation, Reply, Request};
use contexture::testing::Side;
use contexture::{Error, tool};
use serde_json::{Value, json};

use super::elsewhere::{Elsewhere, everything};
use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

/// Says what was wanted, word for word.
fn echo() -> Elsewhere {
    Elsewhere::new(|Operation { request, .. }: Operation| async move {
        match request {
            Request::CallTool { name, arguments } => {
                let arguments = arguments.map_or_else(|| "none".to_owned(), |raw| raw.get().to_owned());
                Ok(Reply::Tool(CallToolResult::text(format!("{name} {arguments}"))))
            }
            _ => Err(ErrorObject::internal("not expected")),
        }
    })
}

#[tokio::test]
async fn what_it_declares_is_what_there_is() {
    let asked = [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resources"),
        ("completion/complete", "completions"),
    ];
    for revision in ALL {
        for (method, capability) in asked {
            for declared in ["tools", "prompts", "resources", "completions"] {
                let server = echo().declaring(json!({ declared: {} })).server();
                let mut peer = Spoken::to(server, revision, json!({})).await;
                let params = json!({ "ref": { "type": "ref/prompt", "name": "p" },
                    "argument": { "name": "x", "value": "" } });
                let code = peer.refused(method, params).await;
                let expected = if capability == declared { -32603 } else { -32601 };
                assert_eq!(code, expected, "{method} {declared} {revision}");
            }
        }
    }
}

#[tokio::test]
async fn capabilities_and_instructions_are_its_own() {
    for revision in ALL {
        let server = echo().server().instructions("ours").build().expect("a server");
        let peer = Spoken::to_built(&server, revision, json!({})).await;
        let declared = peer.declared().as_object().expect("capabilities");
        let mut names: Vec<_> = declared.keys().map(String::as_str).collect();
        names.sort_unstable();
        let known = ["completions", "logging", "prompts", "resources", "tools"];
        // The oldest revision completes without saying so.
        let known = if revision == LEGACY[0] { &known[1..] } else { &known[..] };
        assert_eq!(names, known, "{revision}");
        let said = peer.transcript().sent_by(Side::Server).pop().expect("an answer");
        assert_eq!(said["result"]["instructions"], "ask elsewhere", "{revision}");
    }
}

#[test]
fn it_shares_its_place_with_nothing() {
    let server = echo().server().tool(tool("own").handler(|| async { "x" }));
    assert!(matches!(server.build(), Err(Error::Misuse(why)) if why.contains("provider")));
    assert!(matches!(echo().server().empty_lists().build(), Err(Error::Misuse(_))));
}

#[tokio::test]
async fn arguments_come_as_they_were_written() {
    for revision in ALL {
        let mut peer = Spoken::to(echo().server(), revision, json!({})).await;
        assert_eq!(text_of(&peer.ask("tools/call", json!({ "name": "x" })).await), "x none");
        let answer = peer.call("x", json!({ "b": 1, "a": [true] })).await;
        let (_, arguments) = text_of(&answer).split_once(' ').expect("arguments");
        assert_eq!(serde_json::from_str::<Value>(arguments).expect("JSON"), json!({ "b": 1, "a": [true] }));
    }
    let mut peer = Spoken::to(echo().server(), LEGACY[3], json!({})).await;
    let line =
        r#"{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"x","arguments":{"n":1.0e2}}}"#;
    peer.send_line(line).await.expect("is sent");
    let answer = peer.response(&json!("raw")).await.expect("an answer");
    assert_eq!(text_of(&answer), r#"x {"n":1.0e2}"#);
}

fn listed() -> ListToolsResult {
    let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
    let tools = serde_json::from_value(json!([tool("open"), tool("secret")])).expect("tools");
    ListToolsResult { tools, ..ListToolsResult::default() }
}

/// Lists two tools in the words of the client, and calls any.
fn encoding() -> Elsewhere {
    Elsewhere::new(|Operation { context, request }: Operation| async move {
        match request {
            Request::ListTools(_) => {
                let mut list = listed();
                contexture::revision::Lower::lower(&mut list, context.revision().rules());
                let text = serde_json::to_vec(&list).expect("JSON");
                Ok(Reply::Encoded(Arc::from(text)))
            }
            _ => Ok(Reply::Forwarded {
                result: br#"{"content":[{"type":"text","text":"called"}]}"#.as_slice().into(),
                from: contexture::revision::Revision::NEWEST_LEGACY,
            }),
        }
    })
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn lists_may_be_encoded_beforehand() {
    for revision in ALL {
        let mut peer = Spoken::to(encoding().server(), revision, json!({})).await;
        let answer = peer.ask("tools/list", json!({})).await;
        assert_eq!(names(&answer), ["open", "secret"]);
        let server = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server.is_object(), revision == MODERN, "{answer}");
    }
}

#[tokio::test]
async fn layers_see_what_is_encoded_and_what_is_forwarded() {
    for revision in ALL {
        let server = encoding()
            .server()
            .layer(authorize(|_, access| access != Access::Tool("secret")))
            .layer(contexture::server::layers::filter_output(|_, reply| {
                if let Reply::Tool(result) = reply {
                    *result = CallToolResult::text("filtered");
                }
            }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        assert_eq!(names(&peer.ask("tools/list", json!({})).await), ["open"], "{revision}");
        assert_eq!(text_of(&peer.call("open", json!({})).await), "filtered", "{revision}");
        assert_eq!(peer.refused("tools/call", json!({ "name": "secret" })).await, -32602);
    }
}

#[tokio::test]
async fn changes_are_told_as_far_as_they_are_declared() {
    for revision in ALL {
        for announced in [true, false] {
            let mut declared = everything();
            declared["prompts"] = json!({ "listChanged": announced });
            let server = echo().declaring(declared).server().build().expect("a server");
            let mut peer = Spoken::to_built(&server, revision, json!({})).await;
            if peer.is_modern() {
                let filter = json!({ "toolsListChanged": true, "promptsListChanged": true,
                    "resourcesListChanged": true });
                peer.begin("subscriptions/listen", json!({ "notifications": filter })).await;
                let heard = peer.receive().await.expect("an acknowledgement");
                let honoured = &heard["params"]["notifications"]["promptsListChanged"];
                assert_eq!(*honoured == json!(true), announced, "{heard}");
            }
            peer.settle().await.expect("it has read all this");
            server.registry().tools_changed();
            server.registry().prompts_changed();
            server.registry().resources_changed();
            for (method, expected) in [("tools", true), ("prompts", announced), ("resources", true)] {
                let method = format!("notifications/{method}/list_changed");
                if expected {
                    let heard = peer.expect(&method).await.expect("is told");
                    assert_eq!(heard["method"], *method);
                }
            }
            assert!(peer.heard("notifications/prompts/list_changed").await.is_empty(), "{revision}");
        }
    }
}

#[tokio::test]
async fn a_stream_watches_no_more_than_a_policy_allows() {
    let mut policy = contexture::Policy::default();
    policy.subscriptions = 2;
    let provider = echo();
    let watched = provider.watched();
    let mut peer = Spoken::to(provider.server().policy(policy), MODERN, json!({})).await;
    let filter = json!({ "resourceSubscriptions": ["a:1", "a:2", "a:3"] });
    assert_eq!(peer.refused("subscriptions/listen", json!({ "notifications": filter })).await, -32602);
    assert_eq!(watched.count("local", "a:1"), 0, "nothing is watched for what was refused");
}

async fn watch(peer: &mut Spoken, uri: &str) -> Value {
    if peer.is_modern() {
        let filter = json!({ "resourceSubscriptions": [uri] });
        let id = peer.begin("subscriptions/listen", json!({ "notifications": filter })).await;
        let heard = peer.receive().await.expect("an acknowledgement");
        assert_eq!(heard["params"]["notifications"]["resourceSubscriptions"], json!([uri]));
        return id;
    }
    let answer = peer.ask("resources/subscribe", json!({ "uri": uri })).await;
    assert!(answer["result"].is_object(), "{answer}");
    Value::Null
}

async fn stop_watching(peer: &mut Spoken, uri: &str, id: Value) {
    if peer.is_modern() {
        peer.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("is sent");
    } else {
        peer.ask("resources/unsubscribe", json!({ "uri": uri })).await;
    }
}

#[tokio::test]
async fn whoever_stops_to_watch_is_known_to_stop() {
    for revision in ALL {
        let provider = echo();
        let watched = provider.watched();
        let server = provider.server().build().expect("a server");
        let mut peer = Spoken::to_built(&server, revision, json!({})).await;
        let id = watch(&mut peer, "note://1").await;
        watch(&mut peer, "note://2").await;
        assert_eq!(watched.count("local", "note://1"), 1, "{revision}");
        server.registry().resource_updated("note://1");
        let heard = peer.expect("notifications/resources/updated").await.expect("is told");
        assert_eq!(heard["params"]["uri"], "note://1");
        stop_watching(&mut peer, "note://1", id).await;
        watched.until("local", "note://1", 0).await;
        assert_eq!(watched.count("local", "note://2"), 1, "the other goes on");
        drop(peer);
        watched.until("local", "note://2", 0).await;
    }
}

#[tokio::test]
async fn watching_twice_is_watching_once() {
    for revision in LEGACY {
        let provider = echo();
        let watched = provider.watched();
        let mut peer = Spoken::to(provider.server(), revision, json!({})).await;
        watch(&mut peer, "note://1").await;
        watch(&mut peer, "note://1").await;
        assert_eq!(watched.count("local", "note://1"), 1);
        stop_watching(&mut peer, "note://1", Value::Null).await;
        assert_eq!(watched.count("local", "note://1"), 0, "{revision}");
    }
}

#[tokio::test]
async fn a_server_that_is_let_go_watches_nothing() {
    for revision in ALL {
        let provider = echo();
        let watched = provider.watched();
        let server = provider.server().build().expect("a server");
        let (own, other) = contexture::transport::memory(1 << 20);
        let task = tokio::spawn(async move { server.serve(other).await });
        let mut peer = contexture::testing::RawPeer::over(own);
        if revision == MODERN {
            let filter = json!({ "notifications": { "resourceSubscriptions": ["note://1"] } });
            let params = super::support::with_meta(filter, json!({}));
            peer.start("subscriptions/listen", params).await.expect("is sent");
        } else {
            peer.initialize(revision, json!({})).await.expect("a session");
            peer.request("resources/subscribe", json!({ "uri": "note://1" })).await.expect("an answer");
        }
        watched.until("local", "note://1", 1).await;
        task.abort();
        watched.until("local", "note://1", 0).await;
    }
}

#[tokio::test]
async fn only_the_principal_that_is_meant_is_told() {
    for revision in ALL {
        let server = echo().server().build().expect("a server");
        let mut peer = Spoken::to_built(&server, revision, json!({})).await;
        watch(&mut peer, "note://1").await;
        let stranger = contexture::Principal::new("issuer", "somebody");
        server.registry().resource_updated_for(&stranger, "note://1");
        assert!(peer.heard("notifications/resources/updated").await.is_empty(), "{revision}");
        server.registry().resource_updated_for(&contexture::Principal::local(), "note://1");
        assert!(peer.expect("notifications/resources/updated").await.is_ok(), "{revision}");
    }
}
