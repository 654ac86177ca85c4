//! Chat completions, as OpenAI has them and many others: a question in their words, and their answer in ours. Pure functions.

use contexture::model::{
    CreateMessageParams, CreateMessageResult, ErrorObject, JsonObject, Role, SamplingContent,
    SamplingMessage, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocks::{result, unsupported, words};

/// The body of a request.
pub(super) fn request(
    model: &str,
    params: &CreateMessageParams,
    max_completion_tokens: bool,
) -> Result<Value, ErrorObject> {
    let mut messages = Vec::new();
    if let Some(system) = &params.system_prompt {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for message in &params.messages {
        match message.role {
            Role::User => push_user(&mut messages, message)?,
            Role::Assistant => messages.push(assistant(message)?),
        }
    }
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.into());
    let tokens = if max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body.insert(tokens.into(), params.max_tokens.into());
    if let Some(temperature) = params.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(stop) = &params.stop_sequences {
        body.insert("stop".into(), stop.clone().into());
    }
    if let Some(tools) = &params.tools {
        let tools = tools.iter().map(|tool| {
            let function = json!({ "name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "parameters": tool.input_schema });
            json!({ "type": "function", "function": function })
        });
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
    }
    if let Some(mode) = params.tool_choice.as_ref().and_then(|choice| choice.mode) {
        let word = match mode {
            ToolChoiceMode::Required => "required",
            ToolChoiceMode::None => "none",
            _ => "auto",
        };
        body.insert("tool_choice".into(), word.into());
    }
    Ok(Value::Object(body))
}

/// Answers of tools are messages of their own here, and come right after the calls.
fn push_user(messages: &mut Vec<Value>, message: &SamplingMessage) -> Result<(), ErrorObject> {
    let mut parts = Vec::new();
    for block in message.content.as_slice() {
        match block {
            SamplingContent::Text(text) => parts.push(json!({ "type": "text", "text": text.text })),
            SamplingContent::Image(picture) => {
                let url = format!("data:{};base64,{}", picture.mime_type, picture.data.as_str());
                parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
            }
            SamplingContent::ToolResult(result) => messages.push(tool_result(result)?),
            SamplingContent::Audio(_) => return Err(unsupported("audio")),
            SamplingContent::ToolUse(_) => {
                return Err(ErrorObject::invalid_params("only the model calls tools, not the user"));
            }
            _ => return Err(unsupported("content of an unknown kind")),
        }
    }
    // One text stands alone: not every endpoint knows parts.
    let content = match parts.as_slice() {
        [] => return Ok(()),
        [only] if only["type"] == "text" => only["text"].clone(),
        _ => parts.into(),
    };
    messages.push(json!({ "role": "user", "content": content }));
    Ok(())
}

fn tool_result(result: &ToolResultContent) -> Result<Value, ErrorObject> {
    let mut text = result.content.iter().map(words).collect::<Result<Vec<_>, _>>()?.join("\n");
    if let (true, Some(structured)) = (text.is_empty(), &result.structured_content) {
        text = structured.to_string();
    }
    Ok(json!({ "role": "tool", "tool_call_id": result.tool_use_id, "content": text }))
}

fn assistant(message: &SamplingMessage) -> Result<Value, ErrorObject> {
    let (mut text, mut calls) = (Vec::new(), Vec::new());
    for block in message.content.as_slice() {
        match block {
            SamplingContent::Text(block) => text.push(block.text.as_str()),
            SamplingContent::ToolUse(call) => {
                let arguments = Value::Object(call.input.clone()).to_string();
                let function = json!({ "name": call.name, "arguments": arguments });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
            }
            SamplingContent::Audio(_) => return Err(unsupported("audio")),
            SamplingContent::Image(_) => return Err(unsupported("pictures that a model has made")),
            _ => return Err(unsupported("this content in a message of the model")),
        }
    }
    let content = if text.is_empty() { Value::Null } else { text.join("\n").into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Ok(message)
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    model: Option<String>,
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// What the model said; `asked` is its name if it does not say.
pub(super) fn answer(bytes: &[u8], asked: &str) -> Result<CreateMessageResult, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let choice = answer.choices.into_iter().next().ok_or("no choice")?;
    let mut blocks = Vec::new();
    let said = choice.message.content.filter(|text| !text.is_empty()).or(choice.message.refusal);
    blocks.extend(said.map(SamplingContent::text));
    for Call { id, function } in choice.message.tool_calls.unwrap_or_default() {
        let arguments = if function.arguments.is_empty() { "{}" } else { &function.arguments };
        let input: JsonObject = serde_json::from_str(arguments)
            .map_err(|error| format!("arguments of a call that are no object: {error}"))?;
        let call = ToolUseContent { id, name: function.name, input, meta: None };
        blocks.push(SamplingContent::ToolUse(call));
    }
    let reason = choice.finish_reason.map(|reason| match reason.as_str() {
        "stop" => "endTurn".to_owned(),
        "length" => "maxTokens".to_owned(),
        "tool_calls" => "toolUse".to_owned(),
        _ => reason,
    });
    Ok(result(answer.model.as_deref().unwrap_or(asked), blocks, reason))
}
