//! `doctor`: walks from the configuration to a working call, and names the step that fails and what to do next.
//!
//! Looks and asks, and changes nothing: no file is written, nobody is logged in, no tool is called that the person did not name, and
//! nothing of a project is started that nobody trusts. Findings are in [`report`], the steps in [`step`].

mod command;
mod configuration;
mod http;
mod lints;
mod lists;
mod live;
mod print;
mod process;
mod protocol;
mod remedy;
mod report;
mod secrets;
mod step;
mod tap;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};

use super::interrupted;
use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Doctoring, Format, Target};
use crate::place::Place;
use crate::terminal::text::safe_json;
use crate::terminal::{self, Reader};
use configuration::{Patient, patients};
use live::Live;
use process::Launch;
use protocol::Connected;
use report::{Report, State};
use step::{ADDRESS, AUTHORIZATION, CONFIGURATION, PROCESS, PROTOCOL, Step, UNREACHABLE};

/// Servers that are looked at side by side.
const BESIDE: usize = 8;
/// A whole walk may take so many times what a server may be silent.
const WALK: u32 = 4;

/// Does what the verb says.
pub(super) fn run(options: &Doctoring) -> ExitCode {
    let format = options.target.format;
    match patients(options).and_then(|patients| super::alone(all(patients, options))) {
        Ok(reports) => end(&reports, options),
        Err(failure) => failure.report(format),
    }
}

/// Looks at all of them, and tells of each as soon as those before it are told.
async fn all(patients: Vec<Patient>, options: &Doctoring) -> Result<Vec<Report>, Failure> {
    let walks = patients.iter().map(|patient| (patient.report.name.clone(), patient.report.now.clone()));
    let live = Live::new(walks.collect());
    let work = async {
        let mut walks = stream::iter(patients).map(|patient| examine(patient, options)).buffered(BESIDE);
        let mut reports = Vec::new();
        while let Some(report) = walks.next().await {
            live.clear();
            let told = match options.target.format {
                Format::Text => terminal::print(print::one(&report).as_bytes())?,
                Format::Ndjson => line(&report.to_json(options.strict))?,
                Format::Json => Reader::Listening,
            };
            reports.push(report);
            if told == Reader::Gone {
                break;
            }
        }
        Ok(reports)
    };
    let outcome = tokio::select! {
        biased;
        () = interrupted() => Err(Failure::interrupted()),
        reports = work => reports,
        never = live.draw() => match never {},
    };
    live.clear();
    outcome
}

fn line(document: &serde_json::Value) -> Result<Reader, Failure> {
    Ok(terminal::print(format!("{}\n", safe_json(&document.to_string())).as_bytes())?)
}

/// Says what all reports come to, and ends as the first that failed says.
fn end(reports: &[Report], options: &Doctoring) -> ExitCode {
    let exit = reports.iter().map(|report| report.exit(options.strict)).find(|exit| *exit != 0).unwrap_or(0);
    let format = options.target.format;
    let told = match format {
        Format::Text => {
            terminal::print(print::summary(reports, options.strict).as_bytes()).map_err(Failure::from)
        }
        Format::Json => line(&print::document(reports, exit, options.strict)),
        Format::Ndjson => Ok(Reader::Listening),
    };
    if let Err(failure) = told {
        return failure.report(format);
    }
    match failure(reports, exit, options.strict) {
        Some(failure) if format != Format::Text => failure.report(format),
        _ => ExitCode::from(exit),
    }
}

/// The first failure, in the words that every verb has for it.
fn failure(reports: &[Report], exit: u8, strict: bool) -> Option<Failure> {
    let report = reports.iter().find(|report| report.exit(strict) != 0)?;
    let wanted = |state: State| state == State::Failed || (strict && state == State::Warning);
    let finding = report.findings.iter().find(|finding| wanted(finding.state))?;
    let words = format!("{}: {}: {}", report.name, finding.step.title(), finding.seen);
    let failure = match exit {
        CONFIGURATION => Failure::usage(words),
        AUTHORIZATION => Failure::login_needed(words),
        UNREACHABLE => Failure::unreachable(words),
        _ => Failure::tool(words),
    };
    Some(failure.hint(finding.next.clone()))
}

/// One server, within its time.
async fn examine(patient: Patient, options: &Doctoring) -> Report {
    let Patient { mut report, place, patience } = patient;
    match place {
        None => report.plan(&[Step::Handshake, Step::Call]),
        Some(place) => {
            let limit = patience * WALK;
            let walked = tokio::time::timeout(limit, walk(&mut report, &place, options, patience)).await;
            if walked.is_err() {
                report.out_of_time(format!("the walk took longer than {} s", limit.as_secs_f32()));
            }
        }
    }
    report.finish();
    report
}

/// From a place to a call.
async fn walk(report: &mut Report, place: &Place, options: &Doctoring, patience: Duration) {
    let target = &options.target;
    let connected = match (http::Address::of(place, target, patience), Launch::of(place, target)) {
        (Some(address), _) => {
            report.plan(ADDRESS);
            report.plan(PROTOCOL);
            address.connect(report).await
        }
        (None, Some(launch)) => {
            report.plan(PROCESS);
            report.plan(PROTOCOL);
            launch.connect(report, place, target, patience).await
        }
        (None, None) => {
            report.plan(PROTOCOL);
            within(report, place, target).await
        }
    };
    if let Some(connected) = connected {
        connected.examine(report, options).await;
    }
}

/// What is neither started nor reached by URL is served in this very process, as every verb has it.
async fn within(report: &mut Report, place: &Place, target: &Target) -> Option<Connected> {
    report.begin(Step::Handshake);
    let begun = Instant::now();
    match connect(place, target).await {
        Ok(client) => Some(Connected { client, exit: None, log: None, took: begun.elapsed(), how: None }),
        Err(failure) => {
            let (words, next) = failure.parts();
            report.fail(
                Step::Handshake,
                words,
                next.unwrap_or("this should not happen: tell us how it came about"),
            )
        }
    }
}
