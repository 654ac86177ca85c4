//! How a server is, in words that can be shown: no secrets, and nothing that a server could make long.

use std::fmt;
use std::time::{Duration, SystemTime};

use contexture::Error;
use contexture::revision::Revision;

/// Characters of an error that are kept for people to read.
const LONGEST: usize = 500;

/// What a server does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Nobody needs it: it was not started, or was stopped for having nothing to do.
    Idle,
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It could not be started, or died; it is tried again.
    Failed,
    /// It failed so often that calls fail at once, until the next attempt is due.
    CircuitOpen,
    /// It wants a person to log in first.
    LoginNeeded,
    /// Its entry says that it is not wanted.
    Disabled,
    /// Its entry waits for a person's word.
    Held,
    /// Everybody is busy with it: it takes no more at the moment.
    Busy,
    /// We are ending, or its entry is gone.
    Stopped,
}

impl State {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::CircuitOpen => "circuit-open",
            Self::LoginNeeded => "login-needed",
            Self::Disabled => "disabled",
            Self::Held => "held",
            Self::Busy => "busy",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it does not do what it is there for.
    pub fn is_degraded(self) -> bool {
        matches!(self, Self::Failed | Self::CircuitOpen | Self::LoginNeeded | Self::Held | Self::Busy)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One server at one moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub state: State,
    /// Since when.
    pub since: SystemTime,
    /// The revision that it speaks, if that is known.
    pub revision: Option<Revision>,
    /// How often it was started again after it had died.
    pub restarts: u64,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// When it is tried again.
    pub retry_after: Option<Duration>,
    /// Calls that it works on.
    pub in_flight: usize,
    /// Connections to it.
    pub connections: usize,
}

/// Why a server cannot be used now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unavailable {
    /// Which server.
    pub server: String,
    /// How it is.
    pub state: State,
    /// What went wrong.
    pub why: String,
    /// When it is worth trying again.
    pub retry_after: Option<Duration>,
    /// What an attempt to reach it came to.
    pub error: Option<std::sync::Arc<Error>>,
}

impl Unavailable {
    pub(super) fn new(server: &str, state: State, why: impl Into<String>) -> Self {
        Self { server: server.to_owned(), state, why: shortened(why.into()), retry_after: None, error: None }
    }

    pub(crate) fn starting(server: &str) -> Self {
        Self::new(server, State::Starting, "it is being started")
    }

    pub(super) fn failed(server: &str, error: Error) -> Self {
        let why = error.to_string();
        Self { error: Some(std::sync::Arc::new(error)), ..Self::new(server, State::Failed, why) }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server {:?} is not available ({}): {}", self.server, self.state, self.why)
    }
}

impl std::error::Error for Unavailable {}

/// The beginning of what a server said, on one line.
pub(crate) fn shortened(text: String) -> String {
    text.chars().take(LONGEST).map(|character| if character.is_control() { ' ' } else { character }).collect()
}
