//! Providers of models: exactly what they are sent, and what becomes of what they say.

#[path = "sampling/anthropic.rs"]
mod anthropic;
#[path = "sampling/failures.rs"]
mod failures;
#[path = "sampling/openai.rs"]
mod openai;
#[path = "sampling/scripted.rs"]
mod scripted;

use contexture::model::{
    Content, CreateMessageParams, ImageContent, SamplingContent, SamplingMessage, Tool, ToolChoice,
    ToolChoiceMode, ToolResultContent, ToolUseContent,
};
use contexture_host::sampling::{Models, SamplingConfig};
use serde_json::{Value, json};

fn models(config: Value) -> Models {
    let config: SamplingConfig = serde_json::from_value(config).expect("a configuration");
    Models::new(&config).expect("models")
}

/// One provider with one model.
fn one(kind: &str, url: &str) -> Value {
    json!({ "providers": { "p": { "kind": kind, "url": url } }, "models": [{ "name": "model-1", "provider": "p" }] })
}

fn question() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user("Why?")], 50)
}

fn picture() -> SamplingContent {
    let Content::Image(image) = Content::image(b"png", "image/png") else { panic!("a picture") };
    let ImageContent { data, mime_type, .. } = image;
    SamplingContent::Image(ImageContent::new(data, mime_type))
}

fn tool_use() -> SamplingContent {
    let input = json!({ "city": "Rome" }).as_object().expect("an object").clone();
    SamplingContent::ToolUse(ToolUseContent {
        id: "call-1".into(),
        name: "weather".into(),
        input,
        meta: None,
    })
}

fn tool_result(content: Vec<Content>, is_error: Option<bool>) -> SamplingContent {
    SamplingContent::ToolResult(ToolResultContent {
        tool_use_id: "call-1".into(),
        content,
        structured_content: None,
        is_error,
        meta: None,
    })
}

/// A question with everything that a question can have.
fn everything() -> CreateMessageParams {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tool =
        Tool::new("weather", schema.as_object().expect("an object").clone()).description("The weather.");
    let messages = vec![
        SamplingMessage::user(vec![SamplingContent::text("What is this?"), picture()]),
        SamplingMessage::assistant(vec![SamplingContent::text("Let me see."), tool_use()]),
        SamplingMessage::user(vec![
            tool_result(vec![Content::text("sunny"), Content::text("warm")], Some(true)),
            SamplingContent::text("And?"),
        ]),
    ];
    CreateMessageParams::new(messages, 50)
        .system_prompt("Be brief.")
        .temperature(0.5)
        .stop_sequences(vec!["END".to_owned()])
        .metadata(json!({ "user": "ada" }).as_object().expect("an object").clone())
        .tools(vec![tool])
        .tool_choice(ToolChoice { mode: Some(ToolChoiceMode::Required) })
}
