//! Servers by a file: a program, a script in a language that says so by its name, a configuration, or a transcript.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contexture_host::config::{Sources, load};

use super::Place;
use crate::exit::Failure;
use crate::nearest;

/// What runs a script, by the end of its name.
const INTERPRETERS: &[(&str, &str)] =
    &[("py", "python3"), ("js", "node"), ("mjs", "node"), ("cjs", "node"), ("ts", "node"), ("mts", "node")];
const CONFIGURATIONS: &[&str] = &["json", "jsonc", "toml"];
const TRANSCRIPT: &str = "jsonl";

/// Whether a word is a path: it has a folder in it, or an ending that we know.
pub(super) fn is_meant(word: &str) -> bool {
    let word = split(word).0;
    word.contains(['/', std::path::MAIN_SEPARATOR]) || {
        let ending = ending(Path::new(word));
        INTERPRETERS.iter().any(|(known, _)| *known == ending)
            || CONFIGURATIONS.contains(&ending)
            || ending == TRANSCRIPT
    }
}

pub(super) fn find(word: &str) -> Result<Place, Failure> {
    let (path, name) = split(word);
    let path = Path::new(path);
    let about =
        std::fs::metadata(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    if about.is_dir() {
        return Err(Failure::usage(format!("{} is a folder, not a server", path.display())));
    }
    let ending = ending(path);
    if ending == TRANSCRIPT {
        return Ok(Place::Transcript(path.to_owned()));
    }
    if CONFIGURATIONS.contains(&ending) {
        return in_configuration(path, name);
    }
    let interpreter = INTERPRETERS.iter().find(|(known, _)| *known == ending).map(|(_, program)| program);
    match interpreter {
        Some(program) => Ok(Place::Command(vec![program.into(), path.into()])),
        None if is_program(&about) => Ok(Place::Command(vec![runnable(path)])),
        None => Err(Failure::usage(format!("{} is not a program: it may not be executed", path.display()))
            .hint(Some("the command that runs it can be given after `--`".to_owned()))),
    }
}

/// `FILE:NAME`, where the file is there and has that ending.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.rsplit_once(':') {
        Some((file, name)) if CONFIGURATIONS.contains(&ending(Path::new(file))) => (file, Some(name)),
        _ => (word, None),
    }
}

/// The file and the name in it, if the word names a configuration.
pub(super) fn configuration(word: &str) -> Option<(&Path, Option<&str>)> {
    let (path, name) = split(word);
    let path = Path::new(path);
    CONFIGURATIONS.contains(&ending(path)).then_some((path, name))
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// A program in this folder is not looked for along PATH.
fn runnable(path: &Path) -> OsString {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from(".").join(path).into(),
        _ => path.into(),
    }
}

fn in_configuration(path: &Path, name: Option<&str>) -> Result<Place, Failure> {
    let mut sources = Sources::of_process();
    sources.files = vec![path.to_owned()];
    let config = load(&sources).map_err(|error| Failure::usage(error.to_string()))?;
    let found = match (name, config.servers.as_slice()) {
        (Some(name), _) => config.server(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    if let Some(entry) = found {
        return Ok(Place::Configured(Box::new(entry.clone())));
    }
    if let Some(fault) =
        config.faults.iter().find(|fault| fault.server.is_some() && fault.server.as_deref() == name)
    {
        return Err(Failure::usage(fault.to_string()));
    }
    let names = config.servers.iter().map(|entry| entry.name.as_str());
    Err(match name {
        Some(name) => Failure::usage(format!("there is no server {name:?} in {}", path.display()))
            .hint(nearest::proposal(name, names)),
        None if config.servers.is_empty() => {
            let why = config.faults.first().map(ToString::to_string);
            Failure::usage(format!("there is no server in {}", path.display())).hint(why)
        }
        None => Failure::usage(format!("{} has several servers", path.display())).hint(Some(format!(
            "say which: {}:NAME, NAME being one of {}",
            path.display(),
            names.collect::<Vec<_>>().join(", ")
        ))),
    })
}

/// Whether a file may be executed.
#[cfg(unix)]
pub(crate) fn is_program(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_program(_: &std::fs::Metadata) -> bool {
    true
}
