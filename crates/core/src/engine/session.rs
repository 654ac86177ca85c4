//! The legacy session, seen from the server: what `initialize` opened.
//!
//! It supplies what a legacy request lacks (revision, capabilities, log level) and keeps what only that
//! era has (subscriptions, the level set for all). It does not know connections or streams.

use std::collections::HashSet;
use std::sync::Arc;

use super::admission::{DecidingMeta, Exchange, Peer, known_method};
use crate::json_rpc::Request;
use crate::model::{ErrorObject, InitializeParams, LoggingLevel, Method, code};
use crate::revision::{Revision, Rules};

/// What a server answers to a client that asks for this version: the same if it speaks it, otherwise
/// its newest. Never an error.
pub fn negotiate(requested: &str, spoken: &[Revision]) -> Revision {
    let legacy = |revision: &Revision| revision.is_legacy();
    Revision::parse(requested)
        .filter(|revision| legacy(revision) && spoken.contains(revision))
        .or_else(|| spoken.iter().copied().rfind(legacy))
        .unwrap_or(Revision::NEWEST_LEGACY)
}

/// What a legacy message leads to.
#[derive(Debug)]
pub enum Admitted {
    /// Open a session with these parameters.
    Initialize(Box<InitializeParams>),
    /// Answer at once with an empty result.
    Ping,
    /// Work to do.
    Exchange(Exchange),
}

/// Bytes of a URI that is watched: it is kept for as long as the session.
const URI_BYTES: usize = 8 * 1024;

/// A session between `initialize` and the end of its connection.
#[derive(Debug)]
pub struct Session {
    peer: Arc<Peer>,
    rules: &'static Rules,
    ready: bool,
    log_level: LoggingLevel,
    subscriptions: HashSet<String>,
    subscription_limit: usize,
}

impl Session {
    /// Opens a session in the revision that was agreed on.
    pub fn open(
        params: InitializeParams,
        revision: Revision,
        log_level: LoggingLevel,
        subscription_limit: usize,
    ) -> Self {
        let peer = Peer { revision, info: Some(params.client_info), capabilities: params.capabilities };
        Self {
            peer: Arc::new(peer),
            rules: revision.rules(),
            ready: false,
            log_level,
            subscriptions: HashSet::new(),
            subscription_limit,
        }
    }

    /// Decides about a request on a connection that has or has not a session yet.
    pub fn admit(session: Option<&Self>, request: &Request<'_>) -> Result<Admitted, ErrorObject> {
        let method = Method::parse(&request.method);
        match (method, session) {
            (Some(Method::Initialize), None) => read_initialize(request).map(Admitted::Initialize),
            (Some(Method::Initialize), Some(_)) => {
                Err(ErrorObject::invalid_request("this session is already initialized"))
            }
            (Some(Method::Ping), _) => Ok(Admitted::Ping),
            (_, None) => Err(not_initialized()),
            (_, Some(session)) => session.exchange(request).map(Admitted::Exchange),
        }
    }

    fn exchange(&self, request: &Request<'_>) -> Result<Exchange, ErrorObject> {
        let method = known_method(request, self.rules)?;
        let progress_token = DecidingMeta::read(request.meta)?.progress_token()?;
        Ok(Exchange {
            id: request.id.clone(),
            method,
            rules: self.rules,
            peer: Arc::clone(&self.peer),
            progress_token,
            log_level: Some(self.log_level),
        })
    }

    /// The client has sent `notifications/initialized`. Returns whether that was news.
    pub fn initialized(&mut self) -> bool {
        !std::mem::replace(&mut self.ready, true)
    }

    /// Whether the server may send requests and notifications of its own accord.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// The client.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// The rules of the agreed revision.
    pub fn rules(&self) -> &'static Rules {
        self.rules
    }

    /// The least severe level that the client wants to hear of.
    pub fn log_level(&self) -> LoggingLevel {
        self.log_level
    }

    /// `logging/setLevel`.
    pub fn set_log_level(&mut self, level: LoggingLevel) {
        self.log_level = level;
    }

    /// `resources/subscribe`.
    pub fn subscribe(&mut self, uri: String) -> Result<(), ErrorObject> {
        if uri.len() > URI_BYTES {
            let reason = format!("a URI that is watched is limited to {URI_BYTES} bytes");
            return Err(ErrorObject::invalid_params(reason));
        }
        if self.subscriptions.len() >= self.subscription_limit && !self.subscriptions.contains(&uri) {
            let limit = self.subscription_limit;
            return Err(ErrorObject::invalid_params(format!("a session may watch {limit} resources")));
        }
        self.subscriptions.insert(uri);
        Ok(())
    }

    /// `resources/unsubscribe`; without effect if there was no subscription.
    pub fn unsubscribe(&mut self, uri: &str) {
        self.subscriptions.remove(uri);
    }

    /// The resources that are watched.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.iter().map(String::as_str)
    }

    /// Whether a change of this resource is to be told.
    pub fn watches(&self, uri: &str) -> bool {
        self.subscriptions.contains(uri)
    }
}

fn read_initialize(request: &Request<'_>) -> Result<Box<InitializeParams>, ErrorObject> {
    let params = request.params.unwrap_or("{}");
    serde_json::from_str(params)
        .map(Box::new)
        .map_err(|error| ErrorObject::bad_params(&request.method, error))
}

fn not_initialized() -> ErrorObject {
    let versions: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::new(
        code::INVALID_PARAMS,
        "not initialized: send \"initialize\" first, or name a protocol version in _meta",
    )
    .data(serde_json::json!({ "supported": versions }))
}
