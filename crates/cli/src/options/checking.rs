//! What can be said to the verb `doctor`.

use clap::Args;

use super::serving::{Hosts, hosts};
use super::{Target, Words};

/// What to look at, and how closely.
#[derive(Debug, Args)]
pub(crate) struct Doctoring {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`. Without one: everything
    /// that is configured.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Without TARGET: looks at the servers of these hosts, too: claude, vscode, cursor, windsurf, gemini, codex.
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = hosts, conflicts_with = "server")]
    pub(crate) from: Vec<Hosts>,
    /// Calls this tool at the end. Without it, no tool is called.
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,
    /// The arguments of that call, a JSON object.
    #[arg(long, value_name = "OBJECT", requires = "call")]
    pub(crate) arguments: Option<String>,
    /// Lets warnings fail, too.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Doctoring {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}
