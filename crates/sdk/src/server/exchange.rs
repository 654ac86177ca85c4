//! One exchange from its first poll to its outcome.
//!
//! The handler is a future without a task of its own. It is dropped when the client cancels, when it
//! cannot go on without answers that this round does not carry, and when it panics; each is an outcome.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::Value;

use super::Context;
use super::asks::request_now;
use super::context::lock;
use super::forwarded;
use super::operation::{BoxFuture, OperationResult, Reply};
use super::seal::canonical;
use crate::model::{ErrorObject, InputRequests, InputRequiredResult, Method};
use crate::{Error, Principal, Result};

/// How an exchange ends.
#[derive(Debug)]
pub(super) enum Outcome {
    Complete(Reply),
    InputRequired(InputRequiredResult),
    Error(ErrorObject),
    /// Nobody waits for an answer.
    Cancelled,
}

/// Runs code of the server's author. A panic of it is an error like any other, and ends nothing else.
///
/// What it panicked with may hold anything; the log has it, the client does not.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> std::result::Result<T, ErrorObject> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        tracing::error!("a handler panicked");
        ErrorObject::internal("the handler failed")
    })
}

type Again = Box<dyn Fn() -> BoxFuture<OperationResult> + Send>;
type Answers = BoxFuture<Result<Vec<(String, Value)>>>;

/// A handler at work.
pub(super) struct Run {
    pub(super) context: Context,
    work: Option<BoxFuture<OperationResult>>,
    /// The parameters, for the seal and for what a provider passes on.
    params: Bytes,
    /// Begins the work anew, where handlers are rehearsed on connections that could wait.
    again: Option<Again>,
    answers: Option<Answers>,
}

impl Run {
    pub(super) fn new(context: Context, work: BoxFuture<OperationResult>, params: Bytes) -> Self {
        Self { context, work: Some(work), params, again: None, answers: None }
    }

    /// Runs the handler again for every answer, as it would be on a stateless connection.
    pub(super) fn rehearsed(context: Context, again: Again, params: Bytes) -> Self {
        Self { context, work: Some(again()), params, again: Some(again), answers: None }
    }

    fn poll_outcome(&mut self, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        self.context.inner.life.register(cx.waker());
        loop {
            if self.context.is_cancelled() {
                return Poll::Ready(Outcome::Cancelled);
            }
            if let Some(answers) = &mut self.answers {
                let answers = ready!(answers.as_mut().poll(cx));
                self.answers = None;
                match answers {
                    Ok(answers) => {
                        let mut asks = lock(&self.context.inner.asks);
                        let round = asks.round();
                        round.kept.answers.extend(answers);
                        round.asked.clear();
                    }
                    Err(error) => {
                        return Poll::Ready(Outcome::Error(ErrorObject::internal(error.to_string())));
                    }
                }
                match self.again.as_ref().map(guarded).transpose() {
                    Ok(work) => self.work = work,
                    Err(error) => return Poll::Ready(Outcome::Error(error)),
                }
            }
            let Some(work) = &mut self.work else { return Poll::Ready(Outcome::Cancelled) };
            match guarded(|| work.as_mut().poll(cx)) {
                Ok(Poll::Ready(Ok(reply))) => return Poll::Ready(self.complete(reply)),
                Ok(Poll::Ready(Err(error))) => return Poll::Ready(Outcome::Error(error)),
                Ok(Poll::Pending) => {}
                Err(error) => return Poll::Ready(self.panicked(error)),
            }
            let (fault, wanted) = self.take_asked();
            if let Some(fault) = fault {
                return Poll::Ready(Outcome::Error(fault));
            }
            if wanted.is_empty() {
                return Poll::Pending;
            }
            // The handler cannot go on: it runs again when the answers are there.
            self.let_go();
            if self.again.is_none() {
                return Poll::Ready(self.ask(wanted));
            }
            self.answers = Some(self.ask_now(wanted));
        }
    }

    /// A reply as the client can read it.
    fn complete(&self, reply: Reply) -> Outcome {
        match forwarded::in_words_of(&self.context, reply, || forwarded::called(&self.params)) {
            Ok(reply) => Outcome::Complete(reply),
            Err(error) => Outcome::Error(error),
        }
    }

    /// What the handler has asked in vain, and what was wrong with an answer. What it asks in place leaves.
    fn take_asked(&self) -> (Option<ErrorObject>, InputRequests) {
        let mut asks = lock(&self.context.inner.asks);
        let replay = asks.replay;
        let Some(round) = asks.begun() else { return (None, InputRequests::new()) };
        let wanted = if replay { std::mem::take(&mut round.wanted) } else { InputRequests::new() };
        let (fault, leaving) = (round.fault.take(), std::mem::take(&mut round.leaving));
        drop(asks);
        leaving.depart();
        (fault, wanted)
    }

    fn panicked(&self, error: ErrorObject) -> Outcome {
        let (id, method) = (&self.context.inner.exchange.id, self.context.method().as_str());
        tracing::error!(%id, method, "this was the panic of a call");
        Outcome::Error(error)
    }

    /// Drops the handler, which may run code as well.
    fn let_go(&mut self) {
        let work = self.work.take();
        guarded(|| drop(work)).ok();
    }

    fn ask(&self, wanted: InputRequests) -> Outcome {
        let serving = &self.context.inner.serving;
        let kept = std::mem::take(&mut lock(&self.context.inner.asks).round().kept);
        let binding = binding(self.context.principal(), self.context.method(), &self.params);
        match serving.seal.close(kept, &binding) {
            Ok(state) if state.len() <= serving.policy.request_state_bytes => {
                Outcome::InputRequired(InputRequiredResult::new(wanted, Some(state)))
            }
            Ok(_) => Outcome::Error(ErrorObject::internal("the state of this call has become too large")),
            Err(error) => Outcome::Error(ErrorObject::internal(error.to_string())),
        }
    }

    fn ask_now(&self, wanted: InputRequests) -> Answers {
        let context = self.context.clone();
        Box::pin(async move {
            let asked = wanted.iter().map(|(key, request)| {
                let context = &context;
                async move { request_now(context, request).await.map(|answer| (key.clone(), answer)) }
            });
            join_all(asked).await.into_iter().collect::<Result<Vec<_>, Error>>()
        })
    }
}

impl Future for Run {
    type Output = (Context, Outcome);

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.poll_outcome(cx));
        self.let_go();
        self.context.inner.life.finish();
        Poll::Ready((self.context.clone(), outcome))
    }
}

/// However it ends, also with its connection: whoever waits for that must not wait for ever.
impl Drop for Run {
    fn drop(&mut self) {
        self.context.inner.life.finish();
    }
}

/// Everything that must be the same when a call is tried again: who, what, with which parameters.
pub(super) fn binding(principal: &Principal, method: Method, params: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in [principal.issuer(), principal.subject(), method.as_str()] {
        contexture_core::json_rpc::write_string(part, &mut out);
    }
    match std::str::from_utf8(params) {
        Ok(params) => canonical(params, &["_meta", "inputResponses", "requestState"], &mut out),
        Err(_) => out.extend_from_slice(params),
    }
    out
}
