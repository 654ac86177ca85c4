//! Anthropic's messages: a question in its words, and its answer in ours. Pure functions.

use contexture::model::{
    Content, CreateMessageParams, CreateMessageResult, ErrorObject, ImageContent, JsonObject, Role,
    SamplingContent, SamplingMessage, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocks::{result, unsupported, words};

/// The version of the interface that this is written for.
pub(super) const VERSION: &str = "2023-06-01";

/// The body of a request.
pub(super) fn request(model: &str, params: &CreateMessageParams) -> Result<Value, ErrorObject> {
    let messages: Vec<Value> = params.messages.iter().map(message).collect::<Result<_, _>>()?;
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), params.max_tokens.into());
    body.insert("messages".into(), messages.into());
    if let Some(system) = &params.system_prompt {
        body.insert("system".into(), system.as_str().into());
    }
    if let Some(temperature) = params.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(stop) = &params.stop_sequences {
        body.insert("stop_sequences".into(), stop.clone().into());
    }
    if let Some(tools) = &params.tools {
        let tools = tools.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "input_schema": tool.input_schema })
        });
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
    }
    if let Some(mode) = params.tool_choice.as_ref().and_then(|choice| choice.mode) {
        let kind = match mode {
            ToolChoiceMode::Required => "any",
            ToolChoiceMode::None => "none",
            _ => "auto",
        };
        body.insert("tool_choice".into(), json!({ "type": kind }));
    }
    Ok(Value::Object(body))
}

fn message(message: &SamplingMessage) -> Result<Value, ErrorObject> {
    let blocks: Vec<Value> = message.content.as_slice().iter().map(block).collect::<Result<_, _>>()?;
    Ok(json!({ "role": role(message.role), "content": blocks }))
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn block(block: &SamplingContent) -> Result<Value, ErrorObject> {
    Ok(match block {
        SamplingContent::Text(text) => json!({ "type": "text", "text": text.text }),
        SamplingContent::Image(picture) => image(picture),
        SamplingContent::Audio(_) => return Err(unsupported("audio")),
        SamplingContent::ToolUse(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
        }
        SamplingContent::ToolResult(result) => tool_result(result)?,
        _ => return Err(unsupported("content of an unknown kind")),
    })
}

fn image(picture: &ImageContent) -> Value {
    let source = json!({ "type": "base64", "media_type": picture.mime_type, "data": picture.data.as_str() });
    json!({ "type": "image", "source": source })
}

fn tool_result(result: &ToolResultContent) -> Result<Value, ErrorObject> {
    let mut blocks = Vec::new();
    for content in &result.content {
        blocks.push(match content {
            Content::Image(picture) => image(picture),
            other => json!({ "type": "text", "text": words(other)? }),
        });
    }
    if let (true, Some(structured)) = (blocks.is_empty(), &result.structured_content) {
        blocks.push(json!({ "type": "text", "text": structured.to_string() }));
    }
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_use_id, "content": blocks });
    if result.is_error == Some(true) {
        block["is_error"] = true.into();
    }
    Ok(block)
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    model: Option<String>,
    content: Vec<Value>,
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    input: JsonObject,
}

/// What the model said; `asked` is its name if it does not say.
pub(super) fn answer(bytes: &[u8], asked: &str) -> Result<CreateMessageResult, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut blocks = Vec::new();
    for block in answer.content {
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().ok_or("a text without text")?;
                blocks.push(SamplingContent::text(text));
            }
            Some("tool_use") => {
                let Call { id, name, input } =
                    serde_json::from_value(block).map_err(|error| error.to_string())?;
                blocks.push(SamplingContent::ToolUse(ToolUseContent { id, name, input, meta: None }));
            }
            // What the model thought on its way is nobody else's business.
            _ => {}
        }
    }
    let reason = answer.stop_reason.map(|reason| match reason.as_str() {
        "end_turn" => "endTurn".to_owned(),
        "max_tokens" => "maxTokens".to_owned(),
        "stop_sequence" => "stopSequence".to_owned(),
        "tool_use" => "toolUse".to_owned(),
        _ => reason,
    });
    Ok(result(answer.model.as_deref().unwrap_or(asked), blocks, reason))
}
