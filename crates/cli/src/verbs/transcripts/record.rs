//! `record`: stands between a client and a server, and keeps what they say. It changes nothing.
//!
//! A server that is started is recorded over standard input and output, one at a URL over HTTP: to change the transport is
//! a bridge's business, and one can stand in front.

use std::io;
use std::task::{Context, Poll};

use contexture::Policy;
use contexture::transport::{Incoming, Side, StdioTransport, Transport};

use super::proxy;
use crate::connect::bare;
use crate::exit::Failure;
use crate::options::Recording;
use crate::place::Place;
use crate::recording::begin;
use crate::terminal::note;
use crate::transcript::{Ending, Recorder};
use crate::verbs::{alone, interrupted, together};

/// How much may wait for either side to read it.
const UNSENT: usize = 4 * 1024 * 1024;

pub(super) fn run(recording: &Recording) -> Result<(), Failure> {
    let target = &recording.target;
    let place = target.place(&mut recording.words())?;
    let url = place.url().map(str::to_owned);
    let listens = recording.listen.is_some();
    if url.is_none() && listens {
        let hint = "contexture bridge --listen ADDRESS -- contexture record --to FILE -- COMMAND serves it over HTTP";
        return Err(Failure::usage("a server that is started is recorded over standard input and output")
            .hint(Some(hint.to_owned())));
    }
    let Some(recorder) = begin(&place, target, Some(&recording.to))? else {
        return Err(Failure::usage("where is it to be kept? --to FILE"));
    };
    match url {
        Some(url) => together(ending(proxy::serve(&url, recording, &place, &recorder))),
        None => alone(ending(over_stdio(recording, &place, &recorder))),
    }
}

/// Told to end, a record is simply over.
async fn ending(recording: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        biased;
        () = interrupted() => Ok(()),
        recorded = recording => recorded,
    }
}

async fn over_stdio(recording: &Recording, place: &Place, recorder: &Recorder) -> Result<(), Failure> {
    let server = bare(place, &recording.target, Some(recorder), false).await?;
    let client = StdioTransport::open(Policy::default().line_bytes)?;
    let connection = recorder.connection();
    note(&format!("recording to {}", recording.to.display()));
    let mut relay = Relay { client, server, recorder, connection, over: Over::default() };
    if std::future::poll_fn(|cx| relay.poll(cx)).await.is_err() {
        // A client that reads no more has gone.
        relay.ended(Ending::Client);
    }
    // The server is given time to leave.
    std::future::poll_fn(|cx| relay.server.poll_close(cx)).await.ok();
    Ok(())
}

/// Passes lines on, both ways.
struct Relay<'a, C> {
    client: C,
    server: Box<dyn Transport>,
    recorder: &'a Recorder,
    connection: u32,
    over: Over,
}

/// Who has said all that they had to say.
#[derive(Default)]
struct Over {
    client: bool,
    server: bool,
}

impl<C: Transport> Relay<'_, C> {
    /// Until the server has finished: what it still says after the client did is passed on.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            // A server that reads no more may still have something to say.
            let _ = self.server.poll_flush(cx);
            let flushed = self.client.poll_flush(cx)?;
            if self.over.server {
                return flushed.map(Ok);
            }
            let mut moved = false;
            if !self.over.client && self.server.unsent() < UNSENT {
                moved |= self.hear_client(cx)?;
            }
            if self.over.client {
                let _ = self.server.poll_close(cx);
            }
            if self.client.unsent() < UNSENT {
                moved |= self.hear_server(cx)?;
            }
            if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Notes who was the first to end it.
    fn ended(&self, how: Ending) {
        if !self.over.client && !self.over.server {
            self.recorder.end(self.connection, how);
        }
    }

    fn hear_client(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        match self.client.poll_receive(cx)? {
            Poll::Pending => return Ok(false),
            Poll::Ready(Incoming::Message(line)) => {
                self.recorder.message(self.connection, (Side::Client, &line), None, &[]);
                self.server.send(&mut with_break(&line));
            }
            Poll::Ready(Incoming::End) => {
                self.ended(Ending::Client);
                self.over.client = true;
            }
            Poll::Ready(_) => {}
        }
        Ok(true)
    }

    fn hear_server(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        match self.server.poll_receive(cx)? {
            Poll::Pending => return Ok(false),
            Poll::Ready(Incoming::Message(line)) => {
                self.recorder.message(self.connection, (Side::Server, &line), None, &[]);
                self.client.send(&mut with_break(&line));
            }
            Poll::Ready(Incoming::End) => {
                self.ended(Ending::Server);
                self.over.server = true;
            }
            Poll::Ready(_) => {}
        }
        Ok(true)
    }
}

fn with_break(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}
