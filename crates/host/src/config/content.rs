//! What one file says.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Limits;
use super::draft::{self, Found};
use super::entry::HostKind;
use super::expand::Expand;
use super::fault::{Concern, Fault};
use super::files;
use super::format::Format;
use super::node::{self, Member, Node, Tree};
use super::places::{ConfigFile, Sources};
use super::reading::Reading;
use super::rules;
use super::sections;
use crate::consent::{AuditConfig, PolicyConfig};
use crate::sampling::SamplingConfig;

/// How many servers one file, and all files together, may have.
pub(super) const MOST_SERVERS: usize = 1000;

/// Keys of our own file.
pub(super) const ROOT_KEYS: &[&str] =
    &["$schema", "name", "servers", "mcpServers", "import", "policy", "sampling", "audit", "limits"];

/// A file that could be read.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) file: ConfigFile,
    pub(super) found: Vec<Found>,
    pub(super) settings: Settings,
    pub(super) faults: Vec<Fault>,
}

/// What a file of ours says beside its servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) name: Option<String>,
    pub(super) import: Vec<HostKind>,
    pub(super) policy: Option<PolicyConfig>,
    /// Where each rule of it is.
    pub(super) rule_lines: Vec<usize>,
    pub(super) sampling: Option<SamplingConfig>,
    pub(super) audit: Option<AuditConfig>,
    pub(super) limits: Option<Limits>,
    /// A digest of all of it, and all of it as it was written, if there is any.
    pub(super) written: Option<([u8; 32], Value)>,
}

/// Reads a file; `None` if there is none. What makes all of it unusable comes back as an error.
pub(super) fn read(sources: &Sources, file: &ConfigFile) -> Result<Option<Content>, Vec<Fault>> {
    let path = sources.cwd.join(&file.path);
    let text = match files::text(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        Err(what) => return Err(vec![Fault::error(&file.path, None, what).about(Concern::File)]),
    };
    of_text(sources, file, &text, shared(&path)).map(Some)
}

/// What a file would say that has this text.
pub(super) fn of_text(
    sources: &Sources,
    file: &ConfigFile,
    text: &str,
    shared: bool,
) -> Result<Content, Vec<Fault>> {
    let parse = if file.host == HostKind::Codex { node::toml } else { node::json };
    let tree = parse(text)
        .map_err(|error| vec![Fault::error(&file.path, error.line, error.what).about(Concern::Syntax)])?;
    let workspace = file.workspace(sources);
    let syntax = Format::of(file.host).syntax;
    let expand =
        Expand::new(syntax, &sources.environment, &sources.home, &workspace, sources.secrets.as_ref());
    let mut reading = Reading::new(&file.path, file.host, file.scope, expand);
    let content = interpret(&mut reading, sources, file, &tree, shared);
    if reading.broken {
        return Err(reading.faults);
    }
    Ok(Content { faults: reading.faults, ..content })
}

fn interpret(
    reading: &mut Reading<'_>,
    sources: &Sources,
    file: &ConfigFile,
    tree: &Node,
    shared: bool,
) -> Content {
    let members = reading.map(tree, "the file");
    let settings = match file.host {
        HostKind::Contexture => settings(reading, members),
        _ => Settings::default(),
    };
    let mut found: Vec<Found> = Vec::new();
    for (line, servers) in server_maps(sources, file, tree) {
        let members = reading.map(servers, "servers");
        if found.len() + members.len() > MOST_SERVERS {
            reading.error(line, format!("more than {MOST_SERVERS} servers"));
            break;
        }
        for member in members {
            if let Some(new) = one(reading, member, shared) {
                match found.iter().find(|old| old.entry.name == new.entry.name) {
                    Some(_) => reading.notice(
                        member.line,
                        format!("{:?} is there before, nearer to this project", member.key),
                    ),
                    None => found.push(new),
                }
            }
        }
    }
    if file.host == HostKind::Gemini {
        gemini_lists(reading, tree, &mut found);
    }
    Content { file: file.clone(), found, settings, faults: Vec::new() }
}

/// Where servers are; Claude Code keeps those of each project beside those of the user.
fn server_maps<'n>(sources: &Sources, file: &ConfigFile, tree: &'n Node) -> Vec<(usize, &'n Node)> {
    let mut maps = Vec::new();
    if file.host == HostKind::ClaudeCode {
        let projects = tree.get("projects").and_then(Node::members).unwrap_or_default();
        let real = sources.cwd.canonicalize().ok();
        let ours = projects.iter().filter(|project| {
            let folder = Path::new(&project.key);
            folder == sources.cwd || real.as_deref() == Some(folder)
        });
        maps.extend(ours.filter_map(|project| project.node.get("mcpServers")));
    }
    maps.extend(Format::of(file.host).roots.iter().filter_map(|root| tree.get(root)));
    maps.into_iter().map(|node| (node.line, node)).collect()
}

fn one(reading: &mut Reading<'_>, member: &Member, shared: bool) -> Option<Found> {
    let found = draft::entry(reading, &member.key, member.line, &member.node)?;
    if shared && has_secret(&member.node) {
        let what = "a secret is written here, and others on this machine can read the file: take it from a variable, or make the file yours alone (chmod 600)";
        reading.server = Some(member.key.clone());
        reading.notice(member.line, what);
        reading.server = None;
    }
    Some(found)
}

/// Servers that Gemini's user allows or excludes by name.
fn gemini_lists(reading: &mut Reading<'_>, tree: &Node, found: &mut [Found]) {
    let mut names = |key: &str| {
        let list = tree.get("mcp").and_then(|mcp| mcp.get(key))?;
        Some(reading.texts(list, key))
    };
    let (allowed, excluded) = (names("allowed"), names("excluded").unwrap_or_default());
    for found in found {
        let name = &found.entry.name;
        if excluded.contains(name) || allowed.as_ref().is_some_and(|allowed| !allowed.contains(name)) {
            found.entry.standing = super::Standing::Disabled;
        }
    }
}

fn settings(reading: &mut Reading<'_>, members: &[Member]) -> Settings {
    let mut settings = Settings::default();
    let mut written: Vec<Member> = Vec::new();
    for member in members {
        let (key, node) = (member.key.as_str(), &member.node);
        match key {
            "$schema" | "servers" | "mcpServers" => continue,
            "name" => settings.name = reading.text(node, key),
            "import" => settings.import = import(reading, node),
            "policy" => {
                let sound = rules::are_sound(reading, node);
                settings.policy = if sound { section(reading, node, key) } else { None };
                settings.rule_lines = lines(node.get("rules"));
            }
            "sampling" => {
                settings.sampling = section(reading, node, key).map(|sampling| keys(reading, sampling))
            }
            "audit" => {
                let audit = section::<AuditConfig>(reading, node, key);
                settings.audit =
                    audit.map(|audit| AuditConfig { path: reading.base().join(&audit.path), ..audit });
            }
            "limits" => {
                let mut limits = Limits::default();
                sections::limits(reading, node, &mut limits);
                settings.limits = Some(limits);
            }
            other => sections::unknown(reading, other, member.line, "this file", ROOT_KEYS),
        }
        written.push(member.clone());
    }
    if let Some(first) = written.first() {
        let all = Node { line: first.line, range: 0..0, tree: Tree::Map(written) };
        let mut digest = node::begin();
        all.digest(&mut digest);
        settings.written = Some((node::finish(digest), all.to_value()));
    }
    settings
}

fn import(reading: &mut Reading<'_>, node: &Node) -> Vec<HostKind> {
    let words: Vec<(&str, HostKind)> = HostKind::ALL[1..].iter().map(|host| (host.word(), *host)).collect();
    let Tree::List(nodes) = &node.tree else {
        reading.error(node.line, "\"import\" is no list of hosts");
        return Vec::new();
    };
    nodes.iter().filter_map(|node| reading.one_of(node, "import", &words)).collect()
}

/// The line of each thing in a list.
fn lines(list: Option<&Node>) -> Vec<usize> {
    match list.map(|list| &list.tree) {
        Some(Tree::List(nodes)) => nodes.iter().map(|node| node.line).collect(),
        _ => Vec::new(),
    }
}

/// A section that others interpret, with variables in its texts filled in.
///
/// Whether it can be interpreted is asked of what was written first: what a variable holds must not be in a complaint.
fn section<T: DeserializeOwned>(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<T> {
    // A list would be taken for the values of all keys in their order.
    if matches!(node.tree, Tree::List(_)) {
        reading.error(node.line, format!("{key:?} is a list, not an object"));
        return None;
    }
    if let Err(error) = serde_json::from_value::<T>(node.to_value()) {
        reading.error(node.line, format!("{key:?}: {error}"));
        return None;
    }
    let filled = serde_json::from_value(filled(reading, node, key)?);
    if filled.is_err() {
        reading.error(node.line, format!("{key:?} cannot be used with what its variables hold"));
    }
    filled.ok()
}

/// Files of keys are where this file says, not where we happen to run.
fn keys(reading: &Reading<'_>, mut sampling: SamplingConfig) -> SamplingConfig {
    for file in sampling.providers.values_mut().filter_map(|provider| provider.key_file.as_mut()) {
        *file = reading.base().join(&*file);
    }
    sampling
}

fn filled(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<Value> {
    match &node.tree {
        Tree::Text(_) => reading.text(node, key).map(Value::String),
        Tree::List(nodes) => nodes.iter().map(|node| filled(reading, node, key)).collect(),
        Tree::Map(_) => {
            let members = reading.map(node, key).iter();
            let members =
                members.map(|member| Some((member.key.clone(), filled(reading, &member.node, &member.key)?)));
            members.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        _ => Some(node.to_value()),
    }
}

/// Whether an entry has what looks like a secret in it, and not the name of a variable.
fn has_secret(entry: &Node) -> bool {
    let sections = ["env", "headers", "http_headers"].iter().filter_map(|key| entry.get(key)?.members());
    sections.flatten().any(|member| {
        let key = member.key.to_ascii_lowercase();
        let named =
            ["authorization", "token", "secret", "password", "key"].iter().any(|word| key.contains(word));
        named && matches!(&member.node.tree, Tree::Text(text) if !text.is_empty() && !text.contains('$'))
    })
}

/// Whether others can read a file.
#[cfg(unix)]
fn shared(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn shared(_path: &Path) -> bool {
    false
}
