//! One server behind us: its connections, how it is, and what it offers.
//!
//! A server is started when it is first needed, once for all who wait for it; each [`Audience`] has a connection of its own.
//! What fails is tried again after a while that grows, and other servers never notice. Nothing here knows the catalog or
//! decides what is allowed.

mod audience;
mod circuit;
mod connect;
mod connection;
mod desk;
mod health;
mod offer;
mod starting;
mod table;
mod watching;

pub use audience::{Audience, Declares};
pub use connection::{Connection, Lease};
pub use desk::{Answered, Changed, Desk, Observer, Place, Question, Questions, Voice};
pub use health::{Health, State, Unavailable};

pub(crate) use connect::LONGEST_CALL;
pub(crate) use desk::{lock, wire};
pub(crate) use health::shortened;
pub(crate) use watching::Watching;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use contexture::revision::Revision;
use contexture::{Error, Principal};
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::{RootsFor, ServerEntry, Standing, TransportSpec};
use crate::login::Logins;
use circuit::Circuit;
use connection::End;
use offer::Listing;
use table::Table;

/// Circles of people whose lists are their own, at one server. Those who have not come for longest are forgotten.
const CIRCLES: usize = 10_000;
/// How often a connection may be snatched away by somebody quicker.
const ATTEMPTS: usize = 4;

/// What all upstreams of one host have in common.
#[derive(Clone)]
pub struct Surroundings {
    /// What we call ourselves.
    pub name: String,
    /// Who logs people in, if anybody does.
    pub logins: Option<Arc<Logins>>,
    /// Who hears what servers say by themselves.
    pub observer: Weak<dyn Observer>,
    /// Connections to one server.
    pub connections: usize,
}

/// A server that the host uses.
pub struct Upstream {
    entry: Arc<ServerEntry>,
    around: Surroundings,
    table: Mutex<Table>,
    circles: Mutex<HashMap<Option<Principal>, Circle>>,
    known: Mutex<Option<Revision>>,
    /// Since when it is as it is, and what went wrong last.
    story: Mutex<Story>,
    restarts: AtomicU64,
    stopped: watch::Sender<bool>,
}

/// What the server is for some people: for everybody, or for one principal with a login of his own.
#[derive(Default)]
struct Circle {
    circuit: Circuit,
    listing: Listing,
}

struct Story {
    state: State,
    since: SystemTime,
    last_error: Option<String>,
}

impl Upstream {
    /// A server that was not started yet.
    pub fn new(entry: Arc<ServerEntry>, around: Surroundings) -> Arc<Self> {
        let state = match entry.standing {
            Standing::Enabled => State::Idle,
            Standing::Disabled => State::Disabled,
            Standing::Held { .. } => State::Held,
        };
        Arc::new(Self {
            table: Mutex::new(Table::new(around.connections)),
            entry,
            around,
            circles: Mutex::default(),
            known: Mutex::default(),
            story: Mutex::new(Story { state, since: SystemTime::now(), last_error: None }),
            restarts: AtomicU64::new(0),
            stopped: watch::Sender::new(false),
        })
    }

    /// Its entry in the configuration.
    pub fn entry(&self) -> &Arc<ServerEntry> {
        &self.entry
    }

    /// The revision that it was last found to speak.
    pub fn revision(&self) -> Option<Revision> {
        *lock(&self.known)
    }

    /// How it is.
    pub fn health(&self) -> Health {
        let now = Instant::now();
        let (connections, in_flight, starting) = lock(&self.table).counts();
        let story = lock(&self.story);
        let (mut state, since, last_error) = (story.state, story.since, story.last_error.clone());
        drop(story);
        let mut circles = lock(&self.circles);
        let everybody = circles.entry(None).or_default();
        let open = everybody.circuit.is_open();
        let retry_after = everybody.circuit.wait(now).filter(|_| state == State::Failed);
        drop(circles);
        state = match state {
            State::Failed if open => State::CircuitOpen,
            State::Idle | State::Ready if starting > 0 && connections == 0 => State::Starting,
            state => state,
        };
        Health {
            name: self.entry.name.clone(),
            state,
            since,
            revision: self.revision(),
            restarts: self.restarts.load(Ordering::Relaxed),
            last_error,
            retry_after,
            in_flight,
            connections,
        }
    }

    /// A connection for these people; waits while it is being made.
    ///
    /// # Errors
    /// When there is none to be had, and why.
    pub async fn lease(self: &Arc<Self>, who: &Audience) -> Result<Lease, Unavailable> {
        self.may_start()?;
        for _ in 0..ATTEMPTS {
            let key = who.key(self.entry.sharing, self.revision());
            let found = {
                let mut table = lock(&self.table);
                let taken = table.take(&key, who);
                taken.ok_or_else(|| table.starting(&key, || self.start(who.clone(), key.clone())))
            };
            let connection = match found {
                Ok(lease) if lease.is_settled().await => return Ok(lease),
                // It is given up with its lease.
                Ok(_) => continue,
                Err(starting) => starting.ok_or_else(|| self.busy())?.await?,
            };
            // Where only one call at a time has it, another may have been quicker.
            if let Some(lease) = lock(&self.table).take_this(&connection, who) {
                return Ok(lease);
            }
        }
        Err(Unavailable::new(&self.entry.name, State::Busy, "too many calls at once; try again"))
    }

    /// The connection that calls of these people go over, though somebody else may have it to himself at the moment:
    /// for what is watched.
    pub(crate) async fn share(self: &Arc<Self>, who: &Audience) -> Result<Lease, Unavailable> {
        let key = who.key(self.entry.sharing, self.revision());
        let shared = lock(&self.table).share(&key, who);
        match shared {
            Some(lease) => Ok(lease),
            None => self.lease(who).await.map(Lease::for_no_call),
        }
    }

    /// A connection of these people that is there, if there is one, and nobody else's at the moment.
    pub(crate) fn existing(&self, who: &Audience) -> Option<Lease> {
        let key = who.key(self.entry.sharing, self.revision());
        if key.exclusive { None } else { lock(&self.table).share(&key, who) }
    }

    /// Ends everything; calls in flight have a while to finish. Its process is gone when this returns.
    pub async fn stop(&self, drain: Duration) {
        self.stopped.send_replace(true);
        let (connections, starting) = lock(&self.table).clear();
        join_all(connections.iter().map(|connection| connection.retire(drain))).await;
        // Those give up by themselves.
        join_all(starting).await;
        self.tell(State::Stopped, None);
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    fn may_start(&self) -> Result<(), Unavailable> {
        let refuse = |state, why: &str| Err(Unavailable::new(&self.entry.name, state, why));
        if self.is_stopped() {
            return Err(self.stopping());
        }
        match &self.entry.standing {
            Standing::Enabled => Ok(()),
            Standing::Disabled => refuse(State::Disabled, "it is disabled in the configuration"),
            Standing::Held { why } => refuse(State::Held, why),
        }
    }

    /// Takes a connection out of use that nobody needs. Says whether it did: somebody may have it, or need it for news.
    fn release(&self, connection: &Arc<Connection>) -> bool {
        // What is only an address costs nobody a process.
        let hears_news =
            matches!(self.entry.transport, TransportSpec::Http { .. }) && self.is_lister(connection);
        let mut table = lock(&self.table);
        // Leases are given under the same lock.
        !hears_news && connection.is_idle() && {
            table.remove(connection);
            true
        }
    }

    /// A connection is over.
    fn ended(self: &Arc<Self>, connection: &Arc<Connection>, how: &End) {
        lock(&self.table).remove(connection);
        if self.is_stopped() {
            return;
        }
        match how {
            End::Lost(why) => self.lost(connection, why),
            End::Idle => self.tell_if_unused(),
            End::Spent => {
                self.tell_watchers(connection);
                self.tell_if_unused();
            }
            End::SessionOver | End::Dropped => {}
        }
    }

    /// What was watched over a connection that is over is watched over another.
    fn tell_watchers(&self, connection: &Connection) {
        if connection.is_watched()
            && let Some(observer) = self.around.observer.upgrade()
        {
            observer.watching_lost(&self.entry.name);
        }
    }

    fn lost(self: &Arc<Self>, connection: &Arc<Connection>, why: &str) {
        let why = shortened(why.to_owned());
        tracing::warn!(server = self.entry.name, %why, "the connection was lost");
        connection.abandon();
        if lock(&self.table).counts().0 == 0 {
            self.tell(State::Failed, Some(why));
        }
        self.tell_watchers(connection);
        self.lister_lost(connection);
    }

    /// A call failed in a way that says that the connection is of no use.
    pub(crate) fn suspect(self: &Arc<Self>, lease: &Lease, error: &Error) {
        let broken = matches!(error, Error::Transport(_) | Error::Closed(_));
        let connection = lease.connection();
        if broken && lock(&self.table).remove(connection) && !self.is_stopped() {
            self.lost(connection, &error.to_string());
        }
    }

    /// The roots of a session have changed: servers that may ask for them are told.
    pub(crate) fn roots_changed(&self, session: u64) {
        if self.entry.roots == RootsFor::Client {
            let table = lock(&self.table);
            let told = table.all().filter(|connection| connection.key.declares.roots_told);
            let concerned = told.filter(|connection| connection.desk().knows(session));
            concerned.for_each(|connection| connection.client().roots_changed());
        }
    }

    fn resource_updated(&self, connection: &Connection, uri: &str) {
        if let Some(observer) = self.around.observer.upgrade() {
            observer.resource_updated(&self.entry, connection.key.principal.as_ref(), uri);
        }
    }

    fn tell(&self, state: State, error: Option<String>) {
        let mut story = lock(&self.story);
        if story.state != state {
            story.state = state;
            story.since = SystemTime::now();
        }
        if error.is_some() {
            story.last_error = error;
        }
    }

    fn tell_if_unused(&self) {
        if lock(&self.table).counts().0 == 0 {
            self.tell(State::Idle, None);
        }
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("server", &self.entry.name).finish_non_exhaustive()
    }
}
