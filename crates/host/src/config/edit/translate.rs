//! From one host's file to another's: an entry that means the same there. It passes through words of our own, which are those
//! that can say most; what the other has no word for is named, never lost in silence.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Entry, own, say};
use crate::config::entry::{HostKind, Scope};
use crate::config::places::{ConfigFile, Sources};

/// From where to where.
#[derive(Debug)]
pub struct Translation<'a> {
    /// Whose home, folder and variables.
    pub sources: &'a Sources,
    /// The file that an entry is taken from.
    pub from: &'a ConfigFile,
    /// The file that it is for.
    pub to: &'a ConfigFile,
    /// The program that hosts start to reach what they cannot reach themselves: this one.
    pub program: &'a str,
}

/// An entry in the other host's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// The entry.
    pub entry: Entry,
    /// What it does not say any more, and why.
    pub left: Vec<String>,
}

/// The same with what has to be known on the way.
pub(super) struct Way<'a> {
    pub(super) sources: &'a Sources,
    pub(super) from: &'a ConfigFile,
    pub(super) to: &'a ConfigFile,
    pub(super) program: &'a str,
    pub(super) workspace: PathBuf,
}

impl Translation<'_> {
    /// Translates one entry.
    ///
    /// # Errors
    ///
    /// If it cannot be said there at all, or would be something else.
    pub fn entry(&self, entry: &[(String, Value)]) -> Result<Translated, String> {
        let Self { sources, from, to, program } = *self;
        let way = Way { sources, from, to, program, workspace: from.workspace(sources) };
        let own = match from.host {
            HostKind::Contexture => Translated { entry: way.ours(entry), left: Vec::new() },
            _ => own::own(&way, entry)?,
        };
        if to.host == HostKind::Contexture {
            return Ok(own);
        }
        let mut said = say::say(&way, &own.entry)?;
        said.left.splice(..0, own.left);
        Ok(said)
    }
}

impl Way<'_> {
    /// A path that is relative to something else in the other file is said in full.
    pub(super) fn moved(&self, path: &str) -> String {
        let base = |file: &ConfigFile| match file.scope {
            Scope::User => self.sources.home.clone(),
            _ => file.workspace(self.sources),
        };
        let is_free = Path::new(path).is_absolute() || path.starts_with(['$', '~']);
        if is_free || base(self.from) == base(self.to) {
            return path.to_owned();
        }
        base(self.from).join(path).to_string_lossy().into_owned()
    }

    fn ours(&self, entry: &[(String, Value)]) -> Entry {
        let moved = |(key, value): &(String, Value)| match (key.as_str(), value) {
            ("cwd" | "envFile" | "socket", Value::String(path)) => (key.clone(), self.moved(path).into()),
            _ => (key.clone(), value.clone()),
        };
        entry.iter().map(moved).collect()
    }
}
