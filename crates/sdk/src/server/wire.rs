//! The way out of one stream of messages: what handlers and the registry have to say, until it is sent.
//!
//! Over a pipe there is one for the connection; over HTTP one for each answer that is being made, and one for
//! what belongs to no request. Handlers write into a buffer that whoever sends empties; no channel, no task. It
//! drops chatter that nobody reads. Nothing is encoded or traced while its lock is held: whoever listens to
//! that may have something to say.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use contexture_core::engine::{Allowance, Patience};
use contexture_core::json_rpc;
use contexture_core::model::{CancelledParams, Method};
use futures_util::task::AtomicWaker;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use super::bus::Change;
use super::provider::WatchGuard;
use super::talk::{Answer, Talk};
use crate::{Error, Policy, Result};

/// Room for most messages.
const LINE: usize = 256;

/// One stream of messages to a client.
#[derive(Debug)]
pub(crate) struct Wire {
    state: Mutex<State>,
    waker: AtomicWaker,
    /// The first time that anything asked for the time.
    began: OnceLock<Instant>,
    unsent_limit: usize,
    /// What is asked over this wire, where the era lets servers ask.
    talk: Option<Arc<Talk>>,
}

#[derive(Debug)]
struct State {
    out: Vec<u8>,
    /// An empty buffer, for what is encoded next.
    spare: Vec<u8>,
    chatter: Allowance,
    changes: Changes,
    watched: HashMap<String, usize>,
    /// What a provider wants to be dropped when the session stops to watch a resource.
    guards: BTreeMap<String, WatchGuard>,
    closed: bool,
    /// The reader may be let go, to come back after this time.
    hang_up: Option<Duration>,
}

/// Changes that are to be told, each once however often it happened.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) updated: BTreeSet<String>,
    /// The server is being stopped.
    pub(crate) stopping: bool,
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
}

impl Wire {
    pub(crate) fn new(policy: &Policy, talk: Option<Arc<Talk>>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                out: Vec::new(),
                spare: Vec::new(),
                chatter: Allowance::new(policy.notifications_per_second),
                changes: Changes::default(),
                watched: HashMap::new(),
                guards: BTreeMap::new(),
                closed: false,
                hang_up: None,
            }),
            waker: AtomicWaker::new(),
            began: OnceLock::new(),
            unsent_limit: policy.unsent_bytes,
            talk,
        })
    }

    /// A panic elsewhere cannot leave these tables half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.get_or_init(Instant::now).elapsed()
    }

    /// The conversation that this is part of, where the era has one.
    pub(crate) fn talk(&self) -> Option<&Arc<Talk>> {
        self.talk.as_ref()
    }

    /// Writes one message as the connection itself, which sends it before it sleeps.
    pub(crate) fn write(&self, message: impl FnOnce(&mut Vec<u8>)) {
        let mut line = std::mem::take(&mut self.lock().spare);
        line.reserve(LINE);
        message(&mut line);
        line.push(b'\n');
        self.lock().send(line);
    }

    /// Sends lines that were encoded elsewhere.
    pub(super) fn write_encoded(&self, mut lines: Vec<u8>) {
        self.lock().out.append(&mut lines);
        self.waker.wake();
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
        let talk = self.talk.as_ref().ok_or_else(gone)?;
        let params =
            params.map(to_raw_value).transpose().map_err(|error| Error::Misuse(error.to_string()))?;
        let (id, answer) = self.open_request(talk, method, params.as_ref(), patience)?;
        let mut unanswered = Unanswered { wire: self, talk, id, reason: Some("no longer needed") };
        let wait = patience.idle.min(patience.total);
        let Ok(answer) = tokio::time::timeout(wait, answer).await else {
            unanswered.reason = Some("no answer in time");
            return Err(Error::Timeout(wait));
        };
        unanswered.reason = None;
        answer.unwrap_or_else(|_| Err(gone()))
    }

    fn open_request<P: Serialize>(
        self: &Arc<Self>,
        talk: &Arc<Talk>,
        method: Method,
        params: Option<&P>,
        patience: Patience,
    ) -> Result<(i64, Answer)> {
        let state = self.lock();
        let (unsent, closed) = (state.out.len(), state.closed);
        drop(state);
        if closed {
            return Err(gone());
        }
        if unsent + talk.held_bytes() > self.unsent_limit {
            return Err(Error::TooMuch("the client does not read what it is asked".into()));
        }
        talk.open(patience, self.now(), method == Method::Ping, self, |id| {
            let mut line = Vec::new();
            json_rpc::request_line(&id.into(), method.as_str(), params, &mut line);
            line.push(b'\n');
            line
        })
    }

    /// Tells the client that nobody waits for its answer, if it was asked at all.
    fn cancel(&self, talk: &Talk, id: i64, reason: &str) {
        if talk.take_back(id) {
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
            Change::Stopping => state.changes.stopping = true,
        }
        drop(state);
        self.waker.wake();
    }

    pub(crate) fn take_changes(&self) -> Changes {
        let mut state = self.lock();
        let stopping = state.changes.stopping;
        // Everybody who reads has to hear of the end, not only the first.
        std::mem::replace(&mut state.changes, Changes { stopping, ..Changes::default() })
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

    /// Keeps what is to be dropped when the session stops to watch this resource.
    pub(crate) fn guard(&self, uri: &str, guard: WatchGuard) {
        let mut state = self.lock();
        let over = if state.closed { Some(guard) } else { state.guards.insert(uri.to_owned(), guard) };
        drop(state);
        drop(over);
    }

    /// The session watches this resource no longer: what is to be dropped now.
    pub(crate) fn take_guard(&self, uri: &str) -> Option<WatchGuard> {
        self.lock().guards.remove(uri)
    }

    /// Moves what is to be sent into `lines`, which is empty.
    pub(crate) fn take_output(&self, lines: &mut Vec<u8>) {
        std::mem::swap(&mut self.lock().out, lines);
    }

    /// Whether something waits to be sent.
    #[cfg(feature = "http-server")]
    pub(crate) fn has_output(&self) -> bool {
        let state = self.lock();
        !state.out.is_empty() || state.hang_up.is_some()
    }

    /// Lets the reader go, to come back after this time.
    pub(crate) fn hang_up(&self, come_back: Duration) {
        self.lock().hang_up = Some(come_back);
        self.waker.wake();
    }

    /// Whether the reader is to be let go.
    #[cfg(feature = "http-server")]
    pub(crate) fn take_hang_up(&self) -> Option<Duration> {
        self.lock().hang_up.take()
    }

    /// The stream is over: nothing more is sent.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let over = std::mem::take(&mut state.guards);
        drop(state);
        drop(over);
    }
}

fn gone() -> Error {
    Error::Closed("the client has gone".into())
}

/// Tells the client when nobody waits for its answer any more.
struct Unanswered<'a> {
    wire: &'a Wire,
    talk: &'a Talk,
    id: i64,
    /// None once there is an answer.
    reason: Option<&'static str>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(reason) = self.reason
            && self.talk.forget(self.id)
        {
            self.wire.cancel(self.talk, self.id, reason);
        }
    }
}
