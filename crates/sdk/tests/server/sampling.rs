//! Sampling, seen from the server: what is sent in each revision, and what is made of the answer.

use contexture::model::{
    AudioContent, Blob, CreateMessageParams, ModelPreferences, OneOrMany, SamplingContent, SamplingMessage,
    Tool,
};
use contexture::{Context, Error, Server, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

fn outcome(answer: Result<contexture::model::CreateMessageResult, Error>) -> String {
    match answer {
        Ok(answer) => format!("{}: {:?}", answer.model, answer.stop_reason),
        Err(Error::Remote(error)) => format!("refused: {} {}", error.code, error.message),
        Err(Error::PeerMisbehaved(_)) => "misbehaved".into(),
        Err(other) => other.to_string(),
    }
}

fn question() -> CreateMessageParams {
    let text = SamplingContent::text("my PIN is 1234");
    let audio = SamplingContent::Audio(AudioContent::new(Blob::encode(b"la"), "audio/wav"));
    let preferences = ModelPreferences::new().hint("small").speed_priority(0.9).expect("within 0 and 1");
    CreateMessageParams::new(vec![SamplingMessage::user(OneOrMany::Many(vec![text, audio]))], 100)
        .system_prompt("Be brief.")
        .model_preferences(preferences)
        .temperature(0.5)
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool(
            tool("sample").handler(|ctx: Context| async move { outcome(ctx.sample("q", question()).await) }),
        )
        .tool(tool("agent").handler(|ctx: Context| async move {
            let schema = json!({ "type": "object" }).as_object().cloned().expect("an object");
            outcome(ctx.sample("q", question().tools(vec![Tool::new("add", schema)])).await)
        }))
}

async fn asked(peer: &mut Spoken, name: &str) -> (Value, Value) {
    let id = peer.begin("tools/call", json!({ "name": name, "arguments": {} })).await;
    let question = peer.expect("sampling/createMessage").await.expect("a question");
    (id, question)
}

fn answer() -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m", "stopReason": "odd" })
}

// covers: SCHEMA-SAMPLING-REQUEST, SCHEMA-SAMPLING-CONTENT
#[tokio::test]
async fn a_question_is_put_in_the_words_of_the_revision() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "sampling": {} })).await;
        let (id, question) = asked(&mut peer, "sample").await;
        let params = &question["params"];
        assert_eq!(params["maxTokens"], 100);
        assert_eq!(params["systemPrompt"], "Be brief.");
        assert_eq!(
            params["modelPreferences"],
            json!({ "hints": [{ "name": "small" }], "speedPriority": 0.9 })
        );
        let messages = params["messages"].as_array().expect("messages");
        if revision == "2025-11-25" {
            assert_eq!(messages[0]["content"][1]["type"], "audio");
        } else {
            let second = if revision == LEGACY[0] { "text" } else { "audio" };
            assert_eq!(messages[0]["content"]["type"], "text");
            assert_eq!(messages[1]["content"]["type"], second, "one block to a message");
        }
        peer.answer(&question, answer()).await.expect("is sent");
        let response = peer.response(&id).await.expect("a response");
        assert_eq!(text_of(&response), r#"m: Some("odd")"#);
    }
    let mut peer = Spoken::to(server(), MODERN, json!({ "sampling": {} })).await;
    let mut params = json!({ "name": "sample", "arguments": {} });
    let round = peer.ask("tools/call", params.clone()).await;
    assert_eq!(round["result"]["inputRequests"]["q"]["params"]["maxTokens"], 100);
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "q": answer() });
    assert_eq!(text_of(&peer.ask("tools/call", params).await), r#"m: Some("odd")"#);
}

#[tokio::test]
async fn a_refusal_reaches_the_handler() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "sampling": {} })).await;
        let (id, question) = asked(&mut peer, "sample").await;
        let error = json!({ "code": -1, "message": "User rejected sampling request" });
        peer.send(json!({ "jsonrpc": "2.0", "id": question["id"], "error": error })).await.expect("is sent");
        let response = peer.response(&id).await.expect("a response");
        assert_eq!(text_of(&response), "refused: -1 User rejected sampling request");
    }
}

// covers: SAMP-VALIDATE, SCHEMA-ROLE
#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "sampling": {} })).await;
        for wrong in [
            json!({}),
            json!({ "content": { "type": "text", "text": "hi" }, "model": "m" }),
            json!({ "role": "system", "content": { "type": "text", "text": "hi" }, "model": "m" }),
            json!({ "role": "assistant", "content": { "type": "smell", "text": "hi" }, "model": "m" }),
            json!({ "role": "assistant", "content": { "type": "text" }, "model": "m" }),
            json!({ "role": "assistant", "content": { "type": "image", "data": "%%%", "mimeType": "image/png" }, "model": "m" }),
            json!({ "role": "assistant", "content": { "type": "text", "text": "hi" } }),
        ] {
            let (id, question) = asked(&mut peer, "sample").await;
            peer.answer(&question, wrong.clone()).await.expect("is sent");
            assert_eq!(text_of(&peer.response(&id).await.expect("a response")), "misbehaved", "{wrong}");
        }
        let (id, question) = asked(&mut peer, "sample").await;
        peer.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": null })).await.expect("is sent");
        assert_eq!(text_of(&peer.response(&id).await.expect("a response")), "misbehaved");
        assert!(peer.ask("tools/list", json!({})).await["result"].is_object(), "the session goes on");
    }
}

// covers: SAMP-CAP-DECLARE
#[tokio::test]
async fn who_has_no_model_is_not_asked() {
    for revision in ALL {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        let answer = peer.call("sample", json!({})).await;
        assert_eq!(text_of(&answer), "the client does not support sampling");
        let mut simple = Spoken::to(server(), revision, json!({ "sampling": {} })).await;
        let answer = simple.call("agent", json!({})).await;
        assert_eq!(text_of(&answer), "the client does not support sampling with tools");
        for peer in [&mut peer, &mut simple] {
            assert!(peer.heard("sampling/createMessage").await.is_empty());
        }
    }
    let mut able = Spoken::to(server(), "2025-11-25", json!({ "sampling": { "tools": {} } })).await;
    let (_, question) = asked(&mut able, "agent").await;
    assert_eq!(question["params"]["tools"][0]["name"], "add");
}

#[tokio::test]
async fn a_session_keeps_its_tools_from_those_who_cannot_use_them() {
    for (declared, can) in
        [(json!({ "sampling": {} }), false), (json!({ "sampling": { "tools": {} } }), true)]
    {
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let server = server().on_initialized(move |session| {
            let told = told.clone();
            async move {
                let schema = json!({ "type": "object" }).as_object().cloned().expect("an object");
                let asked = session.sample(question().tools(vec![Tool::new("add", schema)])).await;
                told.send(asked.is_ok()).expect("is told");
            }
        });
        let mut peer = Spoken::to(server, "2025-11-25", declared).await;
        if can {
            let question = peer.expect("sampling/createMessage").await.expect("a question");
            peer.answer(&question, answer()).await.expect("is sent");
        }
        assert_eq!(tells.recv().await, Some(can));
        assert!(peer.heard("sampling/createMessage").await.is_empty());
    }
}

// covers: SAMP-SENSITIVE
#[tokio::test]
async fn conversations_are_not_logged() {
    let events = contexture_judge::Events::on_this_thread();
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "sampling": {} })).await;
        let (id, question) = asked(&mut peer, "sample").await;
        assert!(question.to_string().contains("1234"), "the control");
        peer.answer(&question, json!({ "role": "1234" })).await.expect("is sent");
        peer.response(&id).await.expect("a response");
    }
    assert!(events.containing("1234").is_empty(), "{:?}", events.containing("1234"));
}
