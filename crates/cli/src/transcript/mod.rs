//! Transcripts: everything that was said in a session, in a file, one thing a line.
//!
//! The first line says what this is; every other one is something that happened, with its time. Lines are appended as
//! things happen, so whatever ends this program leaves what was there. `docs/transcripts.md` describes the format for
//! others. What is written here is other people's text: it decides nothing but what is said again.

mod message;
mod read;
mod redact;
mod write;

use std::collections::BTreeMap;

use contexture::transport::Side;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use message::{Kind, named_revision, progress_token};
pub(crate) use read::{Transcript, is_transcript};
pub(crate) use redact::{Redactor, is_placeholder, is_secret};
pub(crate) use write::{Recorder, refusal};

/// What the first line of a file calls it.
const NAME: &str = "transcript";
/// The newest form that is known here.
const VERSION: u32 = 1;
/// The largest file that is written or read.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    /// What this is: `transcript`.
    contexture: String,
    version: u32,
    /// The server, without anything secret.
    pub(crate) target: String,
    /// `stdio`, `http`, or `memory` for what was served in this process.
    pub(crate) transport: String,
    /// When it began.
    pub(crate) began: String,
    /// Whether secrets were taken out.
    pub(crate) redacted: bool,
}

/// A line as it is written. Exactly one of the members after `connection` says what it is, except that `from`, `of` and
/// `headers` go with a message.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// Microseconds since it began.
    #[serde(default)]
    at: u64,
    #[serde(default = "first", skip_serializing_if = "is_first")]
    connection: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Side>,
    /// Over HTTP: it came with the answer to this request, but is not that answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Box<RawValue>>,
    /// What was sent and is no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<Refusal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withdrawn: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    too_long: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agreed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Ending>,
}

fn first() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_first(connection: &u32) -> bool {
    *connection == 1
}

/// A request that got no answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// Which.
    pub(crate) of: Value,
    /// Over HTTP, how it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// The error that came with that, if it was one of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Value>,
    /// In words.
    #[serde(default)]
    pub(crate) why: String,
}

/// How a connection ended, or the record of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ending {
    /// The client had enough.
    Client,
    /// The server ended.
    Server,
    /// There is more than a file may hold.
    Full,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Where in the file.
    pub(crate) line: usize,
    pub(crate) connection: u32,
    pub(crate) event: Event,
}

#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// One side said something, exactly this.
    Said {
        from: Side,
        text: String,
        of: Option<Value>,
        headers: BTreeMap<String, String>,
    },
    Failed(Refusal),
    /// The client gave a request up in a way that is no message.
    Withdrawn(Value),
    TooLong,
    Agreed,
    Stderr,
    End(Ending),
}

impl Event {
    /// What was said, as a value; what is no JSON is nothing.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Said { text, .. } => serde_json::from_str(text).unwrap_or_default(),
            _ => Value::Null,
        }
    }

    /// Who said it.
    pub(crate) fn from(&self) -> Option<Side> {
        match self {
            Self::Said { from, .. } => Some(*from),
            _ => None,
        }
    }
}
