//! The five dated revisions and what differs between them, as data.
//!
//! This is the only place where revisions are told apart. Everything else asks [`Rules`] by name:
//! `rules.not_found_code`, `rules.has_audio`. There is no ordering on [`Revision`], on purpose.

pub mod lower;
mod methods;
mod rules;

pub use lower::Lower;
pub use rules::{ArgumentErrors, ElicitationForms, ErrorId, Rules, StructuredOutput};

use std::fmt;

/// A dated specification of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How a connection works: with a handshake and a session, or statelessly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// An `initialize` handshake, requests in both directions, sessions.
    Legacy,
    /// Every request carries its own metadata; servers only answer and notify.
    Modern,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The revisions that open with `initialize`, oldest first.
    pub const LEGACY: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];
    /// The stateless revisions, oldest first.
    pub const MODERN: [Self; 1] = [Self::V2026_07_28];
    /// What a server offers to a client whose version it does not know, and a client asks for first.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest stateless revision.
    pub const NEWEST_MODERN: Self = Self::V2026_07_28;
    /// What an HTTP request without a version header is taken to speak.
    pub const HEADERLESS: Self = Self::V2025_03_26;

    /// The date, as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with exactly this date.
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// Legacy or modern.
    pub const fn era(self) -> Era {
        self.rules().era
    }

    /// What this revision does and has.
    pub const fn rules(self) -> &'static Rules {
        match self {
            Self::V2024_11_05 => &rules::V2024_11_05,
            Self::V2025_03_26 => &rules::V2025_03_26,
            Self::V2025_06_18 => &rules::V2025_06_18,
            Self::V2025_11_25 => &rules::V2025_11_25,
            Self::V2026_07_28 => &rules::V2026_07_28,
        }
    }

    /// Whether `initialize` may settle on it.
    pub const fn is_legacy(self) -> bool {
        matches!(self.era(), Era::Legacy)
    }

    /// Whether requests carry it in their `_meta`.
    pub const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
