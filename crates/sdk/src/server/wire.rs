//! The way out of a connection: what handlers and the registry have to say, until it is sent.
//!
//! Handlers write into a buffer that the connection empties; no channel, no task. It holds back requests
//! until the client has said `initialized`, drops chatter that nobody reads, and settles what it asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use contexture_core::engine::{Allowance, Patience, Pending};
use contexture_core::json_rpc::{self, RequestId};
use contexture_core::model::{CancelledParams, ErrorObject, Method, Root};
use futures_util::task::AtomicWaker;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::bus::Change;
use crate::{Error, Policy, Result};

/// Who waits, and for how long at most.
type Answer = (oneshot::Sender<Result<Box<RawValue>>>, Duration);

/// The shared half of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    state: Mutex<State>,
    waker: AtomicWaker,
    began: Instant,
    unsent_limit: usize,
}

#[derive(Debug)]
struct State {
    out: Vec<u8>,
    /// Requests of ours that wait for `initialized`.
    held: Vec<u8>,
    may_request: bool,
    pending: Pending<Answer>,
    chatter: Allowance,
    changes: Changes,
    watched: HashMap<String, usize>,
    roots: Option<Arc<[Root]>>,
    /// Answers are not read any more.
    answerless: bool,
    closed: bool,
}

/// Changes that are to be told, each once however often it happened.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) updated: BTreeSet<String>,
}

impl Wire {
    pub(crate) fn new(policy: &Policy) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                out: Vec::new(),
                held: Vec::new(),
                may_request: false,
                pending: Pending::new(policy.pending),
                chatter: Allowance::new(policy.notifications_per_second),
                changes: Changes::default(),
                watched: HashMap::new(),
                roots: None,
                answerless: false,
                closed: false,
            }),
            waker: AtomicWaker::new(),
            began: Instant::now(),
            unsent_limit: policy.unsent_bytes,
        })
    }

    /// A panic elsewhere cannot leave these tables half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes one message as the connection itself, which sends it before it sleeps.
    pub(crate) fn write(&self, message: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        message(&mut state.out);
        state.out.push(b'\n');
    }

    /// Progress and log messages: dropped where there are too many of them, or nobody reads.
    pub(crate) fn chat<P: Serialize>(&self, method: Method, params: &P) {
        let now = self.now();
        let mut state = self.lock();
        if state.closed || state.out.len() > self.unsent_limit || !state.chatter.take(now) {
            return;
        }
        json_rpc::notification_line(method.as_str(), Some(params), &mut state.out);
        state.out.push(b'\n');
        drop(state);
        self.waker.wake();
    }

    /// How many progress and log messages were dropped for being too many.
    pub(crate) fn dropped_chatter(&self) -> u64 {
        self.lock().chatter.refused()
    }

    /// Sends a request and waits for its answer. Letting go of the future cancels the request.
    pub(crate) async fn request<P: Serialize>(
        self: &Arc<Self>,
        method: Method,
        params: Option<&P>,
        patience: Patience,
    ) -> Result<Box<RawValue>> {
        let (id, answer) = self.open_request(method, params, patience)?;
        let abandoned = Abandoned { wire: Arc::clone(self), id: Some(id) };
        let answer = answer.await;
        abandoned.not();
        answer.unwrap_or_else(|_| Err(Error::Closed("the client has gone".into())))
    }

    fn open_request<P: Serialize>(
        &self,
        method: Method,
        params: Option<&P>,
        patience: Patience,
    ) -> Result<(i64, oneshot::Receiver<Result<Box<RawValue>>>)> {
        let now = self.now();
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.answerless {
            return Err(Error::Closed("the client has gone".into()));
        }
        let id = state
            .pending
            .open((sender, patience.idle.min(patience.total)), patience, now)
            .map_err(|full| Error::TooMuch(format!("{} requests wait for this client", full.limit)))?;
        let may_send = state.may_request || method == Method::Ping;
        let State { out, held, .. } = &mut *state;
        let line = if may_send { out } else { held };
        json_rpc::request_line(&id.into(), method.as_str(), params, line);
        line.push(b'\n');
        drop(state);
        self.waker.wake();
        Ok((id, receiver))
    }

    /// The client has sent `initialized`: requests may leave.
    pub(crate) fn may_request(&self) {
        let mut state = self.lock();
        state.may_request = true;
        let mut held = std::mem::take(&mut state.held);
        state.out.append(&mut held);
    }

    /// An answer of the client.
    pub(crate) fn settle(&self, id: &RequestId, outcome: Result<&str, ErrorObject>) {
        let Some((answer, _)) = self.lock().pending.settle(id) else {
            tracing::debug!(%id, "an answer to nothing that was asked");
            return;
        };
        let outcome = outcome.map_err(Error::Remote).and_then(|text| {
            serde_json::from_str(text).map_err(|error| Error::PeerMisbehaved(error.to_string()))
        });
        // Whoever asked may have gone meanwhile.
        answer.send(outcome).ok();
    }

    /// An answer that makes no sense.
    pub(crate) fn settle_malformed(&self, id: &RequestId, error: &ErrorObject) {
        if let Some((answer, _)) = self.lock().pending.settle(id) {
            answer.send(Err(Error::PeerMisbehaved(error.message.clone()))).ok();
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.lock().pending.next_deadline().map(|deadline| self.began + deadline)
    }

    /// Gives up on requests whose time is over, and tells the client.
    pub(crate) fn expire(&self) {
        let now = self.now();
        loop {
            // The lock must be free again before the client is told.
            let expired = self.lock().pending.expire(now);
            let Some((id, (answer, waited))) = expired else { return };
            self.cancel(id, "no answer in time");
            answer.send(Err(Error::Timeout(waited))).ok();
        }
    }

    fn cancel(&self, id: i64, reason: &str) {
        let params = CancelledParams {
            request_id: Some(id.into()),
            reason: Some(reason.into()),
            ..CancelledParams::default()
        };
        self.write(|out| json_rpc::notification_line(Method::Cancelled.as_str(), Some(&params), out));
        self.waker.wake();
    }

    /// Takes note of a change, if it concerns this connection.
    pub(crate) fn changed(&self, change: &Change) {
        let mut state = self.lock();
        match change {
            Change::Tools => state.changes.tools = true,
            Change::Prompts => state.changes.prompts = true,
            Change::Resources => state.changes.resources = true,
            Change::Updated(uri) => {
                if !state.watched.contains_key(uri.as_str()) {
                    return;
                }
                state.changes.updated.insert(uri.clone());
            }
        }
        drop(state);
        self.waker.wake();
    }

    pub(crate) fn take_changes(&self) -> Changes {
        std::mem::take(&mut self.lock().changes)
    }

    pub(crate) fn watch(&self, uri: &str) {
        *self.lock().watched.entry(uri.to_owned()).or_default() += 1;
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        let mut state = self.lock();
        if let Some(count) = state.watched.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                state.watched.remove(uri);
                state.changes.updated.remove(uri);
            }
        }
    }

    pub(crate) fn roots(&self) -> Option<Arc<[Root]>> {
        self.lock().roots.clone()
    }

    pub(crate) fn set_roots(&self, roots: Option<Arc<[Root]>>) {
        self.lock().roots = roots;
    }

    /// Moves what is to be sent into `lines`, which is empty.
    pub(crate) fn take_output(&self, lines: &mut Vec<u8>) {
        std::mem::swap(&mut self.lock().out, lines);
    }

    /// The connection is over: nothing more is sent.
    pub(crate) fn close(&self) {
        self.stop_asking();
        self.lock().closed = true;
    }

    /// Answers will not be read any more: whoever waits for one learns it, and nobody else may ask.
    pub(crate) fn stop_asking(&self) {
        let mut state = self.lock();
        state.answerless = true;
        state.held.clear();
        let waiting = state.pending.drain();
        drop(state);
        for (_, (answer, _)) in waiting {
            answer.send(Err(Error::Closed("the client has gone".into()))).ok();
        }
    }
}

/// Tells the client when nobody waits for its answer any more.
struct Abandoned {
    wire: Arc<Wire>,
    id: Option<i64>,
}

impl Abandoned {
    fn not(mut self) {
        self.id = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && self.wire.lock().pending.settle(&id.into()).is_some()
        {
            self.wire.cancel(id, "no longer needed");
        }
    }
}
