//! `export`: servers in another host's configuration, in that host's words. What it has no word for is named.

use contexture_host::config::edit::{Document, Entry, Translation};
use contexture_host::config::{ConfigFile, HostKind, Sources};
use serde_json::json;

use super::find::find;
use super::import::written_out;
use super::page::{Change, failure};
use crate::exit::Failure;
use crate::gateway::entry::program;
use crate::options::Exporting;

pub(in crate::verbs) fn export(exporting: &Exporting) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let host = match exporting.to.0.as_slice() {
        [host] => *host,
        several => {
            let words: Vec<&str> = several.iter().map(|host| host.word()).collect();
            return Err(Failure::usage(format!("say which is meant: {}", words.join(" or "))));
        }
    };
    let scope = exporting.writing.scope();
    let file = sources.file_of(host, scope).ok_or_else(|| {
        Failure::usage(format!("{host} has no file in projects"))
            .hint(Some("without --project, its own is written".to_owned()))
    })?;
    let chosen = chosen(&sources, exporting)?;
    let mut document = Document::open(&sources, &file).map_err(|fault| failure(&fault))?;
    let (mut servers, mut skipped, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (from, name, entry) in chosen {
        let way = Translation { sources: &sources, from: &from, to: &file, program: &program() };
        match way.entry(&entry) {
            Err(why) => skipped.push((name, why)),
            Ok(new) => {
                notes.extend(written_out(&entry).into_iter().map(|what| (name.clone(), what)));
                notes.extend(new.left.into_iter().map(|what| (name.clone(), what)));
                document.put(&name, &new.entry).map_err(|fault| failure(&fault))?;
                servers.push(name);
            }
        }
    }
    let writing = &exporting.writing;
    let change = Change { document: &document, writing, done: "exported", servers, skipped, notes };
    change.finish(!exporting.yes).map(drop)
}

/// The servers that are meant, and where they are.
fn chosen(sources: &Sources, exporting: &Exporting) -> Result<Vec<(ConfigFile, String, Entry)>, Failure> {
    let mut chosen = Vec::new();
    for word in &exporting.names {
        let (document, name) = find(sources, word, false)?;
        let entry = document.entry(&name).map(|(entry, _)| entry).unwrap_or_default();
        chosen.push((document.file().clone(), name, entry));
    }
    if !exporting.names.is_empty() {
        return Ok(chosen);
    }
    let Some(file) = sources.file_of(HostKind::Contexture, exporting.writing.scope()) else {
        return Ok(chosen);
    };
    let document = Document::open(sources, &file).map_err(|fault| failure(&fault))?;
    let disabled = ("enabled".to_owned(), json!(false));
    for name in document.servers() {
        let entry = document.entry(name).map(|(entry, _)| entry).filter(|entry| !entry.contains(&disabled));
        chosen.extend(entry.map(|entry| (file.clone(), name.to_owned(), entry)));
    }
    if chosen.is_empty() {
        let what = format!("there is no server to export in {}", file.path.display());
        return Err(Failure::usage(what)
            .hint(Some("`contexture export host:name --to HOST` takes another host's".to_owned())));
    }
    Ok(chosen)
}
