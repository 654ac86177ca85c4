//! One file of servers, ours or another host's, while something in it is changed.
//!
//! One server's entry is added, replaced, removed, enabled or disabled; every byte outside of that stays as it was: comments,
//! keys that nobody here knows, order, indentation, ends of lines. A file that is broken is not changed, and neither is one
//! that others changed meanwhile. Nothing is written before [`Document::save`].

mod hide;
mod json;
mod lines;
mod own;
mod save;
mod say;
mod sound;
mod toml;
mod translate;
mod variables;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::entry::HostKind;
use super::fault::Fault;
use super::files;
use super::format::{Format, Meaning};
use super::node::{self, Member, Node};
use super::places::{ConfigFile, Sources};

pub use hide::{is_secret, secret_argument};
pub use lines::Line;
pub use save::Saved;
pub use sound::faults;
use sound::{maps, parse};
pub use translate::{Translated, Translation};
use variables::referred;
pub use variables::referred_secrets;

/// Keys and values of one server's entry, in their order.
pub type Entry = Vec<(String, Value)>;

/// What is to be written.
enum Words<'a> {
    One(&'a Value),
    Entry(&'a [(String, Value)]),
}

/// A file that is being changed.
#[derive(Debug)]
pub struct Document {
    file: ConfigFile,
    /// Links followed.
    real: PathBuf,
    /// As it was read; `None` if it is not there.
    old: Option<String>,
    /// As it is to be, without a mark before it.
    text: String,
    /// The same, before anything was changed.
    start: String,
    tree: Node,
    /// Keys that lead to servers, nearest to the project first.
    maps: Vec<Vec<String>>,
}

impl Document {
    /// Reads a file. One that is not there, or empty, has nothing in it yet.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is broken so that a change might break more: says where, and what to do.
    pub fn open(sources: &Sources, file: &ConfigFile) -> Result<Self, Fault> {
        let path = sources.cwd.join(&file.path);
        let real = save::real(&path)?;
        let old = files::text(&real).map_err(|what| Fault::error(&file.path, None, what))?;
        let bare = old.as_deref().map(node::without_mark).unwrap_or_default();
        let text = match bare.trim().is_empty() {
            true if file.host == HostKind::Codex => bare.to_owned(),
            true => "{}\n".to_owned(),
            false => bare.to_owned(),
        };
        let tree = parse(file, &text)?;
        let maps = maps(sources, file, &tree)?;
        Ok(Self { file: file.clone(), real, start: text.clone(), old, text, tree, maps })
    }

    /// The file.
    pub fn file(&self) -> &ConfigFile {
        &self.file
    }

    /// The names of the servers in it, in the order of the file.
    pub fn servers(&self) -> Vec<&str> {
        let members = self.maps.iter().filter_map(|path| self.at(path)?.members()).flatten();
        members.map(|member| member.key.as_str()).collect()
    }

    /// One server's entry as it is written, and its line.
    pub fn entry(&self, name: &str) -> Option<(Entry, usize)> {
        let member = self.find(name)?.1;
        let members = member.node.members()?.iter();
        Some((members.map(|member| (member.key.clone(), member.node.to_value())).collect(), member.line))
    }

    /// All servers by name, for everybody to see: secrets are hidden.
    pub fn shown(&self) -> BTreeMap<String, Value> {
        let mut shown = BTreeMap::new();
        let Ok(tree) = parse(&self.file, &hide::masked(&self.text, &self.tree)) else { return shown };
        let maps = self.maps.iter().filter_map(|path| path.iter().try_fold(&tree, |node, key| node.get(key)));
        for member in maps.filter_map(Node::members).flatten() {
            shown.entry(member.key.clone()).or_insert_with(|| member.node.to_value());
        }
        shown
    }

    /// Adds a server, or says anew how one is reached; what else its entry says stays.
    ///
    /// # Errors
    ///
    /// If the file is written in a way in which that cannot be said.
    pub fn put(&mut self, name: &str, entry: &[(String, Value)]) -> Result<(), Fault> {
        if self.file.host == HostKind::VsCode {
            entry
                .iter()
                .flat_map(|(_, value)| referred(value, "${input:"))
                .try_for_each(|id| self.input(&id))?;
        }
        let Some((map, old)) = self.find(name) else {
            // The servers of one project are that project's own affair.
            let map = self.maps.iter().find(|map| map.len() == 1);
            let path = with(map.map(Vec::as_slice).unwrap_or_default(), name);
            return self.set(&path, &Words::Entry(entry));
        };
        let path = with(&map, name);
        let Some(members) = old.node.members() else { return self.set(&path, &Words::Entry(entry)) };
        let format = Format::of(self.file.host);
        let wanted = |key: &str| entry.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        // Hosts that need no type have one now and then: it stays right as long as the place is the same.
        let mut places = members.iter().filter(|member| format.meaning(&member.key).is_some_and(is_place));
        let is_same_place = places.all(|member| wanted(&member.key) == Some(&member.node.to_value()));
        let is_gone = |member: &&Member| match format.meaning(&member.key) {
            Some(Meaning::Type) if is_same_place => false,
            Some(meaning) => says_where(meaning) && wanted(&member.key).is_none(),
            None => false,
        };
        let gone: Vec<String> = members.iter().filter(is_gone).map(|member| member.key.clone()).collect();
        for (key, value) in entry {
            let path = with(&path, key);
            self.merge(&path, value)?;
        }
        gone.iter().try_for_each(|key| self.unset(&with(&path, key)))
    }

    /// Removes a server. `false` if there is none of this name.
    ///
    /// # Errors
    ///
    /// If the file is written in a way in which that cannot be done.
    pub fn remove(&mut self, name: &str) -> Result<bool, Fault> {
        let Some((map, _)) = self.find(name) else { return Ok(false) };
        let path = with(&map, name);
        self.unset(&path).map(|()| true)
    }

    /// Says whether a server is wanted.
    ///
    /// # Errors
    ///
    /// If this host has no word for that, or there is no such server.
    pub fn switch(&mut self, name: &str, on: bool) -> Result<(), Fault> {
        let Some((map, member)) = self.find(name) else {
            return Err(self.fault(None, format!("there is no server {name:?}")));
        };
        if self.file.host == HostKind::Gemini {
            return self.exclude(name, on);
        }
        let line = member.line;
        let format = Format::of(self.file.host);
        let members = member.node.members().unwrap_or_default();
        let written = |meaning: Meaning| {
            members
                .iter()
                .find(|member| format.meaning(&member.key) == Some(meaning))
                .map(|member| member.key.clone())
        };
        let (key, value) = match say::key(self.file.host, Meaning::Enabled) {
            Some(key) => (written(Meaning::Enabled).unwrap_or_else(|| key.to_owned()), on),
            None => match say::key(self.file.host, Meaning::Disabled) {
                Some(key) => (written(Meaning::Disabled).unwrap_or_else(|| key.to_owned()), !on),
                None => {
                    let host = self.file.host;
                    let what = format!(
                        "{host} has no word in its file for servers that are not wanted: use its own switch, or `contexture remove {host}:{name}`"
                    );
                    return Err(self.fault(Some(line), what));
                }
            },
        };
        let path = with(&with(&map, name), &key);
        match self.at(&path).map(Node::to_value) {
            Some(now) if now == Value::Bool(value) => Ok(()),
            // Without the word, it is wanted.
            None if on => Ok(()),
            _ => self.set(&path, &Words::One(&Value::Bool(value))),
        }
    }

    /// VS Code asks for what is in a list of its own.
    fn input(&mut self, id: &str) -> Result<(), Fault> {
        let path = ["inputs".to_owned()];
        let inputs = self.at(&path).map(Node::to_value);
        let known = inputs
            .as_ref()
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().any(|one| one["id"] == id));
        if known {
            return Ok(());
        }
        let input = json!({ "id": id, "type": "promptString", "description": id, "password": true });
        let new = json::push(&self.text, &self.tree, &path, &input);
        self.take(&path, new)
    }

    /// Gemini has a list of those that are not wanted, and may have one of those that are.
    fn exclude(&mut self, name: &str, on: bool) -> Result<(), Fault> {
        let path = |key: &str| vec!["mcp".to_owned(), key.to_owned()];
        if let (true, Some(allowed)) = (on, self.at(&path("allowed")))
            && !allowed.to_value().as_array().is_some_and(|names| names.iter().any(|one| one == name))
        {
            let what = format!("{name:?} is not among those that are \"allowed\": add it there");
            return Err(self.fault(Some(allowed.line), what));
        }
        let old = self.at(&path("excluded")).map(Node::to_value);
        let mut names = old.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        names.retain(|one| one != name);
        if !on {
            names.push(name.into());
        }
        match old {
            None if on => Ok(()),
            _ => self.merge(&path("excluded"), &Value::Array(names)),
        }
    }

    /// Whether there is anything to save.
    pub fn is_changed(&self) -> bool {
        self.text != self.start
    }

    /// What is different, with secrets hidden.
    pub fn diff(&self) -> Vec<Line> {
        let old = match (&self.old, parse(&self.file, &self.start)) {
            (Some(_), Ok(tree)) => hide::masked(&self.start, &tree),
            _ => String::new(),
        };
        lines::unified(&old, &hide::masked(&self.text, &self.tree))
    }

    /// What this host will not understand in its own file, though it was there before.
    pub fn notices(&self) -> Vec<Fault> {
        if !matches!(self.file.host, HostKind::ClaudeDesktop | HostKind::ClaudeCode) || !self.is_changed() {
            return Vec::new();
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&self.start) {
            Err(error) => {
                let what = format!(
                    "here is a comment or a comma that {} does not read: take it out",
                    self.file.host
                );
                vec![Fault::notice(&self.file.path, Some(error.line()), what)]
            }
            Ok(_) => Vec::new(),
        }
    }

    /// Writes it, and keeps what was there.
    ///
    /// # Errors
    ///
    /// If the file was changed by somebody else, is read-only, or cannot be written: then it is as it was.
    pub fn save(&self) -> Result<Saved, Fault> {
        let mark = self.old.as_deref().filter(|old| old.starts_with('\u{feff}')).map_or("", |_| "\u{feff}");
        let new = format!("{mark}{}", self.text);
        save::save(&self.real, self.old.as_deref().map(str::as_bytes), new.as_bytes())
    }

    fn find(&self, name: &str) -> Option<(Vec<String>, &Member)> {
        self.maps.iter().find_map(|path| {
            let members = self.at(path)?.members()?;
            Some((path.clone(), members.iter().find(|member| member.key == name)?))
        })
    }

    fn at(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(&self.tree, |node, key| node.get(key))
    }

    /// Makes of what is there what is wanted, touching only what is different.
    fn merge(&mut self, path: &[String], value: &Value) -> Result<(), Fault> {
        let old = self.at(path);
        if old.is_some_and(|old| old.to_value() == *value) {
            return Ok(());
        }
        let (Some(members), Value::Object(wanted)) = (old.and_then(Node::members), value) else {
            return self.set(path, &Words::One(value));
        };
        let gone: Vec<String> = members.iter().map(|member| member.key.clone()).collect();
        for (key, value) in wanted {
            self.merge(&with(path, key), value)?;
        }
        gone.iter().filter(|key| !wanted.contains_key(*key)).try_for_each(|key| self.unset(&with(path, key)))
    }

    fn set(&mut self, path: &[String], words: &Words<'_>) -> Result<(), Fault> {
        let new = match self.file.host {
            HostKind::Codex => toml::set(&self.text, path, words),
            _ => json::set(&self.text, &self.tree, path, words),
        };
        self.take(path, new)
    }

    fn unset(&mut self, path: &[String]) -> Result<(), Fault> {
        let new = match self.file.host {
            HostKind::Codex => toml::unset(&self.text, path),
            _ => json::unset(&self.text, &self.tree, path),
        };
        self.take(path, new)
    }

    /// Goes on with a new text, if it is one.
    fn take(&mut self, path: &[String], new: Option<String>) -> Result<(), Fault> {
        let parsed = new.and_then(|text| Some((parse(&self.file, &text).ok()?, text)));
        let Some((tree, text)) = parsed else {
            let line =
                (1..=path.len()).rev().find_map(|length| self.at(&path[..length])).map(|node| node.line);
            let what = format!(
                "{:?} is written in a way that is not changed here: change it by hand",
                path.join(".")
            );
            return Err(self.fault(line, what));
        };
        (self.tree, self.text) = (tree, text);
        Ok(())
    }

    fn fault(&self, line: Option<usize>, what: String) -> Fault {
        Fault::error(&self.file.path, line, what)
    }
}

/// Whether a key says how a server is reached, and not what may be done with it.
fn says_where(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::Type
            | Meaning::Command
            | Meaning::Args
            | Meaning::Env
            | Meaning::EnvVars
            | Meaning::EnvFile
            | Meaning::Cwd
            | Meaning::Url
            | Meaning::HttpUrl
            | Meaning::SseUrl
            | Meaning::Socket
            | Meaning::Headers
            | Meaning::EnvHeaders
            | Meaning::BearerVar
    )
}

/// Whether a key names the server itself.
fn is_place(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Command | Meaning::Url | Meaning::HttpUrl | Meaning::SseUrl)
}

fn with(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}
