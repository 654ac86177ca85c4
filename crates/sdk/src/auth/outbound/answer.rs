//! What comes back, within its bounds; or why nothing does.
//!
//! A document is not believed here, only read. What it says is never part of an error.

use std::fmt;

use ::http::HeaderMap;
use ::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::lost;
use crate::error::HttpRefusal;
use crate::{Error, Result};

/// Bytes of an answer.
const BYTES: usize = 1024 * 1024;

/// What an address has answered.
#[derive(Clone)]
#[non_exhaustive]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body: 1 MiB at most.
    pub body: Bytes,
    headers: HeaderMap,
}

impl Answer {
    /// The whole answer, within its bounds.
    pub(super) async fn read(mut response: reqwest::Response) -> Result<Self, Unfetched> {
        let coding = response.headers().get(CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding != "identity") {
            return Err(Unfetched::Malformed("something compressed, which nobody asked for".into()));
        }
        if response.content_length().is_some_and(|length| length > BYTES as u64) {
            return Err(Unfetched::TooLarge);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
            if body.len() + chunk.len() > BYTES {
                return Err(Unfetched::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let status = response.status().as_u16();
        Ok(Self { status, body: body.into(), headers: std::mem::take(response.headers_mut()) })
    }

    /// The value of a header, if it is text and comes once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?;
        if values.next().is_none() { first.to_str().ok() } else { None }
    }

    /// The body as JSON, whatever the status.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Unfetched> {
        let kind = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if matches!(kind.as_str(), "text/html" | "application/xhtml+xml") {
            return Err(Unfetched::Malformed("a page for people instead of JSON".into()));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            // Its own words may repeat a secret of the document.
            Unfetched::Malformed(format!("not the JSON that it should be (line {})", error.line()))
        })
    }
}

/// Bodies of token endpoints are secrets, and so are some headers.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status, self.body.len())
    }
}

/// Why there is no document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfetched {
    /// The address must not be reached, and was not.
    Forbidden(String),
    /// Nobody has answered in time.
    Unreachable(String),
    /// The answer is too large.
    TooLarge,
    /// We were sent elsewhere, too often or with something that goes nowhere else.
    Redirected,
    /// Another status than 200.
    Status(u16),
    /// The answer is not what it should be.
    Malformed(String),
}

impl fmt::Display for Unfetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) => write!(f, "the address must not be reached: {why}"),
            Self::Unreachable(why) => write!(f, "the address cannot be reached: {why}"),
            Self::TooLarge => write!(f, "the answer has more than {BYTES} bytes"),
            Self::Redirected => f.write_str("the address redirects where nobody follows"),
            Self::Status(status) => write!(f, "the address answered with HTTP status {status}"),
            Self::Malformed(what) => write!(f, "the address answered with {what}"),
        }
    }
}

impl std::error::Error for Unfetched {}

impl From<Unfetched> for Error {
    fn from(unfetched: Unfetched) -> Self {
        match unfetched {
            Unfetched::Unreachable(_) => Self::Transport(std::io::Error::other(unfetched)),
            Unfetched::TooLarge => Self::TooMuch(unfetched.to_string()),
            Unfetched::Status(status) => Self::Http(Box::new(HttpRefusal::new(status))),
            _ => Self::PeerMisbehaved(unfetched.to_string()),
        }
    }
}
