//! Whether and how a message is served: the decisions that are the same for every transport.
//!
//! A modern request is admitted by what it says itself, a legacy one by its session. What a reply changes
//! about a session is noted here, too. Nothing is sent or run.

use super::Context;
use super::exchange::Outcome;
use super::listen::Declared;
use super::operation::Reply;
use super::provider::WatchGuard;
use super::serving::Serving;
use super::wire::Wire;
use crate::engine::{self, Exchange, Mirror, PeerCache, admit_modern, negotiate};
use crate::json_rpc::Request;
use crate::model::{ErrorObject, InitializeParams, InitializeResult};
use crate::revision::Lower;

/// A session that was just opened.
pub(super) struct Opened {
    pub(super) session: engine::Session,
    /// What the client was told that this server has.
    pub(super) declared: Declared,
    /// The answer, in the words of the agreed revision.
    pub(super) result: InitializeResult,
}

impl Serving {
    /// Admits a request that says by itself which revision it speaks; none if it does not say so.
    pub(super) fn admit_modern(
        &self,
        request: &Request<'_>,
        peers: &mut PeerCache,
        mirror: Option<&Mirror<'_>>,
    ) -> Option<Result<Exchange, ErrorObject>> {
        let admitted = admit_modern(request, peers, mirror)?;
        Some(admitted.and_then(|exchange| self.spoken(exchange)))
    }

    /// Whether this server was told to speak the revision.
    fn spoken(&self, exchange: Exchange) -> Result<Exchange, ErrorObject> {
        if self.revisions.contains(&exchange.rules.revision) {
            return Ok(exchange);
        }
        Err(self.not_spoken(exchange.rules.revision.as_str()))
    }

    /// Names the modern revisions that are spoken.
    pub(super) fn not_spoken(&self, requested: &str) -> ErrorObject {
        let modern = self.revisions.iter().filter(|revision| revision.is_modern());
        let supported: Vec<_> = modern.map(|revision| revision.as_str()).collect();
        ErrorObject::unsupported_version(requested, &supported)
    }

    /// Whether any revision with sessions is spoken.
    pub(super) fn has_legacy(&self) -> bool {
        self.revisions.iter().any(|revision| revision.is_legacy())
    }

    /// Opens a session in the revision that both speak.
    pub(super) fn open_session(&self, params: InitializeParams) -> Result<Opened, ErrorObject> {
        if !self.has_legacy() {
            let supported: Vec<_> = self.revisions.iter().map(|revision| revision.as_str()).collect();
            return Err(ErrorObject::unsupported_version(&params.protocol_version, &supported));
        }
        let revision = negotiate(&params.protocol_version, &self.revisions);
        let capabilities = self.capabilities();
        let declared = Declared::from(&capabilities);
        let mut result = InitializeResult {
            protocol_version: revision.to_string(),
            capabilities,
            server_info: self.info.clone(),
            instructions: self.instructions(),
            meta: None,
        };
        result.lower(revision.rules());
        let (level, limit) = (self.offer.log_level, self.policy.subscriptions);
        let session = engine::Session::open(params, revision, level, limit);
        Ok(Opened { session, declared, result })
    }
}

/// What a provider wants to be kept for as long as the session watches what the outcome lets it watch. Asked for
/// before the session is changed, which is locked then.
pub(super) fn watched(context: &Context, outcome: &Outcome) -> Option<WatchGuard> {
    match outcome {
        Outcome::Complete(Reply::Subscribed(uri)) => context.inner.serving.watch(context, uri),
        _ => None,
    }
}

/// Applies a request of a legacy client to change what it is told. Others change nothing. What is left in `guard`
/// is to be dropped when the session is not locked any more.
pub(super) fn note(
    outcome: &Outcome,
    guard: &mut Option<WatchGuard>,
    session: &mut engine::Session,
    general: &Wire,
) -> Result<(), ErrorObject> {
    let Outcome::Complete(reply) = outcome else { return Ok(()) };
    match reply {
        Reply::Subscribed(uri) if !session.watches(uri) => {
            session.subscribe(uri.clone())?;
            general.watch(uri);
            if let Some(guard) = guard.take() {
                general.guard(uri, guard);
            }
        }
        Reply::Unsubscribed(uri) if session.watches(uri) => {
            session.unsubscribe(uri);
            general.unwatch(uri);
            *guard = general.take_guard(uri);
        }
        Reply::LevelSet(level) => {
            session.set_log_level(*level);
            if let Some(talk) = general.talk() {
                talk.set_log_level(*level);
            }
        }
        _ => {}
    }
    Ok(())
}
