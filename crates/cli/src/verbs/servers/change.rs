//! `remove`, `enable`, `disable`: one server that is configured.

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
        servers: vec![name],
        skipped: Vec::new(),
        notes: Vec::new(),
    };
    if !change.finish(false)? || !is_ours {
        return Ok(());
    }
    // Nobody refers to them any more.
    let secrets = entry.iter().flat_map(|(_, value)| referred_secrets(value));
    for secret in secrets {
        if let Some(Err(error)) = sources.secrets.as_ref().map(|store| store.forget(&secret)) {
            note(&format!("contexture: note: its secret is still in the keyring: {error}"));
        }
    }
    Ok(())
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
