//! Whether a file, or an entry that is to be written into it, is sound: what is broken is not changed, and nothing broken is written.

use std::path::Path;

use serde_json::Value;

use super::variables;
use crate::config::content;
use crate::config::entry::HostKind;
use crate::config::expand::Syntax;
use crate::config::fault::Fault;
use crate::config::format::Format;
use crate::config::node::{self, Node, Tree};
use crate::config::places::{ConfigFile, Sources};

/// Roots that people write in a file of another host.
const ROOTS: &[&str] = &["mcpServers", "servers", "mcp_servers", "mcp-servers", "mcpservers"];

/// What is wrong with an entry of ours that is to be written: what would be said of it when it is read, but for what its
/// references hold by then.
pub fn faults(sources: &Sources, file: &ConfigFile, name: &str, entry: &[(String, Value)]) -> Vec<Fault> {
    let refers = |value: &Value| value.to_string().contains("${");
    if let Some(what) = entry.iter().find_map(|(key, value)| misspelt(sources, key, value)) {
        return vec![Fault::error(&file.path, None, what)];
    }
    let kept: serde_json::Map<String, Value> = entry
        .iter()
        .map(|(key, value)| match value {
            Value::Object(members) => {
                let members = members.iter().filter(|(_, value)| !refers(value));
                (key.clone(), members.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            _ => (key.clone(), value.clone()),
        })
        .filter(|(key, value)| matches!(key.as_str(), "command" | "url") || !refers(value))
        .collect();
    if kept.values().any(refers) {
        return Vec::new();
    }
    let text = serde_json::json!({ "servers": { name: kept } }).to_string();
    match content::of_text(sources, file, &text, false) {
        Ok(content) => content.faults,
        Err(faults) => faults,
    }
}

/// The first reference in a value that is none.
fn misspelt(sources: &Sources, key: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let why = variables::read(Syntax::Own, text, sources, &sources.cwd).err()?;
            Some(format!("{key:?}: {why}"))
        }
        Value::Array(values) => values.iter().find_map(|value| misspelt(sources, key, value)),
        Value::Object(members) => members.iter().find_map(|(key, value)| misspelt(sources, key, value)),
        _ => None,
    }
}

pub(super) fn parse(file: &ConfigFile, text: &str) -> Result<Node, Fault> {
    let parse = if file.host == HostKind::Codex { node::toml } else { node::json };
    let tree = parse(text).map_err(|error| Fault::error(&file.path, error.line, error.what))?;
    once(&file.path, &tree)?;
    Ok(tree)
}

/// Of a key that is there twice, nobody knows which one is meant.
fn once(path: &Path, node: &Node) -> Result<(), Fault> {
    match &node.tree {
        Tree::Map(members) => {
            let mut seen = std::collections::HashSet::new();
            for member in members {
                if !seen.insert(member.key.as_str()) {
                    let what = format!("{:?} is there twice: take one of the two out", member.key);
                    return Err(Fault::error(path, Some(member.line), what));
                }
                once(path, &member.node)?;
            }
            Ok(())
        }
        Tree::List(nodes) => nodes.iter().try_for_each(|node| once(path, node)),
        _ => Ok(()),
    }
}

/// Where servers are in this file, and where new ones would go, last.
pub(super) fn maps(sources: &Sources, file: &ConfigFile, tree: &Node) -> Result<Vec<Vec<String>>, Fault> {
    let wrong = |line: usize, what: String| Fault::error(&file.path, Some(line), what);
    if tree.members().is_none() {
        let what = format!("this is {}, not an object: everything stands in `{{ … }}`", tree.kind());
        return Err(wrong(tree.line, what));
    }
    // VS Code looks nowhere else, though people paste what others have.
    let roots = match file.host {
        HostKind::VsCode => &Format::of(file.host).roots[..1],
        host => Format::of(host).roots,
    };
    let mut found = Vec::new();
    if file.host == HostKind::ClaudeCode {
        let real = sources.cwd.canonicalize().ok();
        let projects = tree.get("projects").and_then(Node::members).unwrap_or_default();
        let ours = projects.iter().filter(|project| {
            let folder = Path::new(&project.key);
            (folder == sources.cwd || real.as_deref() == Some(folder))
                && project.node.get("mcpServers").is_some()
        });
        found.extend(
            ours.map(|project| vec!["projects".to_owned(), project.key.clone(), "mcpServers".to_owned()]),
        );
    }
    let there = roots.iter().filter(|root| tree.get(root).is_some());
    let there: Vec<Vec<String>> = there.map(|root| vec![(*root).to_owned()]).collect();
    let stray = ROOTS
        .iter()
        .find_map(|root| Some((*root, tree.get(root)?)))
        .filter(|(root, _)| !roots.contains(root));
    if let (true, Some((root, node))) = (there.is_empty(), stray) {
        let what = format!(
            "servers are under {root:?} here, and {} looks for them under {:?}: rename it",
            file.host, roots[0]
        );
        return Err(wrong(node.line, what));
    }
    found.extend(if there.is_empty() { vec![vec![roots[0].to_owned()]] } else { there });
    for path in &found {
        let map = path.iter().try_fold(tree, |node, key| node.get(key));
        if let Some(map) = map.filter(|map| map.members().is_none()) {
            let what = format!(
                "{:?} is {}, not an object: write \"NAME\": {{ … }} for each server",
                path.last().map(String::as_str).unwrap_or_default(),
                map.kind()
            );
            return Err(wrong(map.line, what));
        }
    }
    Ok(found)
}
