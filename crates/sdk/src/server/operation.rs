//! What a client wants, typed, and what it gets: the unit that middleware works on.
//!
//! Layers see operations and replies of every revision alike. They never see ids, envelopes or eras.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use serde_json::value::RawValue;
use tower_layer::Layer;
use tower_service::Service;

use super::Context;
use crate::model::{
    CallToolResult, CompleteParams, CompleteResult, DiscoverResult, ErrorObject, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    ReadResourceResult, SubscriptionFilter,
};
use crate::revision::Revision;

/// A boxed future, as handlers and layers return them.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One thing that a client wants.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Who wants it, and all else that a handler may know.
    pub context: Context,
    /// What is wanted.
    pub request: Request,
}

/// What is wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Request {
    /// `tools/list`
    ListTools(Option<String>),
    /// `tools/call`
    CallTool {
        /// The tool.
        name: String,
        /// Its arguments, a JSON object.
        arguments: Option<Box<RawValue>>,
    },
    /// `prompts/list`
    ListPrompts(Option<String>),
    /// `prompts/get`
    GetPrompt {
        /// The prompt.
        name: String,
        /// Its arguments.
        arguments: BTreeMap<String, String>,
    },
    /// `resources/list`
    ListResources(Option<String>),
    /// `resources/templates/list`
    ListResourceTemplates(Option<String>),
    /// `resources/read`
    ReadResource(String),
    /// `resources/subscribe`
    Subscribe(String),
    /// `resources/unsubscribe`
    Unsubscribe(String),
    /// A change of this resource is about to be told to one who watches it.
    Updated(String),
    /// `completion/complete`
    Complete(CompleteParams),
    /// `logging/setLevel`
    SetLevel(LoggingLevel),
    /// `server/discover`
    Discover,
    /// `subscriptions/listen`
    Listen(SubscriptionFilter),
}

/// What a client gets.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// For [`Request::ListTools`].
    Tools(ListToolsResult),
    /// For [`Request::CallTool`].
    Tool(CallToolResult),
    /// For [`Request::ListPrompts`].
    Prompts(ListPromptsResult),
    /// For [`Request::GetPrompt`].
    Prompt(GetPromptResult),
    /// For [`Request::ListResources`].
    Resources(ListResourcesResult),
    /// For [`Request::ListResourceTemplates`].
    ResourceTemplates(ListResourceTemplatesResult),
    /// For [`Request::ReadResource`].
    Resource(ReadResourceResult),
    /// For [`Request::Complete`].
    Completion(CompleteResult),
    /// For [`Request::Discover`].
    Discovered(Box<DiscoverResult>),
    /// A list as it goes over the wire, already lowered and without `_meta`: only where no layer wants to see it.
    Encoded(Arc<[u8]>),
    /// A result as another server gave it, for a [provider](super::Provider) to pass on. Where the client speaks the
    /// same revision, its members go out as they are; otherwise it is put into the words of the client's.
    Forwarded {
        /// The JSON object that was the result.
        result: Bytes,
        /// The revision in which it was given.
        from: Revision,
    },
    /// For [`Request::Subscribe`].
    Subscribed(String),
    /// For [`Request::Unsubscribe`].
    Unsubscribed(String),
    /// For [`Request::Updated`].
    MayTell(String),
    /// For [`Request::SetLevel`].
    LevelSet(LoggingLevel),
    /// For [`Request::Listen`]: the part that will be honoured.
    Listening(SubscriptionFilter),
}

/// The outcome of an operation. An error here is one of the protocol; a tool's own failure is a reply.
pub type OperationResult = std::result::Result<Reply, ErrorObject>;

/// All layers with the registry beneath them.
#[derive(Clone)]
pub struct Stack(Arc<Mutex<Box<dyn CloneStack>>>);

trait CloneStack: Send {
    fn clone_stack(&self) -> Box<dyn CloneStack>;
    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<std::result::Result<(), ErrorObject>>;
    fn call(&mut self, operation: Operation) -> BoxFuture<OperationResult>;
}

impl<S> CloneStack for S
where
    S: Service<Operation, Response = Reply, Error = ErrorObject> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    fn clone_stack(&self) -> Box<dyn CloneStack> {
        Box::new(self.clone())
    }

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<std::result::Result<(), ErrorObject>> {
        Service::poll_ready(self, cx)
    }

    fn call(&mut self, operation: Operation) -> BoxFuture<OperationResult> {
        Box::pin(Service::call(self, operation))
    }
}

impl Stack {
    pub(crate) fn new<S>(service: S) -> Self
    where
        S: Service<Operation, Response = Reply, Error = ErrorObject> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        Self(Arc::new(Mutex::new(Box::new(service))))
    }

    pub(crate) fn wrap<L>(self, layer: &L) -> Self
    where
        L: Layer<Self>,
        L::Service: Service<Operation, Response = Reply, Error = ErrorObject> + Clone + Send + 'static,
        <L::Service as Service<Operation>>::Future: Send + 'static,
    {
        Self::new(layer.layer(self))
    }
}

impl Service<Operation> for Stack {
    type Response = Reply;
    type Error = ErrorObject;
    type Future = BoxFuture<OperationResult>;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<std::result::Result<(), ErrorObject>> {
        // Each call has a copy of its own and waits for that one to be ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, operation: Operation) -> Self::Future {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_stack();
        Box::pin(async move {
            std::future::poll_fn(|cx| own.poll_ready(cx)).await?;
            own.call(operation).await
        })
    }
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stack")
    }
}
