//! Who makes a request: the door for tokens, keys and certificates.
//!
//! HTTP knows this trait and nothing behind it. Whoever proves nothing is refused by the authorizer, or is
//! anonymous where there is none; a session is never proof of anything.

use http::StatusCode;
use http::request::Parts;

use crate::server::Principal;

/// A future of an [`Authorizer`].
pub type Authorizing<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Principal, Refused>> + Send + 'a>>;

/// Decides who makes a request. It is asked for every request, of every revision and on every path.
pub trait Authorizer: Send + Sync + 'static {
    /// Who it is, proven by what the head of the request carries.
    fn authorize<'a>(&'a self, head: &'a Parts) -> Authorizing<'a>;
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

    /// It cannot be decided now: 503, to be tried again after so many seconds.
    pub fn unavailable(seconds: u64) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, challenge: None, retry_after: Some(seconds) }
    }
}
