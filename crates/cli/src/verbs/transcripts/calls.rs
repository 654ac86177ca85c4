//! `test`: calls from a file, and whether what comes of them is as expected.
//!
//! The file is JSON, with comments; `docs/transcripts.md` describes it. What it names is started as if it were named on the
//! command line.

mod expect;
mod file;
mod junit;
mod skeleton;
mod step;

use std::collections::BTreeMap;
use std::time::Instant;

use contexture::Client;
use serde::Serialize;
use serde_json::{Value, json};

use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Format, Target, Testing};
use crate::place::Place;
use crate::terminal;
use crate::terminal::style::Style;
use crate::terminal::text::{safe, safe_json, safe_line};
use file::{File, Step};
pub(super) use skeleton::skeleton;

/// What came of one step.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    /// What was not as expected; none if all was.
    faults: Vec<String>,
    milliseconds: u128,
}

pub(super) async fn run(testing: &Testing) -> Result<(), Failure> {
    let path = testing.file.as_deref().ok_or_else(|| Failure::usage("which file?"))?;
    let file = File::load(path)?;
    let mut stage = Stage {
        target: &testing.target,
        places: places(testing, &file)?,
        clients: BTreeMap::new(),
        variables: BTreeMap::new(),
    };
    let mut outcomes = Vec::new();
    for (at, step) in file.steps.iter().enumerate() {
        let begun = Instant::now();
        let faults = stage.run(step).await?;
        let name = step.name.clone().unwrap_or_else(|| format!("{}. {}", at + 1, step.what));
        let outcome = Outcome { name, faults, milliseconds: begun.elapsed().as_millis() };
        tell(testing.target.format, &outcome)?;
        outcomes.push(outcome);
    }
    for client in stage.clients.values() {
        client.close().await;
    }
    if let Some(report) = &testing.junit {
        let text = junit::report(&path.display().to_string(), &outcomes);
        std::fs::write(report, text)
            .map_err(|error| Failure::usage(format!("{}: {error}", report.display())))?;
    }
    finish(testing.target.format, &outcomes)
}

/// Servers by the names that the file gives them; the one on the command line comes before the file's only one.
fn places(testing: &Testing, file: &File) -> Result<BTreeMap<String, Place>, Failure> {
    let target = &testing.target;
    let mut places = BTreeMap::new();
    for (name, word) in &file.servers {
        let place = Place::find(Some(word), &target.files)?;
        place.may_start()?;
        places.insert(name.clone(), place);
    }
    let is_named = testing.server.is_some() || !target.command.is_empty();
    if is_named || !places.contains_key("") && file.steps.iter().any(|step| step.on.is_empty()) {
        places.insert(String::new(), target.place(&mut testing.words())?);
    }
    Ok(places)
}

struct Stage<'a> {
    target: &'a Target,
    places: BTreeMap<String, Place>,
    clients: BTreeMap<String, Client>,
    variables: BTreeMap<String, Value>,
}

impl Stage<'_> {
    async fn client(&mut self, name: &str) -> Result<Client, Failure> {
        if let Some(client) = self.clients.get(name) {
            return Ok(client.clone());
        }
        let place = self
            .places
            .get(name)
            .ok_or_else(|| Failure::usage(format!("the file has no server {name:?}")))?;
        // One file holds one session: that with the first server.
        let record = self.target.record.clone().filter(|_| self.clients.is_empty());
        let target = Target { record, ..self.target.clone() };
        let client = connect(place, &target).await?;
        self.clients.insert(name.to_owned(), client.clone());
        Ok(client)
    }

    /// What of a step was not as expected.
    async fn run(&mut self, step: &Step) -> Result<Vec<String>, Failure> {
        let client = self.client(&step.on).await?;
        let step = match step.filled_in(&self.variables) {
            Ok(step) => step,
            Err(missing) => return Ok(vec![missing]),
        };
        let answer = step::perform(&client, &step).await;
        let faults = expect::check(&step.expectations, &answer);
        for (name, pointer) in &step.save {
            if let Some(value) = answer.value().pointer(pointer) {
                self.variables.insert(name.clone(), value.clone());
            } else if faults.is_empty() {
                return Ok(vec![format!("nothing to save as {name}: there is no {pointer}")]);
            }
        }
        Ok(faults)
    }
}

/// Steps are told one by one, to those who watch.
fn tell(format: Format, outcome: &Outcome) -> Result<(), Failure> {
    let text = match format {
        Format::Json => return Ok(()),
        Format::Ndjson => safe_json(&serde_json::to_string(outcome).unwrap_or_default()) + "\n",
        Format::Text => {
            let style = Style::of_stdout();
            let mark = if outcome.faults.is_empty() { style.green("ok  ") } else { style.bold("FAIL") };
            let time = style.dim(&format!("{} ms", outcome.milliseconds));
            let faults: String = outcome
                .faults
                .iter()
                .flat_map(|fault| fault.lines())
                .fold(String::new(), |out, line| out + "        " + &safe(line) + "\n");
            format!("{mark}  {}  {time}\n{faults}", safe_line(&outcome.name))
        }
    };
    terminal::print(text.as_bytes())?;
    Ok(())
}

fn finish(format: Format, outcomes: &[Outcome]) -> Result<(), Failure> {
    let failed = outcomes.iter().filter(|outcome| !outcome.faults.is_empty()).count();
    match format {
        Format::Text => {
            let text = format!("{} passed, {failed} failed\n", outcomes.len() - failed);
            terminal::print(text.as_bytes())?;
        }
        Format::Json => {
            let report = json!({ "passed": outcomes.len() - failed, "failed": failed, "steps": outcomes });
            terminal::print((safe_json(&report.to_string()) + "\n").as_bytes())?;
        }
        Format::Ndjson => {}
    }
    match failed {
        0 => Ok(()),
        1 => Err(Failure::tool("1 step failed")),
        _ => Err(Failure::tool(format!("{failed} steps failed"))),
    }
}
