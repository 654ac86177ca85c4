//! Prompts: what is declared, what is refused before a handler runs, and what a message may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contexture::model::{Content, ErrorObject, PromptMessage, ResourceContents};
use contexture::server::layers::{around, filter_output};
use contexture::server::{Reply, Request};
use contexture::{Args, Server, prompt};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken};
use super::support::LEGACY;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// What to look at.
    code: String,
    times: Option<u8>,
}

/// Counts how often its prompt is made.
fn server(made: &Arc<AtomicUsize>) -> Server {
    let made = Arc::clone(made);
    let review =
        prompt("review").description("Asks for a review").handler(move |Args(review): Args<Review>| {
            made.fetch_add(1, Ordering::SeqCst);
            async move { format!("{} ×{}", review.code, review.times.unwrap_or(1)) }
        });
    Server::new("test", "1.0.0").prompt(review)
}

fn saying(messages: impl Fn() -> Vec<PromptMessage> + Send + Sync + 'static) -> Server {
    let all = prompt("all").handler(move || {
        let messages = messages();
        async move { messages }
    });
    Server::new("test", "1.0.0").prompt(all)
}

// covers: PROMPT-CAP-DECLARE
#[tokio::test]
async fn what_is_registered_is_declared() {
    for revision in ALL {
        let mut with = Spoken::to(server(&Arc::default()), revision, json!({})).await;
        assert_eq!(with.declared()["prompts"], json!({ "listChanged": true }));
        let listed = with.ask("prompts/list", json!({})).await;
        assert_eq!(
            listed["result"]["prompts"],
            json!([{ "name": "review", "description": "Asks for a review", "arguments": [
                { "name": "code", "description": "What to look at.", "required": true },
                { "name": "times", "required": false },
            ]}])
        );

        let mut without = Spoken::to(Server::new("test", "1.0.0"), revision, json!({})).await;
        assert_eq!(without.declared()["prompts"], Value::Null);
        assert_eq!(without.refused("prompts/list", json!({})).await, -32601);
        assert_eq!(without.refused("prompts/get", json!({ "name": "review" })).await, -32601);
    }
}

// covers: PROMPT-ERR-NAME, PROMPT-ERR-ARGS, PROMPT-VALIDATE-ARGS, PROMPT-ARG-REQUIRED
#[tokio::test]
async fn wrong_arguments_never_reach_the_handler() {
    for revision in ALL {
        let made = Arc::<AtomicUsize>::default();
        let mut peer = Spoken::to(server(&made), revision, json!({})).await;
        for wrong in [
            json!({ "name": "unknown" }),
            json!({}),
            json!({ "name": "review" }),
            json!({ "name": "review", "arguments": { "times": "1" } }),
            json!({ "name": "review", "arguments": { "code": 7 } }),
            json!({ "name": "review", "arguments": { "code": "x", "other": "y" } }),
            json!({ "name": "review", "arguments": { "code": "x", "times": "often" } }),
            json!({ "name": "review", "arguments": ["x"] }),
        ] {
            assert_eq!(peer.refused("prompts/get", wrong.clone()).await, -32602, "{wrong}");
        }
        assert_eq!(made.load(Ordering::SeqCst), 0);
        let right = json!({ "name": "review", "arguments": { "code": "x", "times": "3" } });
        let answer = peer.ask("prompts/get", right).await;
        assert_eq!(
            answer["result"]["messages"],
            json!([{ "role": "user", "content": { "type": "text", "text": "x ×3" } }])
        );
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }
}

// covers: PROMPT-ERR-INTERNAL
#[tokio::test]
async fn a_prompt_that_fails_is_an_internal_error() {
    let server = || {
        Server::new("test", "1.0.0")
            .prompt(prompt("fails").handler(|| async { Err::<&str, _>("no paper") }))
            .prompt(prompt("panics").handler(|| async {
                if true {
                    panic!("secret");
                }
                ""
            }))
    };
    for revision in ALL {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        assert_eq!(peer.refused("prompts/get", json!({ "name": "fails" })).await, -32603);
        let panicked = peer.ask("prompts/get", json!({ "name": "panics" })).await;
        assert_eq!(panicked["error"]["code"], -32603);
        assert!(!panicked.to_string().contains("secret"), "{panicked}");
        assert!(peer.ask("prompts/list", json!({})).await["result"].is_object(), "the connection lives");
    }
}

// covers: PROMPT-IMAGE-BASE64, PROMPT-IMAGE-MIME, PROMPT-AUDIO-BASE64, PROMPT-AUDIO-MIME
#[tokio::test]
async fn pictures_and_sound_are_encoded_and_typed() {
    let bytes: &[u8] = &[0, 255, 254, 62, 63];
    for revision in ALL {
        let server = saying(move || {
            vec![
                PromptMessage::user(Content::image(bytes, "image/png")),
                PromptMessage::assistant(Content::audio(bytes, "audio/wav")),
            ]
        });
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let answer = peer.ask("prompts/get", json!({ "name": "all" })).await;
        let messages = &answer["result"]["messages"];
        assert_eq!(messages[0]["content"]["mimeType"], "image/png");
        let data = messages[0]["content"]["data"].as_str().expect("text");
        assert_eq!(STANDARD.decode(data).expect("base64"), bytes);
        assert_eq!(messages[1]["role"], "assistant");
        if revision == LEGACY[0] {
            assert_eq!(messages[1]["content"]["type"], "text", "this revision has no sound");
            continue;
        }
        assert_eq!(messages[1]["content"]["mimeType"], "audio/wav");
        let data = messages[1]["content"]["data"].as_str().expect("text");
        assert_eq!(STANDARD.decode(data).expect("base64"), bytes);
    }
}

// covers: PROMPT-IMAGE-MIME, PROMPT-AUDIO-MIME, PROMPT-EMBED-URI, PROMPT-EMBED-MIME
#[tokio::test]
async fn content_that_no_client_could_use_does_not_leave() {
    let unusable: [fn() -> Content; 6] = [
        || Content::image(b"x", ""),
        || Content::image(b"x", "png"),
        || Content::audio(b"x", "audio/"),
        || Content::resource(ResourceContents::text("no uri", "x")),
        || Content::resource(ResourceContents::text("relative/path", "x")),
        || Content::resource(ResourceContents::text("note://1", "x").mime_type("plain text")),
    ];
    for content in unusable {
        let server = saying(move || vec![PromptMessage::user(content())]);
        let mut peer = Spoken::to(server, "2025-06-18", json!({})).await;
        assert_eq!(peer.refused("prompts/get", json!({ "name": "all" })).await, -32603, "{:?}", content());
    }
}

// covers: PROMPT-EMBED-URI, PROMPT-EMBED-MIME, PROMPT-EMBED-CONTENT
#[tokio::test]
async fn embedded_resources_are_complete() {
    for revision in ALL {
        let server = saying(|| {
            vec![
                PromptMessage::user(Content::resource(ResourceContents::text("note://1", "hello"))),
                PromptMessage::user(Content::resource(ResourceContents::blob("note://2", [1, 2]))),
                PromptMessage::user(Content::resource(
                    ResourceContents::text("note://3", "# hi").mime_type("text/markdown"),
                )),
            ]
        });
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let answer = peer.ask("prompts/get", json!({ "name": "all" })).await;
        let resource = |at: usize| answer["result"]["messages"][at]["content"]["resource"].clone();
        assert_eq!(resource(0), json!({ "uri": "note://1", "mimeType": "text/plain", "text": "hello" }));
        assert_eq!(
            resource(1),
            json!({ "uri": "note://2", "mimeType": "application/octet-stream", "blob": "AQI=" })
        );
        assert_eq!(resource(2)["mimeType"], "text/markdown");
    }
}

// covers: PROMPT-NAME-UNIQUE
#[tokio::test]
async fn a_name_belongs_to_one_prompt() {
    let named = |name: &str| prompt(name.to_owned()).handler(|| async { "x" });
    let twice = Server::new("test", "1.0.0").prompt(named("a")).prompt(named("a"));
    assert!(twice.build().is_err());

    let server = Server::new("test", "1.0.0").page_size(2);
    let server = ["a", "b", "c"].into_iter().fold(server, |server, name| server.prompt(named(name)));
    let registry = server.registry();
    assert!(registry.add_prompt(named("b")).is_err());
    let mut peer = Spoken::to(server, "2025-06-18", json!({})).await;
    let first = peer.ask("prompts/list", json!({})).await;
    let second = peer.ask("prompts/list", json!({ "cursor": first["result"]["nextCursor"] })).await;
    let names: Vec<_> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["result"]["prompts"].as_array().expect("a page"))
        .map(|prompt| prompt["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
}

// covers: PROMPT-LIST-CHANGED, PROMPT-RESPECT-CAPS
#[tokio::test]
async fn a_changed_list_is_announced_where_that_was_declared() {
    let later = || prompt("later").handler(|| async { "x" });
    for revision in LEGACY {
        for announces in [true, false] {
            let server = server(&Arc::default());
            let server = if announces { server } else { server.without_list_changed() };
            let registry = server.registry();
            let mut peer = Spoken::to(server, revision, json!({})).await;
            assert_eq!(peer.declared()["prompts"]["listChanged"] == true, announces);
            peer.settle().await.expect("is ready");

            registry.add_prompt(later()).expect("a new name");
            let changed = peer.heard("notifications/prompts/list_changed").await;
            assert_eq!(changed.len(), usize::from(announces), "{changed:?}");
            assert!(registry.remove_prompt("later"));
            let changed = peer.heard("notifications/prompts/list_changed").await;
            assert_eq!(changed.len(), usize::from(announces), "{changed:?}");
            assert!(!registry.remove_prompt("later"));
            assert!(peer.heard("notifications/prompts/list_changed").await.is_empty(), "nothing changed");
        }
    }
}

// covers: PROMPT-RESPECT-CAPS
#[tokio::test]
async fn what_a_session_was_not_told_of_is_not_announced_to_it() {
    for revision in LEGACY {
        let server = Server::new("test", "1.0.0");
        let registry = server.registry();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        peer.settle().await.expect("is ready");
        registry.add_prompt(prompt("later").handler(|| async { "x" })).expect("a new name");
        assert!(peer.heard("notifications/prompts/list_changed").await.is_empty());
    }
}

// covers: PROMPT-SEC-INPUT
#[tokio::test]
async fn arguments_are_inserted_as_they_are() {
    let tricks =
        ["{{code}} ${times}", "%7Bcode%7D", "file:///etc/passwd", "\" } ] \\u0000 \u{202e}", "{times}"];
    for revision in ALL {
        let mut peer = Spoken::to(server(&Arc::default()), revision, json!({})).await;
        for trick in tricks {
            let answer =
                peer.ask("prompts/get", json!({ "name": "review", "arguments": { "code": trick } })).await;
            let content = &answer["result"]["messages"][0]["content"];
            assert_eq!(content, &json!({ "type": "text", "text": format!("{trick} ×1") }));
        }
    }
}

/// The hook for what no schema can say: a layer sees the arguments of every prompt, and the handler only
/// those that it lets through.
// covers: PROMPT-SEC-INPUT
#[tokio::test]
async fn arguments_can_be_refused_before_the_handler_runs() {
    for revision in ALL {
        let made = Arc::<AtomicUsize>::default();
        let checked = server(&made).layer(around(|operation, next| async move {
            let outside = |value: &String| value.contains("..") || value.contains("://");
            match &operation.request {
                Request::GetPrompt { arguments, .. } if arguments.values().any(outside) => {
                    Err(ErrorObject::invalid_params("only files of this project"))
                }
                _ => next.call(operation).await,
            }
        }));
        let mut peer = Spoken::to(checked, revision, json!({})).await;
        for trick in ["../../etc/passwd", "file:///etc/passwd", "src/..\\secret"] {
            let params = json!({ "name": "review", "arguments": { "code": trick } });
            assert_eq!(peer.refused("prompts/get", params).await, -32602, "{revision} {trick}");
        }
        assert_eq!(made.load(Ordering::SeqCst), 0, "{revision}: the handler saw what was refused");
        let params = json!({ "name": "review", "arguments": { "code": "src/lib.rs" } });
        let answer = peer.ask("prompts/get", params).await;
        assert_eq!(answer["result"]["messages"][0]["content"]["text"], "src/lib.rs ×1");
    }
}

// covers: PROMPT-SEC-OUTPUT
#[tokio::test]
async fn a_filter_sees_every_prompt_before_it_leaves() {
    for revision in ALL {
        let server = server(&Arc::default()).layer(filter_output(|_, reply| {
            if let Reply::Prompt(result) = reply {
                result
                    .messages
                    .retain(|message| message.content.as_text().is_none_or(|text| !text.contains("secret")));
            }
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        for (code, left) in [("secret", 0), ("open", 1)] {
            let answer =
                peer.ask("prompts/get", json!({ "name": "review", "arguments": { "code": code } })).await;
            assert_eq!(answer["result"]["messages"].as_array().map(Vec::len), Some(left));
        }
    }
}
