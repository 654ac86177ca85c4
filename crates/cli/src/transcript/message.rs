//! What a message is to a conversation, by the keys that it has.

use serde_json::Value;

/// What kind of message it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
    },
    /// A result or an error.
    Answer {
        id: Value,
    },
    /// A batch, or no message at all.
    Other,
}

impl Kind {
    pub(crate) fn of(message: &Value) -> Self {
        let id = message.get("id").filter(|id| !id.is_null());
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => Self::Request { id: id.clone(), method: method.to_owned() },
            (Some(method), None) => Self::Notification { method: method.to_owned() },
            (None, id) if message.get("result").is_some() || message.get("error").is_some() => {
                Self::Answer { id: id.cloned().unwrap_or_default() }
            }
            _ => Self::Other,
        }
    }

    pub(crate) fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method } => Some(method),
            _ => None,
        }
    }
}

/// The token by which the answer to a request reports on its way.
pub(crate) fn progress_token(request: &Value) -> Option<&Value> {
    request.pointer("/params/_meta/progressToken")
}

/// The revision that a request of the modern era names itself.
pub(crate) fn named_revision(request: &Value) -> Option<&str> {
    request.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Value::as_str)
}
