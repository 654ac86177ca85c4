//! A token in use: what is shown to the server, and for how long.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::discovery::Found;
use super::dpop::Dpop;
use super::store::{StoreKey, Stored, Tokens};
use super::{failed, now};
use crate::Result;
use crate::auth::metadata::Registration;
use crate::error::AuthorizationStep;
use crate::transport::http::Request;

/// Seconds before its end at which a token is replaced; of a short life a tenth.
const EARLY: u64 = 30;

/// How a token was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was stored by somebody.
    Loaded,
    /// It replaces one that expired.
    Refreshed,
    /// It was granted just now.
    Granted,
}

/// A token in use.
pub(super) struct Held {
    pub(super) key: StoreKey,
    pub(super) registration: Registration,
    pub(super) tokens: Tokens,
    pub(super) origin: Origin,
    /// Where it is from, if that was looked up by this process.
    pub(super) found: Option<Arc<Found>>,
    pub(super) dpop: Option<Arc<Dpop>>,
    /// Whether it is in the store, so that its absence there means something.
    pub(super) is_kept: bool,
    header: HeaderValue,
    /// When it is replaced, in seconds since 1970.
    until: Option<u64>,
}

impl Held {
    pub(super) fn new(
        key: StoreKey,
        registration: Registration,
        tokens: Tokens,
        origin: Origin,
        found: Option<Arc<Found>>,
    ) -> Result<Self> {
        let dpop = tokens.dpop_key.as_ref().map(Dpop::load).transpose()?.map(Arc::new);
        let scheme = if dpop.is_some() { "DPoP" } else { "Bearer" };
        let mut header =
            HeaderValue::from_str(&format!("{scheme} {}", tokens.access.expose())).map_err(|_| {
                failed(AuthorizationStep::Storage, "a stored token fits into no header: log in again")
            })?;
        header.set_sensitive(true);
        let until = tokens.expires_at.map(|end| end - (end.saturating_sub(now()) / 10).min(EARLY));
        Ok(Self { key, registration, tokens, origin, found, dpop, is_kept: true, header, until })
    }

    /// From the store.
    pub(super) fn load(key: StoreKey, stored: Stored) -> Result<Option<Self>> {
        let Some(tokens) = stored.tokens else { return Ok(None) };
        Self::new(key, stored.registration, tokens, Origin::Loaded, None).map(Some)
    }

    /// With what is known about its issuer.
    pub(super) fn found(mut self, found: &Arc<Found>) -> Self {
        self.found = Some(Arc::clone(found));
        self
    }

    /// With the nonces that are known for its key.
    pub(super) fn with_dpop(mut self, dpop: Option<Arc<Dpop>>) -> Self {
        self.dpop = dpop.or(self.dpop.take());
        self
    }

    /// Whether it need not be replaced yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| now() < until)
    }

    /// Whether a server would still take it.
    pub(super) fn is_good(&self) -> bool {
        self.tokens.expires_at.is_none_or(|end| now() < end)
    }

    /// Whether this is what a request showed.
    pub(super) fn was_shown(&self, shown: &HeaderMap) -> bool {
        shown.get(AUTHORIZATION) == Some(&self.header)
    }

    /// For one request.
    pub(super) fn headers(&self, request: &Request<'_>) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, self.header.clone());
        if let Some(dpop) = &self.dpop {
            let proof = dpop.for_server(request.method.as_str(), request.url, &self.tokens.access)?;
            let proof = HeaderValue::from_str(&proof)
                .map_err(|error| failed(AuthorizationStep::Token, error.to_string()))?;
            headers.insert(HeaderName::from_static("dpop"), proof);
        }
        Ok(headers)
    }
}
