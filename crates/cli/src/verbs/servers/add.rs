//! `add`: a server under a name of its own. What is secret is referred to, not written down.

use contexture_host::config::edit::{Document, Entry, faults, is_secret, secret_argument};
use contexture_host::config::{ConfigFile, HostKind, Severity, Sources, Trust, proposals};
use serde_json::{Map, Value, json};

use super::page::{Change, failure};
use crate::exit::Failure;
use crate::options::{Adding, Transport, is_url};
use crate::terminal::secret;

pub(in crate::verbs) fn add(adding: &Adding) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let file = sources
        .file_of(HostKind::Contexture, adding.writing.scope())
        .ok_or_else(|| Failure::usage("there is no folder for a configuration: set HOME"))?;
    named(&adding.name)?;
    let entry = entry(adding)?;
    sound(&sources, &file, &adding.name, &entry)?;
    let mut document = Document::open(&sources, &file).map_err(|fault| failure(&fault))?;
    if let (false, Some((_, line))) = (adding.force, document.entry(&adding.name)) {
        let place = file.path.display();
        let hint = "--force replaces it; what its entry says beside how it is reached stays";
        return Err(Failure::usage(format!("{place}:{line}: there is a server {:?} already", adding.name))
            .hint(Some(hint.to_owned())));
    }
    document.put(&adding.name, &entry).map_err(|fault| failure(&fault))?;
    if !adding.writing.dry_run {
        keep_secrets(&sources, adding)?;
    }
    let change = Change {
        document: &document,
        writing: &adding.writing,
        done: "added",
        servers: vec![adding.name.clone()],
        skipped: Vec::new(),
        notes: notes(&sources, adding),
    };
    let written = change.finish(false).inspect_err(|_| forget_secrets(&sources, adding))?;
    if written && adding.writing.project {
        agree(&sources, &file, &adding.name)?;
    }
    Ok(())
}

/// A name that can be said on a command line, and in a reference.
fn named(name: &str) -> Result<(), Failure> {
    let is_bad = |char: char| char.is_control() || ":/\\{}$\"".contains(char);
    if name.is_empty() || name.len() > 128 || name.starts_with('-') || name.contains(is_bad) {
        let what = format!("{name:?} cannot be the name of a server");
        let hint =
            "it has 1 to 128 letters, and none of : / \\ { } $ \"; its URL or command comes after the name";
        return Err(Failure::usage(what).hint(Some(hint.to_owned())));
    }
    Ok(())
}

fn entry(adding: &Adding) -> Result<Entry, Failure> {
    let words: Option<Vec<&str>> = adding.command.iter().map(|word| word.to_str()).collect();
    let words = words.ok_or_else(|| Failure::usage("the command is no text in UTF-8"))?;
    match (&adding.url, words.as_slice()) {
        (None, []) => Err(Failure::usage(format!("how is {:?} reached?", adding.name))
            .hint(Some(format!("contexture add {0} URL, or contexture add {0} -- COMMAND …", adding.name)))),
        (Some(_), [_, ..]) => Err(Failure::usage("a server has a URL or a command, not both")),
        (Some(url), []) => address(adding, url),
        (None, [url]) if is_url(url) => address(adding, url),
        (None, [command, args @ ..]) => process(adding, command, args),
    }
}

fn address(adding: &Adding, url: &str) -> Result<Entry, Failure> {
    if !is_url(url) && !url.contains("://") && !url.contains("${") {
        return Err(Failure::usage(format!("{url:?} is no URL"))
            .hint(Some(format!("a command comes after `--`: contexture add {} -- {url}", adding.name))));
    }
    if adding.transport == Some(Transport::Stdio) {
        return Err(Failure::usage("a URL is reached over http or sse, not stdio"));
    }
    if !adding.env.is_empty() || adding.cwd.is_some() {
        return Err(Failure::usage("`--env` and `--cwd` are for servers that are started, not for URLs"));
    }
    let kind = if adding.transport == Some(Transport::Sse) { "sse" } else { "http" };
    let mut entry: Entry = vec![("type".into(), kind.into()), ("url".into(), url.into())];
    let mut headers: Map<String, Value> =
        adding.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    for name in &adding.secrets {
        let reference = reference(adding, name);
        let is_login = name.eq_ignore_ascii_case("authorization");
        headers.insert(name.clone(), if is_login { format!("Bearer {reference}") } else { reference }.into());
    }
    if !headers.is_empty() {
        entry.push(("headers".into(), headers.into()));
    }
    Ok(entry)
}

fn process(adding: &Adding, command: &str, args: &[&str]) -> Result<Entry, Failure> {
    if matches!(adding.transport, Some(Transport::Http | Transport::Sse)) {
        return Err(Failure::usage("a command is spoken to over stdio; http and sse are for URLs"));
    }
    if !adding.headers.is_empty() {
        return Err(Failure::usage("`--header` is for URLs, not for servers that are started"));
    }
    let mut entry: Entry = vec![("command".into(), command.into())];
    if !args.is_empty() {
        entry.push(("args".into(), json!(args)));
    }
    let mut env = Map::new();
    for variable in &adding.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (variable.as_str(), format!("${{{variable}}}")),
        };
        env.insert(name.to_owned(), value.into());
    }
    env.extend(adding.secrets.iter().map(|name| (name.clone(), reference(adding, name).into())));
    if !env.is_empty() {
        entry.push(("env".into(), env.into()));
    }
    if let Some(cwd) = &adding.cwd {
        // The user's file is in another folder than the person.
        let cwd = std::path::absolute(cwd)?;
        entry.push(("cwd".into(), json!(cwd)));
    }
    Ok(entry)
}

fn reference(adding: &Adding, name: &str) -> String {
    format!("${{keyring:{}/{name}}}", adding.name)
}

/// Refuses what could not be read back.
fn sound(sources: &Sources, file: &ConfigFile, name: &str, entry: &Entry) -> Result<(), Failure> {
    let fault =
        faults(sources, file, name, entry).into_iter().find(|fault| fault.severity == Severity::Error);
    match fault {
        Some(fault) => Err(Failure::usage(format!("{name}: {}", fault.what))),
        None => Ok(()),
    }
}

fn keep_secrets(sources: &Sources, adding: &Adding) -> Result<(), Failure> {
    for name in &adding.secrets {
        let asked = secret::ask(&format!("{name} for {}", adding.name))?;
        let secret =
            asked.ok_or_else(|| Failure::usage(format!("{name} was not given; nothing was changed")))?;
        if let Some(store) = &sources.secrets {
            store.keep(&format!("{}/{name}", adding.name), &secret)?;
        }
    }
    Ok(())
}

/// Nobody refers to what was not written; after `--force`, somebody may.
fn forget_secrets(sources: &Sources, adding: &Adding) {
    for name in adding.secrets.iter().filter(|_| !adding.force) {
        if let Some(store) = &sources.secrets {
            let _ = store.forget(&format!("{}/{name}", adding.name));
        }
    }
}

/// What is worth a word: secrets that are written out, variables that are not set.
fn notes(sources: &Sources, adding: &Adding) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    for variable in &adding.env {
        match variable.split_once('=') {
            Some((name, value)) if is_secret(name, value) => notes.push(format!(
                "{name} looks like a secret, and is written out in the file: `-e {name}` refers to the variable, `--secret {name}` keeps it in the keyring"
            )),
            None if sources.environment.get(variable).is_none() => {
                notes.push(format!("the variable {variable} is not set now; it has to be when the server is started"));
            }
            _ => {}
        }
    }
    for (name, value) in &adding.headers {
        if is_secret(name, value) {
            notes.push(format!(
                "{name} looks like a secret, and is written out in the file: `${{VARIABLE}}` in it refers to a variable, `--secret {name}` keeps it in the keyring"
            ));
        }
    }
    let args: Vec<String> = adding.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if secret_argument(&args).is_some() {
        let what = "an argument looks like a secret, is written out in the file, and can be seen by everybody on the machine while the server runs: give it as a variable, if the server takes one";
        notes.push(what.to_owned());
    }
    notes.into_iter().map(|what| (adding.name.clone(), what)).collect()
}

/// Who wrote it into the project's file has agreed to it; what else is in there is another matter.
fn agree(sources: &Sources, file: &ConfigFile, name: &str) -> Result<(), Failure> {
    let trust = Trust::at(&sources.state_folder());
    let proposals =
        proposals(sources, Some(&file.path)).map_err(|error| Failure::usage(error.to_string()))?;
    for proposal in proposals {
        let items = proposal.items.iter().filter(|item| item.server.as_deref() == Some(name));
        let items = items.map(|item| (item.server.as_deref(), item.definition));
        trust
            .give(&file.path, items)
            .map_err(|error| Failure::usage(format!("trust cannot be remembered: {error}")))?;
    }
    Ok(())
}
