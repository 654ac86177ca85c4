//! What can be said to the verbs that serve other servers: `run` and `bridge`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use contexture::revision::{Era, Revision};
use contexture_host::config::HostKind;

use super::{Wanted, header, seconds, url};

/// Many servers as one.
#[derive(Debug, Args)]
pub(crate) struct Running {
    /// A configuration, ours or another host's; can be repeated. Without one: contexture.json, here or the user's own.
    #[arg(long = "config", value_name = "FILE", conflicts_with = "from")]
    pub(crate) files: Vec<PathBuf>,
    /// Reads the configuration of these hosts, too: claude, claude-desktop, claude-code, vscode, cursor, windsurf, gemini, codex.
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = hosts)]
    pub(crate) from: Vec<Hosts>,
    /// Only these servers, by `name` or `host:name`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Goes on with the new configuration when a file changes. Calls to servers that stay as they were are not disturbed.
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) face: Face,
}

/// One server, by another way.
#[derive(Debug, Args)]
pub(crate) struct Bridging {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// A configuration to look names up in, ours or another host's; can be repeated.
    #[arg(long = "config", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A header for every request to the server's URL, such as `Authorization: Bearer …`; can be repeated.
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// A variable for the server's environment: with its value, or from ours; can be repeated.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Speaks only revisions of this era with the server.
    #[arg(long, value_enum, default_value_t, value_name = "ERA")]
    pub(crate) era: Wanted,
    /// How long the server may be silent during a call.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) face: Face,
    /// The server's command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How clients reach us.
#[derive(Debug, Args)]
pub(crate) struct Face {
    /// Serves over standard input and output, as hosts start it. This is the default.
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,
    /// Serves over HTTP on this address, at /mcp; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Serves only those who show a token of this issuer; each has logins of their own at the servers behind.
    #[arg(long, value_name = "ISSUER", requires = "listen", value_parser = url)]
    pub(crate) protect: Option<String>,
    /// Who the gateway itself is to that issuer, where it takes no registrations. A secret that belongs to it is taken from
    /// the variable CONTEXTURE_CLIENT_SECRET.
    #[arg(long, value_name = "ID", requires = "protect")]
    pub(crate) client_id: Option<String>,
    /// Lets everybody in who can reach the address, from other machines, too.
    #[arg(long, requires = "listen", conflicts_with = "protect")]
    pub(crate) allow_anonymous: bool,
    /// The URL that clients know it by, if something stands before it: https://mcp.example.com/mcp.
    #[arg(long, value_name = "URL", requires = "listen", value_parser = url)]
    pub(crate) public_url: Option<String>,
    /// Answers to this name, too, with or without a port; can be repeated.
    #[arg(long = "host", value_name = "NAME", requires = "listen")]
    pub(crate) hosts: Vec<String>,
    /// Serves pages of this origin; can be repeated.
    #[arg(long = "origin", value_name = "ORIGIN", requires = "listen")]
    pub(crate) origins: Vec<String>,
    /// How long calls may go on when it is told to end; ten seconds, if nothing else is configured.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) grace: Option<Duration>,
}

impl Wanted {
    /// The era, if only one is wanted.
    pub(crate) fn era(self) -> Option<Era> {
        let one = match self {
            Self::Auto => None,
            Self::Legacy => Revision::LEGACY.first(),
            Self::Modern => Revision::MODERN.first(),
        };
        one.map(|revision| revision.era())
    }
}

/// What one word after `--from` stands for.
#[derive(Debug, Clone)]
pub(crate) struct Hosts(pub(crate) Vec<HostKind>);

/// People say `claude` and mean whichever they have.
pub(crate) fn hosts(word: &str) -> Result<Hosts, String> {
    if word == "claude" {
        return Ok(Hosts(vec![HostKind::ClaudeDesktop, HostKind::ClaudeCode]));
    }
    let known = HostKind::from_word(word).filter(|host| *host != HostKind::Contexture);
    let words = || HostKind::ALL.into_iter().skip(1).map(HostKind::word).collect::<Vec<_>>().join(", ");
    known.map(|host| Hosts(vec![host])).ok_or_else(|| format!("one of claude, {}", words()))
}
