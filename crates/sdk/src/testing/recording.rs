//! A transport that keeps a record of everything that passes.

use std::io;
use std::task::{Context, Poll, ready};

use super::{Side, Transcript};
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
}

impl<T: Transport> Transport for Recording<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let incoming = ready!(self.inner.poll_receive(cx))?;
        if let Incoming::Message(line) = &incoming {
            self.transcript.record(self.own.other(), line);
        }
        Poll::Ready(Ok(incoming))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            self.transcript.record(self.own, line);
        }
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
}
