//! How this program ends: codes that scripts can rely on.
//!
//! 0 ok, 1 usage, 4 unreachable, 5 the tool or the server failed; 3 is for authorization, which targets
//! over pipes do not have. The codes are those of the MCP Inspector, whose other ones are left alone.

use std::process::ExitCode;

use contexture::Error;
use contexture::model::code;

use crate::options::Format;
use crate::terminal::note;
use crate::terminal::text::{safe, safe_json};

/// Why this program did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Unreachable,
    Tool,
    Interrupted,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Self::Usage => 1,
            Self::Unreachable => 4,
            Self::Tool => 5,
            // As shells have it: 128 and the number of SIGINT.
            Self::Interrupted => 130,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Unreachable => "unreachable",
            Self::Tool => "tool_error",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into() }
    }

    pub(crate) fn tool(message: impl Into<String>) -> Self {
        Self { kind: Kind::Tool, message: message.into() }
    }

    pub(crate) fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, message: "interrupted".to_owned() }
    }

    /// A connection that did not come about.
    pub(crate) fn connecting(error: &Error) -> Self {
        let kind = if matches!(error, Error::Misuse(_)) { Kind::Usage } else { Kind::Unreachable };
        Self { kind, message: error.to_string() }
    }

    /// Says it on standard error: a line for people, or one line of JSON.
    pub(crate) fn report(&self, format: Format) -> ExitCode {
        match format {
            Format::Text => note(&format!("contexture: {}", safe(&self.message))),
            Format::Json => {
                let (kind, code) = (self.kind.as_str(), self.kind.code());
                let line =
                    serde_json::json!({ "error": { "kind": kind, "exit": code, "message": self.message } });
                note(&safe_json(&line.to_string()));
            }
        }
        ExitCode::from(self.kind.code())
    }
}

/// What went wrong on a connection that stands.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Remote(refusal) => match refusal.code {
                code::INVALID_PARAMS | code::METHOD_NOT_FOUND | code::RESOURCE_NOT_FOUND => Kind::Usage,
                _ => Kind::Tool,
            },
            Error::Misuse(_) | Error::Invalid(_) | Error::PeerIncompatible(_) | Error::NotFound => {
                Kind::Usage
            }
            Error::Declined | Error::Dismissed | Error::Cancelled | Error::Unsupported(_) => Kind::Tool,
            _ => Kind::Unreachable,
        };
        Self { kind, message: error.to_string() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { kind: Kind::Usage, message: format!("cannot write: {error}") }
    }
}
