//! What is shown to a server so that it knows who asks.
//!
//! HTTP knows this trait and nothing behind it: not where tokens come from, nor how a person logs in. What is
//! shown goes to the server's own origin and nowhere else.

use std::pin::Pin;

use ::http::header::WWW_AUTHENTICATE;
use ::http::{HeaderMap, Method};

use crate::Result;
use crate::transport::PersonTime;

/// A future of [`Credentials`].
pub type Showing<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Proves to a server who asks.
pub trait Credentials: Send + Sync + 'static {
    /// Headers for one request; none where there is nothing to show. Asked for every request anew, so that
    /// what is about to expire can be replaced. Mark values that are secret as sensitive.
    fn show<'a>(&'a self, request: &'a Request<'a>) -> Showing<'a, HeaderMap>;

    /// The server did not take the request: 401, or 403 with `insufficient_scope`. `true` if there is
    /// something else to show now, so that the request is sent again; `false` to leave it at that.
    fn refused<'a>(&'a self, refusal: &'a Challenged) -> Showing<'a, bool>;

    /// Where the time is counted that a person takes. No timeout includes it.
    fn person(&self) -> Option<PersonTime> {
        None
    }
}

/// A request that is about to be sent.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Where it goes.
    pub url: &'a str,
}

/// A request that the server did not take.
#[non_exhaustive]
pub struct Challenged {
    /// The method of the request. A DELETE is our good-bye: nobody waits for it.
    pub method: Method,
    /// 401 or 403.
    pub status: u16,
    /// What the server said in the head of its answer.
    pub headers: HeaderMap,
    /// What it was shown.
    pub shown: HeaderMap,
    /// How often this very request was refused before.
    pub round: usize,
}

/// How often credentials are asked about one request; they may give up sooner.
pub(super) const ROUNDS: usize = 4;
/// The headers that are looked at.
const CHALLENGES: usize = 16;

impl Challenged {
    /// The challenges, as they came.
    pub fn challenges(&self) -> impl Iterator<Item = &str> {
        challenges(&self.headers)
    }
}

/// The challenges in the head of an answer.
pub(super) fn challenges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(WWW_AUTHENTICATE).iter().take(CHALLENGES).filter_map(|value| value.to_str().ok())
}

/// Whether an answer is about what was shown, and not about what was asked.
pub(super) fn is_challenge(status: u16, headers: &HeaderMap) -> bool {
    status == 401 || (status == 403 && challenges(headers).any(|it| it.contains("insufficient_scope")))
}
