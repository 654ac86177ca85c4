//! One request: how it is made, and the wait for its answer.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::{Link, Out};
use crate::client::payload::{Metadata, Payload};
use crate::engine::Patience;
use crate::model::{LoggingMessageParams, ProgressParams, SubscriptionFilter};
use crate::{Error, Result};

/// What a server says about one request before it answers.
pub(in crate::client) enum Aside {
    Progress(ProgressParams),
    Log(LoggingMessageParams),
}

/// How a request is to be made.
pub(in crate::client) struct Outgoing<'a> {
    pub(in crate::client) method: &'a str,
    pub(in crate::client) payload: &'a Payload,
    pub(in crate::client) meta: Metadata<'a>,
    pub(in crate::client) patience: Patience,
    /// Whether giving it up is told to the server.
    pub(in crate::client) cancellable: bool,
    /// Whether log messages that belong to it are given to its caller.
    pub(in crate::client) hears_log: bool,
    /// Whether its caller must know if the server may have seen it, when the connection ends before the answer.
    pub(in crate::client) must_know: bool,
    pub(in crate::client) acknowledged: Option<oneshot::Sender<SubscriptionFilter>>,
    /// What is said twice, where messages have headers.
    pub(in crate::client) headers: Vec<(String, String)>,
}

/// A request that waits for its answer. Dropping it withdraws the request.
pub(in crate::client) struct Waiting {
    pub(super) link: Arc<Link>,
    pub(in crate::client) id: i64,
    /// Until it is there.
    pub(super) answer: Option<oneshot::Receiver<Result<Bytes>>>,
    /// Only of requests that want any.
    pub(super) asides: Option<mpsc::Receiver<Aside>>,
    /// What the server is told if the request is withdrawn.
    pub(in crate::client) reason: Option<String>,
}

impl Waiting {
    /// The text of the result; once.
    pub(in crate::client) async fn result(&mut self, mut on_aside: impl FnMut(Aside)) -> Result<Bytes> {
        let Some(answer) = &mut self.answer else { return Err(self.lost()) };
        let answer = match &mut self.asides {
            None => answer.await,
            Some(asides) => loop {
                tokio::select! {
                    biased;
                    Some(aside) = asides.recv() => on_aside(aside),
                    answer = &mut *answer => {
                        while let Ok(aside) = asides.try_recv() {
                            on_aside(aside);
                        }
                        break answer;
                    }
                }
            },
        };
        // Whoever answers has taken the request out of the table.
        self.answer = None;
        answer.unwrap_or_else(|_| Err(self.lost()))
    }

    /// The connection's task is gone with its runtime.
    fn lost(&self) -> Error {
        match self.link.ended() {
            Some(end) => end.error(),
            None => Error::Closed("the runtime of the connection is gone".into()),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.answer.is_none() {
            return;
        }
        let entry = self.link.table().settle(&self.id.into());
        if let Some(entry) = entry {
            let (id, reason, tell) = (self.id, self.reason.take(), entry.cancellable);
            let _ = self.link.out.send(Out::Withdraw { id, reason, tell });
        }
    }
}
