//! Code of the server's author that panics: it ends one exchange, with an answer, and nothing else.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::server::layers::around;
use contexture::server::{Call, Completing, FromCall, Operation, Rejection, Request, Session};
use contexture::{Context, Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::support::{EVERY, LEGACY, MODERN, Peer, with_meta};

/// A parameter that cannot be taken.
struct Explosive;

impl FromCall for Explosive {
    fn from_call(_call: &Call<'_>) -> Result<Self, Rejection> {
        panic!("in an extractor")
    }
}

/// Panics when it is let go.
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        assert!(!black_box(true), "while dropping");
    }
}

fn server() -> Server {
    Server::new("fragile", "1")
        .tool(tool("early").handler(|| {
            assert!(!black_box(true), "before the future");
            async { "never" }
        }))
        .tool(tool("extractor").handler(|_: Explosive| async { "never" }))
        .tool(tool("late").handler(|| async {
            tokio::task::yield_now().await;
            assert!(!black_box(true), "within the future");
            "never"
        }))
        .tool(tool("brittle").handler(|context: Context| async move {
            let _brittle = Brittle;
            context.progress(1.0, None);
            std::future::pending::<()>().await;
            "never"
        }))
        .tool(tool("fine").handler(|| async { "fine" }))
        .prompt(prompt("early").handler(|_: Explosive| async { "never" }))
        .resource(resource("mem://early").handler(|_: Explosive| async { "never" }))
}

async fn is_well(peer: &mut Peer, revision: &str) {
    let answer = peer.call("tools/call", json!({ "name": "fine" })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "fine", "{revision}: the connection lives");
}

#[tokio::test]
async fn a_panic_of_a_handler_ends_one_exchange() {
    let calls = [
        ("tools/call", json!({ "name": "early" })),
        ("tools/call", json!({ "name": "extractor" })),
        ("tools/call", json!({ "name": "late" })),
        ("prompts/get", json!({ "name": "early" })),
        ("resources/read", json!({ "uri": "mem://early" })),
    ];
    for rehearse in [false, true] {
        for revision in EVERY {
            let server = if rehearse { server().rehearse() } else { server() };
            let mut peer = Peer::speaking(server, revision, json!({})).await;
            for (method, params) in calls.clone() {
                let answer = peer.call(method, params.clone()).await;
                assert_eq!(answer["error"]["code"], -32603, "{revision} {params} {answer}");
            }
            is_well(&mut peer, revision).await;
        }
    }
}

#[tokio::test]
async fn a_panic_of_a_layer_ends_one_exchange() {
    for revision in EVERY {
        let server = server().layer(around(|operation: Operation, next| {
            let explodes = matches!(&operation.request, Request::CallTool { name, .. } if name == "early");
            assert!(!explodes, "in a layer");
            next.call(operation)
        }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let answer = peer.call("tools/call", json!({ "name": "early" })).await;
        assert_eq!(answer["error"]["code"], -32603, "{revision} {answer}");
        is_well(&mut peer, revision).await;
    }
}

#[tokio::test]
async fn a_panic_of_a_completer_ends_one_exchange() {
    let explode = |_: Completing| {
        assert!(!black_box(true), "in a completer");
        async { Ok::<_, contexture::Error>(Vec::<String>::new()) }
    };
    let poem = prompt("poem")
        .argument(contexture::model::PromptArgument::new("style"))
        .handler(|| async { "a poem" });
    let server = server().prompt(poem).complete_prompt("poem", "style", explode);
    let mut peer = Peer::session(server, "2025-11-25", json!({})).await;
    let asked = json!({
        "ref": { "type": "ref/prompt", "name": "poem" },
        "argument": { "name": "style", "value": "s" },
    });
    let answer = peer.call("completion/complete", asked).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    is_well(&mut peer, "2025-11-25").await;
}

#[tokio::test]
async fn a_panic_of_a_hook_ends_the_hook() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    for revision in LEGACY {
        let counted = Arc::clone(&counted);
        let server = server()
            .on_initialized(|_: Session| {
                assert!(!black_box(true), "before the future of a hook");
                async {}
            })
            .on_roots_changed(move |_: Session| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { panic!("within the future of a hook") }
            });
        let mut peer = Peer::speaking(server, revision, json!({ "roots": { "listChanged": true } })).await;
        for _ in 0..2 {
            peer.notify("notifications/roots/list_changed", json!({})).await.expect("sent");
            is_well(&mut peer, revision).await;
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 2 * LEGACY.len(), "the next hook runs all the same");
}

#[tokio::test]
async fn a_panic_while_a_cancelled_handler_is_dropped_ends_nothing_else() {
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let mut params = json!({ "name": "brittle", "_meta": { "progressToken": 1 } });
        if revision == MODERN {
            params = with_meta(params, json!({}));
        }
        let id = peer.start("tools/call", params).await.expect("sent");
        peer.expect("notifications/progress").await.expect("at work");
        peer.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("sent");
        is_well(&mut peer, revision).await;
        let unanswered = peer.settle().await.expect("ready");
        assert_eq!(unanswered, Vec::<Value>::new(), "{revision}");
    }
}
