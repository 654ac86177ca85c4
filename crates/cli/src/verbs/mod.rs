//! The verbs on servers: connect, do one thing, print it, leave.
//!
//! A verb never leaves a process behind: not after an error, and not after Ctrl-C.

mod bench;
pub(crate) mod bridge;
mod call;
mod complete;
mod config;
mod doctor;
mod hint;
mod list;
mod login;
mod logs;
mod manual;
mod ping;
mod policy;
mod prompt;
mod raw;
mod read;
mod results;
pub(crate) mod run;
mod servers;
mod shell;
mod signals;
mod subscribe;
mod transcripts;
mod trust;

use std::process::ExitCode;
use std::time::Duration;

use contexture::Client;
use contexture_host::config::{Config, Severity};
use serde::Serialize;

use crate::connect::{Manner, connect_in};
use crate::exit::Failure;
use crate::options::{Face, Format, Listing, Target, Verb, Words};
use crate::place::Place;
use crate::terminal::text::{safe_json, safe_line};
use crate::terminal::{self, Reader, note};

pub(crate) use login::SECRET;
use signals::dismissed;
pub(crate) use signals::{Told, interrupted};

/// How long other threads may take to let go of the servers that they have started.
const CHILDREN: Duration = Duration::from_secs(2);

/// Does what a verb on a server says.
pub(crate) fn run(verb: &Verb) -> ExitCode {
    match verb {
        Verb::Tools(of) => listing(of, list::tools),
        Verb::Resources(of) => listing(of, list::resources),
        Verb::Prompts(of) => listing(of, list::prompts),
        Verb::Call(calling) => call::run(calling),
        Verb::Read(reading) => {
            on(&reading.target, reading.words(), |client, words| read::read(client, words, reading))
        }
        Verb::Prompt(prompting) => {
            on(&prompting.target, prompting.words(), |client, words| prompt::prompt(client, words, prompting))
        }
        Verb::Login(wishes) => at(wishes.door.format, login::login(wishes)),
        Verb::Logout(door) => at(door.format, login::logout(door)),
        Verb::Auth(door) => at(door.format, login::status(door)),
        Verb::Policy(verb) => at(verb.policies().format, policy::policy(verb)),
        Verb::Trust(trusting) => ended(trusting.format, trust::trust(trusting)),
        Verb::Config(verb) => ended(verb.format(), config::config(verb)),
        Verb::Complete(completing) => on(&completing.target, completing.words(), |client, words| {
            complete::complete(client, words, completing)
        }),
        Verb::Subscribe(subscribing) => subscribe::run(subscribing),
        Verb::Logs(logging) => logs::run(logging),
        Verb::Ping(pinging) => {
            on(&pinging.target, pinging.words(), |client, words| ping::ping(client, words, pinging))
        }
        Verb::Raw(raw) => on(&raw.target, raw.words(), |client, words| raw::raw(client, words, raw)),
        Verb::Shell(talking) => shell::run(talking),
        Verb::Doctor(doctoring) => doctor::run(doctoring),
        Verb::Add(adding) => ended(adding.writing.format, servers::add(adding)),
        Verb::Get(showing) => ended(showing.format, servers::get(showing)),
        Verb::List(overview) => ended(overview.format, servers::list(overview)),
        Verb::Remove(naming) => ended(naming.writing.format, servers::remove(naming)),
        Verb::Enable(naming) => ended(naming.writing.format, servers::switch(naming, true)),
        Verb::Disable(naming) => ended(naming.writing.format, servers::switch(naming, false)),
        Verb::Import(importing) => ended(importing.writing.format, servers::import(importing)),
        Verb::Export(exporting) => ended(exporting.writing.format, servers::export(exporting)),
        Verb::Record(recording) => transcripts::record(recording),
        Verb::Replay(replaying) => transcripts::replay(replaying),
        Verb::Mock(mocking) => transcripts::mock(mocking),
        Verb::Test(testing) => transcripts::test(testing),
        Verb::Diff(comparing) => transcripts::diff(comparing),
        Verb::Bench(benching) => bench::run(benching),
        Verb::Completions(completions) => manual::completions(completions),
        Verb::Man(manual) => manual::man(manual),
        Verb::Reference => manual::print_reference(),
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

/// A list of what a server has.
fn listing<'a, F>(listing: &'a Listing, verb: impl FnOnce(Client, &'a Target) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    let whole = listing.whole();
    on(&whole.target, whole.words(), |client, words| async move {
        words.end()?;
        verb(client, &whole.target).await
    })
}

/// Finds the server, connects, runs, disconnects. The verb gets the words that are left.
fn on<F>(target: &Target, words: Words, verb: impl FnOnce(Client, Words) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    on_in(&Manner::plain(target), Told::fails, target, words, verb)
}

/// The same, in a manner of its own, and with what becomes of being told to end.
fn on_in<F>(
    manner: &Manner,
    told: fn() -> Result<(), Failure>,
    target: &Target,
    mut words: Words,
    verb: impl FnOnce(Client, Words) -> F,
) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    let outcome = target.place(&mut words).and_then(|place| {
        let session = session(&place, target, manner, told, |client| verb(client, words));
        alone(session).map_err(|failure| {
            let hint = hint::login(&failure, &place, target);
            failure.hint(hint)
        })
    });
    ended(target.format, outcome)
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

/// Told to end, a verb is dropped, and with it goes what it waits for: the server hears that it is cancelled before the
/// connection closes. Told twice, nothing is waited for.
async fn session<F>(
    place: &Place,
    target: &Target,
    manner: &Manner,
    interrupted: fn() -> Result<(), Failure>,
    verb: impl FnOnce(Client) -> F,
) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let told = Told::listen();
    let client = tokio::select! {
        biased;
        () = told.times(1) => return Err(Failure::interrupted()),
        client = connect_in(place, target, manner) => client?,
    };
    let outcome = tokio::select! {
        biased;
        () = told.times(1) => interrupted(),
        outcome = verb(client.clone()) => outcome,
    };
    // The server is given time to leave, unless somebody is in a hurry.
    tokio::select! {
        biased;
        () = told.times(told.so_far() + 1) => {}
        () = client.close() => {}
    }
    outcome
}

/// A document for programs, on one line.
fn document(value: &impl Serialize) -> Result<String, Failure> {
    let json = serde_json::to_string(value).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(safe_json(&json))
}

/// Prints a result as the person wants it: `each` of its parts is a line with `-o ndjson`.
fn print_each<T: Serialize>(
    format: Format,
    result: &impl Serialize,
    each: impl IntoIterator<Item = T>,
    text: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    results::said(result);
    match format {
        Format::Text => {
            let text = text()?;
            print(format, result, || text)
        }
        Format::Json => print(format, result, String::new),
        Format::Ndjson => {
            for one in each {
                if terminal::print((document(&one)? + "\n").as_bytes())? == Reader::Gone {
                    break;
                }
            }
            Ok(())
        }
    }
}

/// Prints a result as the person wants it.
fn print(format: Format, result: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    results::said(result);
    let mut out = match format {
        Format::Text => text(),
        Format::Json | Format::Ndjson => document(result)?,
    };
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    terminal::print(out.as_bytes())?;
    Ok(())
}
