//! A stream of events that survives its connections.
//!
//! What breaks is asked for again with GET, from the last event on. How long to wait is the server's to say,
//! within bounds; how often is not. It does not decide whether a stream is worth having for ever: its owner does.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use ::http::header::ACCEPT;
use ::http::{HeaderName, HeaderValue, Method};
use contexture_core::http::header;
use contexture_core::http::sse::{Event, Reader};
use tokio::time::Instant;

use super::credentials::challenges;
use super::reply::Reply;
use super::{LASTING, LONGEST_WAIT, SHORTEST_WAIT, Way};
use crate::transport::Failure;

/// The first wait where the server names none.
const FIRST_WAIT: Duration = Duration::from_millis(500);

pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Events, as they come.
pub(super) struct Stream {
    way: Way,
    reply: Option<Reply>,
    reader: Reader,
    /// The last event that was heard of.
    last_id: Option<String>,
    retry: Option<Duration>,
    /// When the connection began.
    began: Instant,
    /// Connections in a row that brought nothing and did not last.
    failures: u32,
    /// How the last connection ended.
    broken: String,
}

/// Why a stream was not opened.
pub(super) enum Closed {
    /// The server does not have it, or not any more, or not for us.
    Refused {
        status: u16,
        challenges: Vec<String>,
    },
    Failed(Failure),
}

impl Stream {
    /// A stream that has begun as the answer to something else.
    pub(super) fn new(way: Way, reply: Option<Reply>) -> Self {
        let reader = Reader::new(way.bounds.message);
        let (began, broken) = (Instant::now(), String::new());
        Self { way, reply, reader, last_id: None, retry: None, began, failures: 0, broken }
    }

    /// The next event; nothing where the connection ends.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            match self.reader.next() {
                Some(Ok(event)) => {
                    self.remember(&event);
                    return Ok(Some(event));
                }
                Some(Err(too_long)) => return Err(Failure::TooMuch(too_long.to_string())),
                None => {}
            }
            let Some(reply) = &mut self.reply else { return Ok(None) };
            match reply.chunk().await {
                Ok(Some(chunk)) => self.reader.feed(&chunk),
                Ok(None) => self.end("the server closed the stream".into()),
                Err(Failure::Interrupted(how)) => self.end(how),
                Err(failure) => return Err(failure),
            }
        }
    }

    fn remember(&mut self, event: &Event) {
        let moved = event.id.is_some() && event.id != self.last_id;
        if moved || !event.data.is_empty() {
            self.failures = 0;
        }
        // A connection that names no ids takes none back.
        if moved {
            self.last_id.clone_from(&event.id);
        }
    }

    fn end(&mut self, how: String) {
        // Ids and waiting times count although their event may have had no data.
        if let Some(id) = self.reader.last_event_id() {
            self.last_id = Some(id.to_owned());
        }
        if let Some(retry) = self.reader.retry() {
            self.retry = Some(Duration::from_millis(retry));
        }
        self.broken = how;
        self.reply = None;
        self.forgive();
    }

    /// Quiet streams are cut by whatever is between us and the server: that is no failure.
    fn forgive(&mut self) {
        if self.began.elapsed() >= LASTING {
            self.failures = 0;
        }
    }

    /// Whether the server could go on where it stopped.
    pub(super) fn can_resume(&self) -> bool {
        self.last_id.is_some()
    }

    /// How the last connection ended.
    pub(super) fn broken(&self) -> &str {
        &self.broken
    }

    /// Waits, and opens the stream again where it stopped; gives up after so many attempts.
    pub(super) async fn resume(&mut self) -> Result<(), Failure> {
        loop {
            if self.failures >= self.way.bounds.attempts {
                let attempts = self.failures;
                return Err(Failure::Interrupted(format!(
                    "{}; {attempts} attempts to go on brought nothing",
                    self.broken
                )));
            }
            match self.open_again().await {
                Ok(()) => return Ok(()),
                Err(Closed::Refused { status, .. }) if status < 500 => {
                    let how =
                        format!("{}; the server does not go on with it (HTTP status {status})", self.broken);
                    return Err(Failure::Interrupted(how));
                }
                Err(Closed::Refused { status, .. }) => self.broken = format!("HTTP status {status}"),
                Err(Closed::Failed(Failure::Interrupted(how) | Failure::Unreachable(how))) => {
                    self.broken = how
                }
                Err(Closed::Failed(failure)) => return Err(failure),
            }
        }
    }

    /// Waits, the longer the more attempts were in vain, and tries once.
    pub(super) async fn open_again(&mut self) -> Result<(), Closed> {
        tokio::time::sleep(self.wait()).await;
        self.failures = self.failures.saturating_add(1);
        self.open().await
    }

    /// What was missed is lost: the next attempt begins anew. Says whether that makes a difference.
    pub(super) fn begin_anew(&mut self) -> bool {
        self.last_id.take().is_some()
    }

    /// Opens the stream with GET.
    pub(super) async fn open(&mut self) -> Result<(), Closed> {
        let mut headers = self.way.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        let last = self.last_id.as_deref().and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok());
        if let Some(last) = last {
            headers.insert(HeaderName::from_static(header::LAST_EVENT_ID), last);
        }
        self.began = Instant::now();
        let sent = self.way.fetch.send(Method::GET, &self.way.address, &headers, None);
        let Some(sent) = self.way.in_time(sent).await else {
            // There are servers that say nothing at all before the first event.
            self.forgive();
            return Err(Closed::Failed(Failure::Interrupted("no answer in time".into())));
        };
        let reply = sent.map_err(Closed::Failed)?;
        match reply.status() {
            200 if reply.media_type() == EVENT_STREAM => {
                self.reader = Reader::new(self.way.bounds.message);
                self.reply = Some(reply);
                Ok(())
            }
            200 => {
                let kind = reply.media_type();
                Err(Closed::Failed(Failure::Misbehaved(format!(
                    "a stream of events was asked for, {kind:?} came"
                ))))
            }
            status => {
                let challenges = challenges(reply.headers()).map(str::to_owned).collect();
                Err(Closed::Refused { status, challenges })
            }
        }
    }

    /// How long to wait before the next attempt.
    fn wait(&self) -> Duration {
        let in_vain = self.failures >= self.way.bounds.attempts;
        wait(self.retry, if in_vain { u32::MAX } else { self.failures }, jitter())
    }
}

/// The server's wish counts as it is for the first attempt; after that every wait is about twice as long.
fn wait(wish: Option<Duration>, failures: u32, jitter: f64) -> Duration {
    let first = wish.unwrap_or(FIRST_WAIT).clamp(SHORTEST_WAIT, LONGEST_WAIT);
    if wish.is_some() && failures == 0 {
        return first;
    }
    let doubled = first.saturating_mul(1 << failures.min(16));
    doubled.min(LONGEST_WAIT).mul_f64(0.5 + jitter / 2.0).max(SHORTEST_WAIT)
}

/// Between 0 and 1. Clients that lost the same server must not come back all at once.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows C05 and C06 of the security bar: wishes have a floor and a cap, failures make patient.
    #[test]
    fn waits_are_bounded_and_grow() {
        let ms = Duration::from_millis;
        assert_eq!(wait(Some(ms(500)), 0, 0.3), ms(500), "a wish is honoured to the letter");
        assert_eq!(wait(Some(ms(0)), 0, 0.3), SHORTEST_WAIT);
        assert_eq!(wait(Some(ms(u64::MAX)), 0, 0.3), LONGEST_WAIT);
        assert_eq!(wait(None, 0, 1.0), FIRST_WAIT);
        assert_eq!(wait(None, 1, 1.0), FIRST_WAIT * 2);
        assert_eq!(wait(None, 1, 0.0), FIRST_WAIT);
        assert_eq!(wait(Some(ms(500)), 2, 1.0), ms(2000));
        assert_eq!(wait(None, u32::MAX, 1.0), LONGEST_WAIT);
        assert!((0.0..=1.0).contains(&jitter()));
    }
}
