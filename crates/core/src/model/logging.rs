//! Log messages to the client, and the level from which it wants them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Meta;

/// How severe a log message is (RFC 5424), mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// For whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// What happens and matters.
    Notice,
    /// What may become an error.
    Warning,
    /// Something failed.
    Error,
    /// A part fails.
    Critical,
    /// Somebody must act now.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LoggingLevel {
    /// All levels, mildest first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// Parameters of `logging/setLevel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetLevelParams {
    /// From which level on messages are wanted.
    pub level: LoggingLevel,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/message`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggingMessageParams {
    /// How severe it is.
    pub level: LoggingLevel,
    /// Which part speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What it says: any JSON value.
    pub data: Value,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl LoggingMessageParams {
    /// A message without a logger's name.
    pub fn new(level: LoggingLevel, data: impl Into<Value>) -> Self {
        Self { level, logger: None, data: data.into(), meta: None }
    }

    setters! {
        /// Which part speaks.
        logger: String,
        /// Metadata.
        meta: Meta,
    }
}
