//! What results have in common: their type, their cache hints, and the empty ones; and empty parameters.
//!
//! Cache hints from a peer are never trusted further than they should be: an odd lifetime is none, a long
//! one is cut, and a scope that we do not know is private.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Cursor, Meta};

/// The longest lifetime that a peer can ask for: a day.
pub const MAX_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// What kind of result this is. Absent means complete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultType {
    /// The final result.
    Complete,
    /// The server needs answers first.
    InputRequired,
    /// A value that this library does not know: the result must not be used.
    Other(String),
}

impl ResultType {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::InputRequired => "input_required",
            Self::Other(other) => other,
        }
    }
}

impl Serialize for ResultType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ResultType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.as_str() {
            "complete" => Self::Complete,
            "input_required" => Self::InputRequired,
            _ => Self::Other(text),
        })
    }
}

/// Who may share a cached result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheScope {
    /// Anyone.
    Public,
    /// Only requests under the same authorization.
    #[default]
    Private,
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Sharing is the dangerous reading, so it takes the exact word.
        Ok(if text == "public" { Self::Public } else { Self::Private })
    }
}

/// Reads `ttlMs`: any number is tolerated, a negative one is 0, a long one is cut to a day.
pub(super) fn ttl_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    Ok(number.map(|number| match number.as_u64() {
        Some(ttl) => ttl.min(MAX_TTL_MS),
        // The cast saturates: negative numbers become 0.
        None => (number.as_f64().unwrap_or(0.0) as u64).min(MAX_TTL_MS),
    }))
}

/// Parameters of requests and notifications that have none of their own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of requests for a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaginatedParams {
    /// Where to go on; absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The result of methods that only succeed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyResult {
    /// What kind of result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}
