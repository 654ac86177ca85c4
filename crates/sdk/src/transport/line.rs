//! Messages as lines over any pair of byte streams.
//!
//! Reads all that is there, writes once per batch of answers. A line over the limit is thrown away as it
//! arrives: it never occupies more than the limit, and the line after it is read as usual.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::{Incoming, Transport};

const READ_SIZE: usize = 64 * 1024;
/// A buffer that once held a very large message is not kept for small ones.
const KEEP: usize = 1024 * 1024;

/// Newline-delimited messages over a reader and a writer.
#[derive(Debug)]
pub struct LineTransport<R, W> {
    reader: R,
    writer: Option<W>,
    limit: usize,
    input: BytesMut,
    /// How much of `input` is known to hold no line break.
    searched: usize,
    /// In the middle of a line that is too long.
    discarding: bool,
    ended: bool,
    output: Vec<u8>,
    written: usize,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Lines of at most `limit` bytes.
    pub fn new(reader: R, writer: W, limit: usize) -> Self {
        Self {
            reader,
            writer: Some(writer),
            limit,
            input: BytesMut::new(),
            searched: 0,
            discarding: false,
            ended: false,
            output: Vec::new(),
            written: 0,
        }
    }

    /// The next line that has been read completely.
    fn next_line(&mut self) -> Option<Incoming> {
        loop {
            let Some(offset) = memchr::memchr(b'\n', &self.input[self.searched..]) else {
                self.searched = self.input.len();
                return self.check_partial_line();
            };
            let end = self.searched + offset;
            let mut line = self.input.split_to(end + 1).freeze();
            self.searched = 0;
            if std::mem::take(&mut self.discarding) {
                continue;
            }
            line.truncate(end);
            if line.ends_with(b"\r") {
                line.truncate(end - 1);
            }
            if line.len() > self.limit {
                return Some(Incoming::TooLong { limit: self.limit });
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Incoming::Message(line));
            }
        }
    }

    fn check_partial_line(&mut self) -> Option<Incoming> {
        if self.discarding {
            self.input.clear();
            self.searched = 0;
            return None;
        }
        // One byte more than the limit may be the carriage return of a line that just fits.
        if self.input.len() <= self.limit + 1 {
            return None;
        }
        self.discarding = true;
        self.input = BytesMut::new();
        self.searched = 0;
        Some(Incoming::TooLong { limit: self.limit })
    }

    /// A last line without a line break was cut off: it is not dispatched.
    fn end(&mut self) -> Incoming {
        self.ended = true;
        self.input = BytesMut::new();
        self.searched = 0;
        Incoming::End
    }

    fn poll_write_all(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        while self.written < self.output.len() {
            let written = ready!(Pin::new(&mut *writer).poll_write(cx, &self.output[self.written..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        self.output.clear();
        self.written = 0;
        if self.output.capacity() > KEEP {
            self.output = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<R, W> Transport for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        loop {
            if self.ended {
                return Poll::Ready(Ok(Incoming::End));
            }
            if let Some(incoming) = self.next_line() {
                return Poll::Ready(Ok(incoming));
            }
            self.input.reserve(READ_SIZE);
            let read = pin!(self.reader.read_buf(&mut self.input));
            let read = ready!(std::future::Future::poll(read, cx))?;
            if read == 0 {
                return Poll::Ready(Ok(self.end()));
            }
        }
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        if self.output.is_empty() {
            std::mem::swap(&mut self.output, lines);
        } else {
            self.output.append(lines);
        }
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.written
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_all(cx))?;
        match &mut self.writer {
            Some(writer) => Pin::new(writer).poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.writer.is_none() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_write_all(cx))?;
        if let Some(writer) = &mut self.writer {
            ready!(Pin::new(writer).poll_shutdown(cx))?;
        }
        // Shutting a pipe down does not close it; letting go of it does.
        self.writer = None;
        Poll::Ready(Ok(()))
    }
}
