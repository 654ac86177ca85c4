//! Reading what the server sends.
//!
//! Every message is classified once. Responses go to their callers, requests to the responders,
//! everything that is none of these is counted and, up to a budget, skipped.

use std::sync::Arc;

use bytes::Bytes;

use super::connection::{Answer, Answered, Connection, Stop};
use super::events::Event;
use super::link::{End, Settled, count};
use crate::Error;
use crate::json_rpc::{
    Decoder, Frame, Message, Notification, Refusal, Request, RequestId, Response, error_line, result_line,
};
use crate::model::{CancelledParams, ErrorObject, Method};
use crate::transport::Failure;

/// Error data beyond this is not kept.
const ERROR_DATA: usize = 64 * 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// So much of a line that is no message is worth logging.
const EXCERPT: usize = 120;

impl Connection {
    /// Reads a message; `of` is the request of ours that it came beside the answer of, where that is known.
    pub(super) fn receive(&mut self, mut line: Bytes, of: Option<&RequestId>) -> Option<Stop> {
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            tracing::warn!(server = self.named(), "the server began with a byte order mark");
            line = line.slice(BOM.len()..);
        }
        match self.decoder.frame(&line) {
            Ok(Frame::Single(message)) => {
                self.message(message, &line, of);
                None
            }
            Ok(Frame::Batch(items)) => self.batch(&items, &line, of),
            Err(refusal) => self.refused(refusal, &line),
        }
    }

    fn batch(&mut self, items: &[&str], line: &Bytes, of: Option<&RequestId>) -> Option<Stop> {
        let allowed = self.link.session.get().is_some_and(|session| session.rules.has_batches);
        if !allowed || items.is_empty() {
            return self.garbage("a batch", line);
        }
        let mut decoder = Decoder::new(self.hub.config.policy.limits);
        for item in items {
            match decoder.message(item) {
                Ok(message) => self.message(message, line, of),
                Err(refusal) => {
                    if let stop @ Some(_) = self.refused(refusal, line) {
                        return stop;
                    }
                }
            }
        }
        None
    }

    fn message(&mut self, message: Message<'_>, line: &Bytes, of: Option<&RequestId>) {
        match message {
            Message::Response(response) => self.response(response, line),
            Message::Request(request) => self.request(&request),
            Message::Notification(notification) => self.notification(&notification, of),
        }
    }

    /// Not a message. A call that it was meant for fails at once, a question gets its error.
    fn refused(&mut self, refusal: Refusal, received: &[u8]) -> Option<Stop> {
        if let Some(id) = &refusal.id {
            if !refusal.has_method {
                let error = Error::PeerMisbehaved(format!("a malformed response: {}", refusal.error.message));
                if self.link.settle(id, Err(error)) != Settled::Nothing {
                    return None;
                }
            } else if self.link.session.get().is_none_or(|session| session.rules.has_server_requests) {
                let mut line = Vec::new();
                error_line(Some(id), false, &refusal.error, &mut line);
                self.send(line);
            }
        }
        self.garbage(&refusal.error.message, received)
    }

    /// What the application calls the server, for whoever reads of several.
    fn named(&self) -> Option<&str> {
        self.hub.config.server_name.as_deref()
    }

    pub(super) fn garbage(&mut self, what: &str, received: &[u8]) -> Option<Stop> {
        count(&self.link.counters.garbage);
        self.garbage += 1;
        let limit = self.hub.config.policy.garbage_lines;
        // The first few are worth a line in the log, a flood is not.
        if self.garbage <= 10 {
            let line = String::from_utf8_lossy(&received[..received.len().min(EXCERPT)]);
            tracing::warn!(
                server = self.named(),
                what,
                line = &*line,
                "skipped a line that is not a message"
            );
        }
        if self.garbage <= limit {
            return None;
        }
        let text = format!("more than {limit} lines were not messages, the last because of: {what}");
        Some(Stop::Failed(End::Misbehaved(text)))
    }

    fn response(&mut self, response: Response<'_>, line: &Bytes) {
        let Some(id) = response.id else {
            count(&self.link.counters.unknown_responses);
            tracing::warn!(server = self.named(), "the server could not read one of our messages");
            return;
        };
        let outcome = match response.outcome {
            Ok(result) => Ok(line.slice_ref(result.as_bytes())),
            Err(error) => Err(Error::Remote(cut(error))),
        };
        match self.link.settle(&id, outcome) {
            Settled::Call => {}
            Settled::Subscription => self.hub.emit(Event::SubscriptionEnded),
            Settled::Nothing => {
                count(&self.link.counters.unknown_responses);
                tracing::debug!(%id, "a response that nobody waits for");
            }
        }
    }

    /// A request of ours got lost. It concerns nobody else.
    pub(super) fn failed(&mut self, id: &RequestId, failure: Failure) {
        tracing::debug!(%id, ?failure, "a request got no answer");
        if self.link.settle(id, Err(failure.into())) == Settled::Subscription {
            self.hub.emit(Event::SubscriptionEnded);
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        let session = self.link.session.get();
        if session.is_some_and(|session| !session.rules.has_server_requests) {
            count(&self.link.counters.refused_requests);
            tracing::warn!(method = %request.method, "a request from a server whose revision has none");
            return;
        }
        if request.method == Method::Ping.as_str() {
            let mut line = Vec::new();
            // An empty object is always JSON.
            let _ = result_line(&request.id, &serde_json::Map::new(), &mut line);
            return self.send(line);
        }
        count(&self.link.counters.unasked);
        let question = match session {
            Some(session) => self.hub.question(session, request),
            None => Err(ErrorObject::method_not_found(&request.method)),
        };
        let question = question.and_then(|question| {
            self.in_flight.check(&request.id)?;
            Ok(question)
        });
        match question {
            Ok(question) => {
                let hub = Arc::clone(&self.hub);
                let link = Arc::clone(&self.link);
                let handle = self.answers.spawn(async move { hub.answer(&link, question).await });
                self.asked.insert(handle.id(), request.id.clone());
                // Checked above; nothing has come between.
                let _ = self.in_flight.open(request.id.clone(), handle);
            }
            Err(error) => {
                count(&self.link.counters.refused_requests);
                self.answer(&request.id, Err(error));
            }
        }
    }

    pub(super) fn answered(&mut self, answered: Option<Answered>) {
        let (task, answer) = match answered {
            Some(Ok((task, answer))) => (task, answer),
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("a responder panicked");
                (error.id(), Err(ErrorObject::internal("the client failed")))
            }
            Some(Err(error)) => (error.id(), Err(ErrorObject::internal("cancelled"))),
            None => return,
        };
        let Some(id) = self.asked.remove(&task) else { return };
        // A question that was withdrawn gets no answer.
        if self.in_flight.close(&id).is_some() {
            self.answer(&id, answer);
        }
    }

    fn answer(&mut self, id: &RequestId, answer: Answer) {
        let mut line = Vec::new();
        match answer {
            Ok(result) if result_line(id, &result, &mut line).is_ok() => {}
            Ok(_) => error_line(Some(id), false, &ErrorObject::internal("the client failed"), &mut line),
            Err(error) => error_line(Some(id), false, &error, &mut line),
        }
        self.send(line);
    }

    /// The server no longer wants an answer. Unknown ids are none of our business.
    pub(super) fn withdrawn(&mut self, params: CancelledParams) {
        let Some(id) = params.request_id else { return };
        if self.link.is_listening(&id) {
            self.link.settle(&id, Err(Error::Cancelled));
            self.hub.emit(Event::SubscriptionEnded);
            return;
        }
        let Some(handle) = self.in_flight.close(&id) else { return };
        handle.abort();
        tracing::info!(%id, reason = params.reason.as_deref(), "the server withdrew a request");
        self.hub.emit(Event::Withdrawn { id, reason: params.reason });
    }

    fn notification(&mut self, notification: &Notification<'_>, of: Option<&RequestId>) {
        if !self.notified(notification, of) {
            count(&self.link.counters.dropped_notifications);
        }
    }
}

/// An error is shown to people and models: it may be long, but not that long.
fn cut(mut error: ErrorObject) -> ErrorObject {
    if error.data.as_ref().is_some_and(|data| data.to_string().len() > ERROR_DATA) {
        error.data = Some("(too long, left out)".into());
    }
    if let Some((at, _)) = error.message.char_indices().nth(ERROR_DATA) {
        error.message.truncate(at);
    }
    error
}
