//! What an application sees of a tool call before and after it is made.
//!
//! What was approved is what is sent: the arguments here are the very text that goes on the wire.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::call::ToolReply;
use super::session::ServerIdentity;
use crate::Result;
use crate::model::ToolAnnotations;

pub(super) type Approve = Arc<dyn Fn(ToolCall) -> BoxFuture<'static, Approval> + Send + Sync>;
pub(super) type Sensitivity = Arc<dyn Fn(&ToolCall) -> bool + Send + Sync>;
pub(super) type ResultFilter = Arc<dyn Fn(&ToolCall, ToolReply) -> Result<ToolReply> + Send + Sync>;

/// A tool call that is about to be made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// Which server.
    pub server: ServerIdentity,
    /// Which tool.
    pub tool: String,
    /// The arguments, as they will be sent.
    pub arguments: Option<Box<RawValue>>,
    /// What the server says about the tool; only of servers that are
    /// [trusted](super::Builder::trust_annotations), and only after the tool was listed.
    pub annotations: Option<ToolAnnotations>,
    /// Whether a person should look at it.
    pub sensitive: bool,
}

impl ToolCall {
    /// The arguments as a type.
    pub fn arguments<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.arguments.as_ref().map_or("{}", |raw| raw.get()))
    }
}

/// What is decided about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Make it.
    Allow,
    /// Do not; the caller gets [`Error::Declined`](crate::Error::Declined).
    Deny,
}
