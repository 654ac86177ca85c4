//! The requests of one client that are being worked on: which, how many, and how fast they come.
//!
//! It counts and remembers; it does not run anything. What belongs to a request besides its context is the
//! caller's.

use std::sync::Arc;
use std::time::Duration;

use super::Context;
use super::exchange::Outcome;
use crate::Policy;
use crate::engine::{self, Exchange, InFlight};
use crate::json_rpc::RequestId;
use crate::model::{CancelledParams, ErrorObject, Method};

/// What one client has asked for and not got yet.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    in_flight: InFlight<(Context, T)>,
    /// Handlers whose request was cancelled and that are not dropped yet.
    withdrawn: usize,
    calls: engine::Allowance,
    limit: usize,
}

impl<T> Ledger<T> {
    pub(super) fn new(policy: &Policy) -> Self {
        Self {
            in_flight: InFlight::new(policy.in_flight),
            withdrawn: 0,
            calls: engine::Allowance::new(policy.calls_per_second),
            limit: policy.in_flight,
        }
    }

    /// Whether there would be room if handlers that nobody waits for were dropped.
    pub(super) fn is_crowded(&self) -> bool {
        self.withdrawn > 0 && self.in_flight.len() + self.withdrawn >= self.limit
    }

    /// Decides whether a request may begin.
    pub(super) fn admit(
        &mut self,
        exchange: &Exchange,
        now: impl FnOnce() -> Duration,
    ) -> Result<(), ErrorObject> {
        self.in_flight.check(&exchange.id)?;
        if self.in_flight.len() + self.withdrawn >= self.limit {
            return Err(engine::NotAccepted::Busy { limit: self.limit }.into());
        }
        if let Some(token) = &exchange.progress_token
            && self
                .in_flight
                .values()
                .any(|(other, _)| other.inner.exchange.progress_token.as_ref() == Some(token))
        {
            // Nobody could tell whose progress it is.
            return Err(ErrorObject::invalid_params("another request in flight has this progress token"));
        }
        if matches!(exchange.method, Method::ToolsCall | Method::CompletionComplete)
            && !self.calls.take_now(now)
        {
            return Err(ErrorObject::new(engine::BUSY, "too many calls; try again later"));
        }
        Ok(())
    }

    /// Remembers a request whose handler is not done at once.
    pub(super) fn enter(&mut self, context: &Context, of: T) -> Result<(), ErrorObject> {
        let id = context.inner.exchange.id.clone();
        Ok(self.in_flight.open(id, (context.clone(), of))?)
    }

    /// A handler is done. Returns what belongs to its request, if somebody still waits for it.
    pub(super) fn finish(&mut self, context: &Context, outcome: &Outcome) -> Option<T> {
        let id = &context.inner.exchange.id;
        // A cancelled request has left the table, whatever its handler came to, and another may have its id.
        let is_here =
            self.in_flight.get(id).is_some_and(|(here, _)| Arc::ptr_eq(&here.inner, &context.inner));
        if !is_here {
            self.withdrawn = self.withdrawn.saturating_sub(1);
            return None;
        }
        let (_, of) = self.in_flight.close(id)?;
        (!matches!(outcome, Outcome::Cancelled)).then_some(of)
    }

    /// The client takes a request back. Returns what belongs to it, if it was being worked on.
    pub(super) fn cancel(&mut self, id: &RequestId, params: CancelledParams) -> Option<T> {
        let (context, of) = self.in_flight.close(id)?;
        tracing::debug!(%id, reason = params.reason.as_deref().unwrap_or(""), "the client cancelled a request");
        self.withdrawn += 1;
        context.inner.life.cancel(params.reason);
        Some(of)
    }

    /// The connection or session is over: nobody waits for anything any more.
    pub(super) fn end(&mut self, reason: &str) {
        for (_, (context, _)) in self.in_flight.drain() {
            context.inner.life.cancel(Some(reason.into()));
        }
    }
}
