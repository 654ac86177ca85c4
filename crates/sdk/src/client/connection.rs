//! The task that owns a connection: reads, answers, sends, and watches the clock.
//!
//! Nothing that a server sends ends this process or makes anything grow without bound: lines that are
//! not messages are skipped up to a budget, questions are limited in number, and reading stops while the
//! server does not read what we send.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::events::Event;
use super::hub::Hub;
use super::link::{End, Link, Out, count};
use crate::Error;
use crate::engine::{Allowance, InFlight};
use crate::json_rpc::{
    Decoder, Frame, Message, Notification, Refusal, Request, RequestId, Response, error_line,
    notification_line, result_line,
};
use crate::model::{CancelledParams, ErrorObject, Method};
use crate::transport::{ChildExit, Incoming, Transport};

/// Error data beyond this is not kept.
const ERROR_DATA: usize = 64 * 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";

type Answer = Result<Box<RawValue>, ErrorObject>;

/// A connection at work.
pub(super) struct Connection {
    transport: Box<dyn Transport>,
    exit: Option<ChildExit>,
    pub(super) hub: Arc<Hub>,
    pub(super) link: Arc<Link>,
    queue: mpsc::UnboundedReceiver<Out>,
    /// Requests that wait until the server reads again.
    outbox: VecDeque<(i64, Vec<u8>)>,
    decoder: Decoder,
    in_flight: InFlight<tokio::task::AbortHandle>,
    answers: JoinSet<Answer>,
    asked: HashMap<tokio::task::Id, RequestId>,
    garbage: usize,
    begun: bool,
    pub(super) allowance: Allowance,
    roots: Option<watch::Receiver<u64>>,
}

/// What woke the task up.
enum Wake {
    Transport(io::Result<Incoming>),
    Sent,
    Queue(Option<Out>),
    Answered(Option<Result<(tokio::task::Id, Answer), tokio::task::JoinError>>),
    Clock,
    Roots,
}

impl Connection {
    /// Starts the task.
    pub(super) fn start(
        transport: Box<dyn Transport>,
        exit: Option<ChildExit>,
        hub: &Arc<Hub>,
    ) -> Arc<Link> {
        let policy = &hub.config.policy;
        let (link, queue) = Link::new(policy.pending);
        let connection = Self {
            transport,
            exit,
            hub: Arc::clone(hub),
            link: Arc::clone(&link),
            queue,
            outbox: VecDeque::new(),
            decoder: Decoder::new(policy.limits),
            in_flight: InFlight::new(policy.in_flight),
            answers: JoinSet::new(),
            asked: HashMap::new(),
            garbage: 0,
            begun: false,
            allowance: Allowance::new(policy.notifications_per_second),
            roots: hub.config.roots.as_ref().map(super::Roots::changes),
        };
        tokio::spawn(connection.run());
        link
    }

    async fn run(mut self) {
        let (end, local) = loop {
            let woken = self.wake().await;
            match self.handle(woken) {
                None => {}
                Some(Stop::Local) => break (End::Closed("closed by this client".into()), true),
                Some(Stop::Ended) => break (self.how_it_ended().await, false),
                Some(Stop::Failed(end)) => break (end, false),
            }
        };
        self.finish(end, local).await;
    }

    /// Fails what waits, then closes the transport; of a process, waits until it is gone.
    async fn finish(mut self, end: End, local: bool) {
        self.link.end(&end);
        self.answers.abort_all();
        tracing::debug!(reason = end.text(), "connection over");
        self.hub.emit(Event::Closed(end.text().to_owned()));
        let grace = self.hub.config.policy.child_exit;
        let transport = &mut self.transport;
        let closing = tokio::time::timeout(grace, poll_fn(|cx| transport.poll_close(cx)));
        let closed = matches!(closing.await, Ok(Ok(())));
        if let Some(exit) = self.exit.take() {
            if closed && local {
                // It may still have something to say, and must not be killed by a closed pipe.
                let rest = poll_fn(|cx| loop {
                    match self.transport.poll_receive(cx) {
                        Poll::Ready(Ok(Incoming::End) | Err(_)) => return Poll::Ready(()),
                        Poll::Ready(Ok(_)) => {}
                        Poll::Pending => return Poll::Pending,
                    }
                });
                tokio::select! { () = rest => {}, () = exit.gone() => {} }
            }
            drop(self.transport);
            exit.gone().await;
        }
        self.link.over.send_replace(true);
    }

    async fn how_it_ended(&self) -> End {
        End::Closed(match &self.exit {
            Some(exit) => exit.describe().await,
            None => "the server closed the connection".to_owned(),
        })
    }

    async fn wake(&mut self) -> Wake {
        self.fill_transport();
        let limit = self.hub.config.policy.unsent_bytes;
        let deadline = self.link.next_deadline().map(|deadline| self.link.instant(deadline));
        let transport = &mut self.transport;
        let waits = !self.outbox.is_empty();
        let moved = poll_fn(|cx| {
            if transport.unsent() > 0 {
                match transport.poll_flush(cx) {
                    Poll::Ready(Err(error)) => return Poll::Ready(Wake::Transport(Err(error))),
                    Poll::Ready(Ok(())) if waits => return Poll::Ready(Wake::Sent),
                    _ => {}
                }
            }
            if transport.unsent() > limit {
                return Poll::Pending;
            }
            transport.poll_receive(cx).map(Wake::Transport)
        });
        let roots = &mut self.roots;
        tokio::select! {
            wake = moved => wake,
            out = self.queue.recv() => Wake::Queue(out),
            answered = self.answers.join_next_with_id(), if !self.answers.is_empty() => Wake::Answered(answered),
            () = sleep_until(deadline) => Wake::Clock,
            () = changed(roots) => Wake::Roots,
        }
    }

    fn fill_transport(&mut self) {
        let limit = self.hub.config.policy.unsent_bytes;
        while self.transport.unsent() <= limit {
            let Some((_, mut line)) = self.outbox.pop_front() else { break };
            self.transport.send(&mut line);
        }
    }

    fn handle(&mut self, wake: Wake) -> Option<Stop> {
        match wake {
            Wake::Transport(Ok(Incoming::Message(line))) => return self.receive(line),
            Wake::Transport(Ok(Incoming::End)) => return Some(Stop::Ended),
            Wake::Transport(Ok(_)) => return self.garbage("a line over the limit"),
            // A broken pipe is the other end of an exit: say how it exited.
            Wake::Transport(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Some(Stop::Ended);
            }
            Wake::Transport(Err(error)) => return Some(Stop::Failed(End::Closed(error.to_string()))),
            Wake::Queue(Some(Out::Request { id, line })) => self.outbox.push_back((id, line)),
            Wake::Queue(Some(Out::Line(mut line))) => self.transport.send(&mut line),
            Wake::Queue(Some(Out::Withdraw { id, reason })) => self.withdraw(id, reason),
            Wake::Queue(Some(Out::Close) | None) => return Some(Stop::Local),
            Wake::Answered(answered) => self.answered(answered),
            Wake::Clock => self.expire(),
            Wake::Roots => self.roots_changed(),
            Wake::Sent => {}
        }
        None
    }

    /// A request that has not left yet is taken back; of any other, the server is told.
    fn withdraw(&mut self, id: i64, reason: Option<String>) {
        if let Some(at) = self.outbox.iter().position(|(waiting, _)| *waiting == id) {
            self.outbox.remove(at);
            return;
        }
        let params = CancelledParams { reason, ..CancelledParams::new(id) };
        self.notify(Method::Cancelled, Some(&params));
    }

    fn expire(&mut self) {
        while let Some(expired) = self.link.expire() {
            if let Some(id) = expired {
                self.withdraw(id, Some("no answer in time".into()));
            }
        }
    }

    fn roots_changed(&mut self) {
        let session = self.link.session.get();
        if session.is_some_and(|session| session.rules.has_roots_list_changed) {
            self.notify::<()>(Method::RootsListChanged, None);
        }
    }

    fn notify<P: serde::Serialize>(&mut self, method: Method, params: Option<&P>) {
        let mut line = Vec::new();
        notification_line(method.as_str(), params, &mut line);
        self.send(line);
    }

    fn send(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.transport.send(&mut line);
    }

    fn receive(&mut self, mut line: Bytes) -> Option<Stop> {
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            tracing::warn!("the server began with a byte order mark");
            line = line.slice(BOM.len()..);
        }
        let mut decoder = std::mem::take(&mut self.decoder);
        let stop = match decoder.frame(&line) {
            Ok(Frame::Single(message)) => {
                self.message(message, &line);
                None
            }
            Ok(Frame::Batch(items)) => self.batch(&items, &line),
            Err(refusal) => self.refused(refusal),
        };
        self.decoder = decoder;
        stop
    }

    fn batch(&mut self, items: &[&str], line: &Bytes) -> Option<Stop> {
        let allowed = self.link.session.get().is_some_and(|session| session.rules.has_batches);
        if !allowed || items.is_empty() {
            return self.garbage("a batch");
        }
        let mut decoder = Decoder::new(self.hub.config.policy.limits);
        for item in items {
            match decoder.message(item) {
                Ok(message) => self.message(message, line),
                Err(refusal) => {
                    if let stop @ Some(_) = self.refused(refusal) {
                        return stop;
                    }
                }
            }
        }
        None
    }

    fn message(&mut self, message: Message<'_>, line: &Bytes) {
        match message {
            Message::Response(response) => self.response(response, line),
            Message::Request(request) => self.request(&request),
            Message::Notification(notification) => self.notification(&notification),
        }
    }

    /// Not a message. A call that it was meant for fails at once, a question gets its error.
    fn refused(&mut self, refusal: Refusal) -> Option<Stop> {
        if let Some(id) = &refusal.id {
            if !refusal.has_method {
                let error = Error::PeerMisbehaved(format!("a malformed response: {}", refusal.error.message));
                if self.link.settle(id, Err(error)) {
                    return None;
                }
            } else if self.link.session.get().is_none_or(|session| session.rules.has_server_requests) {
                let mut line = Vec::new();
                error_line(Some(id), false, &refusal.error, &mut line);
                self.send(line);
            }
        }
        self.garbage(&refusal.error.message)
    }

    fn garbage(&mut self, what: &str) -> Option<Stop> {
        count(&self.link.counters.garbage);
        self.garbage += 1;
        let limit = self.hub.config.policy.garbage_lines;
        // The first few are worth a line in the log, a flood is not.
        if self.garbage <= 10 {
            tracing::warn!(what, "skipped a line that is not a message");
        }
        if self.garbage <= limit {
            return None;
        }
        let text = format!("more than {limit} lines were not messages, the last because of: {what}");
        Some(Stop::Failed(End::Misbehaved(text)))
    }

    fn response(&mut self, response: Response<'_>, line: &Bytes) {
        let Some(id) = response.id else {
            count(&self.link.counters.unknown_responses);
            tracing::warn!("the server could not read one of our messages");
            return;
        };
        let outcome = match response.outcome {
            Ok(result) => Ok(line.slice_ref(result.as_bytes())),
            Err(error) => Err(Error::Remote(cut(error))),
        };
        if !self.link.settle(&id, outcome) {
            count(&self.link.counters.unknown_responses);
            tracing::debug!(%id, "a response that nobody waits for");
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        let session = self.link.session.get();
        if session.is_some_and(|session| !session.rules.has_server_requests) {
            count(&self.link.counters.refused_requests);
            tracing::warn!(method = %request.method, "a request from a server whose revision has none");
            return;
        }
        if request.method == Method::Ping.as_str() {
            let mut line = Vec::new();
            // An empty object is always JSON.
            let _ = result_line(&request.id, &serde_json::Map::new(), &mut line);
            return self.send(line);
        }
        let question = match session {
            Some(session) => self.hub.question(session, request),
            None => Err(ErrorObject::method_not_found(&request.method)),
        };
        let question = question.and_then(|question| {
            self.in_flight.check(&request.id)?;
            Ok(question)
        });
        match question {
            Ok(question) => {
                let hub = Arc::clone(&self.hub);
                let link = Arc::clone(&self.link);
                let handle = self.answers.spawn(async move { hub.answer(&link, question).await });
                self.asked.insert(handle.id(), request.id.clone());
                // Checked above; nothing has come between.
                let _ = self.in_flight.open(request.id.clone(), handle);
            }
            Err(error) => {
                count(&self.link.counters.refused_requests);
                self.answer(&request.id, Err(error));
            }
        }
    }

    fn answered(&mut self, answered: Option<Result<(tokio::task::Id, Answer), tokio::task::JoinError>>) {
        let (task, answer) = match answered {
            Some(Ok((task, answer))) => (task, answer),
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("a responder panicked");
                (error.id(), Err(ErrorObject::internal("the client failed")))
            }
            Some(Err(error)) => (error.id(), Err(ErrorObject::internal("cancelled"))),
            None => return,
        };
        let Some(id) = self.asked.remove(&task) else { return };
        // A question that was withdrawn gets no answer.
        if self.in_flight.close(&id).is_some() {
            self.answer(&id, answer);
        }
    }

    fn answer(&mut self, id: &RequestId, answer: Answer) {
        let mut line = Vec::new();
        match answer {
            Ok(result) if result_line(id, &result, &mut line).is_ok() => {}
            Ok(_) => error_line(Some(id), false, &ErrorObject::internal("the client failed"), &mut line),
            Err(error) => error_line(Some(id), false, &error, &mut line),
        }
        self.send(line);
    }

    /// The server no longer wants an answer. Unknown ids are none of our business.
    pub(super) fn withdrawn(&mut self, params: CancelledParams) {
        let Some(id) = params.request_id else { return };
        if self.link.is_listening(&id) {
            self.link.settle(&id, Err(Error::Cancelled));
            self.hub.emit(Event::SubscriptionEnded);
            return;
        }
        let Some(handle) = self.in_flight.close(&id) else { return };
        handle.abort();
        tracing::info!(%id, reason = params.reason.as_deref(), "the server withdrew a request");
        self.hub.emit(Event::Withdrawn { id, reason: params.reason });
    }

    fn notification(&mut self, notification: &Notification<'_>) {
        if !self.notified(notification) {
            count(&self.link.counters.dropped_notifications);
        }
    }
}

enum Stop {
    /// We want to.
    Local,
    /// The server has finished.
    Ended,
    Failed(End),
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn changed(roots: &mut Option<watch::Receiver<u64>>) {
    match roots {
        Some(receiver) if receiver.changed().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}

/// An error is shown to people and models: it may be long, but not that long.
fn cut(mut error: ErrorObject) -> ErrorObject {
    if error.data.as_ref().is_some_and(|data| data.to_string().len() > ERROR_DATA) {
        error.data = Some("(too long, left out)".into());
    }
    if let Some((at, _)) = error.message.char_indices().nth(ERROR_DATA) {
        error.message.truncate(at);
    }
    error
}
