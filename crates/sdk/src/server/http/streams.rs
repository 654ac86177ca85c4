//! Streams of events, as bodies of responses: of one exchange, of changes, of a session, and taken up again.
//!
//! Each is read as fast as its client reads, and no faster. A stream that is silent says now and then that it
//! is there. Nothing of one stream is ever shown on another.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use contexture_core::http::sse;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{Instant, Sleep};

use super::answering::Answering;
use super::body::Events;
use super::session::{Busy, HttpSession, Turn};
use super::stream::{Driver, Stream, Taken};
use super::table::{Permit, Table};
use crate::json_rpc::lines as lines_of;
use crate::server::Principal;
use crate::server::bus::Membership;
use crate::server::exchange::{Outcome, Run, guarded};
use crate::server::listen::{Listen, on_behalf_of, tell_session, tell_session_updated};
use crate::server::operation::{BoxFuture, Reply, Request};
use crate::server::pulse::Pulse;
use crate::server::wire::Wire;

/// Says that a silent stream is there.
pub(super) struct Comments {
    every: Duration,
    /// None before the first silence.
    next: Option<Pin<Box<Sleep>>>,
}

impl Comments {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, next: None }
    }

    pub(super) fn poll(&mut self, out: &mut Vec<u8>, cx: &mut TaskContext<'_>) {
        let next = self.next.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.every)));
        while next.as_mut().poll(cx).is_ready() {
            if out.is_empty() {
                out.extend_from_slice(sse::KEEP_ALIVE);
            }
            next.as_mut().reset(Instant::now() + self.every.max(Duration::from_millis(100)));
        }
    }
}

pub(super) fn piece(out: Vec<u8>) -> Poll<Option<Bytes>> {
    if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(out.into())) }
}

/// Middleware that is asked whether a change may be told of. Nothing while nobody is: most streams never ask, and
/// there may be many of them.
#[derive(Default)]
struct Consulted(Option<Box<FuturesUnordered<Run>>>);

impl Consulted {
    fn add(&mut self, run: Option<Run>) {
        if let Some(run) = run {
            self.0.get_or_insert_default().push(run);
        }
    }

    /// What one of them came to, if one has come to anything.
    fn next(&mut self, cx: &mut TaskContext<'_>) -> Option<Outcome> {
        match self.0.as_mut()?.poll_next_unpin(cx) {
            Poll::Ready(Some((_, outcome))) => Some(outcome),
            Poll::Ready(None) => {
                self.0 = None;
                None
            }
            Poll::Pending => None,
        }
    }
}

/// Moves what waits in a wire into events without ids.
fn drain(wire: &Wire, out: &mut Vec<u8>) {
    let mut lines = Vec::new();
    wire.take_output(&mut lines);
    for line in lines_of(&lines) {
        sse::write_event(None, line, out);
    }
}

/// The events of one exchange, and its answer at the end.
pub(super) struct AnswerEvents {
    /// Empty once another reader has come: then the work goes on without us.
    driver: Arc<Driver>,
    stream: Option<Arc<Stream>>,
    reader: u64,
    /// Still to be said: where the stream is.
    primes: bool,
    ended: bool,
    comments: Comments,
}

impl AnswerEvents {
    pub(super) fn new(answering: Answering) -> Self {
        let every = answering.table.serving.policy.stream_pulse;
        let reader = answering.stream.as_ref().map_or(0, |stream| stream.attach());
        let session = answering.session.as_ref();
        let primes = session.is_some_and(|session| session.lock().session.rules().has_polling);
        let stream = answering.stream.clone();
        let driver = Arc::new(Mutex::new(Some(answering)));
        if let Some(stream) = &stream {
            stream.driven_by(&driver);
        }
        Self { driver, stream, reader, primes, ended: false, comments: Comments::new(every) }
    }

    /// The events of an exchange that is over.
    pub(super) fn all(mut self) -> Bytes {
        let mut cx = TaskContext::from_waker(Waker::noop());
        match Pin::new(&mut self).poll_events(&mut cx) {
            Poll::Ready(events) => events.unwrap_or_default(),
            Poll::Pending => Bytes::new(),
        }
    }
}

impl Drop for AnswerEvents {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.detach(self.reader);
        }
    }
}

/// Takes what there is to say. Says whether more will come.
fn take(answering: &Answering, reader: u64, primes: &mut bool, out: &mut Vec<u8>) -> bool {
    let Answering { stream, wire, table, work, .. } = answering;
    let Some(stream) = stream else {
        drain(wire, out);
        return work.is_some();
    };
    let hang_up = wire.take_hang_up().filter(|_| work.is_some());
    if std::mem::take(primes) || hang_up.is_some() {
        stream.prime(hang_up, out);
    }
    let taken = stream.take(reader, &*table.events, out);
    hang_up.is_none() && taken != Taken::Superseded && work.is_some()
}

impl Events for AnswerEvents {
    fn poll_events(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        let mut out = Vec::new();
        let mut driver = this.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = driver.as_mut().is_some_and(|answering| {
            // Only while the work is ours: another reader would not be woken any more.
            answering.wire.register(cx.waker());
            let _ = answering.poll_to_wire(cx);
            take(answering, this.reader, &mut this.primes, &mut out)
        });
        drop(driver);
        if !goes_on {
            this.ended = true;
            return Poll::Ready((!out.is_empty()).then(|| out.into()));
        }
        this.comments.poll(&mut out, cx);
        piece(out)
    }
}

/// What a client of the modern era listens to.
pub(super) struct ChangeEvents {
    listen: Listen,
    wire: Arc<Wire>,
    table: Arc<Table>,
    principal: Principal,
    consulted: Consulted,
    comments: Comments,
    ended: bool,
    _membership: Membership,
    _permit: Permit,
}

impl ChangeEvents {
    pub(super) fn new(
        listen: Listen,
        wire: Arc<Wire>,
        table: &Arc<Table>,
        principal: Principal,
        permit: Permit,
    ) -> Self {
        Self {
            listen,
            _membership: Membership::new(&table.serving.registry, &wire, &principal),
            wire,
            table: Arc::clone(table),
            principal,
            consulted: Consulted::default(),
            comments: Comments::new(table.serving.policy.stream_pulse),
            ended: false,
            _permit: permit,
        }
    }

    fn tell(&mut self) {
        let changes = self.wire.take_changes();
        for list in changes.lists().filter(|_| self.table.serving.offer.list_changed) {
            self.listen.tell_list(list, &self.wire);
        }
        for uri in changes.updated {
            if self.table.serving.stack.is_none() {
                self.listen.tell_updated(&uri, &self.wire);
            } else if self.listen.watches(&uri) {
                // Who was allowed to subscribe may not be allowed to know any more.
                let (exchange, principal) = (self.listen.on_behalf(), self.principal.clone());
                let serving = &self.table.serving;
                let consult = || serving.consult(exchange, &self.wire, principal, Request::Updated(uri));
                self.consulted.add(guarded(consult).ok());
            }
        }
        if changes.stopping {
            self.listen.end(&self.wire);
            self.ended = true;
        }
    }
}

impl Events for ChangeEvents {
    fn poll_events(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.wire.register(cx.waker());
        self.tell();
        while let Some(outcome) = self.consulted.next(cx) {
            if let Outcome::Complete(Reply::MayTell(uri)) = outcome {
                self.listen.tell_updated(&uri, &self.wire);
            }
        }
        let mut out = Vec::new();
        drain(&self.wire, &mut out);
        self.comments.poll(&mut out, cx);
        piece(out)
    }
}

impl Drop for SessionEvents {
    fn drop(&mut self) {
        self.stream.detach(self.reader);
    }
}

/// A stream of a legacy session that somebody reads again or for the first time: a GET.
pub(super) struct SessionEvents {
    session: Arc<HttpSession>,
    /// Who reads it, as the GET proved.
    principal: Principal,
    stream: Arc<Stream>,
    reader: u64,
    /// The place in the queue for what belongs to no call; none where the stream is a call's own.
    turn: Option<Turn>,
    table: Arc<Table>,
    /// What is to be said first.
    first: Vec<u8>,
    consulted: Consulted,
    pulse: Pulse,
    /// A question that waits for its answer; there is never more than one.
    ping: Option<BoxFuture<()>>,
    comments: Comments,
    ended: bool,
    _busy: Busy,
    _permit: Permit,
}

impl SessionEvents {
    pub(super) fn new(
        (session, principal): (Arc<HttpSession>, Principal),
        stream: Arc<Stream>,
        (reader, turn): (u64, Option<Turn>),
        table: &Arc<Table>,
        permit: Permit,
        first: Vec<u8>,
    ) -> Self {
        Self {
            _busy: session.busy(),
            session,
            principal,
            stream,
            reader,
            pulse: Pulse::new(table.serving.keep_alive.filter(|_| turn.is_some())),
            turn,
            first,
            consulted: Consulted::default(),
            ping: None,
            comments: Comments::new(table.serving.policy.stream_pulse),
            table: Arc::clone(table),
            ended: false,
            _permit: permit,
        }
    }

    /// Tells of changes. Says whether the server is being stopped.
    fn tell(&mut self) -> bool {
        let (session, serving) = (&self.session, &self.table.serving);
        let changes = session.general.take_changes();
        let inner = session.lock();
        for list in changes.lists().filter(|_| serving.offer.list_changed) {
            tell_session(list, &inner.session, inner.declared, &session.general);
        }
        for uri in changes.updated {
            if serving.stack.is_none() {
                tell_session_updated(&uri, &inner.session, &session.general);
            } else if inner.session.watches(&uri) {
                let (exchange, principal) = (on_behalf_of(&inner.session), self.principal.clone());
                let consult =
                    || serving.consult(exchange, &session.general, principal, Request::Updated(uri));
                self.consulted.add(guarded(consult).ok());
            }
        }
        changes.stopping
    }

    fn poll_general(&mut self, cx: &mut TaskContext<'_>) {
        self.ended |= self.tell();
        while let Some(outcome) = self.consulted.next(cx) {
            if let Outcome::Complete(Reply::MayTell(uri)) = outcome {
                tell_session_updated(&uri, &self.session.lock().session, &self.session.general);
            }
        }
        let beat = self.pulse.beat(Some(&self.session.lock().session), &self.session.general);
        self.ping = beat.or_else(|| self.ping.take());
        if self.ping.as_mut().is_some_and(|ping| ping.as_mut().poll(cx).is_ready()) {
            self.ping = None;
        }
        if self.pulse.is_dead() {
            self.table.remove(&self.session.id, "the client does not answer");
            self.ended = true;
        }
        self.pulse.poll_next(cx);
    }
}

impl Events for SessionEvents {
    fn poll_events(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let this = &mut *self;
        let mut out = std::mem::take(&mut this.first);
        let is_turn = this.turn.as_ref().is_none_or(|turn| turn.has_come(cx.waker()));
        if is_turn {
            this.stream.register(this.reader, cx.waker());
            if this.turn.is_some() {
                this.poll_general(cx);
            }
            let taken = this.stream.take(this.reader, &*this.table.events, &mut out);
            this.ended |= matches!(taken, Taken::End | Taken::Superseded);
            let hang_up = this.stream.wire.take_hang_up().filter(|_| this.turn.is_none() && !this.ended);
            if let Some(come_back) = hang_up {
                this.stream.prime(Some(come_back), &mut out);
                this.ended = true;
            }
        }
        // A queue of one that has lost its turn for good: the session is over.
        this.ended |= this.session.has_ended();
        if this.ended {
            return Poll::Ready((!out.is_empty()).then(|| out.into()));
        }
        this.comments.poll(&mut out, cx);
        piece(out)
    }
}
