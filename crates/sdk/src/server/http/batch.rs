//! A batch over HTTP: messages that came in one POST are answered in one message.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::stream::{FuturesUnordered, Stream as _};
use http::StatusCode;

use super::answering::{Finished, enter, write_outcome};
use super::session::HttpSession;
use super::table::Table;
use crate::server::exchange::{Outcome, Run};

/// The requests of a batch that are being worked on, and the answers that wait for the others.
#[derive(Default)]
pub(super) struct Batch {
    running: FuturesUnordered<Run>,
    answers: Vec<u8>,
}

impl Batch {
    /// A request to work on.
    pub(super) fn run(&mut self, session: Option<&Arc<HttpSession>>, run: Run) {
        if let Some(session) = session {
            enter(session, &run.context);
        }
        self.running.push(run);
    }

    /// Bytes of answers that wait for the others.
    pub(super) fn bytes(&self) -> usize {
        self.answers.len()
    }

    /// An answer that is known at once.
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.answers.push(if self.answers.is_empty() { b'[' } else { b',' });
        write(&mut self.answers);
    }

    /// Whether nothing will have to be answered.
    pub(super) fn is_silent(&self) -> bool {
        self.answers.is_empty() && self.running.is_empty()
    }

    pub(super) fn poll(
        &mut self,
        session: Option<&Arc<HttpSession>>,
        table: &Table,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Finished> {
        while let Some((context, outcome)) = ready!(Pin::new(&mut self.running).poll_next(cx)) {
            let waited_for =
                session.is_none_or(|session| session.lock().ledger.finish(&context, &outcome).is_some());
            if waited_for && !matches!(outcome, Outcome::Cancelled) {
                self.answer(|line| {
                    write_outcome(&context, outcome, session, table, line);
                });
            }
        }
        if self.answers.is_empty() {
            return Poll::Ready(Finished::Nothing);
        }
        self.answers.push(b']');
        Poll::Ready(Finished::Line(StatusCode::OK, std::mem::take(&mut self.answers)))
    }
}
