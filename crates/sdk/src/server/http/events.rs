//! Events of legacy streams, kept for clients that were cut off.
//!
//! What is kept belongs to one stream of one session and is never shown to another. The memory store forgets
//! the oldest first, by number, size and age. Numbers are given by the stream, not by the store.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::server::bus::give_back;
use crate::{Policy, Result};

/// A stream of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StreamId {
    /// The session's id.
    pub session: Arc<str>,
    /// The stream's, unique in every session.
    pub stream: Arc<str>,
}

/// Events after some other, oldest first, with their numbers.
pub type Replay = Vec<(u64, Bytes)>;

/// Keeps the events of streams, so that a client that was cut off loses nothing.
pub trait EventStore: Send + Sync + 'static {
    /// Keeps an event. It must not wait: a store that is elsewhere takes it and sends it later.
    fn append(&self, stream: &StreamId, number: u64, data: Bytes);

    /// What followed this event on its stream, as far as it is still kept.
    fn replay<'a>(
        &'a self,
        stream: &'a StreamId,
        after: u64,
    ) -> Pin<Box<dyn Future<Output = Result<Replay>> + Send + 'a>>;

    /// The session is over: nobody will come back for its events.
    fn forget(&self, session: &str);
}

/// Keeps events in this process.
#[derive(Debug)]
pub struct MemoryEvents {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct Limits {
    events: usize,
    bytes: usize,
    all_bytes: usize,
    age: Duration,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<Arc<str>, Log>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    stream: Arc<str>,
    number: u64,
    data: Bytes,
    at: Instant,
}

impl Log {
    fn drop_oldest(&mut self) -> usize {
        let bytes = self.events.pop_front().map_or(0, |kept| kept.data.len());
        self.bytes -= bytes;
        bytes
    }
}

impl MemoryEvents {
    /// With the bounds of a policy.
    pub fn new(policy: &Policy) -> Self {
        let limits = Limits {
            events: policy.kept_events,
            bytes: policy.kept_event_bytes,
            all_bytes: policy.all_kept_event_bytes,
            age: policy.kept_event_age,
        };
        Self { limits, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, stream: &StreamId, kept: Kept) {
        let size = kept.data.len();
        let now = kept.at;
        let mut state = self.lock();
        let State { sessions, bytes } = &mut *state;
        if size > self.limits.bytes.min(self.limits.all_bytes) {
            // Whoever is cut off now is told that it is gone.
            return;
        }
        while *bytes + size > self.limits.all_bytes {
            // Whoever keeps the most gives way, so that nobody can take this from everybody else.
            let Some(largest) = sessions.values_mut().max_by_key(|log| log.bytes) else { break };
            *bytes -= largest.drop_oldest();
        }
        let log = sessions.entry(Arc::clone(&stream.session)).or_default();
        while log.events.front().is_some_and(|oldest| {
            log.events.len() >= self.limits.events
                || log.bytes + size > self.limits.bytes
                || now.duration_since(oldest.at) > self.limits.age
        }) {
            *bytes -= log.drop_oldest();
        }
        log.bytes += size;
        *bytes += size;
        log.events.push_back(kept);
    }
}

impl EventStore for MemoryEvents {
    fn append(&self, stream: &StreamId, number: u64, data: Bytes) {
        let at = Instant::now();
        self.keep(stream, Kept { stream: Arc::clone(&stream.stream), number, data, at });
    }

    fn replay<'a>(
        &'a self,
        stream: &'a StreamId,
        after: u64,
    ) -> Pin<Box<dyn Future<Output = Result<Replay>> + Send + 'a>> {
        let now = Instant::now();
        let state = self.lock();
        let events = state.sessions.get(&stream.session).map(|log| log.events.iter());
        let wanted = events.into_iter().flatten().filter(|kept| {
            kept.stream == stream.stream
                && kept.number > after
                && now.duration_since(kept.at) <= self.limits.age
        });
        let replay = wanted.map(|kept| (kept.number, kept.data.clone())).collect();
        Box::pin(std::future::ready(Ok(replay)))
    }

    fn forget(&self, session: &str) {
        let mut state = self.lock();
        if let Some(log) = state.sessions.remove(session) {
            state.bytes -= log.bytes;
            give_back(&mut state.sessions);
        }
    }
}
