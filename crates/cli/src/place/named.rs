//! Servers by the names that configurations give them.
//!
//! Ours come first. A name that only another host knows is taken from there, if one host knows it; where several do,
//! the person says which.

use std::path::PathBuf;

use contexture_host::config::{Config, HostKind, ServerEntry, Sources, load};

use super::Place;
use crate::exit::Failure;
use crate::nearest;
use crate::terminal::text::safe_line;

/// The built-in server, unless somebody configured one of that name.
const DEMO: &str = "demo";

pub(super) fn find(word: &str, files: &[PathBuf]) -> Result<Place, Failure> {
    let own = ours(files)?;
    if let Some(entry) = own.servers.iter().find(|entry| entry.name == word || entry.full_name() == word) {
        return Ok(configured(entry));
    }
    let broken = own.faults.iter().find(|fault| fault.server.as_deref() == Some(word));
    if let Some(fault) = broken {
        return Err(Failure::usage(fault.to_string()));
    }
    if let Some(entry) = files.is_empty().then(|| of_host(word)).flatten() {
        return Ok(configured(&entry));
    }
    let others = if files.is_empty() { elsewhere() } else { Vec::new() };
    let meant: Vec<&ServerEntry> =
        others.iter().filter(|entry| entry.name == word || is_called(entry, word)).collect();
    match meant.as_slice() {
        [only] => Ok(configured(only)),
        [] if word == DEMO => Ok(Place::Demo),
        [] => Err(unknown(word, &own, &others)),
        several => {
            let names: Vec<String> = several.iter().map(|entry| safe_line(&entry.full_name())).collect();
            Err(Failure::usage(format!("several hosts know a server {word:?}"))
                .hint(Some(format!("say which: {}", names.join(", ")))))
        }
    }
}

/// What there is to choose from, in words.
pub(super) fn choice(files: &[PathBuf]) -> String {
    let names = ours(files).map(|config| config.servers).unwrap_or_default();
    let names: Vec<String> = names.iter().map(|entry| safe_line(&entry.name)).collect();
    let known = if names.is_empty() { String::new() } else { format!("{}, ", names.join(", ")) };
    format!("{known}{DEMO}, a URL, a file, or a command after `--`")
}

/// The names that can be said. A configuration that cannot be read has none.
pub(crate) fn known() -> Vec<String> {
    let own = ours(&[]).map(|config| config.servers).unwrap_or_default();
    let own = own.into_iter().map(|entry| entry.name);
    own.chain(elsewhere().iter().map(ServerEntry::full_name)).chain([DEMO.to_owned()]).collect()
}

fn configured(entry: &ServerEntry) -> Place {
    Place::Configured(Box::new(entry.clone()))
}

/// `host:name`; people say `claude` and mean whichever they have.
fn is_called(entry: &ServerEntry, word: &str) -> bool {
    let is_claude = matches!(entry.origin.host, HostKind::ClaudeDesktop | HostKind::ClaudeCode);
    entry.full_name() == word || (is_claude && word.strip_prefix("claude:") == Some(entry.name.as_str()))
}

fn unknown(word: &str, own: &Config, others: &[ServerEntry]) -> Failure {
    let full: Vec<String> = others.iter().map(ServerEntry::full_name).collect();
    let known = own.servers.iter().map(|entry| entry.name.as_str());
    let known = known.chain(full.iter().map(String::as_str)).chain([DEMO]);
    Failure::usage(format!("there is no server {word:?}")).hint(nearest::proposal(word, known))
}

fn ours(files: &[PathBuf]) -> Result<Config, Failure> {
    let mut sources = Sources::of_process();
    sources.files = files.to_vec();
    load(&sources).map_err(|error| Failure::usage(error.to_string()))
}

/// A server by its full name. One of ours with the same name does not stand before it.
fn of_host(word: &str) -> Option<ServerEntry> {
    let (host, _) = word.split_once(':')?;
    let host = HostKind::ALL.into_iter().skip(1).find(|known| known.word() == host)?;
    let mut sources = Sources::of_process();
    sources.import = vec![host];
    sources.only = vec![word.to_owned()];
    load(&sources).ok()?.servers.pop()
}

/// What all other hosts have, each by itself: a name may be there several times. A host whose files cannot be read has nothing.
fn elsewhere() -> Vec<ServerEntry> {
    let of_host = |host: HostKind| {
        let mut sources = Sources::of_process();
        sources.import = vec![host];
        load(&sources).map(|config| config.servers).unwrap_or_default()
    };
    let hosts = HostKind::ALL.into_iter().skip(1);
    hosts.flat_map(|host| of_host(host).into_iter().filter(move |entry| entry.origin.host == host)).collect()
}
