//! What can go wrong, by who is to blame.
//!
//! A tool's own failure is a result that the model sees, and becomes one of these only if the caller asks
//! for it. The others are failures of calls, connections and peers, and what a person may answer to a
//! question.

use std::fmt;
use std::io;
use std::time::Duration;

use contexture_core::model::ErrorObject;

use crate::scopes::Scopes;

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The peer answered with an error.
    Remote(ErrorObject),
    /// The peer broke the protocol.
    PeerMisbehaved(String),
    /// The peer keeps to the protocol, but has not what is needed: a revision, a capability.
    PeerIncompatible(String),
    /// This library was used in a way that cannot work.
    Misuse(String),
    /// Reading or writing failed.
    Transport(io::Error),
    /// The connection is over; the text says how it ended.
    Closed(String),
    /// No answer within this time.
    Timeout(Duration),
    /// The call was cancelled.
    Cancelled,
    /// The person said no.
    Declined,
    /// The person went away without an answer.
    Dismissed,
    /// The client cannot be asked for this.
    Unsupported(Capability),
    /// There is no such resource. Return it from a resource handler.
    NotFound,
    /// Something is larger or more than the [policy](crate::Policy) allows.
    TooMuch(String),
    /// Data does not fit its schema.
    Invalid(String),
    /// A tool failed, and this is what it says; see `ToolReply::ok`.
    ToolFailed(String),
    /// The server, or something in front of it, answered with an HTTP status that is no success.
    Http(Box<HttpRefusal>),
    /// The answer got lost on its way; what was asked for may have been done. The text says how.
    Interrupted(String),
    /// The server sends us to this address, where nothing was sent: connect to it yourself if you trust it.
    Redirected(String),
    /// The server no longer knows the session. What was sent was not done.
    SessionEnded,
    /// Nobody could be logged in, or not for what the server wants. What was sent was not done.
    Authorization(Box<AuthorizationFailure>),
}

/// Why nobody is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorizationFailure {
    /// What was being done.
    pub step: AuthorizationStep,
    /// What went wrong, who is to blame, and what to do about it.
    pub message: String,
    /// Scopes that a login has to ask for, where the server would not ask for them by itself.
    pub scopes: Scopes,
}

impl AuthorizationFailure {
    /// A failure of this step.
    pub fn new(step: AuthorizationStep, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), scopes: Scopes::none() }
    }
}

impl fmt::Display for AuthorizationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.message)
    }
}

/// A step on the way to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizationStep {
    /// Finding out who issues tokens for the server, and how.
    Discovery,
    /// Becoming known to the authorization server.
    Registration,
    /// The authorization server takes no registrations: it needs to be given a client id.
    ClientIdNeeded,
    /// A person has to log in, and this client may not ask.
    LoginNeeded,
    /// Sending the person to the authorization server and back.
    Login,
    /// Getting a token.
    Token,
    /// Getting a fresh token in time. The old ones are kept: it may work later.
    Refresh,
    /// Getting more scopes.
    Scopes,
    /// The server refuses a token that was issued for it.
    Refused,
    /// Keeping tokens.
    Storage,
}

impl fmt::Display for AuthorizationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discovery => "who issues tokens for this server could not be found out",
            Self::Registration => "this client could not be registered",
            Self::ClientIdNeeded => "a client id is needed",
            Self::LoginNeeded => "a login is needed",
            Self::Login => "the login failed",
            Self::Token => "no token was issued",
            Self::Refresh => "the token could not be refreshed",
            Self::Scopes => "the scopes do not suffice",
            Self::Refused => "the server refuses its token",
            Self::Storage => "tokens could not be kept or read",
        })
    }
}

/// A status of HTTP that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRefusal {
    /// The status.
    pub status: u16,
    /// What the body says, in short.
    pub message: String,
    /// When to try again, as far as the server says so: a day at most.
    pub retry_after: Option<Duration>,
    /// The error of the protocol in the body, if there is one.
    pub error: Option<ErrorObject>,
    /// What the server wants to see first (`WWW-Authenticate`).
    pub challenges: Vec<String>,
}

impl HttpRefusal {
    /// A status without more.
    pub fn new(status: u16) -> Self {
        Self { status, message: String::new(), retry_after: None, error: None, challenges: Vec::new() }
    }
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered with HTTP status {}", self.status)?;
        match self.status {
            401 => f.write_str(", it wants to know who you are")?,
            403 => f.write_str(", it does not let you in")?,
            _ => {}
        }
        if let Some(after) = self.retry_after {
            write!(f, "; try again after {after:?}")?;
        }
        match &self.message {
            message if message.is_empty() => Ok(()),
            message => write!(f, ": {message}"),
        }
    }
}

/// A client capability that a server may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Filling in forms.
    Elicitation,
    /// Visiting URLs.
    UrlElicitation,
    /// Asking the model.
    Sampling,
    /// Asking the model with tools.
    SamplingTools,
    /// Naming the client's roots.
    Roots,
}

impl Capability {
    /// As a capabilities object that declares just this.
    pub fn to_json(self) -> serde_json::Value {
        match self {
            Self::Elicitation => serde_json::json!({ "elicitation": { "form": {} } }),
            Self::UrlElicitation => serde_json::json!({ "elicitation": { "url": {} } }),
            Self::Sampling => serde_json::json!({ "sampling": {} }),
            Self::SamplingTools => serde_json::json!({ "sampling": { "tools": {} } }),
            Self::Roots => serde_json::json!({ "roots": {} }),
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elicitation => "elicitation",
            Self::UrlElicitation => "elicitation by URL",
            Self::Sampling => "sampling",
            Self::SamplingTools => "sampling with tools",
            Self::Roots => "roots",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(error) => {
                write!(f, "the peer answered with error {}: {}", error.code, error.message)
            }
            Self::PeerMisbehaved(what) => write!(f, "the peer broke the protocol: {what}"),
            Self::PeerIncompatible(what) => write!(f, "the peer is not compatible: {what}"),
            Self::Misuse(what) => write!(f, "wrong use of contexture: {what}"),
            Self::Transport(error) => write!(f, "the connection failed: {error}"),
            Self::Closed(how) => write!(f, "the connection is over: {how}"),
            Self::Timeout(time) => write!(f, "no answer within {time:?}"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Declined => f.write_str("the person declined"),
            Self::Dismissed => f.write_str("the person did not answer"),
            Self::Unsupported(what) => write!(f, "the client does not support {what}"),
            Self::NotFound => f.write_str("there is no such resource"),
            Self::TooMuch(what) => write!(f, "over the limit: {what}"),
            Self::Invalid(what) => write!(f, "not valid: {what}"),
            Self::ToolFailed(what) => write!(f, "the tool failed: {what}"),
            Self::Http(refusal) => refusal.fmt(f),
            Self::Interrupted(how) => {
                write!(f, "the answer got lost, what was asked for may have been done: {how}")
            }
            Self::Redirected(to) => {
                write!(
                    f,
                    "the server redirects to {to}, which was not followed; connect there if you trust it"
                )
            }
            Self::SessionEnded => f.write_str("the server no longer knows the session"),
            Self::Authorization(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Transport(error) => Some(error),
            _ => None,
        }
    }
}

impl From<AuthorizationFailure> for Error {
    fn from(failure: AuthorizationFailure) -> Self {
        Self::Authorization(Box::new(failure))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Transport(error)
    }
}
