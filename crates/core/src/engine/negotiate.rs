//! How a client finds out which era a server speaks, over a pipe or over HTTP.
//!
//! State and actions: it is told what came back and says what to do next. It does not send, wait or
//! start processes. Every path ends after a bounded number of steps. Over HTTP a server that is shut, busy,
//! broken or out of reach says nothing about its era.

use std::fmt;

use serde::Deserialize;

use crate::model::{ErrorObject, code};
use crate::revision::Revision;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send `server/discover` in this revision.
    Discover(Revision),
    /// Send `initialize` offering this revision.
    Initialize {
        /// The newest legacy revision that is allowed.
        offer: Revision,
        /// Start the server anew first: it is gone.
        restart: bool,
    },
    /// Open the server's stream of events instead (HTTP+SSE), and send `initialize` offering this revision.
    OlderTransport {
        /// The newest legacy revision that is allowed.
        offer: Revision,
    },
    /// This revision is spoken.
    Settled(Revision),
    /// There is no agreement.
    Failed(Disagreement),
}

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// At the other end of a pipe that somebody else opened.
    Pipe,
    /// In a process of ours, which can be started again.
    Process,
    /// By URL.
    Http,
}

/// What came back.
#[derive(Debug, Clone)]
pub enum Heard {
    /// A discovery with these versions.
    Discovered(Vec<String>),
    /// A handshake with this version.
    Initialized(String),
    /// An error.
    Refused(ErrorObject),
    /// A response that is neither result nor error as it should be.
    Garbage,
    /// Nothing, for as long as one wanted to wait.
    Silence,
    /// The end of the connection.
    Gone,
    /// A status of HTTP that is no success, with the error in its body, if there is one.
    Status(u16, Option<ErrorObject>),
    /// This one request got lost on its way, there or back.
    Lost,
}

/// Why there is no agreement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Disagreement {
    /// No revision in common.
    Versions {
        /// What the server speaks.
        theirs: Vec<String>,
        /// What we may speak.
        ours: Vec<&'static str>,
    },
    /// The server answered the handshake with an error.
    Refused(ErrorObject),
    /// The server's answer cannot be understood.
    Garbage,
    /// The server did not answer.
    Silence,
    /// The server went away.
    Gone,
    /// The server answered with this status of HTTP.
    Status(u16),
    /// A request or its answer got lost.
    Lost,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Versions { theirs, ours } => {
                let theirs = if theirs.is_empty() { "nothing known".into() } else { theirs.join(", ") };
                write!(f, "the server speaks {theirs}; this client speaks {}", ours.join(", "))
            }
            Self::Refused(error) => write!(f, "the server refused the handshake: {error}"),
            Self::Garbage => f.write_str("the server's answer to the handshake cannot be understood"),
            Self::Silence => f.write_str("the server did not answer the handshake"),
            Self::Gone => f.write_str("the server ended during the handshake"),
            Self::Status(status) => write!(f, "the server answered the handshake with HTTP status {status}"),
            Self::Lost => {
                f.write_str("the handshake did not reach the server, or its answer did not come back")
            }
        }
    }
}

impl std::error::Error for Disagreement {}

/// Finding the era of one server.
#[derive(Debug)]
pub struct Negotiation {
    allowed: Vec<Revision>,
    reach: Reach,
    restarted: bool,
    /// Remembered from an earlier connection: it must not turn out otherwise silently.
    known: Option<Revision>,
    probes: u8,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Probing,
    Initializing,
    /// The handshake over HTTP+SSE: there is nothing older.
    Older,
}

/// The first probe, and one more in a version that the server named.
const MAX_PROBES: u8 = 2;

impl Negotiation {
    /// Begins with what we may speak and what is remembered of this server.
    pub fn begin(allowed: &[Revision], known: Option<Revision>, reach: Reach) -> (Self, Step) {
        let allowed: Vec<Revision> =
            Revision::ALL.into_iter().filter(|revision| allowed.contains(revision)).collect();
        let known = known.filter(|revision| allowed.contains(revision));
        let mut negotiation =
            Self { allowed, reach, restarted: false, known, probes: 0, stage: Stage::Probing };
        let step = match known {
            Some(revision) if revision.is_modern() => negotiation.probe(revision),
            Some(_) => negotiation.initialize(false, Disagreement::Garbage),
            None => match negotiation.newest(Revision::is_modern) {
                Some(revision) => negotiation.probe(revision),
                None => negotiation.initialize(false, negotiation.no_common(Vec::new())),
            },
        };
        (negotiation, step)
    }

    /// Decides on what came back to the step before.
    pub fn hear(&mut self, heard: Heard) -> Step {
        match self.stage {
            Stage::Probing => self.hear_probe(heard),
            Stage::Initializing | Stage::Older => self.hear_initialize(heard),
        }
    }

    /// Whether nothing else is tried if the server does not answer the probe.
    pub fn probe_is_final(&self) -> bool {
        self.known.is_some_and(Revision::is_modern)
            || self.newest(Revision::is_legacy).is_none()
            || self.reach == Reach::Http
    }

    fn hear_probe(&mut self, heard: Heard) -> Step {
        match heard {
            Heard::Discovered(theirs) => match self.mutual(&theirs, Revision::is_modern) {
                Some(revision) => Step::Settled(revision),
                None => self.listed_legacy(theirs),
            },
            Heard::Refused(error) => self.hear_probe_error(error),
            Heard::Status(status, error) => match error {
                _ if is_no_evidence(status) => Step::Failed(Disagreement::Status(status)),
                Some(error) => self.hear_probe_error(error),
                None => self.fall_back(false, Disagreement::Status(status)),
            },
            Heard::Lost => Step::Failed(Disagreement::Lost),
            Heard::Silence if self.reach == Reach::Http => Step::Failed(Disagreement::Silence),
            Heard::Garbage | Heard::Initialized(_) => self.fall_back(false, Disagreement::Garbage),
            // A slow start is no evidence: the process is left alone, and may still answer the probe.
            Heard::Silence => self.fall_back(false, Disagreement::Silence),
            Heard::Gone if self.can_restart() => self.fall_back(true, Disagreement::Gone),
            Heard::Gone => Step::Failed(Disagreement::Gone),
        }
    }

    fn can_restart(&self) -> bool {
        self.reach == Reach::Process
    }

    fn hear_probe_error(&mut self, error: ErrorObject) -> Step {
        match error.code {
            code::UNSUPPORTED_PROTOCOL_VERSION => match supported(&error) {
                // It says what it does not speak, and nothing else.
                theirs if theirs.is_empty() => self.fall_back(false, Disagreement::Refused(error)),
                theirs => self.hear_unsupported(theirs),
            },
            // Only a modern server knows these: it stays modern.
            code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY => {
                Step::Failed(Disagreement::Refused(error))
            }
            _ => self.fall_back(false, Disagreement::Refused(error)),
        }
    }

    fn hear_unsupported(&mut self, theirs: Vec<String>) -> Step {
        match self.mutual(&theirs, Revision::is_modern) {
            Some(revision) if self.probes < MAX_PROBES => self.probe(revision),
            Some(_) => Step::Failed(self.no_common(theirs)),
            None => self.listed_legacy(theirs),
        }
    }

    /// A modern server without a modern revision in common: it must have named a legacy one.
    fn listed_legacy(&mut self, theirs: Vec<String>) -> Step {
        match self.mutual(&theirs, Revision::is_legacy) {
            Some(_) => self.fall_back(false, self.no_common(theirs)),
            None => Step::Failed(self.no_common(theirs)),
        }
    }

    fn fall_back(&mut self, restart: bool, otherwise: Disagreement) -> Step {
        if self.known.is_some_and(Revision::is_modern) {
            // Never a silent step down from what this server was known to speak.
            return Step::Failed(otherwise);
        }
        self.initialize(restart, otherwise)
    }

    fn hear_initialize(&mut self, heard: Heard) -> Step {
        match heard {
            Heard::Initialized(version) => match Revision::parse(&version) {
                Some(revision) if revision.is_legacy() && self.allowed.contains(&revision) => {
                    Step::Settled(revision)
                }
                _ => Step::Failed(self.no_common(vec![version])),
            },
            Heard::Refused(error) => self.hear_initialize_error(error),
            Heard::Status(status, error) => self.hear_initialize_status(status, error),
            Heard::Lost => Step::Failed(Disagreement::Lost),
            Heard::Gone if self.probes > 0 && self.can_restart() && !self.restarted => {
                self.initialize(true, Disagreement::Gone)
            }
            Heard::Gone => Step::Failed(Disagreement::Gone),
            Heard::Silence => Step::Failed(Disagreement::Silence),
            // The late answer to a probe: the server was slow, not old.
            Heard::Discovered(theirs) if self.probes > 0 => {
                let modern = self.mutual(&theirs, Revision::is_modern);
                modern.map_or_else(|| Step::Failed(self.no_common(theirs)), Step::Settled)
            }
            Heard::Garbage | Heard::Discovered(_) => Step::Failed(Disagreement::Garbage),
        }
    }

    /// What does not know this endpoint, or does not take messages there, may be older than it.
    fn hear_initialize_status(&mut self, status: u16, error: Option<ErrorObject>) -> Step {
        let older = matches!(status, 400 | 404 | 405) && self.stage == Stage::Initializing;
        let modern =
            error.as_ref().is_some_and(|error| is_modern(error.code) || !supported(error).is_empty());
        match (self.newest(Revision::is_legacy), error) {
            (Some(offer), _) if older && !modern => {
                self.stage = Stage::Older;
                Step::OlderTransport { offer }
            }
            (_, Some(error)) if !is_no_evidence(status) => self.hear_initialize_error(error),
            _ => Step::Failed(Disagreement::Status(status)),
        }
    }

    /// A modern server says so here at the latest: it is asked once more.
    fn hear_initialize_error(&mut self, error: ErrorObject) -> Step {
        let theirs = supported(&error);
        let modern = self.mutual(&theirs, Revision::is_modern).or_else(|| {
            let unsupported = error.code == code::UNSUPPORTED_PROTOCOL_VERSION;
            if unsupported { self.newest(Revision::is_modern) } else { None }
        });
        match modern {
            Some(revision) if self.probes < MAX_PROBES => {
                // Whatever comes back now is final.
                self.probes = MAX_PROBES - 1;
                self.known = Some(revision);
                self.probe(revision)
            }
            _ if theirs.is_empty() => Step::Failed(Disagreement::Refused(error)),
            _ => Step::Failed(self.no_common(theirs)),
        }
    }

    fn probe(&mut self, revision: Revision) -> Step {
        self.stage = Stage::Probing;
        self.probes += 1;
        Step::Discover(revision)
    }

    fn initialize(&mut self, restart: bool, otherwise: Disagreement) -> Step {
        let Some(offer) = self.newest(Revision::is_legacy) else { return Step::Failed(otherwise) };
        self.stage = Stage::Initializing;
        self.restarted |= restart;
        Step::Initialize { offer, restart }
    }

    fn newest(&self, wanted: fn(Revision) -> bool) -> Option<Revision> {
        self.allowed.iter().copied().rfind(|revision| wanted(*revision))
    }

    fn mutual(&self, theirs: &[String], wanted: fn(Revision) -> bool) -> Option<Revision> {
        let named = |revision: &Revision| theirs.iter().any(|version| version == revision.as_str());
        self.allowed.iter().copied().rfind(|revision| wanted(*revision) && named(revision))
    }

    fn no_common(&self, theirs: Vec<String>) -> Disagreement {
        let ours = self.allowed.iter().map(|revision| revision.as_str()).collect();
        Disagreement::Versions { theirs, ours }
    }
}

/// Whether a status tells of locks, load, limits, failures and detours, but not of an era.
fn is_no_evidence(status: u16) -> bool {
    !(400..500).contains(&status) || matches!(status, 401 | 403 | 407 | 408 | 425 | 429)
}

/// Whether only modern servers know this code.
fn is_modern(error: i64) -> bool {
    [code::UNSUPPORTED_PROTOCOL_VERSION, code::HEADER_MISMATCH, code::MISSING_REQUIRED_CLIENT_CAPABILITY]
        .contains(&error)
}

/// The versions that an error names, if it does.
fn supported(error: &ErrorObject) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.clone().unwrap_or_default();
    Data::deserialize(data).map(|data| data.supported).unwrap_or_default()
}

#[cfg(test)]
mod tests;
