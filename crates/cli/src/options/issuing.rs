//! What can be said to the verbs around logins: `login`, `logout`, `auth`, `auth-server`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// How to log in.
#[derive(Debug, Args)]
pub(crate) struct LoggingIn {
    /// Opens no browser: shows the address to visit, and takes the one that the browser ends at from
    /// standard input, if it cannot come back by itself.
    #[arg(long)]
    pub(crate) headless: bool,
    /// Asks for this scope, too; can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// The client id that the authorization server knows, where it takes no registrations. A secret that belongs
    /// to it is taken from the variable CONTEXTURE_CLIENT_SECRET.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The one port on this machine that the way back from the login may lead to.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) door: Door,
}

/// Which server to log in to.
#[derive(Debug, Args)]
pub(crate) struct Door {
    /// The server: its URL, or its name in a configuration, `host:name`, or FILE:NAME.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// A configuration to look names up in, ours or another host's; can be repeated.
    #[arg(long = "config", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
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

fn client(text: &str) -> Result<(String, String), String> {
    let (id, redirect) = text.split_once('=').ok_or("an id, an equals sign and a redirect URI")?;
    Ok((id.to_owned(), redirect.to_owned()))
}
