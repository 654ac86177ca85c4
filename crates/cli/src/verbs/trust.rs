//! `trust`: shows what a project's files would start, and remembers that a person agreed.
//!
//! What is remembered is what was shown, not what the file says by then. Variables are shown as they are written.

use std::io;
use std::path::Path;

use contexture_host::config::{Agreed, Proposal, Proposed, Sources, Trust, Trusted, proposals};
use serde_json::{Value, json};

use super::print;
use crate::exit::Failure;
use crate::options::Trusting;
use crate::terminal::text::{safe_json, safe_line};
use crate::terminal::{note, person};

pub(super) fn trust(options: &Trusting) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let trust = Trust::at(&sources.state_folder());
    if options.list {
        return list(&trust, options);
    }
    // Before anything is read: who takes something back may have broken it.
    if let (true, Some(file)) = (options.withdraw, &options.file) {
        return withdraw(&trust, &[&sources.cwd.join(file)], options);
    }
    let proposals =
        proposals(&sources, options.file.as_deref()).map_err(|error| Failure::usage(error.to_string()))?;
    if options.withdraw {
        let files: Vec<&Path> = proposals.iter().map(|proposal| proposal.file.path.as_path()).collect();
        return withdraw(&trust, &files, options);
    }
    agree(&sources, &trust, &proposals, options)
}

fn agree(
    sources: &Sources,
    trust: &Trust,
    proposals: &[Proposal],
    options: &Trusting,
) -> Result<(), Failure> {
    let new: Vec<&Proposal> = proposals.iter().filter(|proposal| open(proposal).next().is_some()).collect();
    for fault in proposals.iter().flat_map(|proposal| &proposal.faults) {
        note(&format!("contexture: {}", safe_line(&fault.to_string())));
    }
    for proposal in &new {
        show(proposal);
    }
    if !new.is_empty() && !options.yes {
        confirm(question(&new))?;
    }
    for proposal in &new {
        let items = open(proposal).map(|item| (item.server.as_deref(), item.definition));
        let file = sources.cwd.join(&proposal.file.path);
        trust.give(&file, items).map_err(|error| unusable(trust, &error))?;
    }
    let agreed: Vec<Value> =
        new.iter().flat_map(|proposal| open(proposal).map(|item| named(proposal, item))).collect();
    print(options.format, &json!({ "trusted": agreed }), || match (proposals.is_empty(), agreed.len()) {
        (true, _) => "no file of a project is here".to_owned(),
        (_, 0) => "nothing here is waiting to be trusted".to_owned(),
        (_, count) => format!("{count} trusted; one that changes will be asked about again"),
    })
}

/// What nobody has agreed to as it is now.
fn open(proposal: &Proposal) -> impl Iterator<Item = &Proposed> {
    proposal.items.iter().filter(|item| item.trusted != Trusted::Yes)
}

fn named(proposal: &Proposal, item: &Proposed) -> Value {
    json!({ "file": proposal.file.path, "server": item.server })
}

/// On standard error, where questions are asked.
fn show(proposal: &Proposal) {
    note(&format!("{} says:", safe_line(&proposal.file.path.display().to_string())));
    for item in open(proposal) {
        let what = match &item.server {
            Some(name) => format!("server {}", safe_line(name)),
            None => "settings beside the servers, which take effect behind your own".to_owned(),
        };
        let changed = if item.trusted == Trusted::Changed { ", changed since it was trusted" } else { "" };
        note(&format!("  {what}{changed}"));
        if let Some(line) = started(&item.written) {
            note(&format!("    runs: {line}"));
        }
        let text = serde_json::to_string_pretty(&item.written).unwrap_or_default();
        for line in safe_json(&text).lines() {
            note(&format!("    {line}"));
        }
    }
}

/// The command as one line, each word by itself in quotes if it has to be.
fn started(written: &Value) -> Option<String> {
    let command = written.get("command")?.as_str()?;
    let args = written.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = std::iter::once(command).chain(args.filter_map(Value::as_str));
    Some(words.map(super::hint::quoted).map(|word| safe_line(&word)).collect::<Vec<_>>().join(" "))
}

/// What is agreed to, in one line: servers, settings or both.
fn question(new: &[&Proposal]) -> &'static str {
    let any =
        |settings: bool| new.iter().flat_map(|one| open(one)).any(|item| item.server.is_none() == settings);
    match (any(false), any(true)) {
        (true, true) => {
            "May these be started, whenever their servers are used, and may the settings (rules, too) take effect?"
        }
        (false, true) => "May these settings (rules, too) take effect?",
        _ => "May these be started, whenever their servers are used?",
    }
}

fn confirm(question: &str) -> Result<(), Failure> {
    match person::agrees(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::usage("not trusted; nothing was remembered")),
        None => {
            let hint = "run this at a terminal, or say --yes if you know what is in the file";
            Err(Failure::usage("nobody is here to agree").hint(Some(hint.to_owned())))
        }
    }
}

fn withdraw(trust: &Trust, files: &[&Path], options: &Trusting) -> Result<(), Failure> {
    let mut gone = Vec::new();
    for file in files {
        if trust.withdraw(file).map_err(|error| unusable(trust, &error))? {
            gone.push(json!(file));
        }
    }
    print(options.format, &json!({ "withdrawn": gone }), || match gone.len() {
        0 => "nothing was trusted there".to_owned(),
        _ => "no longer trusted".to_owned(),
    })
}

fn list(trust: &Trust, options: &Trusting) -> Result<(), Failure> {
    let all = trust.list().map_err(|error| unusable(trust, &error))?;
    let report: Vec<Value> = all
        .iter()
        .map(|one| json!({ "file": one.file, "servers": one.servers, "settings": one.settings }))
        .collect();
    print(options.format, &report, || all.iter().map(line).collect())
}

fn line(agreed: &Agreed) -> String {
    let mut names: Vec<&str> = agreed.servers.iter().map(String::as_str).collect();
    if agreed.settings {
        names.push("(settings beside the servers)");
    }
    format!("{}: {}\n", safe_line(&agreed.file.display().to_string()), safe_line(&names.join(", ")))
}

fn unusable(trust: &Trust, error: &io::Error) -> Failure {
    let hint = "name another folder in XDG_STATE_HOME if that cannot be mended";
    let folder = trust.folder().display();
    Failure::usage(format!("{folder}: trust cannot be remembered: {error}")).hint(Some(hint.to_owned()))
}
