//! The door for other ways to verify tokens.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::Principal;

/// A future of a [`TokenVerifier`].
pub type Verifying<'a> = Pin<Box<dyn Future<Output = Result<Principal, Unverified>> + Send + 'a>>;

/// Finds out whose token it is. It is asked for every request; what it keeps in mind is its own business.
///
/// It must let in only tokens that were made for this server (`audience` has all its names), that come from an issuer
/// it trusts and that are valid now; and it must not send a token anywhere but to its issuer.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Who has shown the token, and what it allows: see [`Principal::granting`] and [`Principal::with_claims`].
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a>;
}

impl<T: TokenVerifier + ?Sized> TokenVerifier for Arc<T> {
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a> {
        (**self).verify(token, audience)
    }
}

/// Why nobody was found. The reasons are for the log: clients are not told, and the token must not be in them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unverified {
    /// The token is not good here and now: 401.
    Invalid(String),
    /// It cannot be found out at present: 503.
    Unavailable(String),
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => write!(f, "the token is not valid: {why}"),
            Self::Unavailable(why) => write!(f, "the token cannot be verified now: {why}"),
        }
    }
}

impl std::error::Error for Unverified {}

pub(super) fn invalid(why: impl fmt::Display) -> Unverified {
    Unverified::Invalid(why.to_string())
}
