//! The answer of a server to one request of HTTP: its head, and its body for as long as it comes.

use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::{CONTENT_TYPE, RETRY_AFTER};
use bytes::Bytes;

use super::credentials::challenges;
use super::direct::Answer;
use super::fetch::reason;
use crate::error::HttpRefusal;
use crate::transport::Failure;

/// So much of the body of a refusal is read.
const REFUSAL_BYTES: usize = 64 * 1024;
/// So much of it is repeated.
const EXCERPT: usize = 300;
/// Nobody is asked to wait longer.
const LONGEST_RETRY: u64 = 24 * 60 * 60;

/// The answer to one request, whose body is still to be read.
pub(super) enum Reply {
    Direct(Box<Answer>),
    Other(Box<reqwest::Response>),
}

impl Reply {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Direct(answer) => answer.head.status.as_u16(),
            Self::Other(response) => response.status().as_u16(),
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Direct(answer) => &answer.head.headers,
            Self::Other(response) => response.headers(),
        }
    }

    /// What the body is, without parameters.
    pub(super) fn media_type(&self) -> String {
        let value =
            self.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The next piece of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Self::Direct(answer) => answer.chunk().await,
            Self::Other(response) => {
                response.chunk().await.map_err(|error| Failure::Interrupted(reason(&error)))
            }
        }
    }

    fn content_length(&self) -> Option<u64> {
        match self {
            Self::Direct(answer) => answer.content_length(),
            Self::Other(response) => response.content_length(),
        }
    }

    /// Nobody wants to know the body; if it ends soon, its connection can serve again.
    pub(super) async fn forget(mut self, within: Duration) {
        let rest = async { while matches!(self.chunk().await, Ok(Some(_))) {} };
        let _ = tokio::time::timeout(within, rest).await;
    }

    /// The whole body, within a limit.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Bytes, Failure> {
        let too_much = || Failure::TooMuch(format!("the server sends more than {limit} bytes at once"));
        if self.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_much());
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.chunk().await? else {
            return if first.len() > limit { Err(too_much()) } else { Ok(first) };
        };
        let mut body = [first, second].concat();
        while body.len() <= limit {
            let Some(chunk) = self.chunk().await? else { return Ok(body.into()) };
            body.extend_from_slice(&chunk);
        }
        Err(too_much())
    }

    /// A status that is no success, with what is worth knowing about it.
    pub(super) async fn refusal(mut self) -> Box<HttpRefusal> {
        let mut refusal = HttpRefusal::new(self.status());
        refusal.retry_after = self.retry_after();
        refusal.challenges = challenges(self.headers()).map(str::to_owned).collect();
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES {
                body.truncate(REFUSAL_BYTES);
                break;
            }
        }
        refusal.error = super::outbound::error_in(&body);
        refusal.message = match &refusal.error {
            Some(error) => excerpt(&error.message),
            // A page for people is of no use here.
            None if self.media_type() == "text/html" => String::new(),
            None => excerpt(&String::from_utf8_lossy(&body)),
        };
        Box::new(refusal)
    }

    /// Only in seconds: dates would need a calendar, and agree on the time.
    fn retry_after(&self) -> Option<Duration> {
        let value = self.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = digits.then(|| value.parse::<u64>().unwrap_or(u64::MAX))?;
        Some(Duration::from_secs(seconds.min(LONGEST_RETRY)))
    }
}

/// One line of text for people.
fn excerpt(text: &str) -> String {
    text.trim().chars().take(EXCERPT).map(|char| if char.is_control() { ' ' } else { char }).collect()
}
