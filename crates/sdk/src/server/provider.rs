//! Servers whose offer lies elsewhere: gateways.
//!
//! A provider takes the place of the registry, beneath all layers. It says what is declared, answers operations,
//! and is told who watches what. Everything else (revisions, sessions, bounds, questions, streams) is served as it is
//! for any other server.

use std::any::Any;
use std::sync::Arc;

use contexture_core::http::mirror::{Annotation, annotations};

use super::operation::{BoxFuture, Operation, OperationResult};
use super::{Context, Principal};
use crate::model::{ServerCapabilities, Tool};

/// What is dropped when somebody stops to watch a resource.
pub(super) type WatchGuard = Box<dyn Any + Send + Sync>;

/// A server whose offer lies elsewhere, such as a gateway. Given with
/// [`Server::provided_by`](super::Server::provided_by).
///
/// Changes are told through the server's [`Registry`](super::Registry): `tools_changed`, `prompts_changed`,
/// `resources_changed`, `resource_updated` and `resource_updated_for`.
pub trait Provider: Send + Sync + 'static {
    /// What is declared to clients. Methods of capabilities that are absent are unknown methods, and changes of
    /// lists without `listChanged` are not told.
    ///
    /// Asked for every request, so that it may change: it is shared, not made.
    fn capabilities(&self) -> Arc<ServerCapabilities>;

    /// How to use what is offered, for the model. Without it, what the server itself was told to say.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Answers an operation. Takes the place of the registry.
    ///
    /// A list may be [`Reply::Encoded`](super::Reply::Encoded) in the words of the client's revision, without `_meta`;
    /// the result of another server [`Reply::Forwarded`](super::Reply::Forwarded). `Subscribe`, `Unsubscribe`,
    /// `SetLevel` and `Listen` are answered by `Subscribed`, `Unsubscribed`, `LevelSet` and `Listening` with what is
    /// to be honoured; of what a client wants to listen for, only what is declared comes here. `Discover` and
    /// `Updated` never do.
    fn perform(&self, operation: Operation) -> BoxFuture<OperationResult>;

    /// The definition of a tool as it was declared, not lowered: structured results are lowered by its output schema.
    fn tool(&self, principal: &Principal, name: &str) -> Option<Arc<Tool>> {
        let _ = (principal, name);
        None
    }

    /// The arguments of a tool that headers of modern HTTP requests repeat. Asked for every such request; whoever
    /// keeps what [`Mirrors::of`] found need not look through the schema each time.
    fn mirrors(&self, principal: &Principal, name: &str) -> Option<Mirrors> {
        self.tool(principal, name).map(|tool| Mirrors::of(&tool))
    }

    /// Somebody begins to watch a resource. What is returned is dropped when they stop, however that happens:
    /// they unsubscribe, their stream or session is over, their connection is lost.
    fn watch(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        let _ = (context, uri);
        None
    }
}

/// The arguments of a tool that headers of modern HTTP requests repeat: those that its input schema annotates
/// (`x-mcp-header`).
#[derive(Debug, Clone)]
pub struct Mirrors(pub(super) Arc<[Annotation]>);

impl Mirrors {
    /// What the schema of this tool says. Annotations that make no sense are followed by nobody.
    pub fn of(tool: &Tool) -> Self {
        Self(annotations(&tool.input_schema).unwrap_or_default().into())
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn capabilities(&self) -> Arc<ServerCapabilities> {
        (**self).capabilities()
    }

    fn instructions(&self) -> Option<String> {
        (**self).instructions()
    }

    fn perform(&self, operation: Operation) -> BoxFuture<OperationResult> {
        (**self).perform(operation)
    }

    fn tool(&self, principal: &Principal, name: &str) -> Option<Arc<Tool>> {
        (**self).tool(principal, name)
    }

    fn mirrors(&self, principal: &Principal, name: &str) -> Option<Mirrors> {
        (**self).mirrors(principal, name)
    }

    fn watch(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        (**self).watch(context, uri)
    }
}
