//! One connection of a server: reads, decides, works, writes, on one task.
//!
//! All that can be read is read before anything is written, and what handlers finish meanwhile leaves in
//! one write. Handlers are polled here, not spawned. A peer that does not read is not read from.

use std::collections::HashSet;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, Stream};
use tokio::time::Sleep;

use super::Principal;
use super::batch::Batches;
use super::bus::Membership;
use super::exchange::Run;
use super::hooks::AtWork;
use super::ledger::Ledger;
use super::listen::{Declared, Listens};
use super::pulse::Pulse;
use super::serving::Serving;
use super::talk::Talk;
use super::wire::Wire;
use crate::Result;
use crate::engine::{self, PeerCache};
use crate::json_rpc::{Decoder, Frame, Message, Refusal, Response};
use crate::model::{ErrorObject, Method};
use crate::transport::{Incoming, Transport};

/// Answers to messages whose id could not be read, in a second: a peer that sends rubbish gets no flood.
const COMPLAINTS_PER_SECOND: u32 = 100;

/// A server's end of one connection.
pub(super) struct Connection<T> {
    pub(super) serving: Arc<Serving>,
    transport: T,
    pub(super) decoder: Decoder,
    pub(super) wire: Arc<Wire>,
    pub(super) talk: Arc<Talk>,
    _membership: Membership,
    pub(super) session: Option<engine::Session>,
    /// What the session was told that this server has.
    pub(super) declared: Declared,
    pub(super) peers: PeerCache,
    /// Each with the batch that it came in.
    pub(super) ledger: Ledger<Option<u64>>,
    pub(super) running: FuturesUnordered<Run>,
    pub(super) listens: Listens,
    pub(super) batches: Batches,
    complaints: engine::Allowance,
    /// Who sent what is being read.
    pub(super) principal: Principal,
    pulse: Pulse,
    /// Work of hooks, which belongs to no exchange.
    pub(super) hooks: AtWork,
    draining: Option<Pin<Box<Sleep>>>,
    /// Whether requests may say by themselves which revision they speak.
    pub(super) modern: bool,
    lines: Vec<u8>,
}

/// However it ends, also when it is let go in the middle: nobody waits for anything any more.
impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        self.talk.stop_asking();
        self.wire.close();
        self.ledger.end("the connection is over");
    }
}

impl<T: Transport> Connection<T> {
    pub(super) fn new(serving: Arc<Serving>, transport: T, principal: Principal) -> Self {
        let talk = Talk::new(&serving.policy);
        let wire = Wire::new(&serving.policy, Some(Arc::clone(&talk)));
        talk.speaks_over(&wire);
        let policy = &serving.policy;
        Self {
            decoder: Decoder::new(policy.limits),
            session: None,
            declared: Declared::default(),
            peers: PeerCache::default(),
            ledger: Ledger::new(policy),
            running: FuturesUnordered::new(),
            listens: Listens::new(policy.listen_streams),
            batches: Batches::default(),
            complaints: engine::Allowance::new(COMPLAINTS_PER_SECOND),
            pulse: Pulse::new(serving.keep_alive),
            hooks: AtWork::default(),
            draining: None,
            modern: true,
            lines: Vec::new(),
            _membership: Membership::new(&serving.registry, &wire, &principal),
            principal,
            wire,
            talk,
            transport,
            serving,
        }
    }

    /// Serves only what `initialize` opens.
    #[cfg(feature = "http-server")]
    pub(super) fn legacy_only(mut self) -> Self {
        self.modern = false;
        self
    }

    /// Serves until the peer has finished or `stop` is ready, then finishes the work at hand.
    pub(super) async fn serve(mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut stop = std::pin::pin!(stop);
        let ended = std::future::poll_fn(|cx| {
            if self.draining.is_none() && stop.as_mut().poll(cx).is_ready() {
                self.drain();
            }
            self.poll_serve(cx)
        })
        .await;
        match ended {
            // A peer that went away without a word has every right to.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Ok(())
            }
            other => Ok(other?),
        }
    }

    fn poll_serve(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.wire.register(cx.waker());
        loop {
            // Both may begin new work, which nobody would wake us for before it was polled once. Changes are
            // noted once however often they happen, so they can wait for a peer that does not read.
            if !self.is_held_back() {
                self.tell_changes();
            }
            self.poll_alarm(cx);
            let mut moved = self.poll_work(cx);
            moved |= self.poll_read(cx)?;
            let held_back = self.is_held_back();
            self.poll_write(cx)?;
            // What was held back asked nobody to wake us, so it must be looked at again.
            if moved || (held_back && !self.is_held_back()) {
                continue;
            }
            let Some(draining) = &mut self.draining else { return Poll::Pending };
            if self.running.is_empty() && self.transport.unsent() == 0 {
                return self.transport.poll_close(cx);
            }
            // Neither work without end nor a peer that does not read may keep us.
            return draining.as_mut().poll(cx).map(Ok);
        }
    }

    /// Whether the peer has so much of ours to read that it gets no more, and is not read from.
    fn is_held_back(&self) -> bool {
        self.transport.unsent() >= self.serving.policy.unsent_bytes
    }

    /// Finished handlers. Says whether there were any.
    pub(super) fn poll_work(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some((context, outcome))) = Pin::new(&mut self.running).poll_next(cx) {
            self.finish(&context, outcome);
            moved = true;
        }
        moved | self.hooks.poll(cx)
    }

    fn poll_alarm(&mut self, cx: &mut TaskContext<'_>) {
        if let Some(work) = self.pulse.beat(self.session.as_ref(), &self.wire) {
            self.hooks.push(work);
        }
        if self.pulse.is_dead() && self.draining.is_none() {
            self.drain();
        }
        self.pulse.poll_next(cx);
    }

    /// Everything that is there to be read, unless the peer has too much of ours to read itself.
    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> io::Result<bool> {
        let mut moved = false;
        while self.draining.is_none() && !self.is_held_back() {
            let Poll::Ready(incoming) = self.transport.poll_receive(cx) else { break };
            moved = true;
            match incoming? {
                Incoming::Message(frame) | Incoming::Beside { message: frame, .. } => {
                    if let Some(principal) = self.transport.principal() {
                        self.principal = principal;
                    }
                    self.receive(&frame, cx);
                }
                Incoming::TooLong { limit } => {
                    self.complain(ErrorObject::parse_error(format!("a message is limited to {limit} bytes")));
                }
                Incoming::End => self.drain(),
                // Requests of ours expire by themselves.
                Incoming::Failed { .. } => {}
            }
            self.wire.take_output(&mut self.lines);
            self.transport.send(&mut self.lines);
        }
        Ok(moved)
    }

    fn poll_write(&mut self, cx: &mut TaskContext<'_>) -> io::Result<()> {
        // What stays in the wire is counted there: it drops chatter and refuses to ask for more.
        if !self.is_held_back() {
            self.wire.take_output(&mut self.lines);
            self.transport.send(&mut self.lines);
        }
        match self.transport.poll_flush(cx) {
            Poll::Ready(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads no more, and gives the work at hand its time.
    fn drain(&mut self) {
        let grace = self.serving.policy.drain;
        self.draining = Some(Box::pin(tokio::time::sleep(grace)));
        self.talk.stop_asking();
        self.end_listens();
    }

    fn receive(&mut self, frame: &Bytes, cx: &mut TaskContext<'_>) {
        match self.decoder.frame(frame) {
            Ok(Frame::Single(message)) => self.message(message, frame, None, cx),
            Ok(Frame::Batch(items)) => self.batch(&items, frame, cx),
            Err(refusal) => self.refuse(&refusal, None),
        }
    }

    fn batch(&mut self, items: &[&str], frame: &Bytes, cx: &mut TaskContext<'_>) {
        let allowed = self.session.as_ref().is_some_and(|session| session.rules().has_batches);
        if !allowed || items.is_empty() {
            let reason = if allowed { "a batch without messages" } else { "this revision has no batches" };
            return self.complain(ErrorObject::invalid_request(reason));
        }
        let batch = self.batches.open();
        let mut ids = HashSet::new();
        for item in items {
            match self.decoder.message(item) {
                Ok(Message::Request(request)) if !ids.insert(request.id.clone()) => {
                    // Even if the first is answered already: both answers would stand in one array.
                    let error = ErrorObject::invalid_request("this batch has another request with this id");
                    self.answer_error(Some(&request.id), &error, Some(batch));
                }
                Ok(Message::Request(request)) if request.method == Method::Initialize.as_str() => {
                    let error = ErrorObject::invalid_request("initialize must not be part of a batch");
                    self.answer_error(Some(&request.id), &error, Some(batch));
                }
                Ok(Message::Request(request)) if self.batches.bytes() >= self.serving.policy.unsent_bytes => {
                    let error = ErrorObject::new(engine::BUSY, "too much waits for the rest of its batch");
                    self.answer_error(Some(&request.id), &error, Some(batch));
                }
                Ok(message) => self.message(message, frame, Some(batch), cx),
                Err(refusal) => self.refuse(&refusal, Some(batch)),
            }
        }
        self.batches.filled(batch, &self.wire);
    }

    fn message(&mut self, message: Message<'_>, frame: &Bytes, batch: Option<u64>, cx: &mut TaskContext<'_>) {
        match message {
            Message::Request(request) => self.request(&request, frame, batch, cx),
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(response) => self.response(response),
        }
    }

    fn refuse(&mut self, refusal: &Refusal, batch: Option<u64>) {
        if refusal.is_notification {
            return tracing::debug!(error = refusal.error.message, "dropped a notification");
        }
        if let Some(id) = refusal.id.as_ref().filter(|_| !refusal.has_method) {
            self.talk.settle_malformed(id, &refusal.error);
        }
        if refusal.id.is_some() || batch.is_some() {
            self.answer_error(refusal.id.as_ref(), &refusal.error, batch);
        } else {
            self.complain(refusal.error.clone());
        }
    }

    /// Answers something that has no readable id.
    fn complain(&mut self, error: ErrorObject) {
        if self.complaints.take(self.wire.now()) {
            self.answer_error(None, &error, None);
        }
    }

    fn response(&mut self, response: Response<'_>) {
        match response.id {
            Some(id) => drop(self.talk.settle(&id, response.outcome)),
            None => tracing::warn!("the client could not read a message of ours"),
        }
    }
}
