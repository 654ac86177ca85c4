//! `bench`: one tool, again and again, and how long it took.
//!
//! It says before it begins what it will do to the server, and refuses to repeat what destroys. Nobody is asked anything
//! on the way. Ctrl-C ends it early, with what was measured until then; a second one ends everything.

mod buckets;
mod load;
mod report;
mod tally;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contexture::model::{JsonObject, Method, Tool};
use contexture::{Client, Error};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::{Told, ended, hint, print};
use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Benching, Format, Target, Words};
use crate::place::Place;
use crate::terminal::text::safe_line;
use crate::terminal::{self, note};
use crate::{arguments, nearest};
use load::{Ended, Load, Work};
use report::Report;
use tally::Outcome;

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn run(benching: &Benching) -> ExitCode {
    // Whoever answered a question would be measured.
    let target = Target { no_input: true, ..benching.target.clone() };
    let mut words = benching.words();
    let outcome = fits(benching).and_then(|()| target.place(&mut words)).and_then(|place| {
        super::alone(bench(&place, &target, words, benching)).map_err(|failure| {
            let hint = hint::login(&failure, &place, &target);
            failure.hint(hint)
        })
    });
    ended(target.format, outcome)
}

fn fits(benching: &Benching) -> Result<(), Failure> {
    if benching.rate.is_none() && benching.connections > benching.concurrency {
        return Err(Failure::usage("there are more connections than calls at a time")
            .hint(Some(format!("--concurrency {} gives each of them one", benching.connections))));
    }
    Ok(())
}

async fn bench(place: &Place, target: &Target, words: Words, benching: &Benching) -> Result<(), Failure> {
    let told = Told::listen();
    let clients = tokio::select! {
        biased;
        () = told.times(1) => return Err(Failure::interrupted()),
        clients = connections(place, target, benching.connections) => clients?,
    };
    let outcome = tokio::select! {
        biased;
        () = told.times(2) => Err(Failure::interrupted()),
        outcome = measure(&clients, words, benching, &told) => outcome,
    };
    let leave = async {
        for client in &clients {
            client.close().await;
        }
    };
    tokio::select! {
        biased;
        () = told.times(2) => {}
        () = leave => {}
    }
    outcome
}

async fn connections(place: &Place, target: &Target, count: u16) -> Result<Vec<Client>, Failure> {
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(connect(place, target).await?);
    }
    Ok(clients)
}

async fn measure(
    clients: &[Client],
    mut words: Words,
    benching: &Benching,
    told: &Told,
) -> Result<(), Failure> {
    let Some(first) = clients.first() else { return Ok(()) };
    let name = words.wanted("which tool to call")?;
    let tools = first.tools().await.map_err(Error::from)?;
    let tool = tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names = tools.iter().map(|tool| tool.name.as_str());
        Failure::usage(format!("there is no tool {name}")).hint(nearest::proposal(&name, names))
    })?;
    let request = request(tool, &words.rest())?;
    let server = first.server().display_name().to_owned();
    let load = Load::of(benching);
    consent(tool, benching, &report::intent(load, &name, &server, clients.len()))?;

    let work = Arc::new(Work::new(request));
    for client in clients {
        client.know_tools(&tools);
        for _ in 0..benching.warmup {
            warm(client, &work.request).await?;
        }
    }
    let begun = Instant::now();
    let ended = {
        let calls = load::run(clients, load, &work, told);
        tokio::select! {
            biased;
            ended = calls => ended,
            listened = tell(&work, benching.target.format) => return listened,
        }
    };
    let report = Report {
        server,
        tool: &name,
        revision: first.revision().as_str(),
        connections: clients.len(),
        load,
        seconds: begun.elapsed().as_secs_f64(),
        ended,
        tally: &work.tally(),
    };
    print(benching.target.format, &report.json(), || report.text())?;
    verdict(&report)
}

/// One call that does not count. What it cannot do, no other will.
async fn warm(client: &Client, request: &RawValue) -> Result<(), Failure> {
    let answer = client.forward(Method::ToolsCall, Some(request)).await?;
    match Outcome::of(Ok(answer)) {
        Outcome::Done { .. } => Ok(()),
        Outcome::Failed { kind, example, .. } => {
            Err(Failure::tool(format!("the first call failed, so no more are made: {kind}: {example}"))
                .hint(Some("--warmup 0 makes them all the same".to_owned())))
        }
    }
}

/// How it all went, as an exit code.
fn verdict(report: &Report<'_>) -> Result<(), Failure> {
    let (failed, all) = (report.tally.failed(), report.tally.answered());
    match report.ended {
        Ended::Interrupted => Err(Failure::interrupted()),
        Ended::Lost => Err(Error::Closed("the server went away in the middle of it".to_owned()).into()),
        Ended::Planned if failed > 0 => Err(Failure::tool(format!("{failed} of {all} calls failed"))),
        Ended::Planned => Ok(()),
    }
}

fn request(tool: &Tool, words: &[String]) -> Result<Box<RawValue>, Failure> {
    let schema = &tool.input_schema;
    let given = arguments::of_tool(JsonObject::new(), words, Some(schema));
    let given = given.and_then(|given| arguments::check(&given, schema).map(|()| given));
    let given = given.map_err(|fault| Failure::usage(format!("{}: {fault}", tool.name)))?;
    let params = json!({ "name": tool.name, "arguments": given });
    to_raw_value(&params).map_err(|error| Failure::usage(error.to_string()))
}

/// Says what is about to happen, and stops where that would be harm.
fn consent(tool: &Tool, benching: &Benching, intent: &str) -> Result<(), Failure> {
    let hints = tool.annotations.clone().unwrap_or_default();
    let is_said = hints.destructive_hint.is_some();
    if hints.is_destructive() && is_said && !benching.yes {
        return Err(Failure::usage(format!("{intent}: the server says that this tool destroys something"))
            .hint(Some("--yes calls it all the same".to_owned())));
    }
    if benching.target.format == Format::Text {
        note(intent);
        if hints.is_destructive() && !is_said {
            note(&format!("  the server does not say whether {} changes anything", safe_line(&tool.name)));
        }
    }
    Ok(())
}

/// Says once a second how it goes, to a person at a terminal or to a program. Ready when nobody reads it any more.
async fn tell(work: &Work, format: Format) -> Result<(), Failure> {
    let is_watched = format == Format::Text && std::io::stderr().is_terminal();
    if !is_watched && format != Format::Ndjson {
        return std::future::pending().await;
    }
    let mut clock = tokio::time::interval(SECOND);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let begun = clock.tick().await;
    loop {
        // One that comes late is not called by another's name.
        let second = (clock.tick().await - begun).as_secs();
        let mut tally = work.tally();
        if format == Format::Text {
            note(&report::moment(second, &tally));
        } else {
            let line = format!("{}\n", report::moment_json(second, &tally));
            if terminal::print(line.as_bytes())? == terminal::Reader::Gone {
                return Ok(());
            }
        }
        tally.lately.clear();
    }
}
