//! What whoever starts a gateway is told: what is served and what is not, and the entry that takes the place of all others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use contexture_host::config::{Config, HostKind, Severity, Standing};

use super::ADDRESS;
use crate::gateway::entry::{Way, lines};
use crate::terminal::note;
use crate::terminal::text::safe_line;
use crate::verbs::tell_faults;

/// What is wrong with a configuration, and what of it is not started, and why: one line each.
pub(super) fn left_out(config: &Config) {
    tell_faults(config);
    for server in &config.servers {
        let why = match &server.standing {
            Standing::Enabled => continue,
            Standing::Disabled => format!("it is switched off in {}", server.origin.file.display()),
            Standing::Held { why } => why.clone(),
        };
        note(&format!("contexture: {} is not started: {}", safe_line(&server.name), safe_line(&why)));
    }
}

/// How many servers are there to be used.
pub(super) fn served(config: &Config) -> usize {
    config.servers.iter().filter(|server| server.enabled()).count()
}

/// How many servers a configuration has, in words, and how many of them are of no use.
pub(super) fn counted(config: &Config) -> String {
    let all = config.servers.len();
    let known = |name: &str| config.servers.iter().any(|server| server.name == name);
    let errors = config.faults.iter().filter(|fault| fault.severity == Severity::Error);
    let broken: BTreeSet<&str> =
        errors.filter_map(|fault| fault.server.as_deref()).filter(|name| !known(name)).collect();
    let mut words = servers(all);
    let useless = [(all - served(config), "switched off"), (broken.len(), "with a mistake")];
    for (count, what) in useless.into_iter().filter(|(count, _)| *count > 0) {
        words.push_str(&format!(", {count} {what}"));
    }
    words
}

fn servers(count: usize) -> String {
    match count {
        1 => "1 server".to_owned(),
        count => format!("{count} servers"),
    }
}

/// The entry that takes the place of all others: in the words of those hosts whose servers are served, or in those of most.
/// What is taken out of their files has a place in our `own`.
pub(super) fn entry(config: &Config, url: Option<&str>, own: Option<&Path>) {
    let arguments = as_given();
    let way = url.map_or(Way::Command(&arguments), Way::Url);
    if served(config) == 0 {
        return note("Nothing is served: no server may be started yet");
    }
    let hosts = hosts(config);
    let what = match url {
        Some(_) => "The entry that stands for all of them",
        None => "The entry by which a host starts this",
    };
    let place = if hosts.is_empty() { ", for a host's configuration" } else { "" };
    note(&format!("{} served as one. {what}{place}:", servers(served(config))));
    for (host, files) in &hosts {
        let files: Vec<String> = files.iter().map(|file| safe_line(&file.display().to_string())).collect();
        note(&format!("in {}:", files.join(", ")));
        lines(*host, &config.name, way).iter().for_each(|line| note(&format!("  {line}")));
    }
    if hosts.is_empty() {
        lines(HostKind::Contexture, &config.name, way).iter().for_each(|line| note(&format!("  {line}")));
        note(
            "VS Code, Windsurf, Gemini, Codex and Claude Desktop have other words for it: see docs/gateway.md",
        );
    } else if let Some(own) = own {
        let own = safe_line(&own.display().to_string());
        note(&format!("What is taken out there is served no longer, unless it is put into {own}"));
    }
    if url.is_none() {
        note(&format!(
            "Waiting for a client on standard input; Ctrl-C ends it. --listen {ADDRESS} gives it a URL instead"
        ));
    }
}

/// The hosts whose servers are served, and the files that these are in.
fn hosts(config: &Config) -> BTreeMap<HostKind, BTreeSet<&Path>> {
    let mut hosts: BTreeMap<HostKind, BTreeSet<&Path>> = BTreeMap::new();
    for origin in config.servers.iter().filter(|server| server.enabled()).map(|server| &server.origin) {
        if origin.host != HostKind::Contexture {
            hosts.entry(origin.host).or_default().insert(&origin.file);
        }
    }
    hosts
}

/// Our arguments, as they were given. Hosts start programs in any folder, so files are named from the root.
fn as_given() -> Vec<String> {
    let mut is_file = false;
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let placed = words.map(|word| match (std::mem::replace(&mut is_file, word == "--config"), &word) {
        (true, file) => from_the_root(file),
        (false, word) => match word.strip_prefix("--config=") {
            Some(file) => format!("--config={}", from_the_root(file)),
            None => word.clone(),
        },
    });
    placed.collect()
}

fn from_the_root(file: &str) -> String {
    std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.to_string_lossy().into_owned())
}
