//! The way out of a connection: what handlers and the registry have to say, until it is sent.
//!
//! Handlers write into a buffer that the connection empties; no channel, no task. It holds back requests
//! until the client has said `initialized`, drops chatter that nobody reads, and settles what it asked.
//! Nothing is encoded or traced while its lock is held: whoever listens to that may have something to say.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use contexture_core::engine::{Allowance, Patience, Pending};
use contexture_core::json_rpc::{self, RequestId};
use contexture_core::model::{CancelledParams, ErrorObject, LoggingLevel, Method, Root};
use futures_util::task::AtomicWaker;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
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
    /// An empty buffer, for what is encoded next.
    spare: Vec<u8>,
    /// Requests of ours that wait for `initialized`, as many as `pending` may hold.
    held: Vec<(i64, Vec<u8>)>,
    may_request: bool,
    pending: Pending<Answer>,
    chatter: Allowance,
    changes: Changes,
    watched: HashMap<String, usize>,
    roots: Option<Arc<[Root]>>,
    /// How often the client's roots have changed.
    roots_changes: u64,
    /// Set by the session, for calls that are under way as well.
    log_level: Option<LoggingLevel>,
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

impl State {
    /// Appends a line that came from `spare`, and gives the buffer back.
    fn send(&mut self, mut line: Vec<u8>) {
        if self.out.is_empty() {
            std::mem::swap(&mut self.out, &mut line);
        } else {
            self.out.append(&mut line);
        }
        self.spare = line;
    }

    /// How much waits to leave.
    fn unsent(&self) -> usize {
        self.out.len() + self.held.iter().map(|(_, line)| line.len()).sum::<usize>()
    }

    /// Takes back a request that has not left. Says whether there was one: otherwise the client knows it.
    fn take_back(&mut self, id: i64) -> bool {
        let before = self.held.len();
        self.held.retain(|(held, _)| *held != id);
        self.held.len() < before
    }
}

impl Wire {
    pub(crate) fn new(policy: &Policy) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                out: Vec::new(),
                spare: Vec::new(),
                held: Vec::new(),
                may_request: false,
                pending: Pending::new(policy.pending),
                chatter: Allowance::new(policy.notifications_per_second),
                changes: Changes::default(),
                watched: HashMap::new(),
                roots: None,
                roots_changes: 0,
                log_level: None,
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
        let mut line = std::mem::take(&mut self.lock().spare);
        message(&mut line);
        line.push(b'\n');
        self.lock().send(line);
    }

    /// Progress and log messages: dropped where there are too many of them, or nobody reads.
    pub(crate) fn chat<P: Serialize>(&self, method: Method, params: &P) {
        let now = self.now();
        let mut state = self.lock();
        if state.closed || state.out.len() > self.unsent_limit || !state.chatter.take(now) {
            return;
        }
        drop(state);
        self.write(|out| json_rpc::notification_line(method.as_str(), Some(params), out));
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
        let params =
            params.map(to_raw_value).transpose().map_err(|error| Error::Misuse(error.to_string()))?;
        let now = self.now();
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.answerless {
            return Err(Error::Closed("the client has gone".into()));
        }
        if state.unsent() > self.unsent_limit {
            return Err(Error::TooMuch("the client does not read what it is asked".into()));
        }
        let id = state
            .pending
            .open((sender, patience.idle.min(patience.total)), patience, now)
            .map_err(|full| Error::TooMuch(format!("{} requests wait for this client", full.limit)))?;
        let may_send = state.may_request || method == Method::Ping;
        let mut line = Vec::new();
        json_rpc::request_line(&id.into(), method.as_str(), params.as_ref(), &mut line);
        line.push(b'\n');
        if may_send {
            state.out.append(&mut line);
        } else {
            state.held.push((id, line));
        }
        drop(state);
        self.waker.wake();
        Ok((id, receiver))
    }

    /// The client has sent `initialized`: requests may leave.
    pub(crate) fn may_request(&self) {
        let mut state = self.lock();
        state.may_request = true;
        for (_, mut line) in std::mem::take(&mut state.held) {
            state.out.append(&mut line);
        }
    }

    /// An answer of the client.
    pub(crate) fn settle(&self, id: &RequestId, outcome: Result<&str, ErrorObject>) {
        let asked = self.lock().pending.settle(id);
        let Some((answer, _)) = asked else {
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
        let asked = self.lock().pending.settle(id);
        if let Some((answer, _)) = asked {
            answer.send(Err(Error::PeerMisbehaved(error.message.clone()))).ok();
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let deadline = self.lock().pending.next_deadline()?;
        // Patience without end reaches beyond what a clock can show.
        self.began.checked_add(deadline)
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

    /// Tells the client that nobody waits for its answer, if it was asked at all.
    fn cancel(&self, id: i64, reason: &str) {
        if self.lock().take_back(id) {
            return;
        }
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

    /// How often the roots have changed, for [`remember_roots`](Self::remember_roots).
    pub(crate) fn roots_changes(&self) -> u64 {
        self.lock().roots_changes
    }

    /// Keeps an answer, unless the roots have changed since it was asked for.
    pub(crate) fn remember_roots(&self, roots: &Arc<[Root]>, asked_at: u64) {
        let mut state = self.lock();
        if state.roots_changes == asked_at {
            state.roots = Some(Arc::clone(roots));
        }
    }

    /// The client says that its roots have changed.
    pub(crate) fn forget_roots(&self) {
        let mut state = self.lock();
        state.roots = None;
        state.roots_changes += 1;
    }

    /// Moves what is to be sent into `lines`, which is empty.
    pub(crate) fn take_output(&self, lines: &mut Vec<u8>) {
        std::mem::swap(&mut self.lock().out, lines);
    }

    pub(crate) fn log_level(&self) -> Option<LoggingLevel> {
        self.lock().log_level
    }

    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.lock().log_level = Some(level);
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
