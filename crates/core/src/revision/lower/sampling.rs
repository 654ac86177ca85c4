//! Conversations with a model.
//!
//! Where a message holds one block only, an array becomes several messages of the same speaker, and an
//! answer of several blocks becomes one text. Calls of tools become notes about them.

use serde_json::{Value, json};

use super::content::audio_note;
use super::{Lower, keep};
use crate::model::{
    Content, CreateMessageParams, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage,
    TextContent, ToolResultContent,
};
use crate::revision::{Rules, StructuredOutput};

impl Lower for CreateMessageParams {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.tools, rules.has_sampling_tools);
        keep(&mut self.tool_choice, rules.has_sampling_tools);
        keep(&mut self.task, rules.has_core_tasks);
        // In an input round the question has no metadata of its own.
        keep(&mut self.meta, rules.has_server_requests);
        self.tools.lower(rules);
        if !rules.has_sampling_tools {
            self.messages = std::mem::take(&mut self.messages).into_iter().flat_map(one_block_each).collect();
        }
        self.messages.lower(rules);
    }
}

/// An array of blocks as messages of one block.
fn one_block_each(message: SamplingMessage) -> Vec<SamplingMessage> {
    let SamplingMessage { role, content, meta: _ } = message;
    let blocks = content.into_vec().into_iter();
    blocks.map(|block| SamplingMessage { role, content: OneOrMany::One(block), meta: None }).collect()
}

impl Lower for SamplingMessage {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.meta, rules.has_sampling_tools);
        self.content.lower(rules);
    }
}

impl Lower for CreateMessageResult {
    fn lower(&mut self, rules: &Rules) {
        if !rules.has_sampling_tools
            && let OneOrMany::Many(blocks) = &mut self.content
        {
            let mut blocks = std::mem::take(blocks);
            self.content = OneOrMany::One(match blocks.len() {
                1 => blocks.remove(0),
                _ => SamplingContent::text(blocks.iter().map(note).collect::<Vec<_>>().join("\n")),
            });
        }
        self.content.lower(rules);
    }
}

impl Lower for OneOrMany<SamplingContent> {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::One(block) => block.lower(rules),
            Self::Many(blocks) => blocks.lower(rules),
        }
    }
}

impl Lower for SamplingContent {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::ToolUse(_) | Self::ToolResult(_) if !rules.has_sampling_tools => {
                *self = Self::text(note(self))
            }
            Self::Audio(audio) if !rules.has_audio => *self = Self::Text(audio_note(audio)),
            _ => {}
        }
        match self {
            Self::Text(block) => block.lower(rules),
            Self::Image(block) => block.lower(rules),
            Self::Audio(block) => block.lower(rules),
            Self::ToolUse(block) => keep(&mut block.meta, rules.has_meta_everywhere),
            Self::ToolResult(block) => block.lower(rules),
        }
    }
}

impl Lower for ToolResultContent {
    fn lower(&mut self, rules: &Rules) {
        self.content.lower(rules);
        keep(&mut self.meta, rules.has_meta_everywhere);
        keep(&mut self.structured_content, rules.structured_output != StructuredOutput::Absent);
        if rules.structured_output == StructuredOutput::Object {
            let wrap = |value: Value| if value.is_object() { value } else { json!({ "result": value }) };
            self.structured_content = self.structured_content.take().map(wrap);
        }
    }
}

/// A block in words.
fn note(block: &SamplingContent) -> String {
    match block {
        SamplingContent::Text(TextContent { text, .. }) => text.clone(),
        SamplingContent::Image(image) => {
            format!("[image: {}, {} bytes]", image.mime_type, image.data.byte_len())
        }
        SamplingContent::Audio(audio) => {
            format!("[audio: {}, {} bytes]", audio.mime_type, audio.data.byte_len())
        }
        SamplingContent::ToolUse(call) => {
            format!("[tool call {}: {} {}]", call.id, call.name, Value::Object(call.input.clone()))
        }
        SamplingContent::ToolResult(result) => {
            let texts: Vec<&str> = result.content.iter().filter_map(Content::as_text).collect();
            format!("[tool result {}: {}]", result.tool_use_id, texts.join("\n"))
        }
    }
}
