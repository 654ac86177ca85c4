//! What a tool answered.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::CallToolResult;
use crate::{Error, Result};

/// The result of a tool, which may be its own failure.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    result: CallToolResult,
    checked: bool,
}

impl ToolReply {
    pub(in crate::client) fn new(result: CallToolResult, checked: bool) -> Self {
        Self { result, checked }
    }

    /// The structured result as a type. A value that was wrapped as `{"result": …}`, because a schema must
    /// describe an object, is unwrapped; servers of old without structured results are read by their text.
    ///
    /// Fails if the tool did, with [`Error::ToolFailed`].
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T> {
        if self.result.is_error {
            return Err(Error::ToolFailed(self.text()));
        }
        let value = match &self.result.structured_content {
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|error| Error::PeerMisbehaved(format!("structured content: {error}")))?,
            None => {
                let text = self.text();
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
        };
        read(value)
    }

    /// The reply, unless the tool failed: `client.call(…).await?.ok()?.text()` is never the text of a failure.
    pub fn ok(self) -> Result<Self> {
        if self.result.is_error { Err(Error::ToolFailed(self.text())) } else { Ok(self) }
    }

    /// All text, joined by line breaks; of a failure, its reason.
    pub fn text(&self) -> String {
        self.result.joined_text()
    }

    /// Whether the tool failed; its text says why.
    pub fn is_error(&self) -> bool {
        self.result.is_error
    }

    /// Whether the structured result was checked against the schema that the tool was listed with.
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    /// The result as the protocol has it.
    pub fn into_result(self) -> CallToolResult {
        self.result
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    let failure = match T::deserialize(&value) {
        Ok(read) => return Ok(read),
        Err(failure) => failure,
    };
    let wrapped = value.as_object().filter(|members| members.len() == 1).and_then(|it| it.get("result"));
    let inner = wrapped.and_then(|inner| T::deserialize(inner).ok());
    inner.ok_or_else(|| Error::Invalid(format!("the structured result has another type: {failure}")))
}

impl Deref for ToolReply {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.result
    }
}

impl From<CallToolResult> for ToolReply {
    fn from(result: CallToolResult) -> Self {
        Self::new(result, false)
    }
}
