//! Tools: what a model can call.
//!
//! `tools/call` is the hot path: its name and arguments are borrowed from the message, and the arguments stay
//! raw until they are decoded straight into the handler's type. Its `_meta` is not read here but by the
//! engine, once, for all methods. Schemas are carried, not interpreted.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::results::ttl_ms;
use super::{
    CacheScope, Content, Cursor, Icon, InputResponses, Items, JsonObject, Meta, ResultType, TaskMetadata,
};

/// A tool as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// The name that people read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// JSON Schema of the arguments: an object.
    pub input_schema: JsonObject,
    /// JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<JsonObject>,
    /// Hints, as untrusted as the server that gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How it can be run (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Tool {
    /// A tool with a name and a schema of its arguments. A schema without a `type` gets `"object"`.
    pub fn new(name: impl Into<String>, mut input_schema: JsonObject) -> Self {
        input_schema.entry("type").or_insert_with(|| json!("object"));
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: None,
            input_schema,
            output_schema: None,
            annotations: None,
            execution: None,
            meta: None,
        }
    }

    setters! {
        /// The name that people read.
        title: String,
        /// What it does, for the model.
        description: String,
        /// Pictures of it.
        icons: Vec<Icon>,
        /// JSON Schema of the structured result.
        output_schema: JsonObject,
        /// Hints.
        annotations: ToolAnnotations,
        /// How it can be run (2025-11-25).
        execution: ToolExecution,
        /// Metadata.
        meta: Meta,
    }

    /// What to show to people: the title, or else the title among the annotations, or else the name.
    pub fn display_name(&self) -> &str {
        let hinted = || self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or_else(hinted).unwrap_or(&self.name)
    }

    /// Refuses an input schema that does not describe an object.
    pub fn validate(&self) -> Result<(), ToolSchemaError> {
        match self.input_schema.get("type") {
            Some(Value::String(kind)) if kind == "object" => Ok(()),
            _ => Err(ToolSchemaError { tool: self.name.clone() }),
        }
    }
}

/// The input schema of a tool does not have `"type": "object"` at its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSchemaError {
    tool: String,
}

impl fmt::Display for ToolSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the input schema of tool {:?} must have \"type\": \"object\" at its root", self.tool)
    }
}

impl std::error::Error for ToolSchemaError {}

/// Hints about what a tool does. Never a reason to trust it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// A name for people; `Tool::title` goes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice is calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It touches the world outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// No hints yet.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// A name for people.
        title: String,
        /// It changes nothing.
        read_only_hint: bool,
        /// It may destroy something.
        destructive_hint: bool,
        /// Calling it twice is calling it once.
        idempotent_hint: bool,
        /// It touches the world outside.
        open_world_hint: bool,
    }

    /// Whether it says that it changes nothing. Without a hint: no.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether it may destroy something. Without a hint: yes, unless it is read-only.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether calling it twice is calling it once. Without a hint: no; the hint says nothing about a
    /// read-only tool, which has no effect to repeat.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Whether it touches the world outside. Without a hint: yes.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

/// How a tool can be run (2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecution {
    /// Whether calls can be tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

/// Whether calls of a tool can be tasks. Absent means forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// If the client likes.
    Optional,
    /// Always.
    Required,
}

/// Result of `tools/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListToolsResult {
    /// The tools of this page.
    pub tools: Items<Tool>,
    /// Where to go on; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
    /// How long the page may be kept.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `tools/call`, borrowed from the message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams<'a> {
    /// Which tool.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The arguments: the text of a JSON object.
    #[serde(borrow, default, deserialize_with = "object_text", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
    /// Answers to what the server asked in an earlier round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// What the server wants back from that round, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Asks to run as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
}

impl<'a> CallToolParams<'a> {
    /// A call without arguments.
    pub fn new(name: impl Into<Cow<'a, str>>) -> Self {
        Self { name: name.into(), arguments: None, input_responses: None, request_state: None, task: None }
    }
}

/// Borrows the text of an object; `null` counts as absent, anything else is refused.
fn object_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    match raw {
        Some(raw) if !raw.get().starts_with('{') => {
            Err(serde::de::Error::custom("`arguments` must be an object"))
        }
        raw => Ok(raw),
    }
}

/// Result of `tools/call`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What the model reads. Peers of old that leave it out beside structured content are forgiven.
    #[serde(default)]
    pub content: Vec<Content>,
    /// What programs read: the text of a JSON value, encoded once.
    #[serde(default, deserialize_with = "any_value", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// The tool failed, and `content` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What kind of result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A member that is present has a value, even if that is `null`.
fn any_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl CallToolResult {
    /// A result of content blocks.
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// A failure that the model should see.
    pub fn error(message: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(message) }
    }

    /// A structured result with its text mirror; the value is encoded once.
    pub fn structured(value: &impl Serialize) -> serde_json::Result<Self> {
        let raw = serde_json::value::to_raw_value(value)?;
        Ok(Self { structured_content: Some(raw.clone()), ..Self::text(Box::<str>::from(raw)) })
    }

    /// All text blocks, joined by line breaks.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

/// Structured content is compared as JSON, not as text.
impl PartialEq for CallToolResult {
    fn eq(&self, other: &Self) -> bool {
        let value = |result: &Self| -> Option<Value> {
            result.structured_content.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok())
        };
        self.content == other.content
            && self.is_error == other.is_error
            && self.result_type == other.result_type
            && self.meta == other.meta
            && value(self) == value(other)
    }
}
