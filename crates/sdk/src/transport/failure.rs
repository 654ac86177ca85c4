//! Why one request of many got no answer.
//!
//! Only where every request has a way of its own, as over HTTP, can one fail and the others go on.

use std::io;

use crate::error::{AuthorizationFailure, Error, HttpRefusal};

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A status that is no success, or an error that names no request.
    Refused(Box<HttpRefusal>),
    /// The server cannot be reached; it has not seen the request.
    Unreachable(String),
    /// The answer got lost; the server may have done what was asked.
    Interrupted(String),
    /// The server sends us elsewhere.
    Redirected(String),
    /// The server no longer knows the session, and has not done what was asked.
    SessionEnded,
    /// What came is not what the protocol has there.
    Misbehaved(String),
    /// What came is larger than allowed.
    TooMuch(String),
    /// The server wants to know who asks, and there is nothing to show.
    Unauthorized(Box<AuthorizationFailure>),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Http(refusal),
            Failure::Unreachable(how) => Self::Transport(io::Error::other(how)),
            Failure::Interrupted(how) => Self::Interrupted(how),
            Failure::Redirected(to) => Self::Redirected(to),
            Failure::SessionEnded => Self::SessionEnded,
            Failure::Misbehaved(what) => Self::PeerMisbehaved(what),
            Failure::TooMuch(what) => Self::TooMuch(what),
            Failure::Unauthorized(failure) => Self::Authorization(failure),
        }
    }
}
