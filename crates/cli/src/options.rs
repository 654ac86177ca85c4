//! What can be said on the command line.
//!
//! `--` always ends our options; what follows is the server's command. Without it, the first word is the server.

mod checking;
mod configuring;
mod issuing;
mod load;
mod policy;
mod recordings;
mod servers;
mod serving;
mod shell;
mod target;
mod using;

use clap::{Parser, Subcommand};

use crate::exit;
pub(crate) use checking::Doctoring;
pub(crate) use configuring::{ConfigVerb, Trusting};
pub(crate) use issuing::{Door, Issuing, LoggingIn};
pub(crate) use load::Benching;
pub(crate) use policy::{Explaining, Policies, PolicyVerb};
pub(crate) use recordings::{Comparing, Mocking, Recording, Replaying, Testing};
pub(crate) use servers::{Adding, Exporting, Importing, Naming, Overview, Showing, Transport, Writing};
pub(crate) use serving::{Bridging, Face, Running, hosts};
pub(crate) use shell::{Completions, Manual, Talking};
pub(crate) use target::{Format, Target, Wanted, Words, is_url};
use target::{header, seconds, url};
pub(crate) use using::{
    Calling, Completing, Listing, Logging, Pinging, Prompting, Raw, Reading, Subscribing,
};

/// The Model Context Protocol, whole: any client, any server, any era.
///
/// Without a verb, shows what the protocol does.
#[derive(Debug, Parser)]
#[command(name = "contexture", version, before_help = TARGETS, after_help = exit::HELP)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

const TARGETS: &str = "\
A server (TARGET) is its name in the configuration, `host:name` as in vscode:files, its URL, or a file: a program, or a
configuration (FILE:NAME if it has several). `demo` is the one that is built in. A command comes last, after `--`.";

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
    /// Serves one server, any transport and era to any other.
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
    Login(LoggingIn),
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
    Call(Calling),
    /// Reads a resource.
    Read(Reading),
    /// Fills in a prompt.
    Prompt(Prompting),
    /// What an argument of a prompt or template could be, as the server proposes.
    Complete(Completing),
    /// Follows changes, of resources or of the lists, until Ctrl-C.
    Subscribe(Subscribing),
    /// Follows log messages, until Ctrl-C.
    Logs(Logging),
    /// Whether the server answers, and how soon.
    Ping(Pinging),
    /// Sends a request as it is, and prints the answer as it is.
    Raw(Raw),
    /// Talks to a server line by line.
    Shell(Talking),
    /// Finds out what is wrong: from the configuration to a working call, step by step.
    Doctor(Doctoring),
    /// Remembers a server under a name, in contexture.json.
    Add(Adding),
    /// Shows how a server is configured, and where. Never a secret.
    Get(Showing),
    /// Lists the servers that are configured, here and in other hosts.
    List(Overview),
    /// Forgets a server.
    Remove(Naming),
    /// Lets a server be started again.
    Enable(Naming),
    /// Keeps a server from being started.
    Disable(Naming),
    /// Takes over servers that other hosts know into contexture.json: shows what would change, and asks.
    Import(Importing),
    /// Writes servers into another host's configuration: shows what would change, and asks. What was there is kept beside it.
    Export(Exporting),
    /// Keeps everything that is said in a session.
    Record(Recording),
    /// Says again what a client said, and shows what the server answers otherwise.
    Replay(Replaying),
    /// Serves a transcript as if it were the server.
    Mock(Mocking),
    /// Makes saved calls, and checks what comes of them.
    Test(Testing),
    /// What a client would lose, or win, with another server or revision.
    Diff(Comparing),
    /// Calls a tool again and again, and measures.
    Bench(Benching),
    /// Prints completions for a shell.
    Completions(Completions),
    /// Prints the manual.
    Man(Manual),
    /// Prints the page of the documentation.
    #[command(hide = true)]
    Reference,
}
