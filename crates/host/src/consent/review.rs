//! Sampling as a person sees it: what a server wants to ask a model, before it leaves, and what the model said, before the server
//! sees it. Both can be changed, and both can be refused.
//!
//! The parts that people change are text: the system prompt, the last message, the length, the answer. What they leave
//! empty stays as it was; the rest is shown and not editable.

use contexture::model::{
    CreateMessageParams, CreateMessageResult, ElicitResult, ElicitSchema, ElicitValue, EnumSchema,
    ErrorObject, NumberSchema, OneOrMany, Role, SamplingContent, SamplingMessage, StringSchema, TextContent,
    code,
};

use super::asking::{Answer, DECISION, shown};
use super::question::PersonQuestion;
use super::text::{cut, safe_line};

/// Fields of the forms.
const SYSTEM: &str = "systemPrompt";
const MESSAGE: &str = "lastMessage";
const TOKENS: &str = "maxTokens";
const TEXT: &str = "text";

/// Characters of one message as it is shown.
const SHOWN: usize = 2_000;
/// Messages that are shown; of longer conversations the last ones.
const MESSAGES: usize = 10;

/// The question whether a model may be asked this.
pub fn request(server: &str, params: &CreateMessageParams) -> PersonQuestion {
    let mut message = format!("Let server {} ask a model?", shown(server));
    if let Some(system) = &params.system_prompt {
        message.push_str(&format!("\n  system | {}", line(system)));
    }
    let hidden = params.messages.len().saturating_sub(MESSAGES);
    if hidden > 0 {
        message.push_str(&format!("\n{hidden} earlier messages are NOT shown here."));
    }
    for one in params.messages.iter().skip(hidden) {
        push_message(&mut message, one);
    }
    if let Some(tools) = params.tools.as_deref().filter(|tools| !tools.is_empty()) {
        let names: Vec<String> = tools.iter().take(20).map(|tool| shown(&tool.name)).collect();
        message.push_str(&format!("\nThe model may call {} tools: {}", tools.len(), names.join(", ")));
    }
    message.push_str(&format!("\nIts answer may have {} tokens.", params.max_tokens));
    let mut form = ElicitSchema::new().required(DECISION, decision("Ask the model", "Do not ask it"));
    if let Some(text) = params.system_prompt.as_deref() {
        form = form.optional(SYSTEM, editable("System prompt", text));
    }
    if let Some(text) = params.messages.last().and_then(last_text) {
        form = form.optional(MESSAGE, editable("Last message", text));
    }
    let tokens = NumberSchema::integer()
        .title("Longest answer, in tokens")
        .minimum(1)
        .default_value(params.max_tokens);
    PersonQuestion { server: server.to_owned(), message, form: form.optional(TOKENS, tokens) }
}

/// The request as the person lets it leave.
///
/// # Errors
/// They do not.
pub fn edited_request(
    mut params: CreateMessageParams,
    answer: &ElicitResult,
) -> Result<CreateMessageParams, ErrorObject> {
    let answers = Edits::of(answer, "the question to the model")?;
    if let Some(system) = answers.text(SYSTEM) {
        params.system_prompt = Some(system.to_owned());
    }
    if let (Some(text), Some(last)) = (answers.text(MESSAGE), params.messages.last_mut()) {
        replace_last_text(&mut last.content, text);
    }
    if let Some(tokens) = answers.number(TOKENS) {
        // A person may shorten the answer, and lengthen it no further than the server wanted.
        params.max_tokens = params.max_tokens.min(tokens.max(1));
    }
    Ok(params)
}

/// The question whether the server may see this answer.
pub fn result(server: &str, result: &CreateMessageResult) -> PersonQuestion {
    let mut message =
        format!("Give server {} this answer of the model {}?", shown(server), shown(&result.model));
    for block in result.content.as_slice() {
        message.push_str(&format!("\n  model | {}", block_words(block)));
    }
    let mut form = ElicitSchema::new().required(DECISION, decision("Give it", "Do not give it"));
    if let Some(text) = result.content.as_slice().iter().rev().find_map(as_text) {
        form = form.optional(TEXT, editable("Answer", text));
    }
    PersonQuestion { server: server.to_owned(), message, form }
}

/// The answer as the person lets the server see it.
///
/// # Errors
/// They do not.
pub fn edited_result(
    mut result: CreateMessageResult,
    answer: &ElicitResult,
) -> Result<CreateMessageResult, ErrorObject> {
    let answers = Edits::of(answer, "the model's answer")?;
    if let Some(text) = answers.text(TEXT) {
        replace_last_text(&mut result.content, text);
    }
    Ok(result)
}

/// What a person has changed.
struct Edits<'a>(&'a ElicitResult);

impl<'a> Edits<'a> {
    fn of(answer: &'a ElicitResult, what: &str) -> Result<Self, ErrorObject> {
        match Answer::from(answer) {
            said if said.allows() => Ok(Self(answer)),
            Answer::Dismissed => Err(rejected(format!("nobody decided about {what}"))),
            _ => Err(rejected(format!("a person rejected {what}"))),
        }
    }

    fn value(&self, field: &str) -> Option<&'a ElicitValue> {
        self.0.accepted()?.get(field)
    }

    fn text(&self, field: &str) -> Option<&'a str> {
        match self.value(field)? {
            ElicitValue::String(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    fn number(&self, field: &str) -> Option<u64> {
        match self.value(field)? {
            ElicitValue::Number(number) => number.as_u64(),
            _ => None,
        }
    }
}

fn rejected(message: String) -> ErrorObject {
    ErrorObject::new(code::USER_REJECTED, message)
}

fn decision(yes: &str, no: &str) -> EnumSchema {
    EnumSchema::new([("once", yes), ("deny", no)]).title("Your decision")
}

/// A field that holds the text already, if that is not too long to be looked at in a form.
fn editable(title: &str, text: &str) -> StringSchema {
    let field = StringSchema::new().title(title).description("Leave it empty to keep it as it is.");
    if text.chars().count() <= SHOWN { field.default_value(text) } else { field }
}

fn push_message(out: &mut String, message: &SamplingMessage) {
    let who = if message.role == Role::User { "user" } else { "model" };
    for block in message.content.as_slice() {
        out.push_str(&format!("\n  {who} | {}", block_words(block)));
    }
}

fn block_words(block: &SamplingContent) -> String {
    match block {
        SamplingContent::Text(text) => line(&text.text),
        SamplingContent::Image(image) => {
            format!("({}, {} bytes)", line(&image.mime_type), image.data.byte_len())
        }
        SamplingContent::Audio(audio) => {
            format!("({}, {} bytes)", line(&audio.mime_type), audio.data.byte_len())
        }
        SamplingContent::ToolUse(call) => {
            let input = serde_json::to_string(&call.input).unwrap_or_default();
            format!("(calls {} with {})", shown(&call.name), line(&input))
        }
        SamplingContent::ToolResult(result) => {
            let content = serde_json::to_string(&result.content).unwrap_or_default();
            format!("(a tool answered {})", line(&content))
        }
        _ => "(something else)".to_owned(),
    }
}

fn line(text: &str) -> String {
    safe_line(&cut(text, SHOWN))
}

fn as_text(block: &SamplingContent) -> Option<&str> {
    match block {
        SamplingContent::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn last_text(message: &SamplingMessage) -> Option<&str> {
    message.content.as_slice().iter().rev().find_map(as_text)
}

fn replace_last_text(content: &mut OneOrMany<SamplingContent>, text: &str) {
    let blocks = match content {
        OneOrMany::One(block) => std::slice::from_mut(block),
        OneOrMany::Many(blocks) => blocks.as_mut_slice(),
    };
    let last = blocks.iter_mut().rev().find(|block| matches!(block, SamplingContent::Text(_)));
    if let Some(block) = last {
        *block = SamplingContent::Text(TextContent::new(text));
    }
}
