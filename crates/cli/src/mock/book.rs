//! What a server says, and when: the parts of a transcript, one for each message of the client.
//!
//! A part is what the server said because of that message, in its order: its answer, what came on the way, and what came of its
//! own accord while nothing else was going on. Where the client was asked something, the part waits for the answer.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use contexture::transport::Side;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::transcript::{Entry, Event, Kind, Transcript, named_revision, progress_token};

/// Where a message says which stream of changes it belongs to.
pub(super) const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// Everything that can be asked, and what is said then.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// Said before anything is heard.
    pub(super) prologue: Vec<Step>,
    pub(super) parts: Vec<Part>,
    /// Recorded connections that somebody has: the next one that begins the same way gets another.
    taken: Mutex<HashSet<u32>>,
}

/// What follows from one message of the client.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) method: Option<String>,
    pub(super) connection: u32,
    /// The revision that the message itself names, or that its session began with.
    pub(super) revision: Option<String>,
    /// The message without what differs from client to client.
    pub(super) key: Value,
    /// As it was recorded.
    pub(super) id: Option<Value>,
    pub(super) token: Option<Value>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Say {
        /// Exactly as it was recorded.
        text: String,
        /// The recorded id of the request on whose way it is said.
        of: Option<Value>,
    },
    /// Until the client has answered the question of this id.
    Await(Value),
}

impl Book {
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>, Failure> {
        let transcript = Transcript::load(path)?;
        let book = Self::of(&transcript);
        if book.parts.is_empty() {
            return Err(Failure::usage(format!("{}: no client says anything in it", path.display())));
        }
        Ok(Arc::new(book))
    }

    pub(crate) fn of(transcript: &Transcript) -> Self {
        let mut writing = Writing::default();
        for entry in &transcript.entries {
            writing.take(entry);
        }
        let mut book = writing.book;
        // A handshake that killed the server, or got no answer, is refused: then clients do as they did.
        let opens = |part: &Part| matches!(part.method.as_deref(), Some("server/discover" | "initialize"));
        book.parts.retain(|part| !opens(part) || !part.steps.is_empty());
        book
    }

    /// The part that opens a session: one that began just so, or in the same revision, or at all.
    pub(super) fn opening(&self, message: &Value) -> Option<usize> {
        let (key, revision) = (key(message), message.pointer("/params/protocolVersion"));
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let openings = || {
            let parts = self.parts.iter().enumerate();
            parts.filter(|(_, part)| part.method.as_deref() == Some("initialize"))
        };
        let same = |(_, part): &(usize, &Part)| part.key == key;
        let near = |(_, part): &(usize, &Part)| part.key.pointer("/params/protocolVersion") == revision;
        let free = |(_, part): &(usize, &Part)| !taken.contains(&part.connection);
        let found = openings().filter(same).find(free).or_else(|| openings().find(same));
        let (at, part) = found.or_else(|| openings().find(near)).or_else(|| openings().next())?;
        taken.insert(part.connection);
        Some(at)
    }
}

/// A message without what differs from client to client: ids, tokens, who asks, and what the server gave it to bring back.
pub(super) fn key(message: &Value) -> Value {
    let mut key = message.clone();
    let Some(members) = key.as_object_mut() else { return key };
    members.remove("id");
    members.remove("jsonrpc");
    if let Some(params) = members.get_mut("params").and_then(Value::as_object_mut) {
        params.remove("_meta");
        // No arguments are no arguments, however that is said.
        params.retain(|name, value| name != "arguments" || value.as_object().is_none_or(|it| !it.is_empty()));
        if params.is_empty() {
            members.remove("params");
        }
    }
    key
}

/// A book in the making.
#[derive(Default)]
struct Writing {
    book: Book,
    /// Requests without an answer so far, the newest last: connection, id, and which part.
    open: Vec<(u32, Value, usize)>,
    /// Questions of the server without an answer so far, and the part that they were asked in.
    asked: HashMap<(u32, String), usize>,
    /// What the client said last.
    last: Option<usize>,
    /// The revisions that sessions began with.
    offered: HashMap<u32, String>,
}

impl Writing {
    fn take(&mut self, entry: &Entry) {
        let message = entry.event.value();
        let connection = entry.connection;
        match &entry.event {
            Event::Said { from: Side::Client, .. } => self.client(connection, &message),
            Event::Said { from: Side::Server, text, of, .. } => {
                self.server(connection, &message, text, of.as_ref());
            }
            Event::Failed(refusal) => {
                // A status alone was the transport's word, which ours cannot say again.
                if let Some(error) = &refusal.error {
                    let answer = json!({ "jsonrpc": "2.0", "id": refusal.of, "error": error });
                    self.server(connection, &answer, &answer.to_string(), None);
                }
            }
            _ => {}
        }
    }

    fn client(&mut self, connection: u32, message: &Value) {
        let kind = Kind::of(message);
        if let Kind::Answer { id } = &kind {
            if let Some(part) = self.asked.remove(&(connection, id.to_string())) {
                self.book.parts[part].steps.push(Step::Await(id.clone()));
                self.last = Some(part);
            }
            return;
        }
        let at = self.book.parts.len();
        if kind.method() == Some("initialize") {
            let offered = message.pointer("/params/protocolVersion").and_then(Value::as_str);
            self.offered.insert(connection, offered.unwrap_or_default().to_owned());
        }
        let revision = named_revision(message).map(str::to_owned);
        let revision = revision.or_else(|| self.offered.get(&connection).cloned());
        let id = match &kind {
            Kind::Request { id, .. } => {
                self.open.push((connection, id.clone(), at));
                Some(id.clone())
            }
            _ => None,
        };
        self.last = Some(at);
        self.book.parts.push(Part {
            method: kind.method().map(str::to_owned),
            connection,
            revision,
            key: key(message),
            id,
            token: progress_token(message).cloned(),
            steps: Vec::new(),
        });
    }

    fn server(&mut self, connection: u32, message: &Value, text: &str, of: Option<&Value>) {
        let kind = Kind::of(message);
        let (part, of) = self.place(connection, &kind, message, of);
        if let (Kind::Request { id, .. }, Some(part)) = (&kind, part) {
            self.asked.insert((connection, id.to_string()), part);
        }
        let steps = match part {
            Some(part) => &mut self.book.parts[part].steps,
            None => &mut self.book.prologue,
        };
        steps.push(Step::Say { text: text.to_owned(), of });
    }

    /// The part that a message of the server belongs to, and the request on whose way it goes.
    fn place(
        &mut self,
        connection: u32,
        kind: &Kind,
        message: &Value,
        of: Option<&Value>,
    ) -> (Option<usize>, Option<Value>) {
        let here = |(on, ..): &&(u32, Value, usize)| *on == connection;
        let is_open = |wanted: &Value| self.open.iter().filter(here).find(|(_, id, _)| id == wanted).cloned();
        let listens = |part: usize| self.book.parts[part].method.as_deref() == Some("subscriptions/listen");
        if let Kind::Answer { id } = kind {
            let Some((_, _, part)) = is_open(id) else { return (self.last, None) };
            // A stream of changes ends because of something else.
            let part = if listens(part) { self.last } else { Some(part) };
            self.open.retain(|(on, open, _)| *on != connection || open != id);
            return (part, Some(id.clone()));
        }
        let token = message.pointer("/params/progressToken");
        let reports_on = self
            .open
            .iter()
            .filter(here)
            .find(|(_, _, part)| token.is_some() && self.book.parts[*part].token.as_ref() == token);
        if let Some((_, id, part)) = reports_on {
            return (Some(*part), Some(id.clone()));
        }
        // A stream that stays open tells of what something else has caused.
        let newest = self.open.iter().filter(here).rfind(|(_, _, part)| !listens(*part));
        // Over a pipe, messages of a stream say themselves which.
        let named = message.pointer(SUBSCRIPTION).or_else(|| message.pointer("/params/requestId"));
        match of.or(named).and_then(is_open) {
            Some((_, id, part)) if !listens(part) => (Some(part), Some(id)),
            Some((_, id, part)) => (newest.map(|(_, _, part)| *part).or(self.last).or(Some(part)), Some(id)),
            None => match newest {
                Some((_, id, part)) => (Some(*part), Some(id.clone())),
                None => (self.last, None),
            },
        }
    }
}
