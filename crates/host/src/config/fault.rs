//! What is wrong with a configuration, and where. Faults name keys and variables, never the values of these.

use std::fmt;
use std::path::{Path, PathBuf};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Everything works; something was left out or decided that may not be what was meant.
    Notice,
    /// Something does not work until it is mended.
    Error,
}

/// What a fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Concern {
    /// The file itself: it is not there, or is not what files are.
    File,
    /// How it is written: it is no JSON or TOML.
    Syntax,
    /// What it says.
    Content,
    /// A variable that it needs.
    Variable,
}

/// One thing that is wrong, or was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// How bad it is.
    pub severity: Severity,
    /// In which file, if it is the fault of one.
    pub file: PathBuf,
    /// In which line, counted from one.
    pub line: Option<usize>,
    /// Which server's entry it is in.
    pub server: Option<String>,
    /// What it is, and what to do about it.
    pub what: String,
    /// What it is about.
    pub concern: Concern,
}

impl Fault {
    pub(super) fn error(file: &Path, line: Option<usize>, what: impl Into<String>) -> Self {
        let (severity, concern) = (Severity::Error, Concern::Content);
        Self { severity, file: file.to_owned(), line, server: None, what: what.into(), concern }
    }

    pub(super) fn notice(file: &Path, line: Option<usize>, what: impl Into<String>) -> Self {
        Self { severity: Severity::Notice, ..Self::error(file, line, what) }
    }

    pub(super) fn about(self, concern: Concern) -> Self {
        Self { concern, ..self }
    }

    pub(super) fn of(self, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(server) = &self.server {
            write!(f, ": server {server:?}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Why there is no configuration at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Each of these alone is a reason.
    pub faults: Vec<Fault>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
