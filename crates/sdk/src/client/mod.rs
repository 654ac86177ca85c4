//! Talking to servers of either era, as one API.
//!
//! A [`Client`] is a cheap handle to one server. Behind it one task owns the connection; everything else,
//! from approval to input rounds, happens in the caller's own future. The client decides nothing that is
//! the application's to decide: what a server asks is answered by the responders that were given to the
//! [`Builder`], and what it did not offer is not requested.
//!
//! ```no_run
//! # async fn example() -> contexture::Result<()> {
//! use contexture::Client;
//! use serde_json::json;
//!
//! let client = Client::connect("https://example.com/mcp").await?; // or Client::spawn(("my-server", ["--stdio"]))
//! let sum: i64 = client.call("add", json!({"a": 1, "b": 2})).await?.structured()?;
//! # let _ = sum;
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod approval;
mod builder;
mod cache;
mod call;
mod completer;
mod config;
mod connection;
mod declaring;
mod establish;
mod events;
mod forward;
mod hub;
mod incoming;
mod keep_alive;
mod link;
mod listen;
mod lists;
mod live;
mod methods;
mod notifications;
mod payload;
mod prompts;
mod responders;
mod rounds;
mod session;
mod source;
mod tools;

pub use approval::{Approval, ResourceRead, ToolCall};
pub use builder::Builder;
pub use call::{Call, CallHandle, ToolReply};
pub use completer::Completer;
pub use events::{CallOutcome, Event, Events};
pub use forward::{Forward, Forwarded};
pub use keep_alive::{KeepAlive, OnPingFailure};
pub use lists::Partial;
pub use responders::{
    ElicitAnswer, Elicitation, Question, Roots, Sampling, SamplingApproval, SamplingQuestion, SamplingReview,
};
pub use rounds::InputRequired;
pub use session::ServerIdentity;
pub use source::Target;

#[cfg(feature = "http-client")]
pub use crate::transport::http::{Challenged, Credentials, Request, Showing};

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::model::{Implementation, ServerCapabilities};
use crate::revision::{Era, Revision};
use crate::transport::ChildCommand;
use crate::{Error, Policy, Result};
use config::Config;
use hub::Hub;
use listen::Listening;
use live::Live;
use source::Source;

/// What a connection found out about a server's era. Pass it to [`Builder::known_era`] to save the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownEra(Revision);

impl KnownEra {
    /// A server that is known to speak this revision.
    pub const fn new(revision: Revision) -> Self {
        Self(revision)
    }
}

/// A connection to one server. Clones share it; it ends with the last of them, or with
/// [`close`](Self::close).
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Held by the application; what only watches over the connection has none.
    _held: Option<Arc<Held>>,
}

struct Inner {
    hub: Arc<Hub>,
    live: RwLock<Arc<Live>>,
    source: tokio::sync::Mutex<Source>,
    listening: tokio::sync::Mutex<Listening>,
    stale: AtomicBool,
    /// The application said so, as opposed to the server or an accident. Never taken back.
    closed: watch::Sender<bool>,
}

/// The application's interest in a connection: it is closed when the last clone of the client is gone.
struct Held(watch::Sender<bool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

/// What was dropped because it made no sense, since the connection began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Lines that were not messages.
    pub garbage: u64,
    /// Responses that nobody waited for.
    pub responses: u64,
    /// Notifications that were malformed, unknown, too many, or belonged to nothing.
    pub notifications: u64,
    /// Requests that the server may not make.
    pub requests: u64,
}

impl Client {
    /// Begins to set up a client.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Connects to a server at a URL, or over a transport, without responders.
    pub async fn connect(target: impl Into<Target>) -> Result<Self> {
        Self::builder().connect(target).await
    }

    /// Starts a server and connects to it, without responders.
    pub async fn spawn(command: impl Into<ChildCommand>) -> Result<Self> {
        Self::builder().spawn(command).await
    }

    async fn establish(mut config: Config, mut source: Source) -> Result<Self> {
        config.for_one_server();
        let hub = Hub::new(config);
        let known = hub.config.known;
        let live = source.establish(&hub, known, &mut None).await?;
        let closed = watch::Sender::new(false);
        let client = Self {
            _held: Some(Arc::new(Held(closed.clone()))),
            inner: Arc::new(Inner {
                hub,
                live: RwLock::new(Arc::new(live)),
                source: tokio::sync::Mutex::new(source),
                listening: tokio::sync::Mutex::default(),
                stale: AtomicBool::new(false),
                closed,
            }),
        };
        if client.hub().config.watch_lists {
            client.watch_lists().await?;
        }
        if let Some(keep_alive) = client.hub().config.keep_alive {
            keep_alive.start(&client);
        }
        Ok(client)
    }

    /// Starts anew: a fresh process or a fresh way to the URL, and a fresh handshake. Calls in flight fail;
    /// nothing is sent twice. Only for servers that were [spawned](Self::spawn) or are reached by URL, and not
    /// after [`close`](Self::close), which ends a restart that is under way, too.
    pub async fn reconnect(&self) -> Result<()> {
        let mut source = self.inner.source.lock().await;
        if !source.can_restart() {
            let what = "only a server that was spawned or is reached by URL can be started anew";
            return Err(Error::Misuse(what.into()));
        }
        self.renew_unless_closed(&mut source).await
    }

    /// The session that follows on one that the server has forgotten. The first who needs it opens it.
    async fn session_after(&self, forgotten: &Arc<Live>) -> Result<Arc<Live>> {
        let mut source = self.inner.source.lock().await;
        if Arc::ptr_eq(&self.live(), forgotten) {
            if !source.can_restart() {
                return Err(Error::SessionEnded);
            }
            tracing::info!("the server no longer knows the session; a new one is opened");
            // It stays so until there is another: if that fails or is given up, the next who comes tries again.
            forgotten.link.end(&link::End::Forgotten, &[]);
            self.renew_unless_closed(&mut source).await?;
        }
        Ok(self.live())
    }

    async fn renew_unless_closed(&self, source: &mut Source) -> Result<()> {
        let mut closed = self.inner.closed.subscribe();
        let mut half_made = None;
        let renewed = tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Err(Error::Closed("closed by this client".into())),
            renewed = self.renew(source, &mut half_made) => renewed,
        };
        if let Some(live) = half_made {
            live.close().await;
        }
        renewed
    }

    async fn renew(&self, source: &mut Source, half_made: &mut Option<Live>) -> Result<()> {
        let old = self.live();
        let known = old.session().ok().map(|session| session.rules.revision);
        old.close().await;
        drop(old);
        let live = source.establish(self.hub(), known, half_made).await?;
        self.hub().cache.clear();
        self.hub().tools.forget();
        self.hub().prompts.forget();
        *self.inner.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        self.set_stale(false);
        self.restore().await?;
        self.hub().emit(Event::Reconnected);
        Ok(())
    }

    /// Ends the connection. A server that was spawned is given time to leave, and is gone when this
    /// returns. Calls in flight fail.
    pub async fn close(&self) {
        self.inner.closed.send_replace(true);
        self.live().close().await;
        // A restart that was under way gives up, and has brought down what it started when it lets go.
        drop(self.inner.source.lock().await);
        self.live().close().await;
    }

    /// Whether the connection is over. One whose session the server has forgotten is not: the next call opens
    /// another.
    pub fn is_closed(&self) -> bool {
        match self.live().link.ended() {
            Some(link::End::Forgotten) => *self.inner.closed.borrow(),
            end => end.is_some(),
        }
    }

    /// Whether the last ping was not answered.
    pub fn is_stale(&self) -> bool {
        self.inner.stale.load(Ordering::Relaxed)
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.with_session(|session| session.rules.revision)
    }

    /// The era that is spoken.
    pub fn era(&self) -> Era {
        self.revision().era()
    }

    /// What to remember for the next connection to this server.
    pub fn known_era(&self) -> KnownEra {
        KnownEra(self.revision())
    }

    /// Who the server is.
    pub fn server(&self) -> ServerIdentity {
        self.with_session(|session| session.server.clone())
    }

    /// Name and version of the server, where it gave them. They prove nothing.
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().info
    }

    /// What the server offers.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.with_session(|session| session.capabilities.clone())
    }

    /// What the server wants a model to know about using it.
    pub fn instructions(&self) -> Option<String> {
        self.with_session(|session| session.instructions.clone())
    }

    /// What happens from now on.
    pub fn events(&self) -> Events {
        Events(self.hub().events.subscribe())
    }

    /// How many requests wait for the server.
    pub fn waiting(&self) -> usize {
        self.live().link.waiting()
    }

    /// What was dropped because it made no sense.
    pub fn dropped(&self) -> Dropped {
        let live = self.live();
        let counters = &live.link.counters;
        Dropped {
            garbage: counters.garbage.load(Ordering::Relaxed),
            responses: counters.unknown_responses.load(Ordering::Relaxed),
            notifications: counters.dropped_notifications.load(Ordering::Relaxed),
            requests: counters.refused_requests.load(Ordering::Relaxed),
        }
    }

    /// Whether the server has asked or logged anything over this connection that did not come with an answer: who it was
    /// for, only the server knows. What it said before an answer of its own arrived counts when that has arrived.
    pub fn has_spoken(&self) -> bool {
        self.live().link.counters.unasked.load(Ordering::Relaxed) > 0
    }

    fn hub(&self) -> &Arc<Hub> {
        &self.inner.hub
    }

    fn policy(&self) -> &Policy {
        &self.hub().config.policy
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.inner.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_stale(&self, stale: bool) {
        self.inner.stale.store(stale, Ordering::Relaxed);
    }

    fn with_session<T>(&self, read: impl FnOnce(&session::Session) -> T) -> T {
        let live = self.live();
        // A client exists only after the handshake.
        read(live.session().unwrap_or_else(|_| unreachable!("a client without a session")))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server()).finish_non_exhaustive()
    }
}
