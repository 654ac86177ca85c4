//! A legacy session over HTTP: what `initialize` opened, with its streams.
//!
//! It belongs to whoever opened it; its id alone opens nothing. It has no task and no buffer of its own while
//! nothing happens.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::FutureExt;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::stream::Stream;
use super::table::Place;
use crate::Policy;
use crate::engine;
use crate::server::bus::Membership;
use crate::server::hooks::{Occasion, SessionHook};
use crate::server::ledger::Ledger;
use crate::server::listen::Declared;
use crate::server::serving::Serving;
use crate::server::talk::Talk;
use crate::server::wire::Wire;
use crate::server::{Principal, Session};

/// A session between its `initialize` and its end.
pub(super) struct HttpSession {
    pub(super) id: Arc<str>,
    pub(super) principal: Principal,
    pub(super) talk: Arc<Talk>,
    /// For what belongs to no call; read by the GET stream.
    pub(super) general: Arc<Wire>,
    _membership: Membership,
    inner: Mutex<Inner>,
    /// Seconds since the server began, when it was last of use.
    pub(super) used: AtomicU64,
    pub(super) born: u64,
    /// When the server began.
    began: Instant,
    /// When a shared store was last asked whether it still exists.
    pub(super) checked: AtomicU64,
    /// Whether a shared store has to be told of a change.
    pub(super) changed: AtomicBool,
    /// Requests and streams that are open.
    busy: AtomicUsize,
    initialized_hook: AtomicU8,
    roots_hook: AtomicU8,
}

/// What changes during a session.
pub(super) struct Inner {
    pub(super) session: engine::Session,
    pub(super) declared: Declared,
    pub(super) ledger: Ledger<()>,
    /// Streams that can be taken up again, oldest first.
    streams: Vec<Arc<Stream>>,
    /// Readers of what belongs to no call: the first gets it, the others wait for it to go.
    readers: Vec<(u64, Option<Waker>)>,
    next_reader: u64,
    hooks: Vec<AbortHandle>,
    /// Its place among all sessions, until it ends.
    place: Option<Place>,
    ended: bool,
}

const IDLE: u8 = 0;
const BUSY: u8 = 1;
const AGAIN: u8 = 2;

impl HttpSession {
    pub(super) fn new(
        id: Arc<str>,
        principal: Principal,
        (session, declared): (engine::Session, Declared),
        serving: &Arc<Serving>,
        (place, began): (Place, Instant),
    ) -> Arc<Self> {
        let policy = &serving.policy;
        let now = began.elapsed().as_secs();
        let talk = Talk::new(policy);
        let general = Wire::new(policy, Some(Arc::clone(&talk)));
        talk.speaks_over(&general);
        let inner = Inner {
            session,
            declared,
            ledger: Ledger::new(policy),
            streams: Vec::new(),
            readers: Vec::new(),
            next_reader: 0,
            hooks: Vec::new(),
            place: Some(place),
            ended: false,
        };
        Arc::new(Self {
            id,
            _membership: Membership::new(&serving.registry, &general, &principal),
            principal,
            talk,
            general,
            inner: Mutex::new(inner),
            used: AtomicU64::new(now),
            born: now,
            began,
            checked: AtomicU64::new(now),
            changed: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            initialized_hook: AtomicU8::new(IDLE),
            roots_hook: AtomicU8::new(IDLE),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything of it is being used right now.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Keeps the session from being taken for idle.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// The session is over: nobody waits, nothing is sent any more, streams end.
    pub(super) fn end(&self, reason: &str) {
        let mut inner = self.lock();
        inner.ended = true;
        inner.place = None;
        inner.ledger.end(reason);
        let streams = std::mem::take(&mut inner.streams);
        let readers = std::mem::take(&mut inner.readers);
        let hooks = std::mem::take(&mut inner.hooks);
        drop(inner);
        self.talk.stop_asking();
        self.general.close();
        for stream in streams {
            stream.attach();
            stream.forget();
            stream.finish(false);
        }
        for waker in readers.into_iter().filter_map(|(_, waker)| waker) {
            waker.wake();
        }
        self.general.wake();
        for hook in hooks {
            hook.abort();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Remembers a stream that can be taken up again, and forgets the oldest beyond the limit.
    pub(super) fn keep_stream(&self, stream: &Arc<Stream>, policy: &Policy) {
        let mut inner = self.lock();
        if inner.streams.len() >= policy.session_streams {
            // Those that are done go first, then calls; what is listened to stays as long as it can.
            let done = inner.streams.iter().position(|stream| stream.is_finished());
            let call = || inner.streams.iter().position(|stream| !Arc::ptr_eq(&stream.wire, &self.general));
            let least = done.or_else(call).unwrap_or(0);
            inner.streams.remove(least).forget();
        }
        if inner.ended {
            stream.forget();
        } else {
            inner.streams.push(Arc::clone(stream));
        }
    }

    pub(super) fn stream(&self, id: &str) -> Option<Arc<Stream>> {
        self.lock().streams.iter().find(|stream| *stream.id.stream == *id).cloned()
    }

    /// Queues up for what belongs to no call; none if too many do already.
    pub(super) fn join_readers(self: &Arc<Self>, limit: usize) -> Option<Turn> {
        let mut inner = self.lock();
        if inner.readers.len() >= limit || inner.ended {
            return None;
        }
        inner.next_reader += 1;
        let reader = inner.next_reader;
        inner.readers.push((reader, None));
        Some(Turn { session: Arc::clone(self), reader })
    }

    /// Runs a hook. While one is at work, the next of its kind waits; any number of them are one.
    pub(super) fn run_hook(self: &Arc<Self>, occasion: Occasion, serving: &Arc<Serving>) {
        let hook = match occasion {
            Occasion::Initialized => &serving.hooks.initialized,
            Occasion::RootsChanged => &serving.hooks.roots_changed,
        };
        let Some(hook) = hook.clone() else { return };
        if self.hook_state(occasion).swap(AGAIN, Ordering::AcqRel) != IDLE {
            return;
        }
        let mut inner = self.lock();
        let peer = Arc::clone(inner.session.peer());
        let session = Session::new(Arc::clone(&self.general), peer, serving);
        let task = tokio::spawn(hook_work(Arc::downgrade(self), occasion, hook, session));
        inner.hooks.retain(|hook| !hook.is_finished());
        inner.hooks.push(task.abort_handle());
    }

    fn hook_state(&self, occasion: Occasion) -> &AtomicU8 {
        match occasion {
            Occasion::Initialized => &self.initialized_hook,
            Occasion::RootsChanged => &self.roots_hook,
        }
    }
}

/// A server that is let go takes its sessions along.
impl Drop for HttpSession {
    fn drop(&mut self) {
        self.end("the server is gone");
    }
}

async fn hook_work(
    of: std::sync::Weak<HttpSession>,
    occasion: Occasion,
    hook: SessionHook,
    session: Session,
) {
    loop {
        let Some(state) = of.upgrade() else { return };
        state.hook_state(occasion).store(BUSY, Ordering::Release);
        drop(state);
        let work = async { hook(session.clone()).await };
        if std::panic::AssertUnwindSafe(work).catch_unwind().await.is_err() {
            tracing::error!("a hook panicked");
        }
        let Some(state) = of.upgrade() else { return };
        let done =
            state.hook_state(occasion).compare_exchange(BUSY, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if done.is_ok() {
            return;
        }
    }
}

/// A place in the queue of those who read what belongs to no call.
pub(super) struct Turn {
    session: Arc<HttpSession>,
    reader: u64,
}

impl Turn {
    /// Whether it has come; otherwise the reader is woken when it does.
    pub(super) fn has_come(&self, waker: &Waker) -> bool {
        let mut inner = self.session.lock();
        if inner.readers.first().is_some_and(|(first, _)| *first == self.reader) {
            return true;
        }
        if let Some((_, waiting)) = inner.readers.iter_mut().find(|(other, _)| *other == self.reader) {
            *waiting = Some(waker.clone());
        }
        false
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut inner = self.session.lock();
        inner.readers.retain(|(other, _)| *other != self.reader);
        let next = inner.readers.first_mut().and_then(|(_, waker)| waker.take());
        drop(inner);
        if let Some(next) = next {
            next.wake();
        }
    }
}

/// A request or stream of a session that is open.
pub(super) struct Busy(Arc<HttpSession>);

impl Drop for Busy {
    fn drop(&mut self) {
        // What was open until now was of use until now.
        self.0.used.store(self.0.began.elapsed().as_secs(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
