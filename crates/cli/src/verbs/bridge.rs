//! `bridge`: one server, from any transport and era to any other.
//!
//! It changes no names and asks nobody: there is one server, and the person has named it. Where that server wants a login, it
//! is the one that `contexture login` makes.

use std::collections::BTreeMap;
use std::time::Duration;

use contexture::auth::Secret;
use contexture_host::config::{Config, LoginFor, Origin, RootsFor, ServerEntry, Sources, TransportSpec};
use contexture_host::consent::PolicyConfig;

use crate::exit::Failure;
use crate::gateway::Gateway;
use crate::options::Bridging;

/// The server is there for as long as we are: what it remembers would be gone with it.
const ALWAYS: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(crate) async fn bridge(options: &Bridging) -> Result<(), Failure> {
    let mut config = Config::new(vec![entry(options)?]);
    config.policy = PolicyConfig::allow_all();
    if let Some(grace) = options.face.grace {
        config.limits.drain_time = grace;
    }
    let state = Sources::of_process().state_folder();
    let gateway = Gateway { face: &options.face, state: &state, person: None };
    gateway.serve(config, |_, _| async {}).await
}

fn entry(options: &Bridging) -> Result<ServerEntry, Failure> {
    let transport = transport(options)?;
    let mut entry = ServerEntry::new("server", transport, Origin::command_line());
    entry.prefix = false;
    entry.trusted = true;
    entry.roots = RootsFor::Client;
    entry.era = options.era.era();
    entry.idle_time = ALWAYS;
    if let Some(silence) = options.timeout {
        entry.call_time = silence;
    }
    if options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        // The person says themselves who asks.
        entry.login = LoginFor::None;
    }
    Ok(entry)
}

fn transport(options: &Bridging) -> Result<TransportSpec, Failure> {
    match (&options.url, options.command.split_first()) {
        (Some(_), Some(_)) => Err(Failure::usage("there is a URL and a command: a bridge has one server")),
        (None, None) => Err(Failure::usage("which server? A URL, or a command after `--`")),
        (Some(_), None) if !options.env.is_empty() => {
            Err(Failure::usage("`--env` is for servers that are started, not for URLs"))
        }
        (Some(url), None) => {
            let headers =
                options.headers.iter().map(|(name, value)| (name.clone(), Secret::from(value.as_str())));
            Ok(TransportSpec::Http { url: url.clone(), headers: headers.collect(), sse: false, socket: None })
        }
        (None, Some(_)) if !options.headers.is_empty() => {
            Err(Failure::usage("`--header` is for URLs, not for servers that are started"))
        }
        (None, Some((program, arguments))) => {
            let text = |word: &std::ffi::OsString| word.to_str().map(str::to_owned);
            let unreadable = || Failure::usage("the command is not UTF-8");
            let command = text(program).filter(|program| !program.is_empty()).ok_or_else(unreadable)?;
            let args = arguments.iter().map(text).collect::<Option<_>>().ok_or_else(unreadable)?;
            Ok(TransportSpec::Stdio { command, args, env: environment(&options.env), cwd: None })
        }
    }
}

/// Variables with their values, or with ours.
fn environment(variables: &[String]) -> BTreeMap<String, Secret> {
    let value = |variable: &String| match variable.split_once('=') {
        Some((name, value)) => Some((name.to_owned(), Secret::from(value))),
        None => std::env::var(variable).ok().map(|value| (variable.clone(), Secret::from(value))),
    };
    variables.iter().filter_map(value).collect()
}
