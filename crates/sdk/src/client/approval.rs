//! What an application sees of a tool call before and after it is made, and of a resource before it is read.
//!
//! What was approved is what is sent: the arguments here are the very text that goes on the wire.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::call::ToolReply;
use super::session::ServerIdentity;
use crate::Result;
use crate::model::{Tool, ToolAnnotations};

pub(super) type Approve = Arc<dyn Fn(ToolCall) -> BoxFuture<'static, Approval> + Send + Sync>;
pub(super) type ApproveRead = Arc<dyn Fn(ResourceRead) -> BoxFuture<'static, Approval> + Send + Sync>;
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
    /// The tool as the server listed it, with its title, description and schemas: show it to whoever decides.
    /// Hints are in it only if the server is trusted. Nothing before the tool was listed.
    pub listed: Option<Arc<Tool>>,
    /// The server's hints about the tool; only of servers that are
    /// [trusted](super::Builder::trust_annotations), and only after the tool was listed.
    pub annotations: Option<ToolAnnotations>,
    /// Whether the server is [trusted](super::Builder::trust_annotations). What another says about its tools,
    /// in whatever words, may be a lie.
    pub trusted: bool,
    /// Whether a person should look at it.
    pub sensitive: bool,
}

impl ToolCall {
    /// The arguments as a type.
    pub fn arguments<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.arguments.as_ref().map_or("{}", |raw| raw.get()))
    }
}

/// A resource that is about to be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourceRead {
    /// Which server.
    pub server: ServerIdentity,
    /// Which resource.
    pub uri: String,
}

/// What is decided about a tool call, or about reading a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Make it.
    Allow,
    /// Do not; the caller gets [`Error::Declined`](crate::Error::Declined).
    Deny,
}
