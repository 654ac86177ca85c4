//! All sessions and counts of one HTTP server.
//!
//! Sessions lie in shards, so that thousands of clients do not wait for each other. Each belongs to a
//! principal; whoever else presents its id finds nothing. A task looks for what has expired for as long as
//! there are sessions, and no longer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use http::{Response, StatusCode};
use tokio::time::Instant;

use super::body::Body;
use super::events::EventStore;
use super::reply;
use super::session::HttpSession;
use crate::engine::{self, PeerCache};
use crate::json_rpc::{Decoder, Limits};
use crate::model::{ClientCapabilities, Implementation, InitializeParams};
use crate::revision::Revision;
use crate::server::Principal;
use crate::server::bus::give_back;
use crate::server::serving::Serving;

const SHARDS: usize = 64;

/// By ids that are random already: who does not know them cannot choose where they lie.
type Sessions = HashMap<Arc<str>, Arc<HttpSession>, foldhash::fast::RandomState>;
type Shard = Mutex<Sessions>;

/// What a server holds while it serves.
pub(super) struct Table {
    pub(super) serving: Arc<Serving>,
    pub(super) events: Arc<dyn EventStore>,
    /// Whoever calls where nobody has to prove anything.
    pub(super) anonymous: Principal,
    /// What is known about clients that have no session: the revision that they speak.
    strangers: Vec<Arc<engine::Session>>,
    pub(super) began: Instant,
    shards: [Shard; SHARDS],
    readers: [Mutex<Reader>; SHARDS],
    owners: Mutex<HashMap<Principal, usize>>,
    sessions: AtomicUsize,
    requests: AtomicUsize,
    streams: AtomicUsize,
    sweeping: AtomicBool,
}

/// Reads messages, and remembers what clients repeat in every one: how they describe themselves.
pub(super) struct Reader {
    pub(super) decoder: Decoder,
    pub(super) peers: PeerCache,
}

impl Reader {
    pub(super) fn new(limits: Limits) -> Self {
        Self { decoder: Decoder::new(limits), peers: PeerCache::default() }
    }
}

/// Why no session was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Everybody,
    Principal,
}

impl Table {
    pub(super) fn new(serving: Arc<Serving>, events: Arc<dyn EventStore>) -> Self {
        let (level, limits) = (serving.offer.log_level, serving.policy.limits);
        let stranger = |revision| engine::Session::open(unknown_client(revision), revision, level, 0);
        Self {
            strangers: Revision::ALL.into_iter().map(|revision| Arc::new(stranger(revision))).collect(),
            serving,
            events,
            anonymous: Principal::anonymous(),
            began: Instant::now(),
            shards: std::array::from_fn(|_| Mutex::default()),
            readers: std::array::from_fn(|_| Mutex::new(Reader::new(limits))),
            owners: Mutex::default(),
            sessions: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            sweeping: AtomicBool::new(false),
        }
    }

    /// Whole seconds since the server began.
    pub(super) fn now(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, Sessions> {
        // Ids of ours are random, so that any of their characters is as good as a hash.
        let at = usize::from(id.as_bytes().first().copied().unwrap_or_default()) % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is instead of a session, where none is kept.
    pub(super) fn stranger(&self, revision: Revision) -> Arc<engine::Session> {
        let known = self.strangers.iter().find(|session| session.peer().revision == revision);
        Arc::clone(known.unwrap_or(&self.strangers[0]))
    }

    /// Somebody to read a message of this length; none who would have to be waited for. Requests of one client
    /// differ in little, and their length tells most clients apart.
    pub(super) fn reader(&self, length: usize) -> Option<MutexGuard<'_, Reader>> {
        match self.readers[length % SHARDS].try_lock() {
            Ok(reader) => Some(reader),
            Err(TryLockError::Poisoned(reader)) => Some(reader.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The session with this id, if it is this principal's.
    pub(super) fn session(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        let session = self.shard(id).get(id).cloned().filter(|session| session.principal == *principal)?;
        session.used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Takes a place for a session, if there is one left.
    pub(super) fn place(self: &Arc<Self>, principal: &Principal) -> Result<Place, Full> {
        let policy = &self.serving.policy;
        let stranger = principal.is_anonymous();
        let limit = if stranger { policy.anonymous_sessions } else { policy.sessions_per_principal };
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sessions.load(Ordering::Relaxed) >= policy.sessions {
            return Err(Full::Everybody);
        }
        let owned = owners.get(principal).copied().unwrap_or_default();
        if owned >= limit {
            return Err(if stranger { Full::Everybody } else { Full::Principal });
        }
        owners.insert(principal.identity(), owned + 1);
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Ok(Place { table: Arc::downgrade(self), principal: principal.identity() })
    }

    /// Enters a session.
    pub(super) fn enter(self: &Arc<Self>, session: &Arc<HttpSession>) {
        // One that is there already stays: it may be at work.
        self.shard(&session.id).entry(Arc::clone(&session.id)).or_insert_with(|| Arc::clone(session));
        self.start_sweeping();
    }

    /// Ends a session. Says whether there was one.
    pub(super) fn remove(&self, id: &str, reason: &str) -> bool {
        let mut shard = self.shard(id);
        let removed = shard.remove(id);
        give_back(&mut shard);
        drop(shard);
        let Some(session) = removed else { return false };
        session.end(reason);
        self.events.forget(id);
        tracing::debug!(reason, "a session is over");
        true
    }

    /// How many sessions there are.
    pub(super) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::SeqCst)
    }

    fn expired(&self) -> Vec<Arc<str>> {
        let (now, policy) = (self.now(), &self.serving.policy);
        let (idle, age) = (policy.session_idle.as_secs(), policy.session_age.as_secs());
        let is_over = |session: &HttpSession| {
            let unused = now.saturating_sub(session.used.load(Ordering::Relaxed)) >= idle.max(1);
            now.saturating_sub(session.born) >= age.max(1) || (unused && !session.is_busy())
        };
        let mut over = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            over.extend(
                shard.values().filter(|session| is_over(session)).map(|session| Arc::clone(&session.id)),
            );
        }
        over
    }

    fn start_sweeping(self: &Arc<Self>) {
        if self.sweeping.swap(true, Ordering::SeqCst) {
            return;
        }
        let idle = self.serving.policy.session_idle;
        tokio::spawn(sweep(
            Arc::downgrade(self),
            (idle / 8).clamp(Duration::from_millis(250), Duration::from_secs(60)),
        ));
    }

    /// Counts a request in, unless there are too many.
    pub(super) fn request(self: &Arc<Self>) -> Option<Permit> {
        Permit::take(self, |table| &table.requests, self.serving.policy.requests_at_once)
    }

    /// Counts a stream in, unless there are too many.
    pub(super) fn stream(self: &Arc<Self>) -> Option<Permit> {
        Permit::take(self, |table| &table.streams, self.serving.policy.streams)
    }
}

fn unknown_client(revision: Revision) -> InitializeParams {
    InitializeParams {
        protocol_version: revision.to_string(),
        capabilities: ClientCapabilities::default(),
        client_info: Implementation::new("", ""),
        meta: None,
    }
}

async fn sweep(table: Weak<Table>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(table) = table.upgrade() else { return };
        for id in table.expired() {
            table.remove(&id, "it was not used any more");
        }
        if table.sessions() == 0 {
            table.sweeping.store(false, Ordering::SeqCst);
            // One may have been entered before that was written.
            if table.sessions() == 0 || table.sweeping.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}

/// The place of a session, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    table: Weak<Table>,
    principal: Principal,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else { return };
        let mut owners = table.owners.lock().unwrap_or_else(PoisonError::into_inner);
        table.sessions.fetch_sub(1, Ordering::Relaxed);
        if let Some(owned) = owners.get_mut(&self.principal) {
            *owned -= 1;
            if *owned == 0 {
                owners.remove(&self.principal);
            }
        }
    }
}

impl Full {
    pub(super) fn refusal(self) -> Response<Body> {
        match self {
            Self::Everybody => reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open"),
            Self::Principal => {
                reply::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions; end one")
            }
        }
    }
}

/// One of a bounded number.
pub(super) struct Permit {
    table: Arc<Table>,
    counter: fn(&Table) -> &AtomicUsize,
}

impl Permit {
    fn take(table: &Arc<Table>, counter: fn(&Table) -> &AtomicUsize, limit: usize) -> Option<Self> {
        let count = counter(table);
        if count.fetch_add(1, Ordering::AcqRel) >= limit {
            count.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some(Self { table: Arc::clone(table), counter })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        (self.counter)(&self.table).fetch_sub(1, Ordering::AcqRel);
    }
}
