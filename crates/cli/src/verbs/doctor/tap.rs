//! What passes over a pipe, listened to: lines that are no messages, answers to nobody's questions.
//!
//! A client is right to skip such things and go on. Whoever asks why another client does not wants to see them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contexture::transport::{Passed, Side, Tap};
use serde_json::Value;

use crate::terminal::text::cut;

/// So many lines that are no messages are kept, and so much of each.
const KEPT: usize = 5;
const EXCERPT: usize = 160;
/// Ids of ours that are remembered: a walk has fewer questions.
const IDS: usize = 10_000;

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The first lines that are no messages.
    pub(super) noise: Vec<String>,
    /// How many there were.
    pub(super) noises: usize,
    /// Messages that are ones.
    pub(super) messages: usize,
    /// Ids of answers that nobody asked for, as they were written.
    pub(super) strange: Vec<String>,
    /// What `server/discover` was answered with, if with an error.
    pub(super) refusal: Option<String>,
    /// Methods that were sent.
    pub(super) sent: Vec<String>,
    asked: BTreeSet<String>,
    probe: Option<String>,
}

impl Heard {
    /// In words: what is on standard output that should not be there.
    pub(super) fn form(&self) -> Option<Form> {
        let first = self.noise.first()?.trim();
        if first.to_ascii_lowercase().starts_with("content-length:") {
            return Some(Form::Headers);
        }
        if matches!(first, "{" | "[")
            || (first.starts_with('{') && self.noise.iter().any(|line| line.trim() == "}"))
        {
            return Some(Form::Spread);
        }
        if serde_json::from_str::<Value>(first).is_ok() {
            return Some(Form::OtherJson);
        }
        Some(Form::Text)
    }

    fn receive(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}');
        let message = serde_json::from_str::<Value>(text).ok().filter(is_message);
        let Some(message) = message else {
            self.noises += 1;
            if self.noise.len() < KEPT {
                self.noise.push(cut(text, EXCERPT));
            }
            return;
        };
        self.messages += 1;
        if message.get("method").is_some() {
            return;
        }
        let id = message.get("id").map_or_else(String::new, Value::to_string);
        if !self.asked.contains(&id) && id != "null" && !id.is_empty() && self.strange.len() < KEPT {
            self.strange.push(cut(&id, EXCERPT));
        }
        if let (Some(error), true) = (message.get("error"), self.probe.as_ref() == Some(&id)) {
            self.refusal = Some(cut(&error["message"].to_string(), EXCERPT));
        }
    }

    fn send(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let method = message["method"].as_str().unwrap_or_default();
        let id = message.get("id").map(Value::to_string);
        if method == "server/discover" && self.probe.is_none() {
            self.probe = id.clone();
        }
        if self.asked.len() < IDS {
            self.asked.extend(id);
            self.sent.push(method.to_owned());
        }
    }

    /// The ids of our questions, for whoever compares.
    pub(super) fn asked(&self) -> String {
        self.asked.iter().cloned().collect::<Vec<_>>().join(", ")
    }
}

/// What lines that are no messages look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Something for people.
    Text,
    /// A message on several lines.
    Spread,
    /// Headers before each message, as language servers have them.
    Headers,
    /// JSON, but no message.
    OtherJson,
}

fn is_message(value: &Value) -> bool {
    let is_one = |value: &Value| value.get("jsonrpc").is_some();
    is_one(value) || value.as_array().is_some_and(|batch| !batch.is_empty() && batch.iter().all(is_one))
}

/// What was heard so far, shared with whoever looks at it.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Heard>>);

impl Log {
    pub(super) fn read(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for Log {
    fn passed(&mut self, what: Passed<'_>) {
        match what {
            Passed::Message { from: Side::Server, line, .. } => self.read().receive(line),
            Passed::Message { from: Side::Client, line, .. } => self.read().send(line),
            _ => {}
        }
    }
}
