//! What can be said on the command line.
//!
//! `--` always ends our options; what follows is the server's command.

mod configuring;
mod policy;
mod serving;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use contexture::model::LoggingLevel;
use contexture::revision::Revision;

use crate::exit::{self, Failure};
pub(crate) use configuring::{ConfigVerb, Trusting};
pub(crate) use policy::{Explaining, Policies, PolicyVerb};
pub(crate) use serving::{Bridging, Face, Running};

/// The Model Context Protocol, whole: any client, any server, any era.
///
/// Without a verb, shows what the protocol does.
#[derive(Debug, Parser)]
#[command(name = "contexture", version, before_help = TARGETS, after_help = exit::HELP)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

const TARGETS: &str = "The server comes after `--`: a command that starts it, or its URL; without one, verbs talk to the built-in demo.";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serves the demo, over standard input and output or over HTTP.
    Demo {
        /// Serves it over HTTP on this address, at /mcp; port 0 takes any that is free.
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
        /// Entries on one page of a list.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        page_size: Option<u32>,
        /// Asks for tokens: of this issuer, or of an authorization server for development that is started beside it.
        #[arg(long, value_name = "ISSUER", num_args(0..=1), require_equals = true, requires = "listen")]
        protect: Option<Option<String>>,
    },
    /// Serves many servers as one, over standard input and output or over HTTP, with consent.
    ///
    /// Servers are those of contexture.json, here or in the user's own folder, of files that are named, or of other hosts.
    Run(Running),
    /// Serves one server, any transport and era to any other: a URL, or a command after `--`.
    Bridge(Bridging),
    /// What is allowed, asked about and denied, and why.
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Shows what a project's files would start, asks, and remembers the answer. Until then they start nothing.
    Trust(Trusting),
    /// Which servers are configured, where, and what is wrong with that.
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Logs in to a server that wants to know who asks. Afterwards every verb may use it.
    Login {
        /// Opens no browser: shows the address to visit, and takes the one that the browser ends at from
        /// standard input, if it cannot come back by itself.
        #[arg(long)]
        headless: bool,
        /// Asks for this scope, too; can be repeated.
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
        /// The client id that the authorization server knows, where it takes no registrations. A secret that belongs
        /// to it is taken from the variable CONTEXTURE_CLIENT_SECRET.
        #[arg(long, value_name = "ID")]
        client_id: Option<String>,
        /// The one port on this machine that the way back from the login may lead to.
        #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
        port: Option<u16>,
        #[command(flatten)]
        door: Door,
    },
    /// Forgets how to log in to a server.
    Logout(Door),
    /// What is known about a login: who issued it, for what, and for how long. Never a token.
    Auth(Door),
    /// Serves an OAuth authorization server for development, on this machine only.
    ///
    /// Whoever signs in must know the password in CONTEXTURE_AUTH_PASSWORD, if there is one. Nothing outlives it.
    AuthServer(Issuing),
    /// The tools of a server.
    #[command(subcommand)]
    Tools(Listing),
    /// The resources and resource templates of a server.
    #[command(subcommand)]
    Resources(Listing),
    /// The prompts of a server.
    #[command(subcommand)]
    Prompts(Listing),
    /// Calls a tool.
    Call {
        /// Which tool.
        tool: String,
        /// Arguments: `name=text`, read as the tool's schema says, or `name:=json`.
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        /// All arguments as a JSON object; `-` reads it from standard input.
        #[arg(long, value_name = "OBJECT")]
        json: Option<String>,
        /// Sends arguments as they are, also those that the tool's schema refuses.
        #[arg(long)]
        unchecked: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Reads a resource.
    Read {
        /// Which resource.
        uri: String,
        #[command(flatten)]
        target: Target,
    },
    /// Fills in a prompt.
    Prompt {
        /// Which prompt.
        name: String,
        /// Arguments: `name=text`.
        #[arg(value_name = "NAME=TEXT")]
        arguments: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
}

/// How the authorization server for development is served.
#[derive(Debug, Args)]
pub(crate) struct Issuing {
    /// Where to listen, on loopback; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Who can sign in; can be repeated. Anyone, if nobody is named.
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    /// A public client that need not register, and where it is sent back to; can be repeated.
    #[arg(long = "client", value_name = "ID=REDIRECT_URI", value_parser = client)]
    pub(crate) clients: Vec<(String, String)>,
    /// A scope that there is; can be repeated. Any, if none is named.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// A resource that tokens are issued for; can be repeated. Any, if none is named.
    #[arg(long = "resource", value_name = "URI")]
    pub(crate) resources: Vec<String>,
    /// How long access tokens are good for; five minutes, if nothing is said.
    #[arg(long, value_name = "N")]
    pub(crate) token_seconds: Option<u64>,
    /// For tests: agrees to every request in this name, and shows no page.
    #[arg(long, value_name = "NAME")]
    pub(crate) approve_all: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Listing {
    /// Lists them all.
    List(Target),
}

impl Listing {
    pub(crate) fn target(&self) -> &Target {
        let Self::List(target) = self;
        target
    }
}

/// Which server to log in to.
#[derive(Debug, Args)]
pub(crate) struct Door {
    /// The server's URL.
    #[arg(value_name = "TARGET", value_parser = url)]
    pub(crate) url: String,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Which server, and how to talk to it.
#[derive(Debug, Args)]
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
    /// Leaves the server's questions to the person without an answer.
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
    /// The server's command and its arguments, or its URL.
    #[arg(last = true, value_name = "COMMAND|URL")]
    pub(crate) command: Vec<OsString>,
}

impl Target {
    /// A command that was announced by `--` and is not there is a variable that was empty, not a wish for
    /// the demo.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let missing = match self.command.first() {
            Some(program) => program.is_empty(),
            None => std::env::args_os().any(|argument| argument == "--"),
        };
        if missing {
            return Err(Failure::usage("there is no command after `--`"));
        }
        if self.url().is_some() && !self.env.is_empty() {
            return Err(Failure::usage("`--env` is for servers that are started, not for URLs"));
        }
        if self.url().is_none() && !self.headers.is_empty() {
            return Err(Failure::usage("`--header` is for URLs, not for servers that are started"));
        }
        Ok(())
    }

    /// The server's URL, if it is one.
    pub(crate) fn url(&self) -> Option<&str> {
        let [only] = self.command.as_slice() else { return None };
        only.to_str().filter(|text| is_url(text))
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
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
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

fn revision(date: &str) -> Result<Revision, String> {
    Revision::parse(date).ok_or_else(|| format!("one of {}", Revision::ALL.map(Revision::as_str).join(", ")))
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

fn url(text: &str) -> Result<String, String> {
    if is_url(text) { Ok(text.to_owned()) } else { Err("a URL, https://… or http://…".to_owned()) }
}

fn header(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or("a name, a colon and a value")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn client(text: &str) -> Result<(String, String), String> {
    let (id, redirect) = text.split_once('=').ok_or("an id, an equals sign and a redirect URI")?;
    Ok((id.to_owned(), redirect.to_owned()))
}

fn level(name: &str) -> Result<LoggingLevel, String> {
    let known = LoggingLevel::ALL.into_iter().find(|level| level.as_str() == name);
    known.ok_or_else(|| format!("one of {}", LoggingLevel::ALL.map(LoggingLevel::as_str).join(", ")))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
