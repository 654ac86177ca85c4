//! A transport that keeps a record of everything that passes.

use std::io;
use std::task::{Context, Poll, ready};

use super::{Side, Transcript};
use crate::json_rpc::RequestId;
use crate::revision::Rules;
use crate::transport::{Incoming, Transport};

/// Records what goes through another transport.
#[derive(Debug)]
pub struct Recording<T> {
    inner: T,
    own: Side,
    transcript: Transcript,
}

impl<T> Recording<T> {
    /// Records at the end that belongs to `own`.
    pub fn new(inner: T, own: Side, transcript: Transcript) -> Self {
        Self { inner, own, transcript }
    }

    fn record(&self, lines: &[u8]) {
        for line in crate::json_rpc::lines(lines) {
            self.transcript.record(self.own, line);
        }
    }
}

impl<T: Transport> Transport for Recording<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let incoming = ready!(self.inner.poll_receive(cx))?;
        if let Incoming::Message(line) | Incoming::Beside { message: line, .. } = &incoming {
            self.transcript.record(self.own.other(), line);
        }
        Poll::Ready(Ok(incoming))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.record(lines);
        self.inner.send(lines);
    }

    fn unsent(&self) -> usize {
        self.inner.unsent()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_close(cx)
    }

    fn has_headers(&self) -> bool {
        self.inner.has_headers()
    }

    fn send_request(&mut self, line: &mut Vec<u8>, headers: Vec<(String, String)>) {
        self.record(line);
        self.inner.send_request(line, headers);
    }

    fn agreed(&mut self, rules: &'static Rules) {
        self.inner.agreed(rules);
    }

    fn withdraw(&mut self, id: &RequestId) -> bool {
        self.inner.withdraw(id)
    }
}
