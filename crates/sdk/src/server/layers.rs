//! Middleware that most servers want sooner or later, and the way to write one's own.
//!
//! Each works on operations, so it holds in every revision and over every transport alike.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::operation::{BoxFuture, Operation, OperationResult, Reply, Request, Stack};
use super::{Context, Principal};
use crate::engine::{Allowance, BUSY};
use crate::model::{ErrorObject, Reference};

/// Principals whose rate is remembered at the same time.
const REMEMBERED: usize = 10_000;

/// A layer from a function: it gets the operation and what comes next.
#[derive(Debug)]
pub struct Around<F>(Arc<F>);

/// Wraps every operation in a function.
///
/// ```
/// # use contexture::server::{layers::around, Server};
/// let server = Server::new("timed", "1.0.0").layer(around(|operation, next| async move {
///     let started = std::time::Instant::now();
///     let reply = next.call(operation).await;
///     eprintln!("took {:?}", started.elapsed());
///     reply
/// }));
/// ```
pub fn around<F, Fut>(function: F) -> Around<F>
where
    F: Fn(Operation, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = OperationResult> + Send + 'static,
{
    Around(Arc::new(function))
}

/// What lies beneath a layer.
#[derive(Debug)]
pub struct Next(Stack);

impl Next {
    /// Goes on.
    ///
    /// # Errors
    /// What the layers beneath and the server answer.
    pub async fn call(mut self, operation: Operation) -> OperationResult {
        self.0.call(operation).await
    }
}

/// The service of [`Around`].
#[derive(Debug)]
pub struct AroundService<F> {
    function: Arc<F>,
    inner: Stack,
}

impl<F> Clone for AroundService<F> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), inner: self.inner.clone() }
    }
}

impl<F> Layer<Stack> for Around<F> {
    type Service = AroundService<F>;

    fn layer(&self, inner: Stack) -> Self::Service {
        AroundService { function: Arc::clone(&self.0), inner }
    }
}

impl<F, Fut> Service<Operation> for AroundService<F>
where
    F: Fn(Operation, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = OperationResult> + Send + 'static,
{
    type Response = Reply;
    type Error = ErrorObject;
    type Future = BoxFuture<OperationResult>;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, operation: Operation) -> Self::Future {
        Box::pin((self.function)(operation, Next(self.inner.clone())))
    }
}

type Layered = Around<Box<dyn Fn(Operation, Next) -> BoxFuture<OperationResult> + Send + Sync>>;

fn boxed<F, Fut>(function: F) -> Layered
where
    F: Fn(Operation, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = OperationResult> + Send + 'static,
{
    Around(Arc::new(Box::new(move |operation, next| Box::pin(function(operation, next)))))
}

/// What somebody wants to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access<'a> {
    /// A tool, by name.
    Tool(&'a str),
    /// A prompt, by name.
    Prompt(&'a str),
    /// A resource or template, by URI.
    Resource(&'a str),
}

/// Lets through only what `allowed` says. What is not allowed looks as if it were not there: it is in no
/// list, and using it fails as it does for unknown names.
pub fn authorize(allowed: impl Fn(&Context, Access<'_>) -> bool + Send + Sync + 'static) -> Layered {
    let allowed = Arc::new(allowed);
    boxed(move |operation: Operation, next| {
        let allowed = Arc::clone(&allowed);
        async move {
            let context = operation.context.clone();
            check(&operation, &*allowed)?;
            let mut reply = next.call(operation).await?;
            let may = |access: Access<'_>| allowed(&context, access);
            match &mut reply {
                Reply::Tools(list) => list.tools.retain(|tool| may(Access::Tool(&tool.name))),
                Reply::Prompts(list) => list.prompts.retain(|prompt| may(Access::Prompt(&prompt.name))),
                Reply::Resources(list) => list.resources.retain(|found| may(Access::Resource(&found.uri))),
                Reply::ResourceTemplates(list) => {
                    list.resource_templates.retain(|found| may(Access::Resource(&found.uri_template)));
                }
                Reply::Listening(filter) => {
                    if let Some(uris) = &mut filter.resource_subscriptions {
                        uris.retain(|uri| may(Access::Resource(uri)));
                    }
                }
                _ => {}
            }
            Ok(reply)
        }
    })
}

fn check(
    operation: &Operation,
    allowed: &(impl Fn(&Context, Access<'_>) -> bool + ?Sized),
) -> Result<(), ErrorObject> {
    let context = &operation.context;
    let (access, refusal) = match &operation.request {
        Request::CallTool { name, .. } => (Access::Tool(name), ErrorObject::invalid_params("unknown tool")),
        Request::GetPrompt { name, .. } => {
            (Access::Prompt(name), ErrorObject::invalid_params("unknown prompt"))
        }
        Request::ReadResource(uri) | Request::Subscribe(uri) | Request::Updated(uri) => {
            (Access::Resource(uri), ErrorObject::resource_not_found(context.rules().not_found_code, uri))
        }
        Request::Complete(params) => {
            let access = match &params.reference {
                Reference::Prompt { name, .. } => Access::Prompt(name),
                Reference::Resource { uri } => Access::Resource(uri),
                _ => return Ok(()),
            };
            (access, ErrorObject::invalid_params("there is no such prompt or resource template"))
        }
        _ => return Ok(()),
    };
    if allowed(context, access) { Ok(()) } else { Err(refusal) }
}

/// Changes or inspects every reply before it is sent: the place to take out what must not leave.
pub fn filter_output(filter: impl Fn(&Context, &mut Reply) + Send + Sync + 'static) -> Layered {
    let filter = Arc::new(filter);
    boxed(move |operation: Operation, next| {
        let filter = Arc::clone(&filter);
        async move {
            let context = operation.context.clone();
            let mut reply = next.call(operation).await?;
            filter(&context, &mut reply);
            Ok(reply)
        }
    })
}

/// Lets each principal call tools and complete arguments so many times in a second.
pub fn rate_limit(per_second: u32) -> Layered {
    let started = Instant::now();
    let known: Arc<Mutex<HashMap<Principal, Allowance>>> = Arc::default();
    boxed(move |operation: Operation, next| {
        let limited = matches!(operation.request, Request::CallTool { .. } | Request::Complete(_));
        let permitted =
            !limited || take(&known, operation.context.principal(), per_second, started.elapsed());
        async move {
            if !permitted {
                return Err(ErrorObject::new(BUSY, "too many calls; try again later"));
            }
            next.call(operation).await
        }
    })
}

fn take(
    known: &Mutex<HashMap<Principal, Allowance>>,
    principal: &Principal,
    per_second: u32,
    now: Duration,
) -> bool {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= REMEMBERED && !known.contains_key(principal) {
        known.clear();
    }
    known.entry(principal.identity()).or_insert_with(|| Allowance::new(per_second)).take(now)
}

/// Ends operations that take longer than this.
pub fn timeout(after: Duration) -> Layered {
    boxed(move |operation: Operation, next| async move {
        match tokio::time::timeout(after, next.call(operation)).await {
            Ok(reply) => reply,
            Err(_) => Err(ErrorObject::internal(format!("took longer than {after:?}"))),
        }
    })
}
