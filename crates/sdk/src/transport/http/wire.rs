//! What plain HTTP goes over.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::joined::Joined;

/// A stream of bytes to a server.
pub(super) enum Wire {
    Tcp(Joined<TokioIo<TcpStream>>),
    #[cfg(unix)]
    Unix(Joined<TokioIo<tokio::net::UnixStream>>),
}

impl Wire {
    pub(super) fn tcp(stream: TokioIo<TcpStream>) -> Self {
        Self::Tcp(Joined(stream))
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream) -> Self {
        Self::Unix(Joined(TokioIo::new(stream)))
    }
}

/// Calls a method of whatever it is.
macro_rules! each {
    ($wire:expr, $io:ident => $call:expr) => {
        match $wire {
            Wire::Tcp($io) => $call,
            #[cfg(unix)]
            Wire::Unix($io) => $call,
        }
    };
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self.get_mut(), io => Pin::new(io).poll_read(cx, buffer))
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), io => Pin::new(io).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), io => Pin::new(io).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), io => Pin::new(io).poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, io => io.is_write_vectored())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), io => Pin::new(io).poll_write_vectored(cx, pieces))
    }
}
