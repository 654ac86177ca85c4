//! What the catalog noticed and a person should know: collisions, twins, hostile names, what was left out.
//!
//! Names in here come from servers. They are shown escaped and cut, so that they can stand in a log or a terminal.

use std::fmt;

use super::twins;

/// So many alerts are kept of one server; the rest are counted.
const KEPT: usize = 64;
/// So many characters of a name are shown.
const SHOWN: usize = 80;

/// Something about what a server offers that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Alert {
    /// The server, by its name in the configuration.
    pub server: String,
    /// What it is about.
    pub kind: AlertKind,
    /// The name or URI that it is about, escaped and cut.
    pub subject: String,
    /// What was seen, and what was done.
    pub detail: String,
}

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlertKind {
    /// Two things have one name: the first stays, the other is left out.
    Collision,
    /// Two names can be taken for one another. Both are there.
    Twin,
    /// A name that is not one: what cannot stand in a name was replaced, or the thing left out.
    HostileName,
    /// Left out because of a bound.
    LeftOut,
    /// Left out because it cannot be read.
    Unreadable,
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {}: {}: {}", escaped(&self.server), self.subject, self.detail)
    }
}

/// Alerts of one server, as many as are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks {
    kept: Vec<(AlertKind, String, String)>,
    more: usize,
}

impl Remarks {
    pub(super) fn add(&mut self, kind: AlertKind, subject: &str, detail: impl Into<String>) {
        if self.kept.len() < KEPT {
            self.kept.push((kind, escaped(subject), detail.into()));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn extend(&mut self, others: &Self) {
        for (kind, subject, detail) in &others.kept {
            if self.kept.len() < KEPT {
                self.kept.push((*kind, subject.clone(), detail.clone()));
            } else {
                self.more += 1;
            }
        }
        self.more += others.more;
    }

    pub(super) fn into_alerts(self, server: &str) -> impl Iterator<Item = Alert> {
        let rest = (self.more > 0)
            .then(|| (AlertKind::LeftOut, "and more".to_owned(), format!("{} further alerts", self.more)));
        let server = server.to_owned();
        self.kept.into_iter().chain(rest).map(move |(kind, subject, detail)| Alert {
            server: server.clone(),
            kind,
            subject,
            detail,
        })
    }
}

/// A name as it can be shown.
pub(super) fn escaped(name: &str) -> String {
    let show = |character: char| -> String {
        if twins::is_invisible(character) {
            character.escape_unicode().collect()
        } else {
            character.escape_debug().collect()
        }
    };
    let mut shown: String = name.chars().take(SHOWN).map(show).collect();
    if name.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
