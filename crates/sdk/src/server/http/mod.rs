//! Serving over HTTP: every revision at one address.
//!
//! [`HttpServer`] is a tower service: [serve](HttpServer::serve) it, or mount it in axum, hyper or anything else.
//! The newest revision is served statelessly, older ones with sessions, and 2024-11-05 by its pair of addresses
//! beside them. Unless told otherwise it answers to this machine only, and to no page that another host served.
//! It knows an [`Authorizer`], not what a token is.

mod answering;
mod authorize;
mod batch;
mod body;
mod connection;
mod events;
mod get;
mod guard;
mod legacy;
mod listener;
mod needed;
mod pair;
mod post;
mod reply;
mod route;
mod service;
mod session;
mod site;
mod store;
mod stream;
mod streams;
mod table;
mod waking;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;

pub use authorize::{Authorizer, Authorizing, Document, Location, Refused};
pub use body::Body;
pub use events::{EventStore, MemoryEvents, Replay, StreamId};
pub use listener::Bound;
pub use store::{SessionRecord, SessionStore, Storing};

use crate::server::bus::Bus;
use crate::server::operation::BoxFuture;
use crate::server::serving::Serving;
use crate::{Error, Policy, Result};
use guard::Guard;
use pair::Pairs;
use route::Route;
use table::Table;

/// A server over HTTP. Cheap to clone; all clones share their sessions.
#[derive(Clone)]
pub struct HttpServer {
    setup: Arc<Setup>,
    table: Arc<Table>,
    pairs: Arc<Pairs>,
}

/// What was decided before serving.
#[derive(Clone)]
struct Setup {
    path: String,
    /// What a router cuts off before we see a path.
    below: String,
    /// Where streams of HTTP+SSE are opened, and where their messages are posted.
    pair: Option<(String, String)>,
    guard: Guard,
    authorizer: Option<Arc<dyn Authorizer>>,
    /// What else is answered.
    routes: Vec<Route>,
    stateless: bool,
    sessions: Option<Arc<dyn SessionStore>>,
    /// The first thing that was wrong.
    fault: Option<String>,
}

impl Setup {
    /// Keeps what was wrong for [`HttpServer::bind`]; whoever mounts the service finds it in the log.
    fn fault(&mut self, fault: String) {
        tracing::error!(fault, "the HTTP server is not set up as it was meant to be");
        self.fault.get_or_insert(fault);
    }

    /// Tells the authorizer where the server is.
    fn tell(&self, origin: Option<String>) -> Result<()> {
        let Some(authorizer) = &self.authorizer else { return Ok(()) };
        let stream = self.pair.as_ref().map(|(stream, _)| format!("{}{stream}", self.below));
        let endpoint = format!("{}{}", self.below, self.path);
        authorizer.reached_at(&Location { origin, endpoint, stream })
    }
}

impl HttpServer {
    pub(super) fn new(serving: Arc<Serving>) -> Self {
        let events = Arc::new(MemoryEvents::new(&serving.policy));
        let has_pair = serving.has_legacy();
        let pairs = Arc::new(Pairs::new(&serving.policy));
        let setup = Setup {
            path: "/mcp".into(),
            below: String::new(),
            pair: has_pair.then(|| ("/sse".into(), "/messages".into())),
            guard: Guard::default(),
            authorizer: None,
            routes: Vec::new(),
            stateless: false,
            sessions: None,
            fault: None,
        };
        Self { setup: Arc::new(setup), table: Arc::new(Table::new(serving, events)), pairs }
    }

    fn change(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        let setup = Arc::make_mut(&mut self.setup);
        change(setup);
        if let Err(error) = setup.tell(None) {
            setup.fault(error.to_string());
        }
        self
    }

    /// The path of the MCP endpoint; `/mcp` if nothing is said.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> Self {
        self.change(|setup| setup.path = path.into())
    }

    /// Says what a router that this is nested in cuts off of every path, such as `/api`.
    #[must_use]
    pub fn below(self, prefix: impl Into<String>) -> Self {
        self.change(|setup| setup.below = prefix.into())
    }

    /// The two paths of HTTP+SSE, for clients of 2024-11-05; `/sse` and `/messages` if nothing is said.
    #[must_use]
    pub fn sse_at(self, stream: impl Into<String>, messages: impl Into<String>) -> Self {
        self.change(|setup| setup.pair = Some((stream.into(), messages.into())))
    }

    /// Does not serve HTTP+SSE.
    #[must_use]
    pub fn without_sse(self) -> Self {
        self.change(|setup| setup.pair = None)
    }

    /// Answers to this name, with or without a port. The names of this machine for itself count only as long
    /// as no other is given.
    #[must_use]
    pub fn host(self, host: &str) -> Self {
        self.change(|setup| {
            if !setup.guard.add_host(host) {
                setup.fault(format!("{host:?} is not a host"));
            }
        })
    }

    /// Serves pages of this origin (`https://app.example.com`), and lets them read the answers. Pages of other
    /// origins are refused.
    #[must_use]
    pub fn origin(self, origin: &str) -> Self {
        self.change(|setup| {
            if !setup.guard.add_origin(origin) {
                setup.fault(format!("{origin:?} is not an origin"));
            }
        })
    }

    /// Asks this about every request. What it looks at in the header `Authorization` stays with it: handlers do not
    /// see that header.
    #[must_use]
    pub fn authorizer(self, authorizer: impl Authorizer) -> Self {
        self.change(|setup| setup.authorizer = Some(Arc::new(authorizer)))
    }

    /// Answers GET at this path, and below it, with something that is not MCP: health, metrics, where a login comes
    /// back to. Hosts and origins are guarded as they are elsewhere, but no authorizer is asked. The paths of MCP come
    /// first, then the longest that fits.
    #[must_use]
    pub fn route(
        self,
        path_prefix: &str,
        service: impl Fn(http::Request<()>) -> BoxFuture<http::Response<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        self.change(|setup| match Route::new(path_prefix, service) {
            Some(route) => setup.routes.push(route),
            None => setup.fault(format!("{path_prefix:?} is not a path")),
        })
    }

    /// Keeps no sessions: older clients can call, but not be asked, told of changes or taken up again.
    #[must_use]
    pub fn stateless(self) -> Self {
        self.change(|setup| {
            setup.stateless = true;
            setup.pair = None;
        })
    }

    /// Keeps sessions where other processes find them, too. Without it they live in this one.
    #[must_use]
    pub fn session_store(self, sessions: impl SessionStore) -> Self {
        self.change(|setup| setup.sessions = Some(Arc::new(sessions)))
    }

    /// Keeps events for clients that were cut off here, instead of in memory.
    #[must_use]
    pub fn event_store(mut self, events: impl EventStore) -> Self {
        self.table = Arc::new(Table::new(Arc::clone(&self.table.serving), Arc::new(events)));
        self
    }

    /// Listens on an address such as `127.0.0.1:8000`. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When a host, origin or path was wrong, or the address cannot be had.
    pub async fn bind(self, address: &str) -> Result<Bound> {
        if let Some(fault) = &self.setup.fault {
            return Err(Error::Misuse(fault.clone()));
        }
        Bound::bind(self, address).await
    }

    /// Listens and serves until the process is asked to terminate.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub async fn serve(self, address: &str) -> Result<()> {
        let bound = self.bind(address).await?;
        tracing::info!(url = bound.url(), "listening");
        bound.serve().await
    }

    /// How many legacy sessions there are.
    pub fn sessions(&self) -> usize {
        self.table.sessions()
    }

    fn path(&self) -> String {
        format!("{}{}", self.setup.below, self.setup.path)
    }

    fn policy(&self) -> &Policy {
        &self.table.serving.policy
    }

    fn bus(&self) -> &Bus {
        self.table.serving.registry.bus()
    }

    fn listens_on(&mut self, address: SocketAddr) -> Result<()> {
        let setup = Arc::make_mut(&mut self.setup);
        setup.guard.listens_on(address.port());
        setup.tell(Some(format!("http://{address}")))
    }

    /// Does not serve: what was to authorize requests is not fit for it.
    #[cfg(feature = "auth")]
    pub(crate) fn closed(self, fault: String) -> Self {
        self.change(|setup| {
            setup.authorizer = Some(Arc::new(authorize::Closed));
            setup.fault(fault);
        })
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("path", &self.setup.path).finish_non_exhaustive()
    }
}
