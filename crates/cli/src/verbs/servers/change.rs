//! `remove`, `enable`, `disable`: one server that is configured.

use std::fs;
use std::path::Path;

use contexture_host::config::edit::referred_secrets;
use contexture_host::config::{HostKind, Sources};

use super::find::find;
use super::page::{Change, failure};
use crate::exit::Failure;
use crate::options::Naming;
use crate::terminal::note;

pub(in crate::verbs) fn remove(naming: &Naming) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let (mut document, name) = find(&sources, &naming.name, naming.writing.project)?;
    let entry = document.entry(&name).map(|(entry, _)| entry).unwrap_or_default();
    document.remove(&name).map_err(|fault| failure(&fault))?;
    let is_ours = document.file().host == HostKind::Contexture;
    let change = Change {
        document: &document,
        writing: &naming.writing,
        done: "removed",
        servers: vec![name.clone()],
        skipped: Vec::new(),
        notes: Vec::new(),
    };
    if !change.finish(false)? || !is_ours {
        return Ok(());
    }
    let secrets = entry.iter().flat_map(|(_, value)| referred_secrets(value));
    for secret in secrets.filter(|secret| is_its_own(&sources, &name, secret)) {
        if let Some(Err(error)) = sources.secrets.as_ref().map(|store| store.forget(&secret)) {
            note(&format!("contexture: note: its secret is still in the keyring: {error}"));
        }
    }
    Ok(())
}

/// Whether a secret was kept for this server, and nobody refers to it any more. Entries may refer to those of others.
fn is_its_own(sources: &Sources, server: &str, secret: &str) -> bool {
    let reference = format!("${{keyring:{secret}}}");
    let refers = |file: &Path| fs::read_to_string(file).is_ok_and(|text| text.contains(&reference));
    let is_for_it = secret.strip_prefix(server).is_some_and(|rest| rest.starts_with('/'));
    is_for_it && !sources.places(HostKind::Contexture).any(|file| refers(&file.path))
}

pub(in crate::verbs) fn switch(naming: &Naming, on: bool) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let (mut document, name) = find(&sources, &naming.name, naming.writing.project)?;
    document.switch(&name, on).map_err(|fault| failure(&fault))?;
    let change = Change {
        document: &document,
        writing: &naming.writing,
        done: if on { "enabled" } else { "disabled" },
        servers: vec![name],
        skipped: Vec::new(),
        notes: Vec::new(),
    };
    change.finish(false).map(drop)
}
