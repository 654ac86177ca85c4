//! What a message leads to: the decisions of one connection.
//!
//! It admits requests, begins their work and turns outcomes into answers. Reading, polling and writing are
//! the loop's, in `connection`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;

use super::admission::{note, watched};
use super::connection::Connection;
use super::exchange::{Outcome, Run, guarded};
use super::hooks::{Occasion, SessionHook};
use super::operation::Reply;
use super::serving::Arrival;
use super::{Context, Session};
use crate::engine::{self, Admitted, Exchange};
use crate::json_rpc::{self, Notification, Request, RequestId};
use crate::model::{CancelledParams, ErrorObject, InitializeParams, Method};
use crate::revision::ErrorId;
use crate::transport::Transport;

impl<T: Transport> Connection<T> {
    pub(super) fn request(
        &mut self,
        request: &Request<'_>,
        frame: &Bytes,
        batch: Option<u64>,
        cx: &mut TaskContext<'_>,
    ) {
        let admitted = match self.serving.admit_modern(request, &mut self.peers, None) {
            Some(_) if !self.modern => {
                Err(ErrorObject::invalid_request("this revision is served at the MCP endpoint only"))
            }
            Some(_) if batch.is_some() => Err(ErrorObject::invalid_request("this revision has no batches")),
            Some(modern) => modern.map(Admitted::Exchange),
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
            Ok(Admitted::Initialize(_)) if is_long(request, self.serving.policy.peer_bytes) => {
                Err(ErrorObject::invalid_params("this handshake is too long to be kept"))
            }
            Ok(Admitted::Initialize(params)) => self.initialize(&request.id, *params),
            Err(error) => Err(error),
        };
        if let Err(error) = begun {
            self.answer_error(Some(&request.id), &error, batch);
        }
    }

    fn begin(
        &mut self,
        exchange: Exchange,
        request: &Request<'_>,
        frame: &Bytes,
        batch: Option<u64>,
        cx: &mut TaskContext<'_>,
    ) -> std::result::Result<(), ErrorObject> {
        if self.ledger.is_crowded() {
            self.poll_work(cx);
        }
        if self.listens.has(&exchange.id) {
            return Err(engine::NotAccepted::IdInUse.into());
        }
        self.ledger.admit(&exchange, || self.wire.now())?;
        let arrival = Arrival {
            params: request.params,
            meta: request.meta,
            call: request.call,
            frame,
            principal: &self.principal,
            wire: &self.wire,
            head: None,
        };
        let mut run = guarded(|| self.serving.begin(exchange, &arrival))??;
        // Most handlers are done at once; those never enter a table or a queue.
        if let Poll::Ready((context, outcome)) = Pin::new(&mut run).poll(cx) {
            self.conclude(&context, outcome, batch);
            return Ok(());
        }
        self.batches.keep_open(batch);
        self.ledger.enter(&run.context, batch)?;
        self.running.push(run);
        Ok(())
    }

    pub(super) fn finish(&mut self, context: &Context, outcome: Outcome) {
        if context.method() == Method::ResourcesUpdated {
            return self.conclude_quietly(outcome);
        }
        let Some(batch) = self.ledger.finish(context, &outcome) else { return };
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
            outcome => {
                if let Some(session) = &mut self.session {
                    let mut guard = watched(context, &outcome);
                    if let Err(error) = note(&outcome, &mut guard, session, &self.wire) {
                        return self.answer_error(Some(id), &error, batch);
                    }
                }
                let serving = Arc::clone(&self.serving);
                self.answer(id, batch, |id, out| serving.write_outcome(id, context.rules(), outcome, out));
            }
        }
    }

    fn initialize(
        &mut self,
        id: &RequestId,
        params: InitializeParams,
    ) -> std::result::Result<(), ErrorObject> {
        let opened = self.serving.open_session(params)?;
        self.declared = opened.declared;
        self.session = Some(opened.session);
        self.wire.write(|out| drop(json_rpc::result_line(id, &opened.result, out)));
        Ok(())
    }

    /// A notification is never answered, not even one that makes no sense.
    pub(super) fn notification(&mut self, notification: &Notification<'_>) {
        match Method::parse(&notification.method) {
            Some(Method::Cancelled) => self.cancelled(notification.params),
            Some(Method::Initialized) => self.initialized(),
            Some(Method::RootsListChanged) => {
                self.talk.forget_roots();
                self.run_hook(Occasion::RootsChanged, self.serving.hooks.roots_changed.clone());
            }
            _ => tracing::debug!("a notification that means nothing here"),
        }
    }

    fn initialized(&mut self) {
        if self.session.as_mut().is_some_and(engine::Session::initialized) {
            self.talk.may_request();
            self.run_hook(Occasion::Initialized, self.serving.hooks.initialized.clone());
        }
    }

    fn run_hook(&mut self, occasion: Occasion, hook: Option<SessionHook>) {
        let (Some(hook), Some(session)) = (hook, &self.session) else { return };
        if session.is_ready() {
            let session = Session::new(Arc::clone(&self.wire), Arc::clone(session.peer()), &self.serving);
            self.hooks.run(occasion, hook, session);
        }
    }

    fn cancelled(&mut self, params: Option<&str>) {
        let Some(params) = params.and_then(|text| serde_json::from_str::<CancelledParams>(text).ok()) else {
            return;
        };
        let Some(id) = params.request_id.clone() else { return };
        if self.listens.close(&id, &self.wire) {
            return;
        }
        let Some(batch) = self.ledger.cancel(&id, params) else { return };
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

fn is_long(request: &Request<'_>, limit: usize) -> bool {
    request.params.is_some_and(|params| params.len() > limit)
}
