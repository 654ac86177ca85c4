//! Sessions that outlive this process, or are served by several: the door for a shared store.
//!
//! A session at work lives in the process that serves it; what a store keeps is enough to serve it elsewhere.
//! A store that cannot be asked means that nothing is served, never that anything goes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::reply;
use super::session::HttpSession;
use super::table::Table;
use crate::Result;
use crate::engine;
use crate::model::{ClientCapabilities, Implementation, InitializeParams, LoggingLevel};
use crate::revision::Revision;
use crate::server::Principal;
use crate::server::listen::on_behalf_of;
use crate::server::mirrored::{name, single};

/// A future of a [`SessionStore`].
pub type Storing<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Keeps what is known about sessions where other processes find it.
pub trait SessionStore: Send + Sync + 'static {
    /// Keeps a session, new or changed.
    fn save(&self, record: SessionRecord) -> Storing<'_, ()>;

    /// The session with this id, if there is one.
    fn load<'a>(&'a self, id: &'a str) -> Storing<'a, Option<SessionRecord>>;

    /// The session is over, everywhere.
    fn remove<'a>(&'a self, id: &'a str) -> Storing<'a, ()>;
}

/// What has to be known about a session to serve it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// Who vouches for its owner.
    pub issuer: String,
    /// Its owner, and nobody else.
    pub subject: String,
    /// The revision that was agreed on.
    pub revision: String,
    /// What the client calls itself.
    pub client: Option<Implementation>,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Whether the client has said `initialized`.
    pub ready: bool,
    /// The level that the client set.
    pub log_level: LoggingLevel,
    /// The resources that it watches.
    pub subscriptions: Vec<String>,
}

impl HttpSession {
    fn record(&self) -> SessionRecord {
        let inner = self.lock();
        let (session, peer) = (&inner.session, inner.session.peer());
        SessionRecord {
            id: self.id.to_string(),
            issuer: self.principal.issuer().to_owned(),
            subject: self.principal.subject().to_owned(),
            revision: peer.revision.to_string(),
            client: peer.info.clone(),
            capabilities: peer.capabilities.clone(),
            ready: session.is_ready(),
            log_level: session.log_level(),
            subscriptions: session.subscriptions().map(str::to_owned).collect(),
        }
    }
}

impl Table {
    /// Finds a session that another process opened, and forgets one that another process ended.
    pub(super) async fn consult_store(
        self: &Arc<Self>,
        store: &dyn SessionStore,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<(), Box<Response<Body>>> {
        let Ok(Some(id)) = single(headers, &name::SESSION_ID) else { return Ok(()) };
        let known = self.session(id, principal);
        let now = self.now();
        if known.as_ref().is_some_and(|known| known.checked.swap(now, Ordering::Relaxed) == now) {
            // Once in a second is often enough to hear of an end elsewhere.
            return Ok(());
        }
        let record = store.load(id).await.map_err(|error| Box::new(unavailable(&error)))?;
        match (known, record) {
            (Some(_), None) => {
                self.remove(id, "it was ended elsewhere");
            }
            (None, Some(record)) => self.revive(record, principal),
            _ => {}
        }
        Ok(())
    }

    fn revive(self: &Arc<Self>, record: SessionRecord, principal: &Principal) {
        let owner = Principal::new(&*record.issuer, &*record.subject);
        let Some(revision) = Revision::parse(&record.revision).filter(|_| owner == *principal) else {
            return;
        };
        let params = InitializeParams {
            protocol_version: record.revision,
            capabilities: record.capabilities,
            client_info: record.client.unwrap_or_else(|| Implementation::new("", "")),
            meta: None,
        };
        let serving = &self.serving;
        let mut session =
            engine::Session::open(params, revision, record.log_level, serving.policy.subscriptions);
        if record.ready {
            session.initialized();
        }
        let watched: Vec<_> =
            record.subscriptions.into_iter().filter(|uri| session.subscribe(uri.clone()).is_ok()).collect();
        let opened = (session, (&serving.capabilities()).into());
        // There may be no room: then it stays unknown here.
        let Ok(place) = self.place(principal) else { return };
        let session = HttpSession::new(record.id.into(), owner, opened, serving, (place, self.began));
        session.talk.set_log_level(record.log_level);
        if record.ready {
            session.talk.may_request();
        }
        let exchange = on_behalf_of(&session.lock().session);
        let context = serving.aside(exchange, &session.general, session.principal.clone());
        for uri in &watched {
            session.general.watch(uri);
            if let Some(guard) = serving.watch(&context, uri) {
                session.general.guard(uri, guard);
            }
        }
        self.enter(&session);
    }

    /// Keeps what a request has changed. A session that cannot be kept is not opened.
    pub(super) async fn save_changes(
        self: &Arc<Self>,
        store: &dyn SessionStore,
        headers: &HeaderMap,
        principal: &Principal,
        response: Response<Body>,
    ) -> Response<Body> {
        let opened =
            response.headers().get(name::SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let named = || single(headers, &name::SESSION_ID).ok().flatten().map(str::to_owned);
        let Some(id) = opened.clone().or_else(named) else { return response };
        let session = self.session(&id, principal);
        let stored = match &session {
            Some(session) if opened.is_some() || session.changed.swap(false, Ordering::AcqRel) => {
                store.save(session.record()).await
            }
            _ => return response,
        };
        match stored {
            Ok(()) => response,
            Err(error) => {
                if opened.is_some() {
                    self.remove(&id, "it could not be kept");
                } else if let Some(session) = session {
                    session.changed.store(true, Ordering::Release);
                }
                unavailable(&error)
            }
        }
    }
}

pub(super) fn unavailable(error: &crate::Error) -> Response<Body> {
    tracing::error!(%error, "the store of sessions cannot be reached");
    reply::busy(StatusCode::SERVICE_UNAVAILABLE, "sessions cannot be served now")
}
