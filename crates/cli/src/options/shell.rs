//! What can be said to the verbs `shell`, `completions` and `man`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;

use super::{Target, Words};

/// A server to talk to, line by line.
#[derive(Debug, Args)]
pub(crate) struct Talking {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Goes on after a line that fails, where lines come from a script.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Talking {
    /// Whether a person sees what is said beside the results.
    pub(crate) fn is_watched(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// Whose completions.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell: bash, zsh, fish or powershell.
    pub(crate) shell: String,
}

/// Where manual pages go.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// A folder to write one page for each verb to; without one, the page of the program is printed.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: Option<PathBuf>,
}
