//! Chat completions.

use contexture::model::{CreateMessageParams, OneOrMany, SamplingContent, SamplingMessage, code};
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::{everything, models, one, picture, question, tool_use};

fn says(message: Value, reason: &str) -> Value {
    json!({ "id": "c", "model": "model-1-2026", "choices": [{ "index": 0, "message": message, "finish_reason": reason }] })
}

// covers: SAMP-SYSTEM-PROMPT
#[tokio::test]
async fn a_question_is_put_in_its_words() {
    let server = Scripted::saying(says(json!({ "role": "assistant", "content": "Because." }), "stop")).await;
    let result = models(one("openai", &server.url)).create(question()).await.expect("an answer");
    let heard = server.only();
    assert_eq!(heard.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(heard.header("content-type"), Some("application/json"));
    assert_eq!(heard.header("authorization"), None, "no key, no header");
    let wanted =
        json!({ "model": "model-1", "messages": [{ "role": "user", "content": "Why?" }], "max_tokens": 50 });
    assert_eq!(heard.body, wanted);
    assert_eq!(result.model, "model-1-2026");
    assert_eq!(result.content, OneOrMany::One(SamplingContent::text("Because.")));
    assert_eq!(result.stop_reason.as_deref(), Some("endTurn"));
}

#[tokio::test]
async fn everything_that_a_question_can_have_arrives() {
    let server = Scripted::saying(says(json!({ "content": "x" }), "stop")).await;
    models(one("openai", &server.url)).create(everything()).await.expect("an answer");
    let wanted = json!({
        "model": "model-1",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } } ] },
            { "role": "assistant", "content": "Let me see.", "tool_calls": [
                { "id": "call-1", "type": "function", "function": { "name": "weather", "arguments": "{\"city\":\"Rome\"}" } } ] },
            { "role": "tool", "tool_call_id": "call-1", "content": "sunny\nwarm" },
            { "role": "user", "content": "And?" },
        ],
        "max_tokens": 50, "temperature": 0.5, "stop": ["END"],
        "tools": [{ "type": "function", "function": { "name": "weather", "description": "The weather.",
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } } }],
        "tool_choice": "required",
    });
    assert_eq!(server.only().body, wanted);
}

#[tokio::test]
async fn endpoints_that_want_another_word_for_the_length_get_it() {
    let server = Scripted::saying(says(json!({ "content": "x" }), "stop")).await;
    let mut config = one("openai", &format!("{}/", server.url));
    config["providers"]["p"]["maxCompletionTokens"] = true.into();
    models(config).create(question()).await.expect("an answer");
    let heard = server.only();
    assert_eq!((&heard.body["max_completion_tokens"], heard.body.get("max_tokens")), (&json!(50), None));
    assert!(heard.line.contains(" /v1/chat/completions "), "{}", heard.line);
}

#[tokio::test]
async fn its_answers_are_told_in_ours() {
    let call = json!({ "id": "call-1", "type": "function", "function": { "name": "weather", "arguments": "{\"city\":\"Rome\"}" } });
    let text = |text: &str| OneOrMany::One(SamplingContent::text(text));
    let cases = [
        (says(json!({ "content": "cut" }), "length"), text("cut"), "maxTokens"),
        (
            says(json!({ "content": null, "tool_calls": [call] }), "tool_calls"),
            OneOrMany::One(tool_use()),
            "toolUse",
        ),
        (
            says(json!({ "content": "Wait.", "tool_calls": [call] }), "tool_calls"),
            OneOrMany::Many(vec![SamplingContent::text("Wait."), tool_use()]),
            "toolUse",
        ),
        (says(json!({ "content": null, "refusal": "I will not." }), "stop"), text("I will not."), "endTurn"),
        (says(json!({ "content": "" }), "content_filter"), text(""), "content_filter"),
    ];
    for (said, content, reason) in cases {
        let server = Scripted::saying(said.clone()).await;
        let result = models(one("openai", &server.url)).create(question()).await.expect("an answer");
        assert_eq!((result.content, result.stop_reason.as_deref()), (content, Some(reason)), "{said}");
    }
}

// covers: SAMP-VALIDATE
#[tokio::test]
async fn what_it_does_not_take_is_refused_before_it_is_asked() {
    let server = Scripted::saying(says(json!({ "content": "x" }), "stop")).await;
    let models = models(one("openai", &server.url));
    let audio: SamplingContent =
        serde_json::from_value(json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }))
            .expect("audio");
    for (message, word) in [
        (SamplingMessage::user(audio), "audio"),
        (SamplingMessage::assistant(picture()), "pictures"),
        (SamplingMessage::user(tool_use()), "only the model"),
    ] {
        let refused = models.create(CreateMessageParams::new(vec![message], 1)).await.expect_err("refused");
        assert_eq!(refused.code, code::INVALID_PARAMS);
        assert!(refused.message.contains(word), "{refused}");
    }
    assert!(server.heard().is_empty());
}
