//! What can be said to the verbs around transcripts: `record`, `replay`, `mock`, `test`, `diff`.

use std::path::PathBuf;

use clap::Args;

use super::{Target, Words};

/// A session to keep.
#[derive(Debug, Args)]
pub(crate) struct Recording {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Where to keep it.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Recording {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// A session to have again.
#[derive(Debug, Args)]
pub(crate) struct Replaying {
    /// The transcript.
    pub(crate) file: PathBuf,
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Replaying {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// A session to play the server of.
#[derive(Debug, Args)]
pub(crate) struct Mocking {
    /// The transcript.
    pub(crate) file: PathBuf,
}

/// Calls to make, and what to expect of them.
#[derive(Debug, Args)]
pub(crate) struct Testing {
    /// The calls.
    pub(crate) file: PathBuf,
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Testing {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// Two servers, or one in two revisions.
#[derive(Debug, Args)]
pub(crate) struct Comparing {
    /// The one.
    pub(crate) one: String,
    /// The other; the same, if only revisions are compared.
    pub(crate) other: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}
