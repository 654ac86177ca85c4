//! How a client finds out which era a server speaks, over a pipe.
//!
//! State and actions: it is told what came back and says what to do next. It does not send, wait or
//! start processes. Every path ends after a bounded number of steps.

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
    /// This revision is spoken.
    Settled(Revision),
    /// There is no agreement.
    Failed(Disagreement),
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
        }
    }
}

impl std::error::Error for Disagreement {}

/// Finding the era of one server.
#[derive(Debug)]
pub struct Negotiation {
    allowed: Vec<Revision>,
    can_restart: bool,
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
}

/// The first probe, and one more in a version that the server named.
const MAX_PROBES: u8 = 2;

impl Negotiation {
    /// Begins with what we may speak and what is remembered of this server. `can_restart`: the server is
    /// a process of ours that can be started again.
    pub fn begin(allowed: &[Revision], known: Option<Revision>, can_restart: bool) -> (Self, Step) {
        let allowed: Vec<Revision> =
            Revision::ALL.into_iter().filter(|revision| allowed.contains(revision)).collect();
        let known = known.filter(|revision| allowed.contains(revision));
        let mut negotiation =
            Self { allowed, can_restart, restarted: false, known, probes: 0, stage: Stage::Probing };
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
            Stage::Initializing => self.hear_initialize(heard),
        }
    }

    /// Whether nothing else can be tried if the server does not answer the probe.
    pub fn probe_is_final(&self) -> bool {
        self.known.is_some_and(Revision::is_modern) || self.newest(Revision::is_legacy).is_none()
    }

    fn hear_probe(&mut self, heard: Heard) -> Step {
        match heard {
            Heard::Discovered(theirs) => match self.mutual(&theirs, Revision::is_modern) {
                Some(revision) => Step::Settled(revision),
                None => self.listed_legacy(theirs),
            },
            Heard::Refused(error) => match error.code {
                code::UNSUPPORTED_PROTOCOL_VERSION => self.hear_unsupported(supported(&error)),
                // Only a modern server knows these: it stays modern.
                code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY => {
                    Step::Failed(Disagreement::Refused(error))
                }
                _ => self.fall_back(false, Disagreement::Refused(error)),
            },
            Heard::Garbage | Heard::Initialized(_) => self.fall_back(false, Disagreement::Garbage),
            // A slow start is no evidence: the process is left alone, and may still answer the probe.
            Heard::Silence => self.fall_back(false, Disagreement::Silence),
            Heard::Gone if self.can_restart => self.fall_back(true, Disagreement::Gone),
            Heard::Gone => Step::Failed(Disagreement::Gone),
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
            Heard::Gone if self.probes > 0 && self.can_restart && !self.restarted => {
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
mod tests {
    use super::*;
    use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

    fn initialize(restart: bool) -> Step {
        Step::Initialize { offer: V2025_11_25, restart }
    }

    fn error(code: i64, supported: &[&str]) -> Heard {
        let data = serde_json::json!({ "supported": supported, "requested": "x" });
        Heard::Refused(ErrorObject::new(code, "no").data(data))
    }

    fn plain_error(code: i64) -> Heard {
        Heard::Refused(ErrorObject::new(code, "no"))
    }

    #[test]
    fn a_discovery_settles_the_modern_era() {
        let (mut negotiation, step) = Negotiation::begin(&Revision::ALL, None, true);
        assert_eq!(step, Step::Discover(V2026_07_28));
        let heard = Heard::Discovered(vec!["2026-07-28".into(), "2099-01-01".into()]);
        assert_eq!(negotiation.hear(heard), Step::Settled(V2026_07_28));
    }

    #[test]
    fn everything_that_is_not_modern_leads_to_the_handshake() {
        let cases = [
            (plain_error(-32601), false),
            (plain_error(-32602), false),
            (plain_error(-32600), false),
            (Heard::Garbage, false),
            (Heard::Silence, false),
            (Heard::Gone, true),
            (error(-32022, &["2025-06-18"]), false),
        ];
        for (heard, restart) in cases {
            let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
            assert_eq!(negotiation.hear(heard.clone()), initialize(restart), "{heard:?}");
            let settled = negotiation.hear(Heard::Initialized("2025-06-18".into()));
            assert_eq!(settled, Step::Settled(V2025_06_18));
        }
    }

    #[test]
    fn a_server_that_dies_of_the_handshake_after_a_probe_is_started_anew_once() {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        assert_eq!(negotiation.hear(plain_error(-32602)), initialize(false));
        assert_eq!(negotiation.hear(Heard::Gone), initialize(true));
        assert_eq!(negotiation.hear(Heard::Gone), Step::Failed(Disagreement::Gone));
    }

    #[test]
    fn without_a_way_to_restart_the_end_is_the_end() {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, false);
        assert_eq!(negotiation.hear(Heard::Gone), Step::Failed(Disagreement::Gone));
    }

    #[test]
    fn a_modern_error_stays_modern() {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        assert_eq!(negotiation.hear(error(-32022, &["2026-07-28"])), Step::Discover(V2026_07_28));
        assert!(matches!(negotiation.hear(error(-32022, &["2026-07-28"])), Step::Failed(_)));
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        let disjoint = negotiation.hear(error(-32022, &["2099-01-01"]));
        assert!(matches!(disjoint, Step::Failed(Disagreement::Versions { .. })));
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        assert!(matches!(negotiation.hear(plain_error(-32021)), Step::Failed(_)));
    }

    // covers: LIFE-VERSION-CLIENT-SUPPORTED, LIFE-VERSION-CLIENT-LATEST
    #[test]
    fn what_is_offered_is_the_newest_that_is_allowed() {
        let (_, step) = Negotiation::begin(&[V2025_06_18, V2024_11_05], None, true);
        assert_eq!(step, Step::Initialize { offer: V2025_06_18, restart: false });
        let (_, step) = Negotiation::begin(&[V2024_11_05], None, true);
        assert_eq!(step, Step::Initialize { offer: V2024_11_05, restart: false });
        let (mut negotiation, step) = Negotiation::begin(&[V2026_07_28], None, true);
        assert_eq!(step, Step::Discover(V2026_07_28));
        assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)), "no fallback");
        assert!(matches!(Negotiation::begin(&[], None, true).1, Step::Failed(_)));
    }

    // covers: LIFE-VERSION-DISCONNECT, LIFE-ERR-VERSION-MISMATCH, LIFE-VERSION-CLIENT-OLDER
    #[test]
    fn a_counter_offer_must_be_spoken() {
        let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18, V2024_11_05], None, true);
        assert_eq!(negotiation.hear(Heard::Initialized("2024-11-05".into())), Step::Settled(V2024_11_05));
        for version in ["2025-11-25", "2026-07-28", "1999-01-01", ""] {
            let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18], None, true);
            let step = negotiation.hear(Heard::Initialized(version.into()));
            let expected = Disagreement::Versions { theirs: vec![version.into()], ours: vec!["2025-06-18"] };
            assert_eq!(step, Step::Failed(expected));
        }
    }

    // covers: LIFE-ERR-VERSION-CODE
    #[test]
    fn a_refusal_that_names_versions_is_a_disagreement_on_versions() {
        let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18], None, true);
        let Step::Failed(disagreement) = negotiation.hear(error(-32602, &["2024-11-05"])) else {
            panic!("must fail")
        };
        assert_eq!(disagreement.to_string(), "the server speaks 2024-11-05; this client speaks 2025-06-18");
    }

    #[test]
    fn a_modern_server_that_missed_the_probe_is_asked_again_once() {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        assert_eq!(negotiation.hear(Heard::Silence), initialize(false));
        assert_eq!(negotiation.hear(error(-32602, &["2026-07-28"])), Step::Discover(V2026_07_28));
        assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)));
    }

    #[test]
    fn a_late_answer_to_the_probe_counts() {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, true);
        negotiation.hear(Heard::Silence);
        let heard = Heard::Discovered(vec!["2026-07-28".into()]);
        assert_eq!(negotiation.hear(heard.clone()), Step::Settled(V2026_07_28));
        let unasked = Negotiation::begin(&Revision::LEGACY, None, true).0.hear(heard);
        assert_eq!(unasked, Step::Failed(Disagreement::Garbage));
        assert!(Negotiation::begin(&Revision::ALL, Some(V2026_07_28), true).0.probe_is_final());
    }

    #[test]
    fn what_is_remembered_saves_the_probe_but_is_not_given_up_silently() {
        let (_, step) = Negotiation::begin(&Revision::ALL, Some(V2025_06_18), true);
        assert_eq!(step, initialize(false));
        let (mut negotiation, step) = Negotiation::begin(&Revision::ALL, Some(V2026_07_28), true);
        assert_eq!(step, Step::Discover(V2026_07_28));
        assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)));
    }
}
