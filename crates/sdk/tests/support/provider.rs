//! A provider that answers as a test wants, and knows who watches what.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use contexture::model::{ServerCapabilities, Tool};
use contexture::server::{BoxFuture, Operation, OperationResult, Provider, Reply, Request};
use contexture::{Context, Principal, Server};
use serde_json::{Value, json};
use tokio::sync::watch;

type Answer = Box<dyn Fn(Operation) -> BoxFuture<OperationResult> + Send + Sync>;

/// What is offered here comes from a test.
pub(crate) struct Elsewhere {
    capabilities: ServerCapabilities,
    tools: Vec<Arc<Tool>>,
    answer: Answer,
    watched: Watched,
}

impl Elsewhere {
    /// Answers what belongs to connections as a registry would, and everything else like this.
    pub(crate) fn new<F>(answer: impl Fn(Operation) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = OperationResult> + Send + 'static,
    {
        Self {
            capabilities: capabilities(everything()),
            tools: Vec::new(),
            answer: Box::new(move |operation| Box::pin(answer(operation))),
            watched: Watched::default(),
        }
    }

    /// Declares no more than this.
    pub(crate) fn declaring(mut self, declared: Value) -> Self {
        self.capabilities = capabilities(declared);
        self
    }

    /// Has a tool with this definition.
    pub(crate) fn tool(mut self, tool: Value) -> Self {
        self.tools.push(Arc::new(serde_json::from_value(tool).expect("a tool")));
        self
    }

    /// Who watches what.
    pub(crate) fn watched(&self) -> Watched {
        self.watched.clone()
    }

    pub(crate) fn server(self) -> Server {
        Server::new("gateway", "1.0.0").provided_by(self)
    }
}

pub(crate) fn everything() -> Value {
    json!({ "tools": { "listChanged": true }, "prompts": { "listChanged": true }, "completions": {}, "logging": {},
        "resources": { "listChanged": true, "subscribe": true } })
}

fn capabilities(declared: Value) -> ServerCapabilities {
    serde_json::from_value(declared).expect("capabilities")
}

impl Provider for Elsewhere {
    fn capabilities(&self) -> Arc<ServerCapabilities> {
        Arc::new(self.capabilities.clone())
    }

    fn instructions(&self) -> Option<String> {
        Some("ask elsewhere".into())
    }

    fn perform(&self, operation: Operation) -> BoxFuture<OperationResult> {
        let done = match operation.request {
            Request::Subscribe(uri) => Reply::Subscribed(uri),
            Request::Unsubscribe(uri) => Reply::Unsubscribed(uri),
            Request::SetLevel(level) => Reply::LevelSet(level),
            Request::Listen(filter) => Reply::Listening(filter),
            _ => return (self.answer)(operation),
        };
        Box::pin(std::future::ready(Ok(done)))
    }

    fn tool(&self, _principal: &Principal, name: &str) -> Option<Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    fn watch(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        Some(Box::new(self.watched.begin(context.principal().subject(), uri)))
    }
}

/// How many watch a resource, by who they are and its URI.
#[derive(Clone, Default)]
pub(crate) struct Watched(watch::Sender<BTreeMap<(String, String), usize>>);

impl Watched {
    fn begin(&self, subject: &str, uri: &str) -> Watching {
        let key = (subject.to_owned(), uri.to_owned());
        self.0.send_modify(|counts| *counts.entry(key.clone()).or_default() += 1);
        Watching { watched: self.clone(), key }
    }

    pub(crate) fn count(&self, subject: &str, uri: &str) -> usize {
        let key = (subject.to_owned(), uri.to_owned());
        self.0.borrow().get(&key).copied().unwrap_or_default()
    }

    /// Waits until so many do.
    pub(crate) async fn until(&self, subject: &str, uri: &str, wanted: usize) {
        let key = (subject.to_owned(), uri.to_owned());
        let is_so = |counts: &BTreeMap<_, usize>| counts.get(&key).copied().unwrap_or_default() == wanted;
        self.0.subscribe().wait_for(is_so).await.expect("the provider is there");
    }
}

struct Watching {
    watched: Watched,
    key: (String, String),
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watched.0.send_modify(|counts| {
            if let Some(count) = counts.get_mut(&self.key) {
                *count -= 1;
            }
        });
    }
}
