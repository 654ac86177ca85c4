//! How a connection comes to be: admitted by the circuit, made on a task of its own, and put where it belongs.
//!
//! Whoever waits for a start may go away; it goes on for the others. A start that is under way when its server is stopped
//! is given up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contexture::client::KnownEra;
use contexture::{Error, Principal};
use tokio::time::Instant;

use super::audience::Key;
use super::connection::Connection;
use super::desk::Desk;
use super::table::{self, Starting};
use super::{Audience, State, Unavailable, Upstream, connect, lock};

impl Upstream {
    /// Begins to make a connection.
    pub(super) fn start(self: &Arc<Self>, who: Audience, key: Key) -> Starting {
        let started = Started { upstream: Arc::clone(self), key: key.clone() };
        let task = tokio::spawn(async move {
            let opened = started.upstream.open(&who, &key).await;
            drop(started);
            opened
        });
        let name = self.entry.name.clone();
        table::starting(async move {
            let broken = |_| Err(Unavailable::new(&name, State::Failed, "its start was broken off"));
            task.await.unwrap_or_else(broken)
        })
    }

    async fn open(self: &Arc<Self>, who: &Audience, assumed: &Key) -> Result<Arc<Connection>, Unavailable> {
        let circle = who.circle();
        self.admit(&circle)?;
        let mut attempt = Attempt { upstream: self, circle: &circle, done: false };
        let mut stopped = self.stopped.subscribe();
        let made = tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => None,
            made = self.make(who, assumed) => Some(made),
        };
        attempt.done = made.is_some();
        let connection = match made {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => {
                // What was known about its era may be what is wrong.
                *lock(&self.known) = None;
                return Err(self.failed(&circle, error));
            }
            None => return Err(self.stopping()),
        };
        let placed = self.place(&connection);
        if let Err(unavailable) = placed {
            connection.retire(Duration::ZERO).await;
            return Err(unavailable);
        }
        self.opened(&connection, who);
        Ok(connection)
    }

    async fn make(&self, who: &Audience, assumed: &Key) -> Result<Arc<Connection>, Error> {
        let mut known = self.revision().map(KnownEra::new);
        let mut key = assumed.clone();
        loop {
            let (entry, observer) = (Arc::clone(&self.entry), self.around.observer.clone());
            let desk = Desk::new(entry, key.principal.clone(), observer, who.is_listing());
            if let Some((number, session)) = &who.session {
                // Some servers ask as soon as they may.
                desk.meet(*number, session);
            }
            let client = connect::connect(&desk, key.declares, known, &self.around).await?;
            *lock(&self.known) = Some(client.revision());
            let right = who.key(self.entry.sharing, Some(client.revision()));
            if right.declares == key.declares || !right.declares.is_some() {
                return Ok(Connection::new(client, desk, right, who.circle()));
            }
            // It is older than it was, and can only be told at the beginning what it may ask.
            known = Some(client.known_era());
            client.close().await;
            key = right;
        }
    }

    /// Puts a connection where it belongs; one that nobody uses may have to make room.
    fn place(&self, connection: &Arc<Connection>) -> Result<(), Unavailable> {
        let mut table = lock(&self.table);
        if self.is_stopped() {
            return Err(self.stopping());
        }
        let evicted = table.insert(connection).map_err(|()| self.busy())?;
        if let Some(evicted) = evicted {
            tokio::spawn(async move { evicted.retire(Duration::ZERO).await });
        }
        Ok(())
    }

    pub(super) fn busy(&self) -> Unavailable {
        Unavailable::new(&self.entry.name, State::Busy, "all its connections are in use; try again")
    }

    pub(super) fn stopping(&self) -> Unavailable {
        let why = "the gateway is ending, or this server was reconfigured; try again";
        Unavailable::new(&self.entry.name, State::Stopped, why)
    }

    fn admit(&self, circle: &Option<Principal>) -> Result<(), Unavailable> {
        let mut circles = lock(&self.circles);
        let circuit = &mut circles.entry(circle.clone()).or_default().circuit;
        circuit.admit(Instant::now()).map_err(|wait| {
            let why = circuit.last().unwrap_or("it failed too often").to_owned();
            let refused = Unavailable::new(&self.entry.name, State::CircuitOpen, why);
            Unavailable { retry_after: Some(wait), ..refused }
        })
    }

    /// An attempt failed: when the next one is due, and for whom.
    pub(super) fn failed(&self, circle: &Option<Principal>, error: Error) -> Unavailable {
        let login = crate::login::wanted(&error).is_some();
        let mut unavailable = Unavailable::failed(&self.entry.name, error);
        let mut circles = lock(&self.circles);
        let circuit = &mut circles.entry(circle.clone()).or_default().circuit;
        let is_news = circuit.last() != Some(&unavailable.why);
        if login {
            // It is there, and says what it wants.
            unavailable.state = State::LoginNeeded;
            circuit.given_up();
        } else {
            let now = Instant::now();
            circuit.failed(now, unavailable.why.clone());
            unavailable.retry_after = circuit.wait(now);
        }
        drop(circles);
        match is_news {
            true => {
                tracing::warn!(
                    server = self.entry.name,
                    error = unavailable.why,
                    "the server is not available"
                )
            }
            false => tracing::debug!(server = self.entry.name, "the server is still not available"),
        }
        self.tell(unavailable.state, Some(unavailable.why.clone()));
        unavailable
    }

    fn opened(self: &Arc<Self>, connection: &Arc<Connection>, who: &Audience) {
        if lock(&self.story).state == State::Failed {
            self.restarts.fetch_add(1, Ordering::Relaxed);
            if let Some(observer) = self.around.observer.upgrade() {
                observer.restarted(&self.entry.name);
            }
        }
        if self.known_offer(&who.circle()).is_some_and(|known| known.is_ok()) {
            self.tell(State::Ready, None);
        }
        let revision = connection.client().revision().as_str();
        tracing::info!(server = self.entry.name, revision, "connected");
        let session = connection.key.session.and(who.session.as_ref()).map(|(_, session)| session.clone());
        let (tended, upstream) = (Arc::clone(connection), Arc::downgrade(self));
        tokio::spawn(tended.tend(upstream, session, self.entry.idle_time));
        self.teach(connection);
        self.becomes_lister(who);
    }
}

/// A start that is under way. However it ends, nobody waits for it any more.
struct Started {
    upstream: Arc<Upstream>,
    key: Key,
}

impl Drop for Started {
    fn drop(&mut self) {
        lock(&self.upstream.table).started(&self.key);
    }
}

/// An attempt to connect; if it is dropped before it came to anything, another may be made.
struct Attempt<'a> {
    upstream: &'a Upstream,
    circle: &'a Option<Principal>,
    done: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if let Some(circle) = lock(&self.upstream.circles).get_mut(self.circle) {
            circle.circuit.given_up();
        }
    }
}
