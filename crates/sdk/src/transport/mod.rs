//! Ways to move messages: standard input and output, memory, HTTP, and whatever you bring.
//!
//! A transport moves whole messages and knows nothing about what they mean, except where HTTP says it
//! twice. Ids, timeouts and eras are decided above it.

#[cfg(feature = "client")]
mod child;
mod failure;
#[cfg(feature = "http-client")]
pub(crate) mod http;
mod line;
mod memory;
#[cfg(feature = "client")]
mod person;
mod stdio;
mod tap;

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::json_rpc::RequestId;
use crate::revision::Rules;

#[cfg(feature = "client")]
pub use child::{ChildCommand, ChildExit, ChildTransport, Stderr};
pub use failure::Failure;
pub use line::LineTransport;
pub use memory::{MemoryTransport, memory};
#[cfg(feature = "client")]
pub use person::{Asked, PersonTime};
pub use stdio::StdioTransport;
pub use tap::{Passed, Side, Tap, Tapped};

/// A connection that carries messages both ways.
///
/// **Set-up.** A value of this type is a connection that is already open; whatever has to be dialled or
/// spawned is done before. The first message is the client's.
///
/// **Framing.** A message is one JSON text without a raw line break. [`send`](Self::send) takes messages
/// that each end with a line break; [`poll_receive`](Self::poll_receive) yields them without it. Order is
/// kept in each direction and nothing is delivered twice.
///
/// **Close.** [`Incoming::End`] says that the peer has finished sending; it may still read. After
/// [`poll_close`](Self::poll_close) is ready the peer sees the end of our messages. Dropping a transport
/// closes it at once.
///
/// **Identity.** Authorization as the specification describes it is HTTP's. A transport of your own follows the
/// practice of whatever it is made of (TLS certificates, socket credentials), and says with
/// [`principal`](Self::principal) whom it has proven to be there. One that proves nothing serves whoever runs the
/// process, so it must be out of reach for everybody else.
pub trait Transport: Send + 'static {
    /// The next message.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>>;

    /// Takes messages to be sent, and leaves the buffer empty. They leave with the next flush.
    fn send(&mut self, lines: &mut Vec<u8>);

    /// Bytes taken by [`send`](Self::send) that have not left yet.
    fn unsent(&self) -> usize;

    /// Moves what was taken towards the peer.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Flushes, then tells the peer that nothing more will come.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether messages have headers, so that some of what they say is said twice.
    fn has_headers(&self) -> bool {
        false
    }

    /// Takes one request to be sent, with headers that belong to it.
    fn send_request(&mut self, line: &mut Vec<u8>, headers: Vec<(String, String)>) {
        let _ = headers;
        self.send(line);
    }

    /// The handshake is done: these rules hold from here on.
    fn agreed(&mut self, rules: &'static Rules) {
        let _ = rules;
    }

    /// Nobody waits for the answer to this request any more. Says whether the peer learns of it by this
    /// alone; otherwise it is told in a message.
    fn withdraw(&mut self, id: &RequestId) -> bool {
        let _ = id;
        false
    }

    /// For servers: who sent what was received last, where that was proven. Without it, whoever sent anything
    /// before; at first [whoever runs this process](crate::Principal::local).
    #[cfg(feature = "server")]
    fn principal(&self) -> Option<crate::Principal> {
        None
    }
}

/// What arrives over a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incoming {
    /// One message.
    Message(Bytes),
    /// One message that came with the answer to a request of ours, but is not that answer.
    Beside {
        /// Which request.
        of: RequestId,
        /// The message.
        message: Bytes,
    },
    /// A message longer than this many bytes. It was thrown away; what follows it is fine.
    TooLong {
        /// The limit that it exceeded.
        limit: usize,
    },
    /// One request of ours got no answer; everything else goes on.
    Failed {
        /// Which.
        id: RequestId,
        /// Why.
        failure: Failure,
    },
    /// The peer has finished.
    End,
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        (**self).poll_receive(cx)
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        (**self).send(lines);
    }

    fn unsent(&self) -> usize {
        (**self).unsent()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_close(cx)
    }

    fn has_headers(&self) -> bool {
        (**self).has_headers()
    }

    fn send_request(&mut self, line: &mut Vec<u8>, headers: Vec<(String, String)>) {
        (**self).send_request(line, headers);
    }

    fn agreed(&mut self, rules: &'static Rules) {
        (**self).agreed(rules);
    }

    fn withdraw(&mut self, id: &RequestId) -> bool {
        (**self).withdraw(id)
    }

    #[cfg(feature = "server")]
    fn principal(&self) -> Option<crate::Principal> {
        (**self).principal()
    }
}
