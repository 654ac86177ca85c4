//! A transcript as a server: who asks what was asked once gets what was answered then.
//!
//! Requests are found by method and parameters. What a server said on the way of an answer (progress, log, questions) is said
//! again in its order, and questions are waited for. What nobody asked in the transcript is refused, never made up.

mod book;
mod http;
mod player;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use contexture::transport::{Incoming, Transport};

pub(crate) use book::Book;
pub(crate) use http::listen;
use player::{Player, Said};

/// How much may wait to be read by the client.
const UNSENT: usize = 4 * 1024 * 1024;

/// Plays the server on one connection, until the client ends it.
pub(crate) async fn serve(book: Arc<Book>, transport: impl Transport) -> io::Result<()> {
    let mut stage = Stage { player: Player::new(book), transport, is_ending: false };
    let prologue = stage.player.begin();
    stage.say(prologue);
    std::future::poll_fn(|cx| stage.poll(cx)).await
}

struct Stage<T> {
    player: Player,
    transport: T,
    is_ending: bool,
}

impl<T: Transport> Stage<T> {
    fn say(&mut self, said: Vec<Said>) {
        for said in said {
            let mut line = said.text.into_bytes();
            line.push(b'\n');
            self.transport.send(&mut line);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.is_ending {
                return self.transport.poll_close(cx);
            }
            let flushed = self.transport.poll_flush(cx)?;
            if flushed.is_pending() && self.transport.unsent() > UNSENT {
                return Poll::Pending;
            }
            match std::task::ready!(self.transport.poll_receive(cx))? {
                Incoming::Message(line) | Incoming::Beside { message: line, .. } => {
                    let said = self.player.hear(&line);
                    self.say(said);
                }
                Incoming::End => self.is_ending = true,
                _ => {}
            }
        }
    }
}
