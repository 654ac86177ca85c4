//! One stream of a legacy session: the answer to a POST, or what a GET listens to.
//!
//! Messages wait in the stream's wire until somebody reads them; each is taken once, given a number, kept for
//! whoever is cut off, and sent. A reader that comes back takes the place of the one before it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use contexture_core::http::sse;

use super::answering::Answering;
use super::events::{EventStore, StreamId};
use crate::json_rpc::lines as lines_of;
use crate::server::wire::Wire;

/// A stream that can be taken up again.
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) wire: Arc<Wire>,
    state: Mutex<State>,
    /// The response that lets the work go on, for as long as its first reader is there.
    driver: OnceLock<Weak<Driver>>,
}

/// An answer in the making, which whoever reads it lets go on.
pub(super) type Driver = Mutex<Option<Answering>>;

#[derive(Debug, Default)]
struct State {
    /// The number of the last event.
    last: u64,
    /// Which reader has it: only the newest.
    reader: u64,
    attached: bool,
    finished: bool,
    /// Whether its request was answered, as opposed to taken back.
    answered: bool,
    /// Nobody can take it up again, so nothing of it has to be kept.
    forgotten: bool,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Something was written.
    Events,
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    End,
    /// Another reader has the stream now.
    Superseded,
}

impl Stream {
    pub(super) fn new(session: &Arc<str>, stream: &str, wire: &Arc<Wire>) -> Arc<Self> {
        Arc::new(Self {
            id: StreamId { session: Arc::clone(session), stream: stream.into() },
            wire: Arc::clone(wire),
            state: Mutex::default(),
            driver: OnceLock::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the caller the reader. Whoever was it before learns that when it is woken.
    pub(super) fn attach(&self) -> u64 {
        let mut state = self.lock();
        state.reader += 1;
        state.attached = true;
        let reader = state.reader;
        drop(state);
        self.wire.wake();
        reader
    }

    /// Has the reader woken, if it is still the one.
    pub(super) fn register(&self, reader: u64, waker: &Waker) {
        let state = self.lock();
        if state.reader == reader {
            self.wire.register(waker);
        }
    }

    /// The reader has gone. Says whether nobody reads now.
    pub(super) fn detach(&self, reader: u64) {
        let mut state = self.lock();
        if state.reader == reader {
            state.attached = false;
        }
    }

    /// Keeps what nobody reads where everything is kept that may be read later, and bounded like it.
    pub(super) fn put_away(&self, store: &dyn EventStore) {
        let mut state = self.lock();
        if !state.attached {
            self.number(&mut state, store, &mut Vec::new());
        }
    }

    /// Says who lets the work go on.
    pub(super) fn driven_by(&self, driver: &Arc<Driver>) {
        self.driver.get_or_init(|| Arc::downgrade(driver));
    }

    /// The connection of whoever let the work go on may be dead without anybody having noticed: from here on
    /// the work goes on alone.
    pub(super) fn release(&self) {
        let driver = self.driver.get().and_then(Weak::upgrade);
        let answering =
            driver.and_then(|driver| driver.lock().unwrap_or_else(PoisonError::into_inner).take());
        drop(answering);
    }

    /// Everything has been said, or nothing more will be.
    pub(super) fn finish(&self, answered: bool) {
        let mut state = self.lock();
        state.finished = true;
        state.answered = answered;
        drop(state);
        self.wire.wake();
    }

    /// Nobody will be able to take it up again.
    pub(super) fn forget(&self) {
        self.lock().forgotten = true;
    }

    /// Whether everything has been said.
    pub(super) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// Whether it ended without an answer, and nothing is left to be sent.
    pub(super) fn is_abandoned(&self) -> bool {
        let state = self.lock();
        state.finished && !state.answered && !self.wire.has_output()
    }

    /// The number of the last event that was sent.
    pub(super) fn last(&self) -> u64 {
        self.lock().last
    }

    /// The event that only says where the stream is.
    pub(super) fn prime(&self, retry: Option<Duration>, out: &mut Vec<u8>) {
        let number = self.lock().last;
        sse::write_primer(&self.event_id(number), retry.map(millis), out);
    }

    fn event_id(&self, number: u64) -> String {
        format!("{}.{number}", self.id.stream)
    }

    /// Takes what waits in the wire, numbers and keeps it.
    pub(super) fn take(&self, reader: u64, store: &dyn EventStore, out: &mut Vec<u8>) -> Taken {
        let mut state = self.lock();
        if state.reader != reader {
            return Taken::Superseded;
        }
        if self.number(&mut state, store, out) {
            return Taken::Events;
        }
        if state.finished { Taken::End } else { Taken::Nothing }
    }

    /// Numbers and keeps what waits. Says whether there was anything.
    fn number(&self, state: &mut State, store: &dyn EventStore, out: &mut Vec<u8>) -> bool {
        let mut lines = Vec::new();
        self.wire.take_output(&mut lines);
        for line in lines_of(&lines) {
            state.last += 1;
            if !state.forgotten {
                store.append(&self.id, state.last, Bytes::copy_from_slice(line));
            }
            sse::write_event(Some(&self.event_id(state.last)), line, out);
        }
        !lines.is_empty()
    }

    /// Writes an event again.
    pub(super) fn repeat(&self, number: u64, data: &[u8], out: &mut Vec<u8>) {
        sse::write_event(Some(&self.event_id(number)), data, out);
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The two parts of an event's id; none if it is none of ours.
pub(super) fn parse_event_id(id: &str) -> Option<(&str, u64)> {
    let (stream, number) = id.split_once('.')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || stream.is_empty() {
        return None;
    }
    Some((stream, number.parse().ok()?))
}
