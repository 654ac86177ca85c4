//! What is different between two configurations: what is the same need not be disturbed.

use super::{Config, ServerEntry};

/// The difference, by names of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Servers that were not there.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers whose entry says something else now.
    pub changed: Vec<String>,
    /// Whether something beside the servers is different: name, policy, sampling, audit, limits.
    pub settings: bool,
}

impl Changes {
    /// Whether there is no difference that matters.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two configurations. In which line an entry stands makes no difference, and faults make none either.
pub fn diff(old: &Config, new: &Config) -> Changes {
    let names = |some: Vec<&ServerEntry>| some.iter().map(|entry| entry.name.clone()).collect();
    let missing = |from: &Config, in_: &Config| -> Vec<String> {
        names(from.servers.iter().filter(|entry| in_.server(&entry.name).is_none()).collect())
    };
    let is_other =
        |entry: &&ServerEntry| old.server(&entry.name).is_some_and(|before| !is_same(before, entry));
    Changes {
        added: missing(new, old),
        removed: missing(old, new),
        changed: names(new.servers.iter().filter(is_other).collect()),
        settings: settings(old) != settings(new),
    }
}

fn is_same(one: &ServerEntry, other: &ServerEntry) -> bool {
    let mut moved = other.clone();
    moved.origin.line = one.origin.line;
    *one == moved
}

/// All but the servers.
fn settings(config: &Config) -> Config {
    Config { servers: Vec::new(), faults: Vec::new(), files: Vec::new(), ..config.clone() }
}
