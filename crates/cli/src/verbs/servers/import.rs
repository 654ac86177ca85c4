//! `import`: servers of other hosts, into a file of ours. Theirs are only read.
//!
//! What the user has there goes into the user's file; what a project brings goes into the project's, with `--project`, and waits
//! there to be trusted as it did.

use contexture_host::config::edit::{Document, Entry, Translation, is_secret};
use contexture_host::config::{ConfigFile, HostKind, Sources};
use serde_json::Value;

use super::find::split;
use super::page::{Change, failure};
use crate::exit::Failure;
use crate::gateway::entry::program;
use crate::options::{Importing, hosts};
use crate::terminal::note;
use crate::terminal::text::safe_line;

/// One server somewhere else.
struct Candidate {
    file: ConfigFile,
    name: String,
    entry: Entry,
}

pub(in crate::verbs) fn import(importing: &Importing) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let scope = importing.writing.scope();
    let file = sources
        .file_of(HostKind::Contexture, scope)
        .ok_or_else(|| Failure::usage("there is no folder for a configuration: set HOME"))?;
    let mut document = Document::open(&sources, &file).map_err(|fault| failure(&fault))?;
    let wishes: Vec<Wish> = importing.words.iter().map(|word| Wish::of(word)).collect();
    let candidates = candidates(&sources, importing, &wishes)?;
    if let Some(word) = importing.words.iter().zip(&wishes).find(|(_, wish)| !wish.is_met(&candidates)) {
        return Err(Failure::usage(format!("there is nothing to import as {:?}", word.0))
            .hint(Some("`contexture list` shows what other hosts have".to_owned())));
    }
    let (mut servers, mut skipped, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for Candidate { file: from, name, entry } in candidates {
        let full = format!("{}:{name}", from.host);
        let way = Translation { sources: &sources, from: &from, to: &file, program: &program() };
        let translated = match way.entry(&entry) {
            _ if is_us(&entry) => Err("is contexture itself".to_owned()),
            translated => translated,
        };
        match translated
            .and_then(|new| is_new(&document, &servers, importing, &name, &new.entry).map(|()| new))
        {
            Err(why) => skipped.push((full, why)),
            Ok(new) => {
                notes.extend(new.left.into_iter().map(|what| (full.clone(), what)));
                notes.extend(written_out(&new.entry).into_iter().map(|what| (full.clone(), what)));
                document.put(&name, &new.entry).map_err(|fault| failure(&fault))?;
                servers.push(name);
            }
        }
    }
    let writing = &importing.writing;
    let change = Change { document: &document, writing, done: "imported", servers, skipped, notes };
    change.finish(!importing.yes).map(drop)
}

/// What one word asks for: all of some hosts, or servers of a name.
struct Wish {
    hosts: Vec<HostKind>,
    name: Option<String>,
}

impl Wish {
    fn of(word: &str) -> Self {
        if let Ok(hosts) = hosts(word) {
            return Self { hosts: hosts.0, name: None };
        }
        let (hosts, name) = split(word);
        let hosts = if name == word { HostKind::ALL[1..].to_vec() } else { hosts };
        Self { hosts, name: Some(name.to_owned()) }
    }

    fn wants(&self, host: HostKind, name: &str) -> bool {
        self.hosts.contains(&host) && self.name.as_deref().is_none_or(|wanted| wanted == name)
    }

    /// A host may have nothing; a name has to be there.
    fn is_met(&self, candidates: &[Candidate]) -> bool {
        self.name.is_none() || candidates.iter().any(|one| self.wants(one.file.host, &one.name))
    }
}

fn candidates(sources: &Sources, importing: &Importing, wishes: &[Wish]) -> Result<Vec<Candidate>, Failure> {
    let scope = importing.writing.scope();
    let mut found = Vec::new();
    for file in HostKind::ALL[1..].iter().flat_map(|host| sources.places(*host)) {
        let is_named = wishes.iter().any(|wish| wish.hosts.contains(&file.host));
        if file.scope != scope || !file.path.is_file() || !(wishes.is_empty() || is_named) {
            continue;
        }
        match Document::open(sources, &file) {
            Ok(document) => {
                for name in document.servers() {
                    let wanted = wishes.is_empty() || wishes.iter().any(|wish| wish.wants(file.host, name));
                    let entry = document.entry(name).filter(|_| wanted);
                    found.extend(entry.map(|(entry, _)| Candidate {
                        file: file.clone(),
                        name: name.to_owned(),
                        entry,
                    }));
                }
            }
            // Who asked for this host wants to know; who did not is better served by the others.
            Err(fault)
                if wishes.iter().any(|wish| wish.hosts.len() < 3 && wish.hosts.contains(&file.host)) =>
            {
                return Err(failure(&fault));
            }
            Err(fault) => note(&format!("contexture: error: {}", safe_line(&fault.to_string()))),
        }
    }
    Ok(found)
}

/// Whether a name is free, or may be taken.
fn is_new(
    document: &Document,
    taken: &[String],
    importing: &Importing,
    name: &str,
    entry: &Entry,
) -> Result<(), String> {
    let Some((old, line)) = document.entry(name) else { return Ok(()) };
    let same = old.iter().all(|pair| entry.contains(pair)) && entry.iter().all(|pair| old.contains(pair));
    if same {
        return Err("is there already".to_owned());
    }
    if taken.iter().any(|taken| taken == name) {
        return Err("another host's server of this name was taken: say `host:name` to choose".to_owned());
    }
    if importing.force {
        return Ok(());
    }
    let file = document.file().path.display();
    Err(format!("{file}:{line} has another server of this name: --force replaces it"))
}

/// A host that was told to start us would have us start us.
fn is_us(entry: &Entry) -> bool {
    let get = |key: &str| entry.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let command = get("command").and_then(Value::as_str).map(std::path::Path::new);
    let is_ours = command.and_then(|path| path.file_stem()).is_some_and(|name| name == "contexture");
    is_ours && get("args").and_then(|args| args.get(0)).is_some_and(|verb| verb == "run")
}

/// Secrets that stand in the file themselves.
pub(super) fn written_out(entry: &Entry) -> Vec<String> {
    let sections = entry.iter().filter(|(key, _)| key == "env" || key == "headers");
    let members = sections.filter_map(|(_, value)| value.as_object()).flatten();
    let secret = members.filter(|(name, value)| value.as_str().is_some_and(|value| is_secret(name, value)));
    secret
        .map(|(name, _)| format!("{name} looks like a secret, and is written out: refer to a variable, or `contexture add --secret {name} --force …`"))
        .collect()
}
