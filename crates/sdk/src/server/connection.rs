//! One connection of a server: reads, decides, works, writes, on one task.
//!
//! All that can be read is read before anything is written, and what handlers finish meanwhile leaves in
//! one write. Handlers are polled here, not spawned. A peer that does not read is not read from.

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, Stream};
use tokio::time::Sleep;

use super::batch::Batches;
use super::exchange::{Outcome, Run};
use super::listen::Listens;
use super::operation::Reply;
use super::pulse::Pulse;
use super::serving::{Arrival, Serving};
use super::wire::Wire;
use super::{Context, Principal, Session};
use crate::Result;
use crate::engine::{self, Admitted, Exchange, InFlight, PeerCache, admit_modern, negotiate};
use crate::json_rpc::{self, Decoder, Frame, Message, Notification, Refusal, Request, RequestId, Response};
use crate::model::{
    CancelledParams, ErrorObject, InitializeParams, InitializeResult, Method, ServerCapabilities,
};
use crate::revision::{ErrorId, Lower};
use crate::transport::{Incoming, Transport};

/// Answers to messages whose id could not be read, in a second: a peer that sends rubbish gets no flood.
const COMPLAINTS_PER_SECOND: u32 = 100;

/// A server's end of one connection.
pub(super) struct Connection<T> {
    pub(super) serving: Arc<Serving>,
    transport: T,
    decoder: Decoder,
    pub(super) wire: Arc<Wire>,
    pub(super) session: Option<engine::Session>,
    /// What the session was told that this server has.
    pub(super) declared: ServerCapabilities,
    peers: PeerCache,
    in_flight: InFlight<(Context, Option<u64>)>,
    running: FuturesUnordered<Run>,
    pub(super) listens: Listens,
    batches: Batches,
    complaints: engine::Allowance,
    calls: engine::Allowance,
    principal: Principal,
    pulse: Pulse,
    alarm: Option<Pin<Box<Sleep>>>,
    /// Work of hooks, which belongs to no exchange.
    hooks: FuturesUnordered<super::operation::BoxFuture<()>>,
    draining: Option<Pin<Box<Sleep>>>,
    lines: Vec<u8>,
}

impl<T: Transport> Connection<T> {
    pub(super) fn new(serving: Arc<Serving>, transport: T, principal: Principal) -> Self {
        let wire = Wire::new(&serving.policy);
        serving.registry.bus().join(&wire);
        let policy = &serving.policy;
        Self {
            decoder: Decoder::new(policy.limits),
            session: None,
            declared: ServerCapabilities::default(),
            peers: PeerCache::default(),
            in_flight: InFlight::new(policy.in_flight),
            running: FuturesUnordered::new(),
            listens: Listens::new(policy.listen_streams),
            batches: Batches::default(),
            complaints: engine::Allowance::new(COMPLAINTS_PER_SECOND),
            calls: engine::Allowance::new(policy.calls_per_second),
            principal,
            pulse: Pulse::new(serving.keep_alive),
            alarm: None,
            hooks: FuturesUnordered::new(),
            draining: None,
            lines: Vec::new(),
            wire,
            transport,
            serving,
        }
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
        self.wire.close();
        for (_, (context, _)) in self.in_flight.drain() {
            context.inner.life.cancel(Some("the connection is over".into()));
        }
        match ended {
            // A peer that went away without a word has every right to.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    fn poll_serve(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.wire.register(cx.waker());
        loop {
            // Both may begin new work, which nobody would wake us for before it was polled once.
            self.tell_changes();
            self.poll_alarm(cx);
            let mut moved = self.poll_work(cx);
            moved |= self.poll_read(cx)?;
            self.poll_write(cx)?;
            if moved {
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

    /// Finished handlers. Says whether there were any.
    fn poll_work(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some((context, outcome))) = Pin::new(&mut self.running).poll_next(cx) {
            self.finish(&context, outcome);
            moved = true;
        }
        while let Poll::Ready(Some(())) = Pin::new(&mut self.hooks).poll_next(cx) {
            moved = true;
        }
        moved
    }

    fn poll_alarm(&mut self, cx: &mut TaskContext<'_>) {
        self.wire.expire();
        if let Some(work) = self.pulse.beat(self.session.as_ref(), &self.wire) {
            self.hooks.push(work);
        }
        if self.pulse.is_dead() && self.draining.is_none() {
            self.drain();
        }
        let next = [self.wire.next_deadline(), self.pulse.next()].into_iter().flatten().min();
        let Some(next) = next else {
            self.alarm = None;
            return;
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(next)));
        if alarm.deadline() != next {
            alarm.as_mut().reset(next);
        }
        if alarm.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }

    /// Everything that is there to be read, unless the peer has too much of ours to read itself.
    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> io::Result<bool> {
        let mut moved = false;
        while self.draining.is_none() && self.transport.unsent() < self.serving.policy.unsent_bytes {
            let Poll::Ready(incoming) = self.transport.poll_receive(cx) else { break };
            moved = true;
            match incoming? {
                Incoming::Message(frame) => self.receive(&frame, cx),
                Incoming::TooLong { limit } => {
                    self.complain(ErrorObject::parse_error(format!("a message is limited to {limit} bytes")));
                }
                Incoming::End => self.drain(),
            }
            self.wire.take_output(&mut self.lines);
            self.transport.send(&mut self.lines);
        }
        Ok(moved)
    }

    fn poll_write(&mut self, cx: &mut TaskContext<'_>) -> io::Result<()> {
        self.wire.take_output(&mut self.lines);
        if !self.lines.is_empty() {
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
        self.wire.stop_asking();
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
            self.wire.settle_malformed(id, &refusal.error);
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
            Some(id) => self.wire.settle(&id, response.outcome),
            None => tracing::warn!("the client could not read a message of ours"),
        }
    }

    fn request(
        &mut self,
        request: &Request<'_>,
        frame: &Bytes,
        batch: Option<u64>,
        cx: &mut TaskContext<'_>,
    ) {
        let admitted = match admit_modern(request, &mut self.peers) {
            Some(_) if batch.is_some() => Err(ErrorObject::invalid_request("this revision has no batches")),
            Some(modern) => modern.and_then(|exchange| self.spoken(exchange)).map(Admitted::Exchange),
            None => engine::Session::admit(self.session.as_ref(), request),
        };
        let begun = match admitted {
            Ok(Admitted::Exchange(exchange)) => self.begin(exchange, request, frame, batch, cx),
            Ok(Admitted::Ping) => {
                self.answer(&request.id, batch, |id, out| {
                    drop(json_rpc::result_line(id, &serde_json::Map::new(), out))
                });
                Ok(())
            }
            Ok(Admitted::Initialize(params)) => self.initialize(&request.id, *params),
            Err(error) => Err(error),
        };
        if let Err(error) = begun {
            self.answer_error(Some(&request.id), &error, batch);
        }
    }

    /// Whether this server was told to speak the revision.
    fn spoken(&self, exchange: Exchange) -> std::result::Result<Exchange, ErrorObject> {
        if self.serving.revisions.contains(&exchange.rules.revision) {
            return Ok(exchange);
        }
        let modern = self.serving.revisions.iter().filter(|revision| revision.is_modern());
        let supported: Vec<_> = modern.map(|revision| revision.as_str()).collect();
        Err(ErrorObject::unsupported_version(exchange.rules.revision.as_str(), &supported))
    }

    fn begin(
        &mut self,
        exchange: Exchange,
        request: &Request<'_>,
        frame: &Bytes,
        batch: Option<u64>,
        cx: &mut TaskContext<'_>,
    ) -> std::result::Result<(), ErrorObject> {
        self.in_flight.check(&exchange.id)?;
        if let Some(token) = &exchange.progress_token
            && self
                .in_flight
                .values()
                .any(|(other, _)| other.inner.exchange.progress_token.as_ref() == Some(token))
        {
            // Nobody could tell whose progress it is.
            return Err(ErrorObject::invalid_params("another request in flight has this progress token"));
        }
        if self.listens.has(&exchange.id) {
            return Err(engine::NotAccepted::IdInUse.into());
        }
        if matches!(exchange.method, Method::ToolsCall | Method::CompletionComplete)
            && !self.calls.take(self.wire.now())
        {
            return Err(ErrorObject::new(engine::BUSY, "too many calls; try again later"));
        }
        let arrival = Arrival {
            params: request.params,
            meta: request.meta,
            frame,
            principal: &self.principal,
            wire: &self.wire,
        };
        let mut run = self.serving.begin(exchange, &arrival)?;
        // Most handlers are done at once; those never enter a table or a queue.
        if let Poll::Ready((context, outcome)) = Pin::new(&mut run).poll(cx) {
            self.conclude(&context, outcome, batch);
            return Ok(());
        }
        self.batches.expect(batch);
        self.in_flight.open(request.id.clone(), (run.context.clone(), batch))?;
        self.running.push(run);
        Ok(())
    }

    fn finish(&mut self, context: &Context, outcome: Outcome) {
        let batch = match self.in_flight.close(&context.inner.exchange.id) {
            Some((_, batch)) => batch,
            // Cancelled meanwhile, or not a request of the client.
            None => return self.conclude_quietly(outcome),
        };
        self.conclude(context, outcome, batch);
        self.batches.done(batch, &self.wire);
    }

    /// Work that belongs to no request of the client.
    pub(super) fn consult(&mut self, run: Run) {
        self.running.push(run);
    }

    fn conclude_quietly(&self, outcome: Outcome) {
        if let Outcome::Complete(Reply::MayTell(uri)) = outcome {
            self.tell_updated(&uri);
        }
    }

    fn conclude(&mut self, context: &Context, outcome: Outcome, batch: Option<u64>) {
        let id = &context.inner.exchange.id;
        match outcome {
            Outcome::Cancelled => {}
            Outcome::Complete(Reply::Listening(filter)) => {
                if let Err(error) = self.listen(context, filter) {
                    self.answer_error(Some(id), &error, batch);
                }
            }
            Outcome::Complete(Reply::Subscribed(uri)) if self.watch(&uri).is_err() => {
                let error = ErrorObject::invalid_params("this session watches too many resources");
                self.answer_error(Some(id), &error, batch);
            }
            outcome => {
                self.note(&outcome);
                let serving = Arc::clone(&self.serving);
                self.answer(id, batch, |id, out| serving.write_outcome(id, context.rules(), outcome, out));
            }
        }
    }

    /// What a reply changes about the session.
    fn note(&mut self, outcome: &Outcome) {
        let (Outcome::Complete(reply), Some(session)) = (outcome, &mut self.session) else { return };
        match reply {
            Reply::Unsubscribed(uri) if session.watches(uri) => {
                session.unsubscribe(uri);
                self.wire.unwatch(uri);
            }
            Reply::LevelSet(level) => session.set_log_level(*level),
            _ => {}
        }
    }

    fn watch(&mut self, uri: &str) -> std::result::Result<(), ErrorObject> {
        let Some(session) = &mut self.session else { return Ok(()) };
        if !session.watches(uri) {
            session.subscribe(uri.to_owned())?;
            self.wire.watch(uri);
        }
        Ok(())
    }

    fn initialize(
        &mut self,
        id: &RequestId,
        params: InitializeParams,
    ) -> std::result::Result<(), ErrorObject> {
        let serving = &self.serving;
        if !serving.revisions.iter().any(|revision| revision.is_legacy()) {
            let supported: Vec<_> = serving.revisions.iter().map(|revision| revision.as_str()).collect();
            return Err(ErrorObject::unsupported_version(&params.protocol_version, &supported));
        }
        let revision = negotiate(&params.protocol_version, &serving.revisions);
        let mut result = InitializeResult {
            protocol_version: revision.to_string(),
            capabilities: serving.capabilities(),
            server_info: serving.info.clone(),
            instructions: serving.instructions.clone(),
            meta: None,
        };
        self.declared = result.capabilities.clone();
        result.lower(revision.rules());
        let (level, limit) = (serving.offer.log_level, serving.policy.subscriptions);
        self.session = Some(engine::Session::open(params, revision, level, limit));
        self.wire.write(|out| drop(json_rpc::result_line(id, &result, out)));
        Ok(())
    }

    /// A notification is never answered, not even one that makes no sense.
    fn notification(&mut self, notification: &Notification<'_>) {
        match Method::parse(&notification.method) {
            Some(Method::Cancelled) => self.cancelled(notification.params),
            Some(Method::Initialized) => self.initialized(),
            Some(Method::RootsListChanged) => {
                self.wire.set_roots(None);
                self.run_hook(self.serving.hooks.roots_changed.clone());
            }
            _ => tracing::debug!("a notification that means nothing here"),
        }
    }

    fn initialized(&mut self) {
        if self.session.as_mut().is_some_and(engine::Session::initialized) {
            self.wire.may_request();
            self.run_hook(self.serving.hooks.initialized.clone());
        }
    }

    fn run_hook(&mut self, hook: Option<super::SessionHook>) {
        let (Some(hook), Some(session)) = (hook, &self.session) else { return };
        if session.is_ready() {
            let patience = self.serving.policy.patience;
            self.hooks.push(hook(Session::new(Arc::clone(&self.wire), Arc::clone(session.peer()), patience)));
        }
    }

    fn cancelled(&mut self, params: Option<&str>) {
        let Some(params) = params.and_then(|text| serde_json::from_str::<CancelledParams>(text).ok()) else {
            return;
        };
        let Some(id) = params.request_id else { return };
        if self.listens.close(&id, &self.wire) {
            return;
        }
        let Some((context, batch)) = self.in_flight.close(&id) else { return };
        tracing::debug!(%id, reason = params.reason.as_deref().unwrap_or(""), "the client cancelled a request");
        context.inner.life.cancel(params.reason);
        self.batches.done(batch, &self.wire);
    }

    fn answer(&mut self, id: &RequestId, batch: Option<u64>, write: impl FnOnce(&RequestId, &mut Vec<u8>)) {
        match batch {
            Some(batch) => self.batches.add(batch, |out| write(id, out)),
            None => self.wire.write(|out| write(id, out)),
        }
    }

    fn answer_error(&mut self, id: Option<&RequestId>, error: &ErrorObject, batch: Option<u64>) {
        let rules = self.session.as_ref().map(engine::Session::rules).or_else(|| self.peers.rules());
        let null_id = rules.is_none_or(|rules| rules.error_id == ErrorId::Null);
        let write = |out: &mut Vec<u8>| json_rpc::error_line(id, null_id, error, out);
        match batch {
            Some(batch) => self.batches.add(batch, write),
            None => self.wire.write(write),
        }
    }
}
