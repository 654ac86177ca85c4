//! The verbs on servers: connect, do one thing, print it, leave.
//!
//! A verb never leaves a process behind: not after an error, and not after Ctrl-C.

pub(crate) mod bridge;
mod call;
mod config;
mod hint;
mod list;
mod login;
mod policy;
mod prompt;
mod read;
pub(crate) mod run;
mod show;
mod signals;
mod trust;

use std::process::ExitCode;
use std::time::Duration;

use contexture::Client;
use contexture_host::config::{Config, Severity};
use serde::Serialize;

use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Face, Format, Target, Verb};
use crate::terminal::text::{safe_json, safe_line};
use crate::terminal::{self, note};

pub(crate) use login::SECRET;
pub(crate) use signals::{Told, interrupted};

/// How long other threads may take to let go of the servers that they have started.
const CHILDREN: Duration = Duration::from_secs(2);

/// Does what a verb on a server says.
pub(crate) fn run(verb: &Verb) -> ExitCode {
    match verb {
        Verb::Tools(listing) => on(listing.target(), |client| list::tools(client, listing.target())),
        Verb::Resources(listing) => on(listing.target(), |client| list::resources(client, listing.target())),
        Verb::Prompts(listing) => on(listing.target(), |client| list::prompts(client, listing.target())),
        Verb::Call { tool, arguments, json, unchecked, target } => {
            let json = json.as_deref();
            let wanted = call::Wanted { tool, words: arguments, json, unchecked: *unchecked };
            on(target, |client| call::call(client, wanted, target))
        }
        Verb::Read { uri, target } => on(target, |client| read::read(client, uri, target)),
        Verb::Prompt { name, arguments, target } => {
            on(target, |client| prompt::prompt(client, name, arguments, target))
        }
        Verb::Login { headless, scopes, client_id, port, door } => {
            let wishes =
                login::Wishes { headless: *headless, scopes, client_id: client_id.as_deref(), port: *port };
            at(door.format, login::login(door, wishes))
        }
        Verb::Logout(door) => at(door.format, login::logout(door)),
        Verb::Auth(door) => at(door.format, login::status(door)),
        Verb::Policy(verb) => at(verb.policies().format, policy::policy(verb)),
        Verb::Trust(trusting) => ended(trusting.format, trust::trust(trusting)),
        Verb::Config(verb) => ended(verb.format(), config::config(verb)),
        // Those that serve are not on a server.
        Verb::Demo { .. } | Verb::AuthServer(_) | Verb::Run(_) | Verb::Bridge(_) => ExitCode::SUCCESS,
    }
}

/// Says what is wrong with a configuration that can be used all the same.
fn tell_faults(config: &Config) {
    for fault in &config.faults {
        let word = if fault.severity == Severity::Error { "error" } else { "note" };
        note(&format!("contexture: {word}: {}", safe_line(&fault.to_string())));
    }
}

/// What needs no runtime, and ends as programs do when they are interrupted.
fn ended(format: Format, outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(format),
    }
}

/// Runs what needs no connection, or makes its own.
fn at(format: Format, verb: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    let work = async {
        tokio::select! {
            biased;
            () = interrupted() => Err(Failure::interrupted()),
            outcome = verb => outcome,
        }
    };
    match alone(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(format),
    }
}

/// Connects, runs, disconnects.
fn on<F>(target: &Target, verb: impl FnOnce(Client) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    match target.check().and_then(|()| alone(session(target, verb))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let hint = hint::login(&failure, target);
            failure.hint(hint).report(target.format)
        }
    }
}

/// Runs on a runtime of its own, which is gone afterwards and takes all children with it.
pub(crate) fn alone<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run_on(tokio::runtime::Builder::new_current_thread(), Duration::ZERO, work)
}

/// Runs on as many threads as the machine has cores.
pub(crate) fn together<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run_on(tokio::runtime::Builder::new_multi_thread(), Duration::ZERO, work)
}

/// One connection is served fastest by the thread that reads it; many share all threads.
pub(crate) fn serve(face: &Face, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    use tokio::runtime::Builder;
    let runtime =
        if face.listen.is_some() { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    run_on(runtime, CHILDREN, work)
}

/// The runtime has so long to end its tasks: with each goes the process that it has started.
fn run_on<T>(
    mut runtime: tokio::runtime::Builder,
    linger: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime =
        runtime.enable_all().build().map_err(|error| Failure::usage(format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(work);
    // A thread that still waits for the keyboard is no reason to stay.
    runtime.shutdown_timeout(linger);
    outcome
}

async fn session<F>(target: &Target, verb: impl FnOnce(Client) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let client = tokio::select! {
        biased;
        () = interrupted() => return Err(Failure::interrupted()),
        client = connect(target) => client?,
    };
    let outcome = tokio::select! {
        biased;
        () = interrupted() => Err(Failure::interrupted()),
        outcome = verb(client.clone()) => outcome,
    };
    // The server is given time to leave; a second Ctrl-C ends that, too.
    tokio::select! {
        biased;
        () = interrupted() => {}
        () = client.close() => {}
    }
    outcome
}

/// Prints a result as the person wants it.
fn print(format: Format, result: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let mut out = match format {
        Format::Text => text(),
        Format::Json => {
            let json = serde_json::to_string(result).map_err(|error| Failure::usage(error.to_string()))?;
            safe_json(&json)
        }
    };
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    terminal::print(out.as_bytes())?;
    Ok(())
}
