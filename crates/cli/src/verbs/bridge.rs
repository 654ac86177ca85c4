//! `bridge`: one server, from any transport and era to any other.
//!
//! It changes no names and asks nobody: there is one server, and the person has named it. Where that server wants a login, it
//! is the one that `contexture login` makes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use contexture::auth::Secret;
use contexture_host::config::{Config, LoginFor, Origin, RootsFor, ServerEntry, Sources, TransportSpec};
use contexture_host::consent::PolicyConfig;

use crate::exit::Failure;
use crate::gateway::Gateway;
use crate::options::Bridging;
use crate::place::Place;

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
    let mut entry = found(options)?;
    entry.prefix = false;
    entry.trusted = true;
    entry.roots = RootsFor::Client;
    entry.era = options.era.era().or(entry.era);
    entry.idle_time = ALWAYS;
    if let Some(silence) = options.timeout {
        entry.call_time = silence;
    }
    match &mut entry.transport {
        TransportSpec::Http { .. } if !options.env.is_empty() => {
            return Err(Failure::usage("`--env` is for servers that are started, not for URLs"));
        }
        TransportSpec::Stdio { .. } if !options.headers.is_empty() => {
            return Err(Failure::usage("`--header` is for URLs, not for servers that are started"));
        }
        TransportSpec::Http { headers, .. } => {
            // What is said here counts, whatever the configuration says.
            let is_said =
                |name: &str| options.headers.iter().any(|(said, _)| said.eq_ignore_ascii_case(name));
            headers.retain(|(name, _)| !is_said(name));
            headers.extend(options.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
        }
        TransportSpec::Stdio { env, .. } => env.extend(environment(&options.env)),
    }
    if options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        // The person says themselves who asks.
        entry.login = LoginFor::None;
    }
    Ok(entry)
}

/// The server as it is configured, or as a new entry would have it.
fn found(options: &Bridging) -> Result<ServerEntry, Failure> {
    let place = match (&options.server, options.command.as_slice()) {
        (Some(_), [_, ..]) => {
            return Err(Failure::usage("there is a server and a command: a bridge has one server"));
        }
        (word, []) => Place::find(word.as_deref(), &options.files)?,
        (None, command) => Place::of_command(command),
    };
    place.may_start()?;
    let transport = match place {
        Place::Configured(entry) => return Ok(*entry),
        Place::Url(url) => TransportSpec::Http { url, headers: Vec::new(), sse: false, socket: None },
        Place::Command(command) => started(&command)?,
        Place::Demo => started(&[ourselves()?, "demo".into()])?,
        Place::Transcript(path) => started(&[ourselves()?, "mock".into(), path.into()])?,
    };
    Ok(ServerEntry::new("server", transport, Origin::command_line()))
}

fn ourselves() -> Result<OsString, Failure> {
    let path = std::env::current_exe();
    path.map(Into::into).map_err(|error| Failure::usage(format!("this program cannot be found: {error}")))
}

fn started(command: &[OsString]) -> Result<TransportSpec, Failure> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    let mut words = command.iter().map(text);
    let unreadable = || Failure::usage("the command is not UTF-8");
    let command = words.next().flatten().filter(|program| !program.is_empty()).ok_or_else(unreadable)?;
    let args = words.collect::<Option<_>>().ok_or_else(unreadable)?;
    Ok(TransportSpec::Stdio { command, args, env: BTreeMap::new(), cwd: None })
}

/// Variables with their values, or with ours.
fn environment(variables: &[String]) -> BTreeMap<String, Secret> {
    let value = |variable: &String| match variable.split_once('=') {
        Some((name, value)) => Some((name.to_owned(), Secret::from(value))),
        None => std::env::var(variable).ok().map(|value| (variable.clone(), Secret::from(value))),
    };
    variables.iter().filter_map(value).collect()
}
