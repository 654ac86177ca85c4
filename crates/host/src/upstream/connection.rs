//! One live connection to a server, and whoever uses it.
//!
//! A task tends to each: it hears what the server says by itself, stops the server when nobody has needed it for a while,
//! and notices at once when it is gone. Calls in flight keep a connection that is being replaced until they are done.
//!
//! A connection that calls of strangers have one after the other serves on only if the last one was answered and the server
//! has said nothing by itself: what it says late must not reach the next.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use contexture::Error;
use contexture::client::{Client, Event, Forwarded};
use contexture::model::LoggingLevel;
use contexture::server::Session;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::audience::Key;
use super::desk::{Changed, Desk, lock};
use super::watching::Subscriptions;
use super::{Audience, Upstream, connect};

/// How long a server may take to say that it is there, before somebody else uses a connection that a stranger had.
const A_SIGN: Duration = Duration::from_secs(5);

/// A connection.
#[derive(Debug)]
pub struct Connection {
    client: Client,
    desk: Arc<Desk>,
    pub(super) key: Key,
    /// Whose lists it shows.
    pub(super) circle: Option<contexture::Principal>,
    in_flight: AtomicUsize,
    /// Resources that are watched over it: it stays.
    pub(super) watched: AtomicUsize,
    pub(super) subscriptions: Subscriptions,
    /// A call has had it.
    used: AtomicBool,
    pub(super) last_used: Mutex<Instant>,
    /// No more calls come: it is replaced, or we are ending.
    retired: AtomicBool,
    changed: Notify,
    /// The server logs.
    logs: bool,
}

impl Connection {
    pub(super) fn new(
        client: Client,
        desk: Arc<Desk>,
        key: Key,
        circle: Option<contexture::Principal>,
    ) -> Arc<Self> {
        Arc::new(Self {
            logs: client.server_capabilities().logging.is_some(),
            client,
            desk,
            key,
            circle,
            in_flight: AtomicUsize::new(0),
            watched: AtomicUsize::new(0),
            subscriptions: Subscriptions::default(),
            used: AtomicBool::new(false),
            last_used: Mutex::new(Instant::now()),
            retired: AtomicBool::new(false),
            changed: Notify::new(),
        })
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::Acquire) && !self.client.is_closed()
    }

    /// Whether a call may have it.
    pub(super) fn is_free(&self) -> bool {
        let is_taken = || self.used.load(Ordering::Acquire) || (self.key.once && self.is_watched());
        let serves_on = || !self.key.once && !self.client.has_spoken();
        self.is_usable() && (!self.key.exclusive || (self.in_flight() == 0 && (!is_taken() || serves_on())))
    }

    /// Nobody is to have it any more, and nobody has.
    fn is_spent(&self) -> bool {
        self.key.exclusive && self.retired.load(Ordering::Acquire) && self.in_flight() == 0
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Nobody would miss it.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0 && !self.is_watched()
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire) > 0
    }

    pub(super) fn last_used(&self) -> Instant {
        *lock(&self.last_used)
    }

    /// Whether the server asks and logs by itself, and not in answer to a request.
    fn asks(&self) -> bool {
        self.client.revision().rules().has_server_requests
    }

    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The use of it by a call.
    pub(super) fn lease(self: &Arc<Self>, who: &Audience) -> Lease {
        let again = self.used.swap(true, Ordering::AcqRel);
        let mut lease = self.visit(who);
        lease.call = Some(Call { again, answered: AtomicBool::new(false) });
        lease
    }

    /// The use of it on behalf of somebody, but for no call.
    pub(super) fn visit(self: &Arc<Self>, who: &Audience) -> Lease {
        if let Some((number, session)) = &who.session {
            self.desk.meet(*number, session);
        }
        self.hold()
    }

    /// The use of it by ourselves.
    pub(super) fn hold(self: &Arc<Self>) -> Lease {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        Lease { connection: Arc::clone(self), call: None }
    }

    /// No more calls; those in flight have so long.
    pub(super) async fn retire(&self, drain: Duration) {
        self.retired.store(true, Ordering::Release);
        let drained = async {
            loop {
                let changed = self.changed.notified();
                if self.in_flight() == 0 {
                    return;
                }
                changed.await;
            }
        };
        // Whoever is not done by then learns that the connection is over.
        let _ = tokio::time::timeout(drain, drained).await;
        self.client.close().await;
    }

    /// It can no longer be used; calls in flight may still be answered.
    pub(super) fn abandon(&self) {
        self.retired.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Tends to it until it is over, and says how it ended.
    pub(super) async fn tend(
        self: Arc<Self>,
        upstream: Weak<Upstream>,
        session: Option<Session>,
        idle: Duration,
    ) {
        let mut events = self.client.events();
        let session_over = async {
            match &session {
                Some(session) => session.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(session_over);
        let why = loop {
            let due = self.last_used() + idle;
            let changed = self.changed.notified();
            if self.is_spent() {
                break End::Spent;
            }
            tokio::select! {
                event = events.next() => {
                    let Some(upstream) = upstream.upgrade() else { break End::Dropped };
                    match event {
                        Some(event) => if let Some(end) = self.heard(&upstream, event) { break end },
                        None => break End::Lost("the connection is over".into()),
                    }
                }
                () = sleep_until(due) => {
                    if self.last_used() + idle > Instant::now() {
                        continue;
                    }
                    match upstream.upgrade() {
                        Some(upstream) if !upstream.release(&self) => *lock(&self.last_used) = Instant::now(),
                        _ => break End::Idle,
                    }
                }
                () = changed => {
                    if self.retired.load(Ordering::Acquire) && !self.is_spent() {
                        break End::Dropped;
                    }
                }
                () = &mut session_over => break End::SessionOver,
            }
        };
        if let Some(upstream) = upstream.upgrade() {
            upstream.ended(&self, &why);
        }
        if matches!(why, End::Idle | End::SessionOver | End::Spent) {
            self.retire(Duration::from_secs(1)).await;
        }
    }

    /// Something that the server said by itself.
    fn heard(self: &Arc<Self>, upstream: &Arc<Upstream>, event: Event) -> Option<End> {
        match event {
            // Where strangers take turns, what comes with no call may be of the one before.
            Event::Log(message) if self.key.is_of_one() && !self.key.exclusive => self.desk.log(message),
            Event::ToolsChanged => {
                upstream.lists_changed(self, Changed { tools: true, ..Changed::default() })
            }
            Event::PromptsChanged => {
                upstream.lists_changed(self, Changed { prompts: true, ..Changed::default() });
            }
            Event::ResourcesChanged => {
                upstream.lists_changed(self, Changed { resources: true, ..Changed::default() });
            }
            Event::ResourceUpdated(uri) => upstream.resource_updated(self, &uri),
            Event::ElicitationComplete(id) => {
                self.desk.sessions().iter().for_each(|session| session.url_visited(&id));
            }
            // Among what was missed may have been any of these; and a new session may be one of a new server.
            Event::Missed(_) | Event::Reconnected => upstream.lists_changed(self, Changed::default()),
            Event::Closed(how) => return Some(End::Lost(how)),
            Event::SubscriptionEnded => {
                return Some(End::Lost("the server ended its stream of changes".into()));
            }
            _ => {}
        }
        None
    }
}

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// Nobody needed it.
    Idle,
    /// The session that it was for is over.
    SessionOver,
    /// The call that it was for is over, and the next may be somebody else's.
    Spent,
    /// It broke.
    Lost(String),
    /// It was taken out of use.
    Dropped,
}

/// The use of a connection, for as long as this is kept.
#[derive(Debug)]
pub struct Lease {
    connection: Arc<Connection>,
    call: Option<Call>,
}

/// The call that a lease is for.
#[derive(Debug)]
struct Call {
    /// Another had the connection before.
    again: bool,
    answered: AtomicBool,
}

impl Lease {
    /// The client.
    pub fn client(&self) -> &Client {
        &self.connection.client
    }

    /// Where its questions arrive.
    pub fn desk(&self) -> &Arc<Desk> {
        &self.connection.desk
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether all that the server says by itself is for whoever has this lease.
    pub(crate) fn is_alone(&self) -> bool {
        let key = &self.connection.key;
        key.session.is_some() || key.exclusive || (key.is_of_one() && self.desk().sessions().len() <= 1)
    }

    /// Whether there are log messages to be had.
    pub(crate) fn logs(&self) -> bool {
        self.connection.logs
    }

    /// Sees to it that a legacy server logs from this level on. Modern ones are told with each request.
    pub async fn log_from(&self, level: Option<LoggingLevel>) {
        let Some(level) = level else { return };
        let client = self.client();
        if !self.logs() || !self.connection.asks() {
            return;
        }
        if self.desk().wants_more(level)
            && let Err(error) = client.set_log_level(level).await
        {
            tracing::debug!(server = self.desk().entry.name, %error, "the log level was not set");
        }
    }

    /// Whether nothing that the server said to whoever had this before can still be on its way: it says that it is there, and
    /// has said nothing else.
    pub(super) async fn is_settled(&self) -> bool {
        let again = self.call.as_ref().is_some_and(|call| call.again);
        if !again || !self.connection.key.exclusive {
            return true;
        }
        connect::in_time(A_SIGN, self.client().ping()).await.is_ok() && !self.client().has_spoken()
    }

    /// The call has come to this.
    pub(crate) fn ended(&self, outcome: &Result<Forwarded, Error>) {
        if let Some(call) = &self.call {
            let answered = matches!(outcome, Ok(_) | Err(Error::Remote(_)));
            call.answered.store(answered, Ordering::Release);
        }
    }

    /// It is not for a call after all.
    pub(super) fn for_no_call(mut self) -> Self {
        if let Some(call) = self.call.take() {
            self.connection.used.store(call.again, Ordering::Release);
        }
        self
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *lock(&self.connection.last_used) = Instant::now();
        if let Some(call) = self.call.take().filter(|_| self.connection.key.exclusive) {
            let connection = &self.connection;
            let serves_on =
                call.answered.into_inner() && !connection.key.once && !connection.client.has_spoken();
            if !serves_on {
                // Before it looks free.
                connection.retired.store(true, Ordering::Release);
            }
        }
        let last = self.connection.in_flight.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && self.connection.retired.load(Ordering::Acquire) {
            self.connection.changed.notify_waiters();
        }
    }
}
