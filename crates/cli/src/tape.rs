//! A tape of what the client and the built-in demo say to each other in this process.
//!
//! `CONTEXTURE_TRANSCRIPT=FILE` keeps it: one entry on a line, an empty line after each connection. Servers
//! that are processes of their own can be listened to on their pipes; this one cannot.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::task::{Context, Poll};

use contexture::testing::{Recording, Side, Transcript};
use contexture::transport::{Incoming, Transport};

const VARIABLE: &str = "CONTEXTURE_TRANSCRIPT";

/// The client's end of a connection, on tape if somebody asked for it.
pub(crate) fn taped(transport: impl Transport) -> Box<dyn Transport> {
    let Some(path) = std::env::var_os(VARIABLE) else { return Box::new(transport) };
    let transcript = Transcript::new();
    let inner = Recording::new(transport, Side::Client, transcript.clone());
    Box::new(Taped { inner, transcript, path: path.into() })
}

struct Taped<T> {
    inner: Recording<T>,
    transcript: Transcript,
    path: PathBuf,
}

impl<T> Drop for Taped<T> {
    fn drop(&mut self) {
        let text = format!("{}\n\n", self.transcript.to_text());
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::warn!(%error, "what was said could not be kept");
        }
    }
}

impl<T: Transport> Transport for Taped<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        self.inner.poll_receive(cx)
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
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
