//! `_meta`: data about a message, beside its content.
//!
//! Values under reserved keys are read if they have the expected type and are passed through untouched if
//! they have not; no message is refused for what stands in its `_meta`. Only keys that *we* mint are checked.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ClientCapabilities, Implementation, JsonObject, LoggingLevel, ProgressToken, RelatedTask, RequestId,
};

/// The keys that the specification reserves.
pub mod key {
    /// Asks for progress notifications under this token.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// W3C trace context: the parent span.
    pub const TRACEPARENT: &str = "traceparent";
    /// W3C trace context: vendors' state.
    pub const TRACESTATE: &str = "tracestate";
    /// W3C baggage.
    pub const BAGGAGE: &str = "baggage";
    /// The revision of a request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client of a request can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who sends a request.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Asks for log messages of this level and above.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Who answers.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The `subscriptions/listen` request that a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task that a message belongs to.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

    /// Ours, not the specification's: the key of a question that a legacy server asks, for a client that passes it on
    /// as an input round. Only said to clients that [declare](super::super::ClientCapabilities::wants_question_keys) that they
    /// want it.
    pub const QUESTION: &str = "contexture/question";
    /// Ours, too, and said beside [`QUESTION`]: the keys of all questions that the server asks at once and that make one
    /// round, this one's among them.
    pub const TOGETHER: &str = "contexture/together";

    /// Every key that is reserved.
    pub const ALL: [&str; 11] = [
        PROGRESS_TOKEN,
        TRACEPARENT,
        TRACESTATE,
        BAGGAGE,
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        SERVER_INFO,
        SUBSCRIPTION_ID,
        RELATED_TASK,
    ];
}

/// Why a key cannot be used in `_meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// The part before the slash is not a row of labels joined by dots.
    Prefix(String),
    /// The part after the slash is not a name.
    Name(String),
    /// The key belongs to the protocol.
    Reserved(String),
}

impl fmt::Display for MetaKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(key) => {
                write!(f, "the prefix of the _meta key {key:?} is not labels joined by dots")
            }
            Self::Name(key) => write!(f, "the name in the _meta key {key:?} is malformed"),
            Self::Reserved(key) => write!(f, "the _meta key {key:?} is reserved for the protocol"),
        }
    }
}

impl std::error::Error for MetaKeyError {}

/// A `_meta` object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(
    /// All of its members, known or not.
    pub JsonObject,
);

impl Meta {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The token under which progress is wanted.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.typed(key::PROGRESS_TOKEN)
    }

    /// The parent span.
    pub fn traceparent(&self) -> Option<&str> {
        self.0.get(key::TRACEPARENT)?.as_str()
    }

    /// Vendors' trace state.
    pub fn tracestate(&self) -> Option<&str> {
        self.0.get(key::TRACESTATE)?.as_str()
    }

    /// Baggage of the trace.
    pub fn baggage(&self) -> Option<&str> {
        self.0.get(key::BAGGAGE)?.as_str()
    }

    /// The revision of the request.
    pub fn protocol_version(&self) -> Option<&str> {
        self.0.get(key::PROTOCOL_VERSION)?.as_str()
    }

    /// What the client can do, for this request.
    pub fn client_capabilities(&self) -> Option<ClientCapabilities> {
        self.typed(key::CLIENT_CAPABILITIES)
    }

    /// Who sends the request.
    pub fn client_info(&self) -> Option<Implementation> {
        self.typed(key::CLIENT_INFO)
    }

    /// From which level on log messages are wanted.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.typed(key::LOG_LEVEL)
    }

    /// Who answers.
    pub fn server_info(&self) -> Option<Implementation> {
        self.typed(key::SERVER_INFO)
    }

    /// The subscription that a notification belongs to.
    pub fn subscription_id(&self) -> Option<RequestId> {
        self.typed(key::SUBSCRIPTION_ID)
    }

    /// The task that a message belongs to.
    pub fn related_task(&self) -> Option<RelatedTask> {
        self.typed(key::RELATED_TASK)
    }

    /// Sets a key of the protocol. A value that has no JSON form is left out.
    pub fn set(&mut self, key: &'static str, value: impl Serialize) {
        if let Ok(value) = serde_json::to_value(value) {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// Adds a key of one's own, and returns what stood there.
    pub fn insert_custom(
        &mut self,
        key: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<Option<Value>, MetaKeyError> {
        let key = key.into();
        Self::validate_key(&key)?;
        if Self::is_reserved(&key) {
            return Err(MetaKeyError::Reserved(key));
        }
        Ok(self.0.insert(key, value.into()))
    }

    /// Checks the grammar of a key: `label.label/name`, the prefix being optional.
    pub fn validate_key(key: &str) -> Result<(), MetaKeyError> {
        let (prefix, name) = match key.split_once('/') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, key),
        };
        if prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
            return Err(MetaKeyError::Prefix(key.to_owned()));
        }
        if is_name(name) && !key.is_empty() { Ok(()) } else { Err(MetaKeyError::Name(key.to_owned())) }
    }

    /// Whether a key belongs to the protocol, in any revision.
    ///
    /// 2025-06-18 reserves prefixes in which `mcp` or `modelcontextprotocol` is followed by another label;
    /// later revisions those in which it is the second. Both are kept free.
    pub fn is_reserved(key: &str) -> bool {
        if key::ALL.contains(&key) {
            return true;
        }
        let Some((prefix, _)) = key.split_once('/') else { return false };
        let labels: Vec<&str> = prefix.split('.').collect();
        labels.iter().enumerate().any(|(at, label)| {
            matches!(*label, "mcp" | "modelcontextprotocol") && (at == 1 || at + 1 < labels.len())
        })
    }

    fn typed<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(self.0.get(key)?.clone()).ok()
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return true };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

impl Deref for Meta {
    type Target = JsonObject;

    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for Meta {
    fn from(members: JsonObject) -> Self {
        Self(members)
    }
}
