//! Recorded messages: fixtures of tests, and what went over the wire when one fails.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use crate::transport::Side;
use crate::transport::{Passed, Tap, Tapped};
use crate::{Error, Result};

/// A transport that keeps a record of everything that passes, in a [`Transcript`].
pub type Recording<T> = Tapped<T>;

/// One message of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Who sent it.
    pub from: Side,
    /// What was sent: exactly, if it is JSON; otherwise as a JSON string.
    pub message: Box<RawValue>,
}

impl Entry {
    /// The message as a value.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.message.get()).unwrap_or_default()
    }
}

/// All messages of a connection, in the order in which one end saw them. Clones share the record.
#[derive(Clone, Default)]
pub struct Transcript(Arc<Mutex<Vec<Entry>>>);

impl Transcript {
    /// An empty record.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a line.
    pub fn record(&self, from: Side, line: &[u8]) {
        let text = String::from_utf8_lossy(line).into_owned();
        let message = RawValue::from_string(text.clone()).or_else(|_| serde_json::value::to_raw_value(&text));
        if let Ok(message) = message {
            self.lock().push(Entry { from, message });
        }
    }

    /// What has been recorded so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// What one side has sent so far.
    pub fn sent_by(&self, side: Side) -> Vec<Value> {
        self.lock().iter().filter(|entry| entry.from == side).map(Entry::value).collect()
    }

    /// As text: one entry on each line.
    pub fn to_text(&self) -> String {
        let lines: Vec<String> =
            self.lock().iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
        lines.join("\n")
    }

    /// From text that [`to_text`](Self::to_text) made.
    ///
    /// # Errors
    /// When a line is no entry; the message says which.
    pub fn from_text(text: &str) -> Result<Self> {
        let entries: Result<Vec<Entry>> = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| {
                serde_json::from_str(line).map_err(|error| {
                    Error::Invalid(format!("line {} of the transcript: {error}", number + 1))
                })
            })
            .collect();
        Ok(Self(Arc::new(Mutex::new(entries?))))
    }
}

impl Tap for Transcript {
    fn passed(&mut self, what: Passed<'_>) {
        if let Passed::Message { from, line, .. } = what {
            self.record(from, line);
        }
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}
