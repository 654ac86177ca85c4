//! Layers: they see every operation of every revision alike, and nothing gets past them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::model::{CallToolResult, Content, ErrorObject};
use contexture::server::Reply;
use contexture::server::layers::{Access, around, authorize, filter_output, rate_limit, timeout};
use contexture::{Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken, text_of};
use super::support::MODERN;

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool(tool("open").handler(|| async { "open" }))
        .tool(tool("secret").handler(|| async { "secret" }))
        .tool(tool("forever").handler(std::future::pending::<&str>))
        .prompt(prompt("open").handler(|| async { "x" }))
        .prompt(prompt("secret").handler(|| async { "x" }))
        .resource(resource("note://open").name("open").text("x"))
        .resource(resource("note://secret").name("secret").text("x"))
        .resource(resource("note://open/{n}").name("open").handler(|| async { "x" }))
        .resource(resource("note://secret/{n}").name("secret").handler(|| async { "x" }))
}

fn names(response: &Value, key: &str) -> Vec<String> {
    let items = response["result"][key].as_array().unwrap_or_else(|| panic!("no list: {response}"));
    items.iter().map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn what_is_forbidden_looks_as_if_it_were_not_there() {
    for revision in ALL {
        let server = server().layer(authorize(|_, access| {
            let (Access::Tool(name) | Access::Prompt(name) | Access::Resource(name)) = access else {
                return false;
            };
            !name.contains("secret")
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        for (list, key) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            assert_eq!(names(&peer.ask(list, json!({})).await, key), ["open"]);
        }
        assert_eq!(names(&peer.ask("tools/list", json!({})).await, "tools"), ["open", "forever"]);
        for (method, key, hidden, unknown, allowed) in [
            ("tools/call", "name", "secret", "nothing", "open"),
            ("prompts/get", "name", "secret", "nothing", "open"),
            ("resources/read", "uri", "note://secret", "note://nothing", "note://open"),
            ("resources/read", "uri", "note://secret/1", "note://nothing/1", "note://open/1"),
        ] {
            let hidden = peer.refused(method, json!({ key: hidden })).await;
            let unknown = peer.refused(method, json!({ key: unknown })).await;
            assert_eq!(hidden, unknown, "{method}");
            let answer = peer.ask(method, json!({ key: allowed })).await;
            assert!(answer["result"].is_object(), "{answer}");
        }
        if revision != MODERN {
            let subscribe = "resources/subscribe";
            assert_eq!(peer.refused(subscribe, json!({ "uri": "note://secret" })).await, -32002);
            assert!(peer.ask(subscribe, json!({ "uri": "note://open" })).await["result"].is_object());
        }
    }
}

#[tokio::test]
async fn replies_can_be_changed_before_they_leave() {
    for revision in ALL {
        let server = server().layer(filter_output(|context, reply| {
            assert_eq!(context.principal().subject(), "local");
            match reply {
                Reply::Tool(result) => {
                    if result.content.iter().any(|block| block.as_text() == Some("secret")) {
                        *result = CallToolResult::new(vec![Content::text("[removed]")]);
                    }
                }
                Reply::Tools(list) => list.tools.truncate(1),
                _ => {}
            }
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        assert_eq!(text_of(&peer.call("secret", json!({})).await), "[removed]");
        assert_eq!(text_of(&peer.call("open", json!({})).await), "open");
        assert_eq!(names(&peer.ask("tools/list", json!({})).await, "tools"), ["open"]);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_have_a_rate_and_lists_have_none() {
    for revision in ALL {
        let server = server().layer(rate_limit(2)).build().expect("a server");
        let mut one = Spoken::to_built(&server, revision, json!({})).await;
        let mut other = Spoken::to_built(&server, revision, json!({})).await;
        assert!(one.call("open", json!({})).await["result"].is_object());
        assert!(other.call("open", json!({})).await["result"].is_object());
        let refused = one.call("open", json!({})).await;
        assert_eq!(refused["error"]["code"], contexture::engine::BUSY, "one principal, two connections");
        assert!(one.ask("tools/list", json!({})).await["result"].is_object());
        tokio::time::advance(Duration::from_millis(500)).await;
        assert!(one.call("open", json!({})).await["result"].is_object(), "half a second later, one more");
        assert!(one.call("open", json!({})).await["error"].is_object());
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_ended() {
    for revision in ALL {
        let mut peer = Spoken::to(server().layer(timeout(Duration::from_secs(3))), revision, json!({})).await;
        let began = tokio::time::Instant::now();
        let answer = peer.call("forever", json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(began.elapsed().as_secs(), 3);
        assert_eq!(text_of(&peer.call("open", json!({})).await), "open");
    }
}

#[tokio::test]
async fn the_layer_that_was_added_last_sees_operations_first() {
    for revision in ALL {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let noting = |name: &'static str| {
            let seen = Arc::clone(&seen);
            around(move |operation, next| {
                let seen = Arc::clone(&seen);
                async move {
                    let note = |text: String| seen.lock().expect("not poisoned").push(text);
                    note(format!("{name} in {}", operation.context.revision()));
                    let reply = next.call(operation).await;
                    note(format!("{name} out"));
                    reply
                }
            })
        };
        let server = server().layer(noting("inner")).layer(noting("outer"));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        seen.lock().expect("not poisoned").clear();
        assert_eq!(text_of(&peer.call("open", json!({})).await), "open");
        let expected = [
            format!("outer in {revision}"),
            format!("inner in {revision}"),
            "inner out".into(),
            "outer out".into(),
        ];
        assert_eq!(*seen.lock().expect("not poisoned"), expected);
    }
}

#[tokio::test]
async fn a_layer_may_answer_by_itself() {
    for revision in ALL {
        let server = server().layer(around(|operation, next| async move {
            if operation.context.peer().info.as_ref().is_some_and(|info| info.name == "raw") {
                return Err(ErrorObject::new(-31000, "closed for today"));
            }
            next.call(operation).await
        }));
        let built = server.build().expect("a server");
        let mut peer = super::support::Peer::of_built(&built);
        let params = json!({ "name": "open", "arguments": {} });
        let answer = if revision == MODERN {
            peer.modern("tools/call", params, json!({})).await
        } else {
            peer.initialize(revision, json!({})).await.expect("a session");
            peer.request("tools/call", params).await.expect("a response")
        };
        assert_eq!(answer["error"], json!({ "code": -31000, "message": "closed for today" }));
    }
}
