//! The task that owns a connection: reads, answers, sends, and watches the clock.
//!
//! Nothing that a server sends ends this process or makes anything grow without bound: lines that are
//! not messages are skipped up to a budget, questions are limited in number, and reading stops while the
//! server does not read what we send.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep_until};

use super::events::Event;
use super::hub::Hub;
use super::link::{End, Link, Out};
use crate::engine::{Allowance, InFlight};
use crate::json_rpc::{Decoder, RequestId, notification_line};
use crate::model::{CancelledParams, ErrorObject, Method};
use crate::transport::{ChildExit, Incoming, PersonTime, Transport};

/// How much of the queue is taken before the transport has its turn, and the other way round.
const AT_ONCE: usize = 64;
/// How many turns the task takes before others have theirs.
const TURNS: usize = 16;

pub(super) type Answer = Result<Box<RawValue>, ErrorObject>;
pub(super) type Answered = Result<(tokio::task::Id, Answer), tokio::task::JoinError>;

/// A connection at work.
pub(super) struct Connection {
    transport: Box<dyn Transport>,
    exit: Option<ChildExit>,
    pub(super) hub: Arc<Hub>,
    pub(super) link: Arc<Link>,
    queue: mpsc::UnboundedReceiver<Out>,
    /// Requests that wait until the server reads again.
    outbox: VecDeque<Waits>,
    pub(super) decoder: Decoder,
    /// Requests of the server that are being answered.
    pub(super) in_flight: InFlight<tokio::task::AbortHandle>,
    pub(super) answers: JoinSet<Answer>,
    pub(super) asked: HashMap<tokio::task::Id, RequestId>,
    pub(super) garbage: usize,
    pub(super) begun: bool,
    /// The server reads no more; it may still have something to say.
    deaf: bool,
    pub(super) allowance: Allowance,
    /// Set for the request that expires first, or earlier.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A request that has not left.
struct Waits {
    id: i64,
    line: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl Connection {
    /// Starts the task.
    pub(super) fn start(
        transport: Box<dyn Transport>,
        exit: Option<ChildExit>,
        person: Option<PersonTime>,
        hub: &Arc<Hub>,
    ) -> Arc<Link> {
        let policy = &hub.config.policy;
        let (link, queue) = Link::new(policy.pending, transport.has_headers(), person);
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
            deaf: false,
            allowance: Allowance::new(policy.notifications_per_second),
            alarm: None,
        };
        tokio::spawn(connection.run());
        link
    }

    async fn run(mut self) {
        let _over = Over(Arc::clone(&self.link));
        let mut roots = self.hub.config.roots.as_ref().map(super::Roots::changes);
        let stop = loop {
            tokio::select! {
                stop = poll_fn(|cx| self.poll_turns(cx)) => break stop,
                () = changed(&mut roots) => self.roots_changed(),
            }
        };
        let (end, local) = match stop {
            Stop::Local => (End::Closed("closed by this client".into()), true),
            Stop::Ended => (how_it_ended(self.exit.clone()).await, false),
            Stop::Failed(end) => (end, false),
        };
        self.finish(end, local).await;
    }

    /// Fails what waits, then closes the transport; of a process, waits until it is gone.
    async fn finish(mut self, end: End, local: bool) {
        self.link.seal(&end);
        let unsent = self.take_unsent();
        let open = self.link.end(&end, &unsent);
        // Somebody may have known before.
        let end = self.link.ended().unwrap_or(end);
        if local && !self.deaf {
            // A server that finishes its work before it leaves need not finish what nobody waits for.
            for id in open {
                self.withdraw(id, Some("the client closes the connection".into()), true);
            }
        }
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
                let rest = poll_fn(|cx| {
                    loop {
                        match self.transport.poll_receive(cx) {
                            Poll::Ready(Ok(Incoming::End) | Err(_)) => return Poll::Ready(()),
                            Poll::Ready(Ok(_)) => {}
                            Poll::Pending => return Poll::Pending,
                        }
                    }
                });
                tokio::select! { () = rest => {}, () = exit.gone() => {} }
            }
            drop(self.transport);
            exit.gone().await;
        }
    }

    /// Takes turns until there is nothing to do.
    fn poll_turns(&mut self, cx: &mut Context<'_>) -> Poll<Stop> {
        for _ in 0..TURNS {
            match self.turn(cx) {
                Turn::Idle => return Poll::Pending,
                Turn::Busy => {}
                Turn::Over(stop) => return Poll::Ready(stop),
            }
        }
        // Others on this thread have their turn, too.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Everything that may have something to do is asked, so that nothing waits for anything else; the
    /// transport last, because the others send.
    fn turn(&mut self, cx: &mut Context<'_>) -> Turn {
        let mut turn = Turn::Busy;
        // What does not fit into this turn stays in the queue.
        for _ in 0..AT_ONCE {
            let Poll::Ready(out) = self.queue.poll_recv(cx) else {
                turn = Turn::Idle;
                break;
            };
            if let Some(stop) = self.queued(out) {
                return Turn::Over(stop);
            }
        }
        while !self.answers.is_empty()
            && let Poll::Ready(answered) = self.answers.poll_join_next_with_id(cx)
        {
            self.answered(answered);
        }
        if self.poll_alarm(cx).is_ready() {
            turn = Turn::Busy;
            self.expire();
        }
        let asked = self.answers.len();
        match self.send_and_receive(cx) {
            // Nobody has waited for the answers to new questions so far.
            Turn::Idle if self.answers.len() > asked => Turn::Busy,
            Turn::Idle => turn,
            other => other,
        }
    }

    fn send_and_receive(&mut self, cx: &mut Context<'_>) -> Turn {
        self.fill_transport();
        let mut stuck = self.deaf;
        if self.transport.unsent() > 0 && !stuck {
            match self.transport.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Pending => stuck = true,
                // A broken pipe is the other end of an exit; what was said before it still arrives.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    (self.deaf, stuck) = (true, true);
                }
                Poll::Ready(Err(error)) => return Turn::failed(&error),
            }
        }
        let left = self.transport.unsent();
        for _ in 0..AT_ONCE {
            let full = self.transport.unsent() > self.hub.config.policy.unsent_bytes && !self.deaf;
            let received = if full { Poll::Pending } else { self.transport.poll_receive(cx) };
            let stop = match received {
                Poll::Ready(Ok(received)) => self.received(received),
                Poll::Ready(Err(error)) => return Turn::failed(&error),
                // What we said to that, and what had to wait, leaves in another turn.
                Poll::Pending if stuck => return Turn::Idle,
                Poll::Pending if self.transport.unsent() > left || !self.outbox.is_empty() => break,
                Poll::Pending => return Turn::Idle,
            };
            if let Some(stop) = stop {
                return Turn::Over(stop);
            }
        }
        Turn::Busy
    }

    /// Ready when a request may have expired.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.link.next_deadline() else { return Poll::Pending };
        let deadline = self.link.instant(deadline);
        let alarm = match &mut self.alarm {
            Some(alarm) => alarm,
            none => none.insert(Box::pin(sleep_until(deadline))),
        };
        // Most requests are answered long before. An alarm that is left over from one of them goes off too
        // early, once; that is cheaper than to set it anew for each.
        if deadline < alarm.deadline() {
            alarm.as_mut().reset(deadline);
        }
        ready!(alarm.as_mut().poll(cx));
        self.alarm = None;
        Poll::Ready(())
    }

    fn fill_transport(&mut self) {
        let limit = self.hub.config.policy.unsent_bytes;
        while self.transport.unsent() <= limit && !self.deaf {
            let Some(Waits { mut line, headers, .. }) = self.outbox.pop_front() else { break };
            self.transport.send_request(&mut line, headers);
        }
    }

    /// Takes out all requests that the transport has not got. There come no more: the table is sealed.
    fn take_unsent(&mut self) -> Vec<i64> {
        let mut unsent: Vec<i64> = self.outbox.drain(..).map(|waits| waits.id).collect();
        while let Ok(out) = self.queue.try_recv() {
            if let Out::Request { id, .. } = out {
                unsent.push(id);
            }
        }
        unsent
    }

    fn received(&mut self, received: Incoming) -> Option<Stop> {
        match received {
            Incoming::Message(line) => return self.receive(line, None),
            Incoming::Beside { of, message } => return self.receive(message, Some(&of)),
            Incoming::Failed { id, failure } => self.failed(&id, failure),
            Incoming::End => return Some(Stop::Ended),
            _ => return self.garbage("a line over the limit", b""),
        }
        None
    }

    fn queued(&mut self, out: Option<Out>) -> Option<Stop> {
        match out {
            Some(Out::Request { id, line, headers }) => self.outbox.push_back(Waits { id, line, headers }),
            Some(Out::Line(mut line)) => self.transport.send(&mut line),
            Some(Out::Withdraw { id, reason, tell }) => self.withdraw(id, reason, tell),
            Some(Out::Agreed(rules)) => self.transport.agreed(rules),
            Some(Out::Close) | None => return Some(Stop::Local),
        }
        None
    }

    /// A request that has not left yet is taken back; of any other, the server is told.
    fn withdraw(&mut self, id: i64, reason: Option<String>, tell: bool) {
        if let Some(at) = self.outbox.iter().position(|waits| waits.id == id) {
            self.outbox.remove(at);
            return;
        }
        if self.transport.withdraw(&id.into()) || !tell {
            return;
        }
        let params = CancelledParams { reason, ..CancelledParams::new(id) };
        self.notify(Method::Cancelled, Some(&params));
    }

    fn expire(&mut self) {
        while let Some(expired) = self.link.expire() {
            let (id, tell) = expired;
            self.withdraw(id, Some("no answer in time".into()), tell);
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

    pub(super) fn send(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.transport.send(&mut line);
    }
}

async fn how_it_ended(exit: Option<ChildExit>) -> End {
    End::Closed(match exit {
        Some(exit) => exit.describe().await,
        None => "the server closed the connection".to_owned(),
    })
}

/// However the task ends, nobody waits for it any longer.
struct Over(Arc<Link>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.end(&End::Closed("the runtime of the connection is gone".into()), &[]);
        self.0.over.send_replace(true);
    }
}

/// What came of a turn.
enum Turn {
    /// There was nothing to do.
    Idle,
    Busy,
    Over(Stop),
}

impl Turn {
    fn failed(error: &io::Error) -> Self {
        Self::Over(Stop::Failed(End::Closed(error.to_string())))
    }
}

/// Why a connection stops.
pub(super) enum Stop {
    /// We want to.
    Local,
    /// The server has finished.
    Ended,
    Failed(End),
}

async fn changed(roots: &mut Option<watch::Receiver<u64>>) {
    if let Some(receiver) = roots
        && receiver.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
