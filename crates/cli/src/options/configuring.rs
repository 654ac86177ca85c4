//! What can be said to the verbs `trust` and `config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, Policies};

/// What is agreed to.
#[derive(Debug, Args)]
pub(crate) struct Trusting {
    /// The project's file; all that the project in this folder has, if none is named.
    pub(crate) file: Option<PathBuf>,
    /// Agrees to what is shown, and asks nobody. For scripts that know what is in the file.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Takes back what was agreed to.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) withdraw: bool,
    /// Shows what was agreed to, in all projects.
    #[arg(long, conflicts_with_all = ["yes", "withdraw", "file"])]
    pub(crate) list: bool,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Shows which files are read, which servers are in them, and what is wrong. Starts nothing.
    Show(Policies),
    /// Prints the JSON Schema of contexture.json.
    Schema,
}

impl ConfigVerb {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Show(policies) => policies.format,
            Self::Schema => Format::Text,
        }
    }
}
