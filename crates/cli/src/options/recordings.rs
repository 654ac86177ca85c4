//! What can be said to the verbs around transcripts: `record`, `replay`, `mock`, `test`, `diff`.

use std::path::PathBuf;

use clap::Args;
use contexture::revision::Revision;

use super::target::revision;
use super::{Target, Words};

/// A session to keep.
#[derive(Debug, Args)]
pub(crate) struct Recording {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Where to keep it. A transcript that is there is replaced, any other file is not.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// For servers at a URL: where the client finds us instead; any free port of this machine if nothing is said. Servers
    /// that are started are recorded over standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
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
    /// Does not compare this part of messages, such as /result/content/0/text; can be repeated.
    #[arg(long, value_name = "POINTER")]
    pub(crate) ignore: Vec<String>,
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
    /// Serves it over HTTP on this address, at /mcp; port 0 takes any that is free. Without it: over standard input and
    /// output.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
}

/// Calls to make, and what to expect of them.
#[derive(Debug, Args)]
pub(crate) struct Testing {
    /// The calls: a file of JSON, with comments if you like.
    #[arg(required_unless_present = "from")]
    pub(crate) file: Option<PathBuf>,
    /// The server: its name, `host:name`, URL or file, or `demo`; unless the file says which, or its command comes after
    /// `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Also writes what came of it as JUnit does.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Makes such a file of a transcript, and prints it.
    #[arg(long, value_name = "TRANSCRIPT", conflicts_with_all = ["file", "server", "junit"])]
    pub(crate) from: Option<PathBuf>,
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
    /// The one: its name, `host:name`, URL or file, a transcript, or `demo`. With --revisions, the only one, unless its
    /// command comes after `--`.
    #[arg(value_name = "ONE")]
    pub(crate) one: Option<String>,
    /// The other, unless its command comes after `--`.
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<String>,
    /// Compares what one server offers in these two revisions.
    #[arg(long, value_name = "DATE,DATE", value_parser = revisions, conflicts_with_all = ["revision", "era"])]
    pub(crate) revisions: Option<[Revision; 2]>,
    #[command(flatten)]
    pub(crate) target: Target,
}

fn revisions(text: &str) -> Result<[Revision; 2], String> {
    let (one, other) = text.split_once(',').ok_or("two dates with a comma between them")?;
    Ok([revision(one.trim())?, revision(other.trim())?])
}
