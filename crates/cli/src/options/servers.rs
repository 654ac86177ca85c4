//! What can be said to the verbs that change configurations: `add`, `get`, `list`, `remove`, `enable`, `disable`, `import`, `export`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use contexture_host::config::Scope;

use super::serving::{Hosts, hosts};
use super::{Format, header};

/// A server to remember.
#[derive(Debug, Args)]
pub(crate) struct Adding {
    /// What it is to be called.
    pub(crate) name: String,
    /// Its URL; unless its command comes after `--`.
    pub(crate) url: Option<String>,
    /// How it is reached; told from what is given, if nothing is said.
    #[arg(long, short, value_enum, value_name = "TRANSPORT")]
    pub(crate) transport: Option<Transport>,
    /// A variable for the server: with its value, or by its name alone, which refers to ours; can be repeated.
    #[arg(long, short, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A header for every request to its URL; `${NAME}` in it refers to a variable; can be repeated.
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// A variable (of a command) or header (of a URL) whose value is asked for, or read from standard input, and kept in the
    /// keyring; the file only refers to it. Authorization takes a bearer token. Can be repeated.
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// The folder that its command runs in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Replaces the server of this name, if there is one.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// The server's command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// A command that is started.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

/// Where a change goes, and whether.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// In the project's file, here, and not in the user's own.
    #[arg(long)]
    pub(crate) project: bool,
    /// Shows what would change, and changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

impl Writing {
    pub(crate) fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

/// A server that is configured.
#[derive(Debug, Args)]
pub(crate) struct Naming {
    /// Its name, or `host:name` for one of another host.
    #[arg(id = "server", value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// A server to show.
#[derive(Debug, Args)]
pub(crate) struct Showing {
    /// Its name, or `host:name` for one of another host.
    #[arg(id = "server", value_name = "NAME")]
    pub(crate) name: String,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// All servers that are configured.
#[derive(Debug, Args)]
pub(crate) struct Overview {
    /// Whose servers; ours and those of all hosts that are found, if none is named.
    #[arg(value_name = "HOST", value_parser = anyone)]
    pub(crate) hosts: Vec<Hosts>,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Whose servers to take over.
#[derive(Debug, Args)]
pub(crate) struct Importing {
    /// Which hosts, and which of their servers: `vscode`, `vscode:files`, `files`. All that are found, if none is named.
    #[arg(value_name = "HOST|NAME")]
    pub(crate) words: Vec<String>,
    /// Replaces servers of the same name.
    #[arg(long)]
    pub(crate) force: bool,
    /// Writes what is shown, and asks nobody.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// Whom to give servers to.
#[derive(Debug, Args)]
pub(crate) struct Exporting {
    /// Which servers, `host:name` for those of another host; all of ours that are not disabled, if none is named.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Whose configuration to write: claude-desktop, claude-code, vscode, cursor, windsurf, gemini, codex.
    #[arg(long, value_name = "HOST", value_parser = hosts)]
    pub(crate) to: Hosts,
    /// Writes what is shown, and asks nobody.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// A host, or us.
fn anyone(word: &str) -> Result<Hosts, String> {
    use contexture_host::config::HostKind;
    if word == HostKind::Contexture.word() { Ok(Hosts(vec![HostKind::Contexture])) } else { hosts(word) }
}
