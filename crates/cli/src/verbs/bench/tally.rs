//! What came of the calls: how long those took that were done, and why others were not.
//!
//! Failed calls are counted by kind and not timed: how fast a server refuses says nothing about its work.

use std::collections::BTreeMap;
use std::time::Duration;

use contexture::Error;
use contexture::client::Forwarded;
use contexture::model::Content;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::buckets::Buckets;
use crate::terminal::text::cut;

/// Kinds of failure that are told apart: a server makes up as many codes as it likes.
const KINDS: usize = 20;
/// So many lost calls in a row, and nobody is there any more.
const LOST: usize = 20;
/// Characters of a message that is shown for all of its kind.
const EXAMPLE: usize = 200;

/// Failures of one kind.
pub(super) struct Fault {
    pub(super) count: u64,
    /// What the first of them said.
    pub(super) example: String,
}

pub(super) struct Tally {
    pub(super) begun: u64,
    /// All of them, and those since they were last looked at.
    pub(super) took: Buckets,
    pub(super) lately: Buckets,
    pub(super) faults: BTreeMap<String, Fault>,
    /// Of results.
    pub(super) bytes: u64,
    lost: usize,
}

/// One call.
pub(super) enum Outcome {
    Done { bytes: usize },
    Failed { kind: String, example: String, is_lost: bool },
}

impl Tally {
    pub(super) fn new() -> Self {
        let (took, lately) = (Buckets::new(), Buckets::new());
        Self { begun: 0, took, lately, faults: BTreeMap::new(), bytes: 0, lost: 0 }
    }

    pub(super) fn failed(&self) -> u64 {
        self.faults.values().map(|fault| fault.count).sum()
    }

    pub(super) fn answered(&self) -> u64 {
        self.took.total() + self.failed()
    }

    /// Whether the server cannot be reached any more.
    pub(super) fn is_lost(&self) -> bool {
        self.lost >= LOST
    }

    pub(super) fn add(&mut self, took: Duration, outcome: Outcome) {
        match outcome {
            Outcome::Done { bytes } => {
                self.lost = 0;
                self.bytes += bytes as u64;
                self.took.add(took);
                self.lately.add(took);
            }
            Outcome::Failed { kind, example, is_lost } => {
                self.lost = if is_lost { self.lost + 1 } else { 0 };
                let known = self.faults.len() < KINDS || self.faults.contains_key(&kind);
                let kind = if known { kind } else { "others".to_owned() };
                let first = || Fault { count: 0, example: cut(&example, EXAMPLE) };
                self.faults.entry(kind).or_insert_with(first).count += 1;
            }
        }
    }
}

/// What matters here of a result.
#[derive(Deserialize)]
struct Verdict<'a> {
    #[serde(rename = "isError", default)]
    is_error: bool,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

impl Verdict<'_> {
    /// What a failed tool says.
    fn message(&self) -> String {
        let content = self.content.map_or("", RawValue::get);
        let blocks: Vec<Content> = serde_json::from_str(content).unwrap_or_default();
        let text = blocks
            .iter()
            .find_map(|block| if let Content::Text(text) = block { Some(&text.text) } else { None });
        text.map_or(content, String::as_str).to_owned()
    }
}

impl Outcome {
    pub(super) fn of(answer: Result<Forwarded, Error>) -> Self {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Self::refused(&error),
        };
        let failed = |kind: &str, example: &str| Self::Failed {
            kind: kind.to_owned(),
            example: cut(example, EXAMPLE),
            is_lost: false,
        };
        if answer.asked.is_some() {
            return failed("asks back", "the tool asks a question, which nobody answers here");
        }
        match serde_json::from_slice::<Verdict<'_>>(&answer.result) {
            Ok(verdict) if verdict.is_error => failed("tool error", &verdict.message()),
            Ok(_) => Self::Done { bytes: answer.result.len() },
            Err(error) => failed("no result", &error.to_string()),
        }
    }

    fn refused(error: &Error) -> Self {
        let (kind, is_lost) = match error {
            Error::Remote(error) => (format!("error {}", error.code), false),
            Error::Timeout(_) => ("no answer in time".to_owned(), false),
            Error::Http(refusal) => (format!("HTTP {}", refusal.status), false),
            Error::Authorization(_) => ("not let in".to_owned(), true),
            Error::PeerMisbehaved(_) => ("broke the protocol".to_owned(), false),
            Error::Closed(_) | Error::Transport(_) | Error::Interrupted(_) | Error::SessionEnded => {
                ("connection lost".to_owned(), true)
            }
            _ => ("failed here".to_owned(), false),
        };
        Self::Failed { kind, example: error.to_string(), is_lost }
    }
}
