//! From a word on the command line to a server: which one is meant, and how it is reached.
//!
//! A word is a URL, the name of a configured server, `host:name`, a file, or `demo`. Finding out starts nothing, and
//! what a project brings is found but not started until it is trusted.

mod file;
mod named;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contexture_host::config::{Login, LoginFor, ServerEntry, Standing, TransportSpec};

pub(crate) use file::is_program;
pub(crate) use named::known;

use crate::exit::Failure;
use crate::options::is_url;

/// A server, as it is reached.
#[derive(Debug)]
pub(crate) enum Place {
    /// The one that is built in, served in this very process.
    Demo,
    /// At an address.
    Url(String),
    /// Started by this command.
    Command(Vec<OsString>),
    /// As a configuration says.
    Configured(Box<ServerEntry>),
    /// A transcript, which is played in this very process.
    Transcript(PathBuf),
}

impl Place {
    /// What stands behind `--`: a command; a URL alone is one.
    pub(crate) fn of_command(command: &[OsString]) -> Self {
        match command {
            [only] if only.to_str().is_some_and(is_url) => Self::Url(only.to_string_lossy().into_owned()),
            _ => Self::Command(command.to_vec()),
        }
    }

    /// The server that this word means, looked up in these files, or where configurations are.
    pub(crate) fn find(word: Option<&str>, files: &[PathBuf]) -> Result<Self, Failure> {
        match word {
            None => Err(Failure::usage("which server?").hint(Some(named::choice(files)))),
            Some(word) if is_url(word) => Ok(Self::Url(word.to_owned())),
            Some(word) if file::is_meant(word) => file::find(word),
            Some(word) => named::find(word, files),
        }
    }

    /// The configuration that a word names, and the server in it.
    pub(crate) fn in_file(word: &str) -> Option<(&Path, Option<&str>)> {
        file::configuration(word)
    }

    /// Its address, if it has one.
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Url(url) => Some(url),
            Self::Configured(entry) => match &entry.transport {
                TransportSpec::Http { url, .. } => Some(url),
                TransportSpec::Stdio { .. } => None,
            },
            _ => None,
        }
    }

    /// Whether its configuration says itself who asks, or that nobody logs in.
    pub(crate) fn has_credentials(&self) -> bool {
        let Self::Configured(entry) = self else { return false };
        let TransportSpec::Http { headers, .. } = &entry.transport else { return false };
        entry.login == LoginFor::None
            || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }

    /// What its configuration knows about the login there.
    pub(crate) fn login(&self) -> Option<&Login> {
        let Self::Configured(entry) = self else { return None };
        match &entry.login {
            LoginFor::User(login) | LoginFor::Shared(login) => Some(login),
            LoginFor::None => None,
        }
    }

    /// Refuses what is not to be started, and says what to do about it.
    pub(crate) fn may_start(&self) -> Result<(), Failure> {
        let Self::Configured(entry) = self else { return Ok(()) };
        let name = &entry.name;
        match &entry.standing {
            Standing::Enabled => Ok(()),
            Standing::Disabled => Err(Failure::usage(format!("{name} is disabled")).hint(Some(format!(
                "`contexture enable {}` lets it start again; its entry is in {}",
                entry.full_name(),
                entry.origin.file.display()
            )))),
            Standing::Held { why } => Err(Failure::usage(format!("{name} is not started: {why}"))),
        }
    }
}
