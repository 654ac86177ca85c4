//! One connection of a replay: what has come on it, and what is still waited for.

use std::collections::{HashMap, HashSet};
use std::io;
use std::task::{Context, Poll};

use contexture::json_rpc::RequestId;
use contexture::revision::Revision;
use contexture::transport::{Incoming, Transport};
use serde_json::{Value, json};

use super::compare::Fresh;
use crate::transcript::{Kind, Refusal};

/// Messages that came and were not expected; a server that sends more is not worth comparing.
const MOST: usize = 10_000;

/// Something that came.
#[derive(Debug, Clone)]
pub(super) enum Got {
    Message(Value),
    /// A request got no answer.
    Refused(Refusal),
    /// A line that is no JSON.
    Text(String),
}

impl Got {
    /// What a difference shows.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Message(message) => message.clone(),
            Self::Refused(refusal) => refused(refusal),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

/// A refusal as an answer: over one transport it is a status, over another an error.
pub(super) fn refused(refusal: &Refusal) -> Value {
    let error = refusal.error.clone().unwrap_or_else(|| json!({ "status": refusal.status }));
    json!({ "jsonrpc": "2.0", "id": refusal.of, "error": error })
}

/// A connection to the server that is asked again.
pub(super) struct Session {
    transport: Box<dyn Transport>,
    pub(super) inbox: Vec<Got>,
    pub(super) is_over: bool,
    /// Our side is ended; what the server still says is listened to.
    pub(super) is_closing: bool,
    /// The request that opens a session.
    handshake: Option<Value>,
    /// What was said first, until something else is said.
    pub(super) opening: Option<(String, Value)>,
    /// HTTP+SSE is spoken.
    pub(super) is_older: bool,
    /// What the server calls its questions now, by what it called them then.
    pub(super) questions: HashMap<String, Value>,
    /// Questions that nobody was asked then, by what they are called now.
    pub(super) refused: HashSet<String>,
    /// What it gave to be brought back, likewise.
    pub(super) fresh: Fresh,
}

impl Session {
    pub(super) fn new(transport: Box<dyn Transport>, is_older: bool) -> Self {
        Self {
            transport,
            inbox: Vec::new(),
            is_over: false,
            is_closing: false,
            handshake: None,
            opening: None,
            is_older,
            questions: HashMap::new(),
            refused: HashSet::new(),
            fresh: Fresh::default(),
        }
    }

    /// Says something as it was said.
    pub(super) fn say(&mut self, text: &str, message: &Value, headers: Vec<(String, String)>) {
        let mut line = text.as_bytes().to_vec();
        line.push(b'\n');
        match Kind::of(message) {
            Kind::Request { id, method } => {
                if method == "initialize" {
                    self.handshake = Some(id);
                }
                self.transport.send_request(&mut line, headers);
            }
            _ => self.transport.send(&mut line),
        }
    }

    /// Gives a request up.
    pub(super) fn withdraw(&mut self, id: &Value) {
        if let Some(id) = RequestId::from_json(&id.to_string()) {
            self.transport.withdraw(&id);
        }
    }

    /// Moves what is to be moved. Ready when something has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Who reads no more may still have something to say.
        let _ = if self.is_closing { self.transport.poll_close(cx) } else { self.transport.poll_flush(cx) };
        if self.is_over {
            return Poll::Pending;
        }
        match std::task::ready!(self.transport.poll_receive(cx)) {
            Ok(incoming) => self.take(incoming),
            Err(_) => self.is_over = true,
        }
        if self.inbox.len() > MOST {
            self.is_over = true;
        }
        Poll::Ready(())
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Message(line) | Incoming::Beside { message: line, .. } => {
                match serde_json::from_slice::<Value>(&line) {
                    Ok(message) => {
                        self.agree(&message);
                        self.inbox.push(Got::Message(message));
                    }
                    Err(_) => self.inbox.push(Got::Text(String::from_utf8_lossy(&line).into_owned())),
                }
            }
            Incoming::Failed { id, failure } => {
                self.inbox.push(Got::Refused(crate::transcript::refusal(&id, &failure)));
            }
            Incoming::TooLong { limit } => {
                self.inbox.push(Got::Text(format!("a message of more than {limit} bytes")));
            }
            _ => self.is_over = true,
        }
    }

    /// HTTP says with every request which revision was agreed on.
    fn agree(&mut self, message: &Value) {
        let Kind::Answer { id } = Kind::of(message) else { return };
        if self.handshake.as_ref() != Some(&id) {
            return;
        }
        let version = message.pointer("/result/protocolVersion").and_then(Value::as_str);
        if let Some(revision) = version.and_then(Revision::parse) {
            self.transport.agreed(revision.rules());
        }
    }

    /// Whether nothing can come any more, though the server may say it.
    pub(super) fn is_deaf(&self) -> bool {
        self.is_closing && self.transport.has_headers()
    }

    /// Ends our side.
    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_close(cx)
    }
}
