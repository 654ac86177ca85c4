//! Which server is meant, and how to talk to it: the same for every verb.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use contexture::model::LoggingLevel;
use contexture::revision::Revision;

use crate::exit::Failure;
use crate::place::Place;

/// Which server, and how to talk to it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Speaks only this revision.
    #[arg(long, value_name = "DATE", value_parser = revision, conflicts_with = "era")]
    pub(crate) revision: Option<Revision>,
    /// Speaks only revisions of this era.
    #[arg(long, value_enum, default_value_t, value_name = "ERA")]
    pub(crate) era: Wanted,
    /// A directory that the server may know of; can be repeated.
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Answers the server's questions to the model with this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) sample: Option<String>,
    /// Lets a model of this provider answer the server's questions to the model, after you have agreed; `sampling` of the
    /// configuration says which providers there are.
    #[arg(long, value_name = "NAME", conflicts_with = "sample")]
    pub(crate) provider: Option<String>,
    /// Asks nothing: what the server wants to know from a person or a model is declined.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Prints text and bytes of the server exactly as they are.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Log messages of the server from this level on.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) log: Option<LoggingLevel>,
    /// Shows what the server writes to standard error.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// How long connecting may take, and how long the server may be silent after that.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// A variable for the server's environment: with its value, or from ours; can be repeated.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A header for every request to the server's URL, such as `Authorization: Bearer …`; can be repeated.
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Keeps everything that is said in this file, a transcript, without secrets.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Keeps secrets in what is recorded, too.
    #[arg(long)]
    pub(crate) no_redact: bool,
    /// A configuration to look names up in, ours or another host's; can be repeated. Without one: contexture.json, here and the
    /// user's own, and after these the files of other hosts.
    #[arg(long = "config", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The server's command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl Target {
    /// The server that is meant: what stands behind `--`, or else the first of these words.
    pub(crate) fn place(&self, words: &mut Words) -> Result<Place, Failure> {
        let place = match self.commanded()? {
            Some(place) => place,
            None => Place::find(words.next().as_deref(), &self.files)?,
        };
        self.fits(&place)?;
        place.may_start()?;
        Ok(place)
    }

    /// What stands behind `--`.
    pub(crate) fn commanded(&self) -> Result<Option<Place>, Failure> {
        match self.command.first() {
            Some(program) if program.is_empty() => Err(no_command()),
            Some(_) => Ok(Some(Place::of_command(&self.command))),
            // A command that was announced and is not there is a variable that was empty.
            None if std::env::args_os().any(|argument| argument == "--") => Err(no_command()),
            None => Ok(None),
        }
    }

    /// Refuses options that say nothing to such a server.
    pub(crate) fn fits(&self, place: &Place) -> Result<(), Failure> {
        if place.url().is_some() && !self.env.is_empty() {
            return Err(Failure::usage("`--env` is for servers that are started, not for URLs"));
        }
        if place.url().is_none() && !self.headers.is_empty() {
            return Err(Failure::usage("`--header` is for URLs, not for servers that are started"));
        }
        Ok(())
    }

    /// Whether the person says themselves who asks.
    pub(crate) fn has_credentials(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }

    /// The revisions to try.
    pub(crate) fn revisions(&self) -> Vec<Revision> {
        match (self.revision, self.era) {
            (Some(revision), _) => vec![revision],
            (None, Wanted::Auto) => Revision::ALL.to_vec(),
            (None, Wanted::Legacy) => Revision::LEGACY.to_vec(),
            (None, Wanted::Modern) => Revision::MODERN.to_vec(),
        }
    }

    /// Those of them that came with the older pair of addresses, or all, if there are none.
    pub(crate) fn revisions_over_sse(&self) -> Vec<Revision> {
        let wanted = self.revisions();
        let older: Vec<_> = wanted.iter().copied().filter(|one| Revision::LEGACY.contains(one)).collect();
        if older.is_empty() { wanted } else { older }
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one document.
    Json,
    /// For programs that do not wait for the end: one document a line.
    Ndjson,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// Finds out.
    #[default]
    Auto,
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// From 2026-07-28.
    Modern,
}

pub(super) fn revision(date: &str) -> Result<Revision, String> {
    Revision::parse(date).ok_or_else(|| format!("one of {}", Revision::ALL.map(Revision::as_str).join(", ")))
}

pub(crate) fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

pub(super) fn url(text: &str) -> Result<String, String> {
    if is_url(text) { Ok(text.to_owned()) } else { Err("a URL, https://… or http://…".to_owned()) }
}

pub(super) fn header(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or("a name, a colon and a value")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

pub(super) fn level(name: &str) -> Result<LoggingLevel, String> {
    let known = LoggingLevel::ALL.into_iter().find(|level| level.as_str() == name);
    known.ok_or_else(|| format!("one of {}", LoggingLevel::ALL.map(LoggingLevel::as_str).join(", ")))
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn no_command() -> Failure {
    Failure::usage("there is no command after `--`")
}

/// The words of a command line that are no options, in their order: the server, unless it comes after `--`, then what
/// the verb is about.
#[derive(Debug)]
pub(crate) struct Words(std::vec::IntoIter<String>);

impl Words {
    /// Those that have a name of their own, then the others.
    pub(crate) fn new<const N: usize>(named: [&Option<String>; N], others: &[String]) -> Self {
        let named = named.into_iter().flatten().cloned();
        Self(named.chain(others.iter().cloned()).collect::<Vec<_>>().into_iter())
    }

    /// The next word, which must be there.
    pub(crate) fn wanted(&mut self, what: &str) -> Result<String, Failure> {
        self.next().ok_or_else(|| Failure::usage(format!("{what} is missing")))
    }

    /// All that is left.
    pub(crate) fn rest(self) -> Vec<String> {
        self.0.collect()
    }

    /// There must be none left.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(Failure::usage(format!("{word:?} is one word too many"))),
        }
    }
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0.next()
    }
}
