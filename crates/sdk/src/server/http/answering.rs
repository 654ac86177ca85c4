//! The answer to one POST while it is being made: whole if it can be, a stream of events if it must be.
//!
//! The handler is polled by whoever waits for the response; no task is started. As long as nothing but the
//! answer has been said, status and headers are not committed. If the client goes away, a modern exchange is
//! cancelled; a legacy one goes on without it, on a task of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll, ready};

use contexture_core::http::status_of;
use http::{Response, StatusCode};

use super::batch::Batch;
use super::body::Body;
use super::reply;
use super::session::{Busy, HttpSession};
use super::stream::Stream;
use super::table::{Permit, Table};
use crate::engine;
use crate::json_rpc::{self, RequestId};
use crate::model::{ErrorObject, SubscriptionFilter, code};
use crate::revision::Rules;
use crate::server::admission::{note, watched};
use crate::server::exchange::{Outcome, Run};
use crate::server::operation::Reply;
use crate::server::wire::Wire;
use crate::server::{Context, Principal};

/// Room for most answers.
const LINE: usize = 256;

/// What is being done for a POST.
pub(super) enum Work {
    One {
        run: Run,
        /// Whether the session knows of it; a handler that is done at once is not entered anywhere.
        entered: bool,
    },
    Batch(Box<Batch>),
}

/// How the work ended.
pub(super) enum Finished {
    /// With this message.
    Line(StatusCode, Vec<u8>),
    /// As a stream of changes.
    Listening(Context, SubscriptionFilter),
    /// Nobody waits for an answer.
    Nothing,
}

/// What the response is to be.
pub(super) enum Form {
    Whole(Response<Body>),
    Events,
    Listening(Context, SubscriptionFilter),
}

/// An answer in the making.
pub(super) struct Answering {
    /// Whether a client that goes away has taken its request back.
    pub(super) cancelled_by_leaving: bool,
    pub(super) work: Option<Work>,
    pub(super) wire: Arc<Wire>,
    pub(super) table: Arc<Table>,
    pub(super) principal: Principal,
    pub(super) session: Option<Arc<HttpSession>>,
    pub(super) stream: Option<Arc<Stream>>,
    pub(super) permit: Option<Permit>,
    /// Its session is in use.
    pub(super) _busy: Option<Busy>,
}

impl Answering {
    /// Waits until it is known which form the response takes.
    pub(super) fn poll_form(&mut self, cx: &mut TaskContext<'_>) -> Poll<Form> {
        let first = self.poll_work(cx);
        let streams = self.wire.has_output();
        match first {
            Poll::Ready(Finished::Line(status, line)) if !streams => {
                Poll::Ready(Form::Whole(reply::json(status, line)))
            }
            Poll::Ready(Finished::Line(_, line)) => {
                self.say(line);
                Poll::Ready(Form::Events)
            }
            Poll::Ready(Finished::Listening(context, filter)) => {
                Poll::Ready(Form::Listening(context, filter))
            }
            Poll::Ready(Finished::Nothing) => Poll::Ready(Form::Events),
            Poll::Pending if streams => Poll::Ready(Form::Events),
            Poll::Pending => {
                self.wire.register(cx.waker());
                // What was said between the two looks would wake nobody.
                if self.wire.has_output() { Poll::Ready(Form::Events) } else { Poll::Pending }
            }
        }
    }

    /// Lets the work go on; what it ends with goes out over the wire. Says whether it has ended.
    pub(super) fn poll_to_wire(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.work.is_some() {
            let line = match ready!(self.poll_work(cx)) {
                Finished::Line(_, line) => Some(line),
                _ => None,
            };
            let answered = line.is_some();
            if let Some(line) = line {
                self.say(line);
            }
            if let Some(stream) = &self.stream {
                stream.finish(answered);
            }
        }
        Poll::Ready(())
    }

    fn say(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.wire.write_encoded(line);
    }

    fn poll_work(&mut self, cx: &mut TaskContext<'_>) -> Poll<Finished> {
        let session = self.session.as_ref();
        let finished = match &mut self.work {
            None => Finished::Nothing,
            Some(Work::Batch(batch)) => ready!(batch.poll(session, &self.table, cx)),
            Some(Work::One { run, entered }) => match Pin::new(&mut *run).poll(cx) {
                Poll::Ready((context, outcome)) => {
                    conclude(&context, outcome, session.filter(|_| *entered), session, &self.table)
                }
                Poll::Pending => {
                    if let Some(session) = session.filter(|_| !*entered) {
                        *entered = true;
                        enter(session, &run.context);
                    }
                    return Poll::Pending;
                }
            },
        };
        self.work = None;
        Poll::Ready(finished)
    }
}

/// Lets the session know of a request that is not answered at once.
pub(super) fn enter(session: &HttpSession, context: &Context) {
    if let Err(error) = session.lock().ledger.enter(context, ()) {
        // Another request took its id, or its place, between admission and now.
        context.inner.life.cancel(Some(error.message));
    }
}

fn conclude(
    context: &Context,
    outcome: Outcome,
    entered: Option<&Arc<HttpSession>>,
    session: Option<&Arc<HttpSession>>,
    table: &Table,
) -> Finished {
    if let Outcome::Complete(Reply::Listening(filter)) = outcome {
        return Finished::Listening(context.clone(), filter);
    }
    if let Some(session) = entered
        && session.lock().ledger.finish(context, &outcome).is_none()
    {
        return Finished::Nothing;
    }
    if let Outcome::Cancelled = outcome {
        return Finished::Nothing;
    }
    let mut line = Vec::with_capacity(LINE);
    let status = write_outcome(context, outcome, session, table, &mut line);
    Finished::Line(status, line)
}

/// Writes the message that an exchange ends with, and applies what it changes about its session.
pub(super) fn write_outcome(
    context: &Context,
    outcome: Outcome,
    session: Option<&Arc<HttpSession>>,
    table: &Table,
    line: &mut Vec<u8>,
) -> StatusCode {
    let exchange = &context.inner.exchange;
    if let Some(session) = session.filter(|_| changes_session(&outcome)) {
        let mut guard = watched(context, &outcome);
        let noted = note(&outcome, &mut guard, &mut session.lock().session, &session.general);
        if let Err(error) = noted {
            json_rpc::error_line(Some(&exchange.id), false, &error, line);
            return StatusCode::OK;
        }
        session.changed.store(true, Ordering::Release);
    }
    let status = match &outcome {
        Outcome::Error(error) => status(exchange.rules, error),
        _ => StatusCode::OK,
    };
    table.serving.write_outcome(&exchange.id, exchange.rules, outcome, line);
    status
}

fn changes_session(outcome: &Outcome) -> bool {
    use Reply::{LevelSet, Subscribed, Unsubscribed};
    matches!(outcome, Outcome::Complete(Subscribed(_) | Unsubscribed(_) | LevelSet(_)))
}

/// The status of an error that answers a request.
pub(super) fn status(rules: &Rules, error: &ErrorObject) -> StatusCode {
    let status = match error.code {
        // Older revisions have no word about statuses: an answer is an answer, whatever it says.
        code if !rules.has_header_mirroring
            && !matches!(code, engine::BUSY | code::INVALID_REQUEST | code::PARSE_ERROR) =>
        {
            200
        }
        code => status_of(code),
    };
    StatusCode::from_u16(status).unwrap_or(StatusCode::OK)
}

/// Refuses a request by its id.
pub(super) fn refuse(rules: &Rules, id: &RequestId, error: &ErrorObject) -> Response<Body> {
    reply::error(status(rules, error), Some(id), false, error)
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        if self.cancelled_by_leaving {
            if let Work::One { run, .. } = work {
                run.context.inner.life.cancel(Some("the client went away".into()));
            }
            return;
        }
        if self.stream.is_none() {
            // Nobody can come back for what has no name: only the work itself matters now.
            self.wire.close();
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut alone = Self {
            cancelled_by_leaving: true,
            work: Some(work),
            wire: Arc::clone(&self.wire),
            table: Arc::clone(&self.table),
            principal: self.principal.clone(),
            session: self.session.take(),
            stream: self.stream.take(),
            permit: self.permit.take(),
            // Nobody may come back, and then the session ends as any other does that nobody uses, and this with it.
            _busy: None,
        };
        runtime.spawn(async move {
            std::future::poll_fn(|cx| alone.poll_to_wire(cx)).await;
            if let Some(stream) = &alone.stream {
                stream.put_away(&*alone.table.events);
            }
        });
    }
}
