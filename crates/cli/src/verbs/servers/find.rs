//! Which file a server is in. Ours are meant, unless a host is named.

use contexture_host::config::edit::Document;
use contexture_host::config::{ConfigFile, HostKind, Scope, Sources, discover, near};

use super::page::failure;
use crate::exit::Failure;
use crate::options::hosts;

/// Whose server, and its name: `name`, `host:name`.
pub(super) fn split(word: &str) -> (Vec<HostKind>, &str) {
    match word.split_once(':') {
        Some((host, name)) if host == HostKind::Contexture.word() => (vec![HostKind::Contexture], name),
        Some((host, name)) => match hosts(host) {
            Ok(hosts) => (hosts.0, name),
            Err(_) => (vec![HostKind::Contexture], word),
        },
        None => (vec![HostKind::Contexture], word),
    }
}

/// The file that has this server: the user's own before the project's, unless only that is meant.
pub(super) fn find(sources: &Sources, word: &str, project: bool) -> Result<(Document, String), Failure> {
    let (hosts, name) = split(word);
    let mut files: Vec<ConfigFile> = hosts.iter().flat_map(|host| sources.places(*host)).collect();
    files.retain(|file| !project || file.scope == Scope::Project);
    files.sort_by_key(|file| file.scope);
    for file in files.iter().filter(|file| file.path.is_file()) {
        let document = Document::open(sources, file).map_err(|fault| failure(&fault))?;
        if document.servers().contains(&name) {
            return Ok((document, name.to_owned()));
        }
    }
    Err(unknown(sources, word, name))
}

fn unknown(sources: &Sources, word: &str, name: &str) -> Failure {
    let (mut same, mut all) = (Vec::new(), Vec::new());
    for file in discover(sources) {
        let Ok(document) = Document::open(sources, &file) else { continue };
        for server in document.servers() {
            let full = match file.host {
                HostKind::Contexture => server.to_owned(),
                host => format!("{host}:{server}"),
            };
            if server == name && !same.contains(&full) {
                same.push(full.clone());
            }
            all.push(full);
        }
    }
    let near: Vec<&str> = near(word, all.iter().map(String::as_str)).into_iter().take(3).collect();
    let hint = match (same.is_empty(), near.is_empty()) {
        (false, _) => Some(format!("there is {}; say it like that to mean it", same.join(", "))),
        (_, false) => Some(format!("did you mean {}?", near.join(", "))),
        _ => Some("`contexture list` shows all that are configured".to_owned()),
    };
    Failure::usage(format!("there is no server {word:?}")).hint(hint)
}
