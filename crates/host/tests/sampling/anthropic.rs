//! Anthropic's messages.

use contexture::model::{Content, CreateMessageParams, OneOrMany, SamplingContent, SamplingMessage, code};
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::{everything, models, one, question, tool_result, tool_use};

fn says(content: Value, reason: &str) -> Value {
    json!({ "id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
        "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

#[tokio::test]
async fn a_question_is_put_in_its_words() {
    let server = Scripted::saying(says(json!([{ "type": "text", "text": "Because." }]), "end_turn")).await;
    let result = models(one("anthropic", &server.url)).create(question()).await.expect("an answer");
    let heard = server.only();
    assert_eq!(heard.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(heard.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!((heard.header("x-api-key"), heard.header("authorization")), (None, None));
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": "Why?" }] });
    assert_eq!(heard.body, json!({ "model": "model-1", "max_tokens": 50, "messages": [message] }));
    assert_eq!(result.model, "claude-x");
    assert_eq!(result.content, OneOrMany::One(SamplingContent::text("Because.")));
    assert_eq!(result.stop_reason.as_deref(), Some("endTurn"));
}

#[tokio::test]
async fn everything_that_a_question_can_have_arrives() {
    let server = Scripted::saying(says(json!([]), "end_turn")).await;
    models(one("anthropic", &server.url)).create(everything()).await.expect("an answer");
    let wanted = json!({
        "model": "model-1", "max_tokens": 50, "system": "Be brief.", "temperature": 0.5, "stop_sequences": ["END"],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } } ] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Let me see." },
                { "type": "tool_use", "id": "call-1", "name": "weather", "input": { "city": "Rome" } } ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call-1", "is_error": true, "content": [
                    { "type": "text", "text": "sunny" }, { "type": "text", "text": "warm" } ] },
                { "type": "text", "text": "And?" } ] },
        ],
        "tools": [{ "name": "weather", "description": "The weather.",
            "input_schema": { "type": "object", "properties": { "city": { "type": "string" } } } }],
        "tool_choice": { "type": "any" },
    });
    assert_eq!(server.only().body, wanted);
}

#[tokio::test]
async fn its_answers_are_told_in_ours() {
    let call = json!({ "type": "tool_use", "id": "call-1", "name": "weather", "input": { "city": "Rome" } });
    let words = json!({ "type": "text", "text": "Hm." });
    let thought = json!({ "type": "thinking", "thinking": "secret", "signature": "x" });
    let text = |text: &str| OneOrMany::One(SamplingContent::text(text));
    let cases = [
        (json!([words]), "max_tokens", text("Hm."), "maxTokens"),
        (json!([words]), "stop_sequence", text("Hm."), "stopSequence"),
        (json!([call]), "tool_use", OneOrMany::One(tool_use()), "toolUse"),
        (
            json!([words, call]),
            "tool_use",
            OneOrMany::Many(vec![SamplingContent::text("Hm."), tool_use()]),
            "toolUse",
        ),
        (json!([thought, words]), "end_turn", text("Hm."), "endTurn"),
        (json!([]), "refusal", text(""), "refusal"),
    ];
    for (content, said, wanted, reason) in cases {
        let server = Scripted::saying(says(content.clone(), said)).await;
        let result = models(one("anthropic", &server.url)).create(question()).await.expect("an answer");
        assert_eq!((result.content, result.stop_reason.as_deref()), (wanted, Some(reason)), "{content}");
    }
}

#[tokio::test]
async fn what_it_does_not_take_is_refused_before_it_is_asked() {
    let server = Scripted::saying(says(json!([]), "end_turn")).await;
    let models = models(one("anthropic", &server.url));
    let audio: SamplingContent =
        serde_json::from_value(json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }))
            .expect("audio");
    for content in [audio, tool_result(vec![Content::audio(b"x", "audio/wav")], None)] {
        let message = SamplingMessage::user(content);
        let refused = models.create(CreateMessageParams::new(vec![message], 1)).await.expect_err("refused");
        assert_eq!(refused.code, code::INVALID_PARAMS);
        assert!(refused.message.contains("audio"), "{refused}");
    }
    assert!(server.heard().is_empty());
}
