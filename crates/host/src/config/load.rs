//! Many files become one configuration.
//!
//! A server's name is taken by the first of: files that were named, ours in the project, ours of the user, those of other
//! hosts; but what is held never takes a name from what is not. Everything else (name, policy, sampling, audit, limits) is the
//! user's word before the project's.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::content::{self, Content, MOST_SERVERS, Settings};
use super::draft::Found;
use super::entry::{HostKind, Scope, ServerEntry, Standing};
use super::fault::{Concern, ConfigError, Fault, Severity};
use super::nearest::nearest;
use super::pattern::Pattern;
use super::places::{ConfigFile, Sources};
use super::stray::Known;
use super::trust::{Trust, Trusted};
use super::{Config, Limits};
use crate::consent::{Decision, PolicyConfig, Rule};
use crate::sampling::SamplingConfig;

/// Reads all that is configured. Starts nothing.
///
/// # Errors
///
/// If a file that was named, or the user's own, cannot be used as a whole: what it would have forbidden is not known.
pub fn load(sources: &Sources) -> Result<Config, ConfigError> {
    Loader::default().load(sources)
}

/// Reads again and again; a file that has become unusable counts as it was when it was usable, and so does the user's own
/// when it is gone.
#[derive(Debug, Default)]
pub(super) struct Loader {
    remembered: HashMap<PathBuf, Content>,
}

impl Loader {
    pub(super) fn load(&mut self, sources: &Sources) -> Result<Config, ConfigError> {
        let mut gathered = Gathered::default();
        if sources.files.is_empty() {
            for file in sources.places(HostKind::Contexture) {
                self.take(sources, file, &mut gathered);
            }
            let mut hosts = sources.import.clone();
            hosts.extend(gathered.contents.iter().flat_map(user_import));
            for host in HostKind::ALL.into_iter().skip(1).filter(|host| hosts.contains(host)) {
                sources.places(host).for_each(|file| self.take(sources, file, &mut gathered));
            }
        } else {
            for path in &sources.files {
                self.take(sources, ConfigFile::named(path), &mut gathered);
            }
        }
        if !gathered.fatal.is_empty() {
            return Err(ConfigError { faults: gathered.fatal });
        }
        gathered.into_config(sources)
    }

    fn take(&mut self, sources: &Sources, file: ConfigFile, gathered: &mut Gathered) {
        let path = sources.cwd.join(&file.path);
        if gathered.files.contains(&path) {
            return;
        }
        gathered.files.push(path.clone());
        match content::read(sources, &file) {
            Ok(Some(content)) => {
                self.remembered.insert(path, content.clone());
                gathered.contents.push(content);
            }
            Ok(None) if file.scope == Scope::CommandLine => {
                let fault = Fault::error(&file.path, None, "there is no such file");
                gathered.fatal.push(fault.about(Concern::File));
            }
            // What it forbids must not be allowed because it was moved away for a moment, or by somebody else.
            Ok(None) if is_users(&file) && self.remembered.contains_key(&path) => {
                let what = "there is no such file any more; what it said stays in force until there is one again, or until the next start";
                gathered.faults.push(Fault::error(&file.path, None, what));
                self.as_it_was(&path, gathered);
            }
            Ok(None) => {
                self.remembered.remove(&path);
            }
            Err(faults) if self.remembered.contains_key(&path) => {
                gathered.faults.extend(faults);
                self.as_it_was(&path, gathered);
            }
            // A project must not be able to keep us from starting.
            Err(faults) if file.scope == Scope::CommandLine || is_users(&file) => {
                gathered.fatal.extend(faults);
            }
            Err(faults) => gathered.faults.extend(faults),
        }
    }

    /// What a file said when it could last be used; what was wrong with it then is no news.
    fn as_it_was(&self, path: &Path, gathered: &mut Gathered) {
        let last = self.remembered.get(path);
        gathered.contents.extend(last.map(|last| Content { faults: Vec::new(), ..last.clone() }));
    }
}

fn is_users(file: &ConfigFile) -> bool {
    file.host == HostKind::Contexture && file.scope == Scope::User
}

/// Only a user's own file says whose files are read, too.
fn user_import(content: &Content) -> Vec<HostKind> {
    if content.file.scope == Scope::User { content.settings.import.clone() } else { Vec::new() }
}

/// All files, one after the other, the strongest first.
#[derive(Debug, Default)]
struct Gathered {
    contents: Vec<Content>,
    faults: Vec<Fault>,
    fatal: Vec<Fault>,
    files: Vec<PathBuf>,
}

impl Gathered {
    fn into_config(mut self, sources: &Sources) -> Result<Config, ConfigError> {
        let trust = Trust::at(&sources.state_folder());
        for content in &mut self.contents {
            self.faults.append(&mut content.faults);
            hold(&trust, sources, content, &mut self.faults);
        }
        // The user's word before the project's; among equals, as they came.
        let mut settings: Vec<(ConfigFile, Settings)> = self
            .contents
            .iter_mut()
            .map(|content| (content.file.clone(), std::mem::take(&mut content.settings)))
            .collect();
        settings.sort_by_key(|(file, _)| file.scope);
        let candidates: Vec<Found> = self.contents.into_iter().flat_map(|content| content.found).collect();
        let known = Known::of(&candidates, &self.faults);
        settings.iter().for_each(|(file, one)| known.look_through(&file.path, one, &mut self.faults));
        let chosen = merge(select(candidates, &sources.only)?, &mut self.faults);
        let mut config = Config::new(Vec::new());
        config.policy = policy(&settings, &chosen, &mut self.faults);
        for (_, one) in settings {
            config.name = one.name.filter(|_| config.name == super::NAME).unwrap_or(config.name);
            config.sampling = one
                .sampling
                .filter(|_| config.sampling == SamplingConfig::default())
                .unwrap_or(config.sampling);
            config.audit = config.audit.or(one.audit);
            config.limits =
                one.limits.filter(|_| config.limits == Limits::default()).unwrap_or(config.limits);
        }
        config.servers = chosen.into_iter().map(|found| found.entry).collect();
        config.servers.sort_by(|one, other| one.name.cmp(&other.name));
        config.faults = self.faults;
        config.files = self.files;
        Ok(config)
    }
}

/// Holds back what a project's file says until somebody trusts it.
fn hold(trust: &Trust, sources: &Sources, content: &mut Content, faults: &mut Vec<Fault>) {
    if content.file.scope != Scope::Project {
        return;
    }
    let path = sources.cwd.join(&content.file.path);
    for found in &mut content.found {
        let entry = &mut found.entry;
        let standing = trust.of(&path, Some(&entry.name), &entry.definition);
        if standing != Trusted::Yes && entry.enabled() {
            entry.standing = Standing::Held { why: words(standing, &content.file.path) };
        }
    }
    if let Some((digest, _)) = &content.settings.written {
        let standing = trust.of(&path, None, digest);
        if standing != Trusted::Yes {
            let what = format!(
                "its settings beside the servers are left out: {}",
                words(standing, &content.file.path)
            );
            faults.push(Fault::notice(&content.file.path, None, what));
            content.settings = Settings::default();
        }
    }
}

fn words(standing: Trusted, file: &Path) -> String {
    let file = file.display();
    match standing {
        Trusted::Changed => {
            format!("changed since it was trusted; `contexture trust {file}` shows it and asks")
        }
        _ => format!("in a project that nobody has trusted; `contexture trust {file}` shows it and asks"),
    }
}

/// Those that were asked for, by `host:name` first.
fn select(candidates: Vec<Found>, only: &[String]) -> Result<Vec<Found>, ConfigError> {
    if only.is_empty() {
        return Ok(candidates);
    }
    let mut faults = Vec::new();
    for wanted in only {
        let meant = |found: &Found| found.entry.name == *wanted || found.entry.full_name() == *wanted;
        if !candidates.iter().any(meant) {
            let near = nearest(wanted, candidates.iter().map(|found| found.entry.name.as_str()));
            let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            faults.push(Fault::error(
                Path::new("the command line"),
                None,
                format!("there is no server {wanted:?}{near}"),
            ));
        }
    }
    if !faults.is_empty() {
        return Err(ConfigError { faults });
    }
    let (full, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|found| only.contains(&found.entry.full_name()));
    let rest = rest.into_iter().filter(|found| only.contains(&found.entry.name));
    Ok(full.into_iter().chain(rest).collect())
}

/// One server for each name: the first, but nothing that is held before something that is not.
fn merge(candidates: Vec<Found>, faults: &mut Vec<Fault>) -> Vec<Found> {
    let held = |found: &Found| matches!(found.entry.standing, Standing::Held { .. });
    let (held, free): (Vec<_>, Vec<_>) = candidates.into_iter().partition(held);
    let mut chosen: Vec<Found> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for found in free.into_iter().chain(held) {
        let Some(winner) = places.get(&found.entry.name) else {
            if chosen.len() == MOST_SERVERS {
                let what = format!(
                    "more than {MOST_SERVERS} servers in all files: this one and others are left out"
                );
                faults.push(about(&found.entry, Severity::Error, what));
                break;
            }
            places.insert(found.entry.name.clone(), chosen.len());
            chosen.push(found);
            continue;
        };
        let winner = &chosen[*winner].entry;
        let what = format!(
            "left out: {} has one of this name; select this one as {:?}",
            winner.origin.file.display(),
            found.entry.full_name(),
        );
        faults.push(about(&found.entry, Severity::Notice, what));
    }
    chosen
}

fn about(entry: &ServerEntry, severity: Severity, what: String) -> Fault {
    let fault = Fault::error(&entry.origin.file, entry.origin.line, what).of(&entry.name);
    Fault { severity, ..fault }
}

/// All rules in one list, of which the first that matches decides: the user's, the project's, those that other hosts have.
fn policy(settings: &[(ConfigFile, Settings)], chosen: &[Found], faults: &mut Vec<Fault>) -> PolicyConfig {
    let mut policy = PolicyConfig::default();
    for section in settings.iter().filter_map(|(_, settings)| settings.policy.as_ref()) {
        policy.default = policy.default.or(section.default);
        policy.rules.extend(section.rules.iter().cloned());
    }
    for found in chosen {
        policy.rules.extend(approvals(found, faults));
    }
    policy
}

/// What a user allowed in another host is allowed here, for the very server that it was said of.
fn approvals(found: &Found, faults: &mut Vec<Fault>) -> Vec<Rule> {
    let entry = &found.entry;
    let mut rules = Vec::new();
    for tool in &found.approved {
        if entry.origin.scope != Scope::User {
            let what = "tools that a file allows without a question are asked about: only files of the user's own decide that";
            faults.push(about(entry, Severity::Notice, what.to_owned()));
            break;
        }
        // A star in a name would allow more than was meant.
        if entry.name.contains('*') || (tool.contains('*') && tool != "*") {
            let what = format!(
                "{tool:?} is not allowed without a question: a name with a star in it means more than itself"
            );
            faults.push(about(entry, Severity::Notice, what));
            continue;
        }
        rules.push(Rule {
            server: Some(Pattern::new(&entry.name)),
            tool: Some(Pattern::new(tool)),
            prompt: None,
            resource: None,
            kinds: Vec::new(),
            principal: None,
            annotations: None,
            arguments: BTreeMap::new(),
            decision: Decision::Allow,
            reason: Some(format!("allowed in {}", entry.origin.file.display())),
        });
    }
    rules
}

/// What one project's file asks to be trusted with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The file.
    pub file: ConfigFile,
    /// What is in it, as it was written.
    pub items: Vec<Proposed>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// One thing that can be trusted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposed {
    /// Which server; `None` for the settings beside the servers.
    pub server: Option<String>,
    /// As it was written: no variable is filled in.
    pub written: Value,
    /// What is remembered if it is trusted.
    pub definition: [u8; 32],
    /// How it stands now.
    pub trusted: Trusted,
}

/// What a project's files, or the one that is named, ask to be trusted with.
///
/// # Errors
///
/// If a file that was named cannot be read.
pub fn proposals(sources: &Sources, file: Option<&Path>) -> Result<Vec<Proposal>, ConfigError> {
    let files: Vec<ConfigFile> = match file {
        Some(path) => vec![ConfigFile { scope: Scope::Project, ..ConfigFile::named(path) }],
        None => {
            let all = HostKind::ALL.into_iter().flat_map(|host| sources.places(host));
            all.filter(|file| file.scope == Scope::Project).collect()
        }
    };
    let trust = Trust::at(&sources.state_folder());
    let mut proposals = Vec::new();
    for one in files {
        match content::read(sources, &one) {
            Ok(Some(content)) => proposals.push(proposal(&trust, sources, content)),
            Ok(None) if file.is_none() => {}
            Ok(None) => {
                return Err(ConfigError {
                    faults: vec![Fault::error(&one.path, None, "there is no such file")],
                });
            }
            Err(faults) if file.is_some() => return Err(ConfigError { faults }),
            Err(faults) => proposals.push(Proposal { file: one, items: Vec::new(), faults }),
        }
    }
    Ok(proposals)
}

fn proposal(trust: &Trust, sources: &Sources, content: Content) -> Proposal {
    let path = sources.cwd.join(&content.file.path);
    let settings =
        content.settings.written.into_iter().map(|(definition, written)| (None, definition, written));
    let servers = content.found.into_iter();
    let servers = servers.map(|found| (Some(found.entry.name), found.entry.definition, found.written));
    let items = servers.chain(settings).map(|(server, definition, written)| Proposed {
        trusted: trust.of(&path, server.as_deref(), &definition),
        server,
        written,
        definition,
    });
    Proposal { items: items.collect(), file: content.file, faults: content.faults }
}
