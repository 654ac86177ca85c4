//! One file while it is read: values out of its tree, with variables filled in, and all that is wrong with it.

use std::path::Path;
use std::time::Duration;

use super::entry::{HostKind, Origin, Scope};
use super::expand::Expand;
use super::fault::{Concern, Fault};
use super::node::{Member, Node, Tree};

/// Nobody waits longer than this; it also keeps sums of times away from the end of the clock.
const LONGEST: f64 = 7.0 * 24.0 * 3600.0;

/// Nobody reads more, and a file of nothing but mistakes should not become many times as long.
const MOST_FAULTS: usize = 500;

pub(super) struct Reading<'a> {
    pub(super) file: &'a Path,
    pub(super) host: HostKind,
    pub(super) scope: Scope,
    pub(super) expand: Expand<'a>,
    pub(super) faults: Vec<Fault>,
    /// The entry that is being read.
    pub(super) server: Option<String>,
    /// Whether something in this entry, or outside of all entries, is wrong.
    pub(super) broken: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn new(file: &'a Path, host: HostKind, scope: Scope, expand: Expand<'a>) -> Self {
        Self { file, host, scope, expand, faults: Vec::new(), server: None, broken: false }
    }

    /// What relative paths are relative to.
    pub(super) fn base(&self) -> &'a Path {
        match self.scope {
            Scope::User => self.expand.home,
            Scope::Project | Scope::CommandLine => self.expand.workspace,
        }
    }

    pub(super) fn origin(&self, line: usize) -> Origin {
        Origin { file: self.file.to_owned(), host: self.host, scope: self.scope, line: Some(line) }
    }

    pub(super) fn error(&mut self, line: usize, what: impl Into<String>) {
        self.broken = true;
        let fault = Fault::error(self.file, Some(line), what);
        self.push(fault);
    }

    /// Something is missing that is not in the file.
    pub(super) fn unset(&mut self, line: usize, what: impl Into<String>) {
        self.broken = true;
        let fault = Fault::error(self.file, Some(line), what).about(Concern::Variable);
        self.push(fault);
    }

    pub(super) fn notice(&mut self, line: usize, what: impl Into<String>) {
        let fault = Fault::notice(self.file, Some(line), what);
        self.push(fault);
    }

    fn push(&mut self, fault: Fault) {
        if self.faults.len() == MOST_FAULTS {
            return;
        }
        self.faults.push(match &self.server {
            Some(server) => fault.of(server),
            None => fault,
        });
    }

    fn mistaken(&mut self, node: &Node, key: &str, wanted: &str) {
        self.error(node.line, format!("{key:?} is {}, not {wanted}", node.kind()));
    }

    /// The members of a map, each key once.
    pub(super) fn map<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Member] {
        let Some(members) = node.members() else {
            self.mistaken(node, key, "an object");
            return &[];
        };
        let mut seen = std::collections::HashSet::new();
        for member in members {
            if !seen.insert(member.key.as_str()) {
                self.error(
                    member.line,
                    format!("{:?} is there twice: which of the two is meant?", member.key),
                );
            }
        }
        members
    }

    /// Text as it was written.
    pub(super) fn word<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        match &node.tree {
            Tree::Text(text) => Some(text),
            _ => {
                self.mistaken(node, key, "text");
                None
            }
        }
    }

    /// Text with its variables filled in.
    pub(super) fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = self.word(node, key)?;
        match self.expand.text(text) {
            Ok(text) if text.contains('\0') => {
                self.error(node.line, format!("{key:?} has a zero byte in it"));
                None
            }
            Ok(text) => Some(text),
            Err(what) => {
                self.unset(node.line, format!("{key:?}: {what}"));
                None
            }
        }
    }

    /// Text, or something else that has one obvious form as text.
    pub(super) fn loose_text(&mut self, node: &Node, key: &str) -> Option<String> {
        match &node.tree {
            Tree::Bool(truth) => Some(truth.to_string()),
            Tree::Number(number) => Some(number.to_string()),
            _ => self.text(node, key),
        }
    }

    pub(super) fn texts(&mut self, node: &Node, key: &str) -> Vec<String> {
        let Tree::List(nodes) = &node.tree else {
            self.mistaken(node, key, "a list of texts");
            return Vec::new();
        };
        nodes.iter().filter_map(|node| self.text(node, key)).collect()
    }

    /// Texts by name: variables, headers.
    pub(super) fn named_texts(&mut self, node: &Node, key: &str) -> Vec<(String, String)> {
        let members = self.map(node, key);
        members
            .iter()
            .filter_map(|member| Some((member.key.clone(), self.loose_text(&member.node, &member.key)?)))
            .collect()
    }

    pub(super) fn truth(&mut self, node: &Node, key: &str) -> Option<bool> {
        match &node.tree {
            Tree::Bool(truth) => Some(*truth),
            _ => {
                self.mistaken(node, key, "true or false");
                None
            }
        }
    }

    pub(super) fn count(&mut self, node: &Node, key: &str, most: u64) -> Option<u64> {
        match &node.tree {
            Tree::Number(number) if number.as_u64().is_some_and(|number| (1..=most).contains(&number)) => {
                number.as_u64()
            }
            _ => {
                self.error(node.line, format!("{key:?} is not a whole number from 1 to {most}"));
                None
            }
        }
    }

    /// A time as a number of this unit.
    pub(super) fn time(&mut self, node: &Node, key: &str, unit: f64) -> Option<Duration> {
        let seconds = match &node.tree {
            Tree::Number(number) => number.as_f64().map(|number| number * unit),
            _ => None,
        };
        self.seconds(node, key, seconds)
    }

    /// A time as a number of seconds, or as text with a unit.
    pub(super) fn spoken_time(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let seconds = match &node.tree {
            Tree::Number(number) => number.as_f64(),
            Tree::Text(text) => spoken(text),
            _ => None,
        };
        self.seconds(node, key, seconds)
    }

    fn seconds(&mut self, node: &Node, key: &str, seconds: Option<f64>) -> Option<Duration> {
        match seconds {
            // One that is not a number is in no range.
            Some(seconds) if (0.001..=LONGEST).contains(&seconds) => Some(Duration::from_secs_f64(seconds)),
            _ => {
                let what = format!(
                    "{key:?} is not a time between a millisecond and a week: a number, or \"500ms\", \"30s\", \"5m\", \"1h\" in files of ours"
                );
                self.error(node.line, what);
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(&mut self, node: &Node, key: &str, words: &[(&str, T)]) -> Option<T> {
        let word = self.word(node, key)?;
        if let Some((_, value)) = words.iter().find(|(known, _)| *known == word) {
            return Some(*value);
        }
        let known = words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        self.error(node.line, format!("{key:?} is none of {known}"));
        None
    }
}

/// `500ms`, `30s`, `5m`, `1h`, in seconds.
pub(super) fn spoken(text: &str) -> Option<f64> {
    let at = text.find(|char: char| char.is_ascii_alphabetic())?;
    let unit = match &text[at..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some(text[..at].trim_end().parse::<f64>().ok()? * unit)
}
