//! Who makes a request: the door for tokens, keys and certificates.
//!
//! HTTP knows this trait and nothing behind it. Whoever proves nothing is refused by the authorizer, or is
//! anonymous where there is none; a session is never proof of anything.

use http::request::Parts;
use http::{HeaderMap, StatusCode};

use crate::server::Principal;
use crate::{Result, Scopes};

/// A future of an [`Authorizer`].
pub type Authorizing<'a> =
    std::pin::Pin<Box<dyn Future<Output = std::result::Result<Principal, Refused>> + Send + 'a>>;

/// Decides who makes a request. It is asked for every request, of every revision and on every path, except for
/// [documents](Self::document).
///
/// The header `Authorization` is for the authorizer alone: handlers do not see it.
pub trait Authorizer: Send + Sync + 'static {
    /// Who it is, proven by what the head of the request carries.
    fn authorize<'a>(&'a self, head: &'a Parts) -> Authorizing<'a>;

    /// What is served at a path under `/.well-known/` to everybody, pages of any origin among them; mostly nothing.
    fn document(&self, path: &str, headers: &HeaderMap) -> Option<Document> {
        let _ = (path, headers);
        None
    }

    /// Told where the server is, whenever that is decided anew.
    ///
    /// # Errors
    /// When nothing can be authorized there: then the server does not begin to serve.
    fn reached_at(&self, location: &Location) -> Result<()> {
        let _ = location;
        Ok(())
    }

    /// How to refuse somebody whose [scopes](Principal::scopes) are not those that a tool, a prompt or a resource
    /// needs, at the path that was asked.
    fn insufficient(
        &self,
        path: &str,
        headers: &HeaderMap,
        principal: &Principal,
        needed: &Scopes,
    ) -> Refused {
        let _ = (path, headers, principal, needed);
        Refused::forbidden(None)
    }
}

/// Lets nobody in: for a server that was meant to be protected and is not put together correctly.
#[cfg(feature = "auth")]
pub(super) struct Closed;

#[cfg(feature = "auth")]
impl Authorizer for Closed {
    fn authorize<'a>(&'a self, _head: &'a Parts) -> Authorizing<'a> {
        Box::pin(std::future::ready(Err(Refused::unavailable(60))))
    }
}

/// Where a server is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// `http://` and the address that is listened on; none where a router serves.
    pub origin: Option<String>,
    /// The path of the MCP endpoint.
    pub endpoint: String,
    /// The path of the streams of HTTP+SSE.
    pub stream: Option<String>,
}

/// JSON that everybody may read.
#[derive(Debug, Clone)]
pub struct Document(pub(super) String);

impl Document {
    /// A document with this text, which is JSON.
    pub fn json(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Why a request is not served.
#[derive(Debug, Clone)]
pub struct Refused {
    pub(super) status: StatusCode,
    pub(super) challenge: Option<String>,
    pub(super) retry_after: Option<u64>,
}

impl Refused {
    /// Nobody is proven to ask: 401, with what to do about it (`WWW-Authenticate`).
    pub fn unauthorized(challenge: impl Into<String>) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, challenge: Some(challenge.into()), retry_after: None }
    }

    /// Who asks may not: 403, with what would be needed, where that helps.
    pub fn forbidden(challenge: Option<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, challenge, retry_after: None }
    }

    /// What is meant to be proof cannot be read: 400.
    pub fn malformed(challenge: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, challenge: Some(challenge.into()), retry_after: None }
    }

    /// It cannot be decided now: 503, to be tried again after so many seconds.
    pub fn unavailable(seconds: u64) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, challenge: None, retry_after: Some(seconds) }
    }
}
