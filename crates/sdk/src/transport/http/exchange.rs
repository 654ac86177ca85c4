//! One POST, from the message to the last that comes of it.
//!
//! A request ends with its answer or with the reason why there is none. What comes for another request is not
//! passed on: an answer counts only on the way that its question took.

use std::time::Duration;

use ::http::Method as Verb;
use bytes::Bytes;
use contexture_core::http::header;

use super::outbound::{Inbound, Outbound};
use super::reply::Reply;
use super::stream::{EVENT_STREAM, Stream};
use super::{Report, Reports, Way};
use crate::error::HttpRefusal;
use crate::json_rpc::RequestId;
use crate::model::Method;
use crate::transport::Failure;

const JSON: &str = "application/json";
/// How long a body may take to end once nobody wants to know more of it, so that its connection can serve again.
const TAIL: Duration = Duration::from_millis(250);

/// One POST.
pub(super) struct Exchange {
    pub(super) way: Way,
    pub(super) message: Outbound,
    pub(super) reports: Reports,
    /// Whether the request is part of a session.
    pub(super) has_session: bool,
    /// Whether a stream that breaks goes on elsewhere.
    pub(super) resumes: bool,
    pub(super) has_batches: bool,
    /// Whether answers come on another stream.
    pub(super) answered_elsewhere: bool,
}

/// What came of a request.
enum Asked {
    /// Its answer was passed on.
    Answered,
    /// Its answer comes on another stream.
    Elsewhere,
}

impl Exchange {
    pub(super) async fn run(mut self) {
        let Some(id) = self.message.id.clone() else { return Box::pin(self.tell()).await };
        let outcome = self.ask(&id).await;
        let report = match outcome {
            Ok(Asked::Answered) => return,
            Ok(Asked::Elsewhere) => Report::Done(id),
            Err(failure) => Report::Failed { id, failure },
        };
        // Nobody listens when the transport is gone.
        let _ = self.reports.send(report).await;
    }

    /// A notification or an answer of ours. Nobody waits for it, so it has a time of its own; what goes wrong is
    /// worth a line in the log.
    async fn tell(&self) {
        let posted = self.way.in_time(self.post()).await;
        let posted = posted.unwrap_or_else(|| Err(Failure::Interrupted("no answer in time".into())));
        if self.message.method == Some(Method::Initialized) {
            let _ = self.reports.send(Report::Acknowledged).await;
        }
        let method = self.message.method;
        match posted {
            Ok(reply) if (200..300).contains(&reply.status()) => reply.forget(TAIL).await,
            Ok(reply) => match tokio::time::timeout(TAIL, reply.refusal()).await {
                Ok(refusal) => tracing::warn!(?method, %refusal, "a message was not accepted"),
                Err(_) => tracing::warn!(?method, "a message was not accepted"),
            },
            Err(failure) => tracing::warn!(?method, ?failure, "a message was not sent"),
        }
    }

    async fn ask(&mut self, id: &RequestId) -> Result<Asked, Failure> {
        let mut reply = self.post().await?;
        if self.message.method == Some(Method::Initialize)
            && reply.status() == 200
            && let Some(session) = reply.headers().get(header::SESSION_ID)
        {
            self.report(Report::Session(session.clone())).await?;
        }
        let (status, kind) = (reply.status(), reply.media_type());
        match status {
            200..300 if self.answered_elsewhere => {
                Box::pin(reply.forget(TAIL)).await;
                Ok(Asked::Elsewhere)
            }
            200 if kind == JSON => {
                let body = reply.whole(self.way.bounds.message).await?;
                self.read_body(id, body).await
            }
            // What not every request has is in a box, so that the others need not be moved with room for it.
            200 if kind == EVENT_STREAM => Box::pin(self.read_stream(id, reply)).await,
            200..300 => Err(Failure::Misbehaved(format!(
                "a request was answered with HTTP status {status} and {}",
                if kind.is_empty() { "no content".into() } else { format!("{kind:?}") }
            ))),
            404 if self.has_session => Err(Failure::SessionEnded),
            _ => Err(Failure::Refused(Box::pin(reply.refusal()).await)),
        }
    }

    async fn post(&self) -> Result<Reply, Failure> {
        let Way { fetch, address, headers, .. } = &self.way;
        fetch.send(Verb::POST, address, headers, Some(&self.message.line)).await
    }

    async fn report(&self, report: Report) -> Result<(), Failure> {
        self.reports.send(report).await.map_err(|_| Failure::Interrupted("the connection is over".into()))
    }

    async fn read_body(&self, id: &RequestId, body: Bytes) -> Result<Asked, Failure> {
        let answered = self.read(id, body, true).await?;
        if answered {
            Ok(Asked::Answered)
        } else {
            Err(Failure::Misbehaved("a body without the answer".into()))
        }
    }

    /// Passes a message on, or several. Says whether the answer was among them.
    async fn read(&self, id: &RequestId, message: Bytes, is_body: bool) -> Result<bool, Failure> {
        match Inbound::look(&message, id) {
            Inbound::Batch(items) if self.has_batches => {
                let mut answered = false;
                for item in items {
                    let look = Inbound::look(&item, id);
                    answered |= self.pass_on(id, item, look, is_body).await?;
                }
                Ok(answered)
            }
            look => self.pass_on(id, message, look, is_body).await,
        }
    }

    /// A body is all that comes, so it must be right. On a stream the answer may still follow.
    async fn pass_on(
        &self,
        id: &RequestId,
        message: Bytes,
        look: Inbound,
        is_body: bool,
    ) -> Result<bool, Failure> {
        match look {
            Inbound::Answer => {
                self.report(Report::Answer { id: id.clone(), message }).await?;
                return Ok(true);
            }
            Inbound::Other => {}
            Inbound::Unread(error) => {
                let refusal = HttpRefusal { error: Some(error), ..HttpRefusal::new(200) };
                return Err(Failure::Refused(Box::new(refusal)));
            }
            Inbound::Foreign if is_body => {
                return Err(Failure::Misbehaved("the answer to another request came".into()));
            }
            Inbound::Foreign => {
                tracing::warn!("dropped the answer to another request");
                return Ok(false);
            }
            Inbound::Garbage(what) if is_body => {
                return Err(Failure::Misbehaved(format!("what came is not a message: {what}")));
            }
            Inbound::Batch(_) if is_body => {
                return Err(Failure::Misbehaved("several messages came at once".into()));
            }
            // Its reader counts what makes no sense.
            Inbound::Garbage(_) | Inbound::Batch(_) => {}
        }
        self.report(Report::Beside { of: id.clone(), message }).await?;
        Ok(false)
    }

    async fn read_stream(&mut self, id: &RequestId, reply: Reply) -> Result<Asked, Failure> {
        let mut stream = Stream::new(self.way.for_streams(), Some(reply));
        loop {
            match stream.next().await? {
                // An event without data only says where the stream is.
                Some(event) if event.data.is_empty() || event.name != "message" => {}
                Some(event) => {
                    if self.read(id, event.data.into(), false).await? {
                        finish(stream).await;
                        return Ok(Asked::Answered);
                    }
                }
                None if self.resumes && stream.can_resume() => stream.resume().await?,
                None => return Err(Failure::Interrupted(stream.broken().to_owned())),
            }
        }
    }
}

/// The answer is there, the caller goes on; only the connection is waited for.
async fn finish(mut stream: Stream) {
    let _ = tokio::time::timeout(TAIL, async { while let Ok(Some(_)) = stream.next().await {} }).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, F>(_: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// It is moved into its box, so what only few requests need is in boxes of its own.
    #[test]
    fn the_future_of_an_exchange_is_small() {
        let size = size(Exchange::run);
        assert!(size <= 3072, "{size} bytes");
    }
}
