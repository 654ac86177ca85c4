//! Listening in: a transport that shows everything that passes to somebody, and changes nothing of it.

use std::fmt;
use std::io;
use std::task::{Context, Poll, ready};

use serde::{Deserialize, Serialize};

use super::{Failure, Incoming, Transport};
use crate::json_rpc::RequestId;
use crate::revision::Rules;

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The one at the other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What happened on a connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Passed<'a> {
    /// A message.
    Message {
        /// Whose.
        from: Side,
        /// The message, without a line break.
        line: &'a [u8],
        /// Over HTTP: it came with the answer to this request, but is not that answer.
        of: Option<&'a RequestId>,
        /// Headers that belong to it.
        headers: &'a [(String, String)],
    },
    /// A message that was longer than this many bytes, and thrown away.
    TooLong(usize),
    /// A request got no answer.
    Failed(&'a RequestId, &'a Failure),
    /// Nobody waits for the answer to this request any more, and the server learns of it by that alone.
    Withdrawn(&'a RequestId),
    /// The handshake is done: these rules hold from here on.
    Agreed(&'static Rules),
    /// This side ends the connection; what the other still says may follow.
    Closing,
    /// The other side has finished.
    End,
}

/// Sees everything that passes over a connection, as it happens. What it does with it must not take long: the
/// connection waits.
pub trait Tap: Send + 'static {
    /// Something happened.
    fn passed(&mut self, what: Passed<'_>);
}

/// A transport that somebody listens to.
pub struct Tapped<T> {
    inner: T,
    own: Side,
    tap: Box<dyn Tap>,
    is_closing: bool,
}

impl<T> Tapped<T> {
    /// Listens at the end that belongs to `own`.
    pub fn new(inner: T, own: Side, tap: impl Tap) -> Self {
        Self::boxed(inner, own, Box::new(tap))
    }

    pub(crate) fn boxed(inner: T, own: Side, tap: Box<dyn Tap>) -> Self {
        Self { inner, own, tap, is_closing: false }
    }

    fn sent(&mut self, lines: &[u8], headers: &[(String, String)]) {
        for line in crate::json_rpc::lines(lines) {
            self.tap.passed(Passed::Message { from: self.own, line, of: None, headers });
        }
    }
}

impl<T> fmt::Debug for Tapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tapped").field("own", &self.own).finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for Tapped<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let incoming = ready!(self.inner.poll_receive(cx))?;
        let from = self.own.other();
        self.tap.passed(match &incoming {
            Incoming::Message(line) => Passed::Message { from, line, of: None, headers: &[] },
            Incoming::Beside { of, message } => {
                Passed::Message { from, line: message, of: Some(of), headers: &[] }
            }
            Incoming::TooLong { limit } => Passed::TooLong(*limit),
            Incoming::Failed { id, failure } => Passed::Failed(id, failure),
            Incoming::End => Passed::End,
        });
        Poll::Ready(Ok(incoming))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.sent(lines, &[]);
        self.inner.send(lines);
    }

    fn unsent(&self) -> usize {
        self.inner.unsent()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.is_closing, true) {
            self.tap.passed(Passed::Closing);
        }
        self.inner.poll_close(cx)
    }

    fn has_headers(&self) -> bool {
        self.inner.has_headers()
    }

    fn send_request(&mut self, line: &mut Vec<u8>, headers: Vec<(String, String)>) {
        self.sent(line, &headers);
        self.inner.send_request(line, headers);
    }

    fn agreed(&mut self, rules: &'static Rules) {
        self.tap.passed(Passed::Agreed(rules));
        self.inner.agreed(rules);
    }

    fn withdraw(&mut self, id: &RequestId) -> bool {
        let learns = self.inner.withdraw(id);
        if learns {
            self.tap.passed(Passed::Withdrawn(id));
        }
        learns
    }

    #[cfg(feature = "server")]
    fn principal(&self) -> Option<crate::Principal> {
        self.inner.principal()
    }
}
