//! How this program ends: the one table of codes that scripts can rely on, and the words that go with them.
//!
//! The codes are those of the MCP Inspector; 2 is left to shells. What a server sends along with an error is shown, never interpreted.

use std::process::ExitCode;

use contexture::model::{ErrorObject, code};
use contexture::{AuthorizationStep, Error, Scopes};
use serde_json::{Value, json};

use crate::options::Format;
use crate::terminal::note;
use crate::terminal::text::{cut, safe, safe_json, safe_line};
use crate::trace;

/// The table as `--help` shows it.
pub(crate) const HELP: &str = "\
Exit codes:
    0  it was done
    1  usage: the command line, its arguments, or a name that the server does not know
    3  the server wants to know who asks, or does not let them in
    4  unreachable: the server did not start, did not answer, or does not speak MCP
    5  the tool or the server failed
  130  interrupted";

/// Why this program did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    /// What the server sent along with its error.
    data: Option<Value>,
    /// What to try instead.
    hint: Option<String>,
    /// Whether logging in would help, and the scopes that have to be asked for then.
    login: Option<Scopes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Unauthorized,
    Unreachable,
    Tool,
    Interrupted,
}

impl Kind {
    /// The code, and the name of the kind in JSON.
    fn table(self) -> (u8, &'static str) {
        match self {
            Self::Usage => (1, "usage"),
            Self::Unauthorized => (3, "auth_required"),
            Self::Unreachable => (4, "unreachable"),
            Self::Tool => (5, "tool_error"),
            // As shells have it: 128 and the number of SIGINT.
            Self::Interrupted => (130, "interrupted"),
        }
    }
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None, hint: None, login: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn tool(message: impl Into<String>) -> Self {
        Self::new(Kind::Tool, message)
    }

    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unreachable, message)
    }

    /// Nobody is logged in.
    pub(crate) fn login_needed(message: impl Into<String>) -> Self {
        Self { login: Some(Scopes::none()), ..Self::new(Kind::Unauthorized, message) }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted")
    }

    /// A connection that did not come about.
    pub(crate) fn connecting(error: &Error) -> Self {
        let kind = match error {
            Error::Misuse(_) => Kind::Usage,
            error if is_storage(error) => Kind::Usage,
            error if is_authorization(error) => Kind::Unauthorized,
            _ => Kind::Unreachable,
        };
        let failure = match trace::noise() {
            Some(noise) => Self::new(kind, format!("this does not look like an MCP server: {noise}"))
                .hint(Some(describe(error))),
            None => Self::new(kind, describe(error)).hint(client_id(error)),
        };
        Self { login: login(error), ..failure }
    }

    /// Whether logging in would help, and the scopes that have to be asked for then.
    pub(crate) fn wants_login(&self) -> Option<&Scopes> {
        self.login.as_ref()
    }

    /// Adds what to try instead.
    pub(crate) fn hint(self, hint: Option<String>) -> Self {
        Self { hint: hint.or(self.hint), ..self }
    }

    /// Whether it was the person's own wish.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Says where it happened.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// The same end, when it was said already.
    pub(crate) fn said(self) -> Self {
        Self { message: "some lines failed".to_owned(), data: None, hint: None, ..self }
    }

    /// What went wrong, and what to try instead.
    pub(crate) fn parts(&self) -> (&str, Option<&str>) {
        (&self.message, self.hint.as_deref())
    }

    /// All that is known, for those who look for a hint in it.
    pub(crate) fn words(&self) -> String {
        let data = self.data.as_ref().map(Value::to_string);
        format!("{} {}", self.message, data.unwrap_or_default())
    }

    /// Says it on standard error: for people in lines, or one line of JSON.
    pub(crate) fn report(&self, format: Format) -> ExitCode {
        let (code, kind) = self.kind.table();
        match format {
            Format::Text => {
                note(&format!("contexture: {}", safe(&self.message)));
                let data = self.data.as_ref().map(|data| match data {
                    Value::String(text) => safe(text),
                    other => safe_line(&other.to_string()),
                });
                for line in data.iter().chain(&self.hint.as_deref().map(safe)).flat_map(|text| text.lines()) {
                    note(&format!("  {}", cut(line, DATA)));
                }
            }
            Format::Json | Format::Ndjson => {
                let mut error = json!({ "kind": kind, "exit": code, "message": self.message });
                if let Some(data) = &self.data {
                    error["data"] = data.clone();
                }
                if let Some(hint) = &self.hint {
                    error["hint"] = hint.as_str().into();
                }
                note(&safe_json(&json!({ "error": error }).to_string()));
            }
        }
        ExitCode::from(code)
    }
}

fn is_authorization(error: &Error) -> bool {
    match error {
        Error::Http(refusal) => matches!(refusal.status, 401 | 403),
        Error::Authorization(_) => true,
        _ => false,
    }
}

/// Whether tokens cannot be kept or read, which is for the person to mend.
fn is_storage(error: &Error) -> bool {
    matches!(error, Error::Authorization(failure) if failure.step == AuthorizationStep::Storage)
}

/// How to give what only the person can have.
fn client_id(error: &Error) -> Option<String> {
    let wanted =
        matches!(error, Error::Authorization(failure) if failure.step == AuthorizationStep::ClientIdNeeded);
    wanted.then(|| "contexture login --client-id ID … gives the one that you got there".to_owned())
}

fn login(error: &Error) -> Option<Scopes> {
    match error {
        Error::Http(refusal) => (refusal.status == 401).then(Scopes::none),
        Error::Authorization(failure) => match failure.step {
            AuthorizationStep::LoginNeeded | AuthorizationStep::Refused | AuthorizationStep::Scopes => {
                Some(failure.scopes.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

/// A person wants to read the reason, not a page.
const DATA: usize = 2000;

/// In words for a person, to whom the other side is the server.
fn describe(error: &Error) -> String {
    match error {
        Error::Remote(ErrorObject { code, message, .. }) => {
            format!("the server answered with error {code}: {message}")
        }
        Error::PeerMisbehaved(what) => format!("the server broke the protocol: {what}"),
        Error::PeerIncompatible(what) => format!("the server has not what is needed: {what}"),
        other => other.to_string(),
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
            error if is_storage(error) => Kind::Usage,
            error if is_authorization(error) => Kind::Unauthorized,
            Error::Declined | Error::Dismissed | Error::Cancelled | Error::Unsupported(_) => Kind::Tool,
            _ => Kind::Unreachable,
        };
        let failure = Self { login: login(&error), ..Self::new(kind, describe(&error)) };
        match error {
            Error::Remote(refusal) => Self { data: refusal.data, ..failure },
            _ => failure,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::usage(format!("cannot write: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_knows_every_code() {
        for kind in [Kind::Usage, Kind::Unauthorized, Kind::Unreachable, Kind::Tool, Kind::Interrupted] {
            let (code, _) = kind.table();
            assert!(HELP.lines().any(|line| line.trim().starts_with(&code.to_string())), "{code}");
        }
    }
}
