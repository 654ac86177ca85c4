//! What a server says to a legacy client of its own accord: requests that wait for their answers, and what
//! the client has said about itself since.
//!
//! Requests are held back until the client has said `initialized`. One talk may use several wires: over HTTP a
//! question travels with the call that asks it, and its answer comes by another way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use contexture_core::engine::{Patience, Pending};
use contexture_core::json_rpc::RequestId;
use contexture_core::model::{ErrorObject, LoggingLevel, Root};
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use super::wire::Wire;
use crate::{Error, Policy, Result};

/// Where an answer will come.
pub(super) type Answer = oneshot::Receiver<Result<Box<RawValue>>>;

/// The conversation of one legacy session.
#[derive(Debug)]
pub(crate) struct Talk {
    state: Mutex<State>,
    /// For what belongs to no call.
    general: OnceLock<Weak<Wire>>,
    number: u64,
    over: Notify,
}

/// How many there were.
static LAST: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct State {
    /// Requests of ours that wait for `initialized`, as many as `pending` may hold.
    held: Vec<Held>,
    may_request: bool,
    pending: Pending<oneshot::Sender<Result<Box<RawValue>>>>,
    roots: Option<Arc<[Root]>>,
    /// How often the client's roots have changed.
    roots_changes: u64,
    /// Bytes of roots that are kept; more are asked for anew each time.
    roots_limit: usize,
    /// Set by the session, for calls that are under way as well.
    log_level: Option<LoggingLevel>,
    /// Answers are not read any more.
    answerless: bool,
}

#[derive(Debug)]
struct Held {
    id: i64,
    line: Vec<u8>,
    wire: Arc<Wire>,
}

impl Talk {
    pub(crate) fn new(policy: &Policy) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                held: Vec::new(),
                may_request: false,
                pending: Pending::new(policy.pending),
                roots: None,
                roots_changes: 0,
                roots_limit: policy.peer_bytes,
                log_level: None,
                answerless: false,
            }),
            general: OnceLock::new(),
            number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            over: Notify::new(),
        })
    }

    /// Names the wire for what belongs to no call.
    pub(crate) fn speaks_over(&self, wire: &Arc<Wire>) {
        self.general.get_or_init(|| Arc::downgrade(wire));
    }

    /// The wire for what belongs to no call.
    pub(super) fn general(&self) -> Option<Arc<Wire>> {
        self.general.get().and_then(Weak::upgrade)
    }

    /// A panic elsewhere cannot leave these tables half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other talk of this process has.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the client may still be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.lock().answerless
    }

    /// Waits until it may not be any more.
    pub(super) async fn closed(&self) {
        loop {
            let over = self.over.notified();
            if !self.is_open() {
                return;
            }
            over.await;
        }
    }

    /// How much waits for `initialized`.
    pub(super) fn held_bytes(&self) -> usize {
        self.lock().held.iter().map(|held| held.line.len()).sum()
    }

    /// Enters a request and sends it over the wire, now or when requests may leave.
    pub(super) fn open(
        &self,
        patience: Patience,
        now: Duration,
        at_once: bool,
        wire: &Arc<Wire>,
        line: impl FnOnce(i64) -> Vec<u8>,
    ) -> Result<(i64, Answer)> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.answerless {
            return Err(Error::Closed("the client has gone".into()));
        }
        let id = state
            .pending
            .open(sender, patience, now)
            .map_err(|full| Error::TooMuch(format!("{} requests wait for this client", full.limit)))?;
        let line = line(id);
        if state.may_request || at_once {
            drop(state);
            wire.write_encoded(line);
        } else {
            state.held.push(Held { id, line, wire: Arc::clone(wire) });
        }
        Ok((id, receiver))
    }

    /// The client has sent `initialized`: requests may leave.
    pub(crate) fn may_request(&self) {
        let mut state = self.lock();
        state.may_request = true;
        let held = std::mem::take(&mut state.held);
        drop(state);
        for Held { line, wire, .. } in held {
            wire.write_encoded(line);
        }
    }

    /// Takes back a request that has not left. Says whether there was one: otherwise the client knows it.
    pub(super) fn take_back(&self, id: i64) -> bool {
        let mut state = self.lock();
        let before = state.held.len();
        state.held.retain(|held| held.id != id);
        state.held.len() < before
    }

    /// Nobody waits for this answer. Says whether it was still to come.
    pub(super) fn forget(&self, id: i64) -> bool {
        self.lock().pending.settle(&id.into()).is_some()
    }

    /// An answer of the client. Says whether anybody waited for it.
    pub(crate) fn settle(&self, id: &RequestId, outcome: Result<&str, ErrorObject>) -> bool {
        let asked = self.lock().pending.settle(id);
        let Some(answer) = asked else {
            tracing::debug!(%id, "an answer to nothing that was asked");
            return false;
        };
        let outcome = outcome.map_err(Error::Remote).and_then(|text| {
            serde_json::from_str(text).map_err(|error| Error::PeerMisbehaved(error.to_string()))
        });
        // Whoever asked may have gone meanwhile.
        answer.send(outcome).ok();
        true
    }

    /// An answer that makes no sense.
    pub(crate) fn settle_malformed(&self, id: &RequestId, error: &ErrorObject) {
        let asked = self.lock().pending.settle(id);
        if let Some(answer) = asked {
            answer.send(Err(Error::PeerMisbehaved(error.message.clone()))).ok();
        }
    }

    pub(crate) fn roots(&self) -> Option<Arc<[Root]>> {
        self.lock().roots.clone()
    }

    /// How often the roots have changed, for [`remember_roots`](Self::remember_roots).
    pub(crate) fn roots_changes(&self) -> u64 {
        self.lock().roots_changes
    }

    /// Keeps an answer, unless the roots have changed since it was asked for.
    pub(crate) fn remember_roots(&self, roots: &Arc<[Root]>, asked_at: u64) {
        let bytes: usize =
            roots.iter().map(|root| root.uri.len() + root.name.as_ref().map_or(0, String::len)).sum();
        let mut state = self.lock();
        if state.roots_changes == asked_at && bytes <= state.roots_limit {
            state.roots = Some(Arc::clone(roots));
        }
    }

    /// The client says that its roots have changed.
    pub(crate) fn forget_roots(&self) {
        let mut state = self.lock();
        state.roots = None;
        state.roots_changes += 1;
    }

    pub(crate) fn log_level(&self) -> Option<LoggingLevel> {
        self.lock().log_level
    }

    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.lock().log_level = Some(level);
    }

    /// Answers will not be read any more: whoever waits for one learns it, and nobody else may ask.
    pub(crate) fn stop_asking(&self) {
        let mut state = self.lock();
        state.answerless = true;
        let held = std::mem::take(&mut state.held);
        let waiting = state.pending.drain();
        drop(state);
        drop(held);
        self.over.notify_waiters();
        for (_, answer) in waiting {
            answer.send(Err(Error::Closed("the client has gone".into()))).ok();
        }
    }
}
