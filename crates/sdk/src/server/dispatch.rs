//! What a message leads to: the decisions of one connection.
//!
//! It admits requests, begins their work and turns outcomes into answers. Reading, polling and writing are
//! the loop's, in `connection`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;

use super::connection::Connection;
use super::exchange::{Outcome, Run, guarded};
use super::hooks::{Occasion, SessionHook};
use super::operation::Reply;
use super::serving::Arrival;
use super::{Context, Session};
use crate::engine::{self, Admitted, Exchange, admit_modern, negotiate};
use crate::json_rpc::{self, Notification, Request, RequestId};
use crate::model::{CancelledParams, ErrorObject, InitializeParams, InitializeResult, Method};
use crate::revision::{ErrorId, Lower};
use crate::transport::Transport;

impl<T: Transport> Connection<T> {
    pub(super) fn request(
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
        self.check_room(cx)?;
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
        let mut run = guarded(|| self.serving.begin(exchange, &arrival))??;
        // Most handlers are done at once; those never enter a table or a queue.
        if let Poll::Ready((context, outcome)) = Pin::new(&mut run).poll(cx) {
            self.conclude(&context, outcome, batch);
            return Ok(());
        }
        self.batches.keep_open(batch);
        self.in_flight.open(request.id.clone(), (run.context.clone(), batch))?;
        self.running.push(run);
        Ok(())
    }

    /// Handlers of cancelled requests count until they are dropped, which is done here if it matters.
    fn check_room(&mut self, cx: &mut TaskContext<'_>) -> std::result::Result<(), engine::NotAccepted> {
        let limit = self.serving.policy.in_flight;
        if self.withdrawn > 0 && self.in_flight.len() + self.withdrawn >= limit {
            self.poll_work(cx);
        }
        if self.in_flight.len() + self.withdrawn >= limit {
            return Err(engine::NotAccepted::Busy { limit });
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, context: &Context, outcome: Outcome) {
        if context.method() == Method::ResourcesUpdated {
            return self.conclude_quietly(outcome);
        }
        // A cancelled request has left the table, and another may have its id by now.
        if matches!(outcome, Outcome::Cancelled) {
            self.withdrawn = self.withdrawn.saturating_sub(1);
            return;
        }
        let Some((_, batch)) = self.in_flight.close(&context.inner.exchange.id) else { return };
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
            Reply::LevelSet(level) => {
                session.set_log_level(*level);
                self.wire.set_log_level(*level);
            }
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
    pub(super) fn notification(&mut self, notification: &Notification<'_>) {
        match Method::parse(&notification.method) {
            Some(Method::Cancelled) => self.cancelled(notification.params),
            Some(Method::Initialized) => self.initialized(),
            Some(Method::RootsListChanged) => {
                self.wire.forget_roots();
                self.run_hook(Occasion::RootsChanged, self.serving.hooks.roots_changed.clone());
            }
            _ => tracing::debug!("a notification that means nothing here"),
        }
    }

    fn initialized(&mut self) {
        if self.session.as_mut().is_some_and(engine::Session::initialized) {
            self.wire.may_request();
            self.run_hook(Occasion::Initialized, self.serving.hooks.initialized.clone());
        }
    }

    fn run_hook(&mut self, occasion: Occasion, hook: Option<SessionHook>) {
        let (Some(hook), Some(session)) = (hook, &self.session) else { return };
        if session.is_ready() {
            let patience = self.serving.policy.patience;
            let session = Session::new(Arc::clone(&self.wire), Arc::clone(session.peer()), patience);
            self.hooks.run(occasion, hook, session);
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
        self.withdrawn += 1;
        self.batches.done(batch, &self.wire);
    }

    fn answer(&mut self, id: &RequestId, batch: Option<u64>, write: impl FnOnce(&RequestId, &mut Vec<u8>)) {
        match batch {
            Some(batch) => self.batches.add(batch, |out| write(id, out)),
            None => self.wire.write(|out| write(id, out)),
        }
    }

    pub(super) fn answer_error(&mut self, id: Option<&RequestId>, error: &ErrorObject, batch: Option<u64>) {
        let rules = self.session.as_ref().map(engine::Session::rules).or_else(|| self.peers.rules());
        let null_id = rules.is_none_or(|rules| rules.error_id == ErrorId::Null);
        let write = |out: &mut Vec<u8>| json_rpc::error_line(id, null_id, error, out);
        match batch {
            Some(batch) => self.batches.add(batch, write),
            None => self.wire.write(write),
        }
    }
}
