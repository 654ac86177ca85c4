//! The run itself: everything is built, every job is done in turns, round by round, and the medians are kept.
//! What a program cannot do is written down with the reason and not tried again.

use super::options::Options;
use super::plan::{self, Job};
use super::results::{Results, median};
use super::{figures, machine, setup};
use crate::process::succeeds;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The figures of every round, by row, server and name.
type Rounds = BTreeMap<(String, &'static str, String), Vec<f64>>;

struct Run<'a> {
    drive: std::path::PathBuf,
    results: Results,
    rounds: Rounds,
    /// Calls that a client makes in a second, found in the first round.
    calls: BTreeMap<String, u64>,
    progress: Progress<'a>,
}

/// Builds and measures what was asked for.
pub(super) fn run(bench: &Path, options: &Options, args: &[String]) -> Result<Results, String> {
    for (program, hint) in [("wrk", "apt-get install wrk"), ("taskset", "apt-get install util-linux")] {
        if !succeeds(Command::new("sh").args(["-c", &format!("command -v {program}")])) {
            return Err(format!("`{program}` is not here: {hint}"));
        }
    }
    let mut jobs = plan::jobs(bench, options);
    if jobs.is_empty() {
        return Err("nothing is left to measure: no row begins with that, or no server is called that".into());
    }
    let mut results = Results { about: machine::about(options, args), ..Results::default() };
    let wanted: BTreeSet<_> = jobs.iter().map(|job| job.server.name).collect();
    for (server, reason) in setup::build(bench, &wanted)? {
        eprintln!("{server} is not measured: {reason}");
        for job in jobs.iter().filter(|job| job.server.name == server) {
            leave_out(&mut results, job, &reason);
        }
        jobs.retain(|job| job.server.name != server);
    }
    results.about.extend(setup::versions(bench, &wanted));
    let progress = Progress::new(&jobs, options);
    let drive = bench.join("target/release/drive");
    let mut run = Run { drive, results, rounds: Rounds::new(), calls: BTreeMap::new(), progress };
    for round in 1..=options.rounds {
        for job in jobs.iter().filter(|job| round == 1 || !job.once) {
            run.progress.tell(round, job);
            run.job(job);
            run.progress.done += job.cost;
        }
    }
    Ok(run.finish())
}

impl Run<'_> {
    /// Does one job, unless it was in vain before.
    fn job(&mut self, job: &Job) {
        let failed = |(_, row): &(String, String)| {
            self.results.left_out.get(row).is_some_and(|servers| servers.contains_key(job.server.name))
        };
        if job.takes.iter().all(failed) {
            return;
        }
        match self.drive(job) {
            Ok(found) => self.keep(job, &found),
            Err(reason) => {
                eprintln!("  {} is left out: {reason}", job.server.name);
                leave_out(&mut self.results, job, &reason);
            }
        }
    }

    fn drive(&mut self, job: &Job) -> Result<Value, String> {
        let mut command =
            Command::new(if job.one_core { "taskset".as_ref() } else { self.drive.as_os_str() });
        if job.one_core {
            command.args(["-c", "0"]).arg(&self.drive);
        }
        let (verb, rest) = job.args.split_first().ok_or("a job without a verb")?;
        command.arg(verb);
        if self.progress.is_late() {
            // The first word counts.
            command.args(["--wait", "0", "--retries", "0"]);
        }
        command.args(rest);
        let known = format!("{} {}", job.server.name, job.args.join(" "));
        if let Some(calls) = self.calls.get(&known) {
            command.args(["--calls", &calls.to_string()]);
        }
        let output = command.arg("--").args(&job.command).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("the driver could not be started: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let found: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the driver's answer: {error}"))?;
        if let Some(calls) = found["calls"].as_u64() {
            self.calls.insert(known, calls);
        }
        Ok(found)
    }

    fn keep(&mut self, job: &Job, found: &Value) {
        for (member, row) in &job.takes {
            let figures = if member.is_empty() { found } else { &found[member.as_str()] };
            if let Some(reason) = figures["error"].as_str() {
                eprintln!("  {} is left out of {row}: {reason}", job.server.name);
                let reasons = self.results.left_out.entry(row.clone()).or_default();
                reasons.insert(job.server.name.into(), tidied(reason));
                continue;
            }
            let known = |name: &&String| figures::named(name).is_some();
            let values = figures.as_object().into_iter().flatten();
            for (name, value) in values.filter(|(name, _)| known(name)) {
                if let Some(value) = value.as_f64().filter(|value| value.is_finite()) {
                    let key = (row.clone(), job.server.name, name.clone());
                    self.rounds.entry(key).or_default().push(value);
                }
            }
        }
    }

    /// The medians; what failed in any round has none.
    fn finish(mut self) -> Results {
        for ((row, server, figure), values) in self.rounds {
            let failed = self.results.left_out.get(&row).is_some_and(|servers| servers.contains_key(server));
            if let Some(value) = median(&values).filter(|_| !failed) {
                let figures = self.results.rows.entry(row).or_default().entry(server.into()).or_default();
                figures.insert(figure, (value * 1e3).round() / 1e3);
            }
        }
        self.results
    }
}

fn leave_out(results: &mut Results, job: &Job, reason: &str) {
    for (_, row) in &job.takes {
        results.left_out.entry(row.clone()).or_default().insert(job.server.name.into(), tidied(reason));
    }
}

/// One short line, and nothing about this machine.
pub(super) fn tidied(reason: &str) -> String {
    let line = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let words = line.split(' ').map(|word| if word.matches('/').count() > 2 { "…" } else { word });
    words.collect::<Vec<_>>().join(" ").chars().take(240).collect()
}

/// So much later than planned, and there is no more waiting for an idle machine: it will not be idle.
const LATE: f64 = 600.0;

/// How far the run is, for whoever waits for it.
struct Progress<'a> {
    rounds: usize,
    whole: f64,
    done: f64,
    began: Instant,
    options: &'a Options,
}

impl<'a> Progress<'a> {
    fn new(jobs: &[Job], options: &'a Options) -> Self {
        let rounds = |job: &Job| if job.once { 1.0 } else { options.rounds as f64 };
        let whole = jobs.iter().map(|job| job.cost * rounds(job)).sum();
        Self { rounds: options.rounds, whole, done: 0.0, began: Instant::now(), options }
    }

    fn is_late(&self) -> bool {
        self.began.elapsed().as_secs_f64() > self.done + LATE
    }

    fn tell(&self, round: usize, job: &Job) {
        let elapsed = self.began.elapsed();
        let pace = if self.done > 10.0 { elapsed.as_secs_f64() / self.done } else { 1.0 };
        let left = Duration::from_secs_f64((self.whole - self.done).max(0.0) * pace);
        let rows: Vec<&str> = job.takes.iter().map(|(_, row)| row.as_str()).collect();
        let shown = if self.options.rounds > 1 {
            format!("round {round} of {}, ", self.rounds)
        } else {
            String::new()
        };
        eprintln!(
            "{shown}{} gone, {} left: {}: {}",
            clock(elapsed),
            clock(left),
            job.server.name,
            rows.join(" ")
        );
    }
}

fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_line_without_paths() {
        assert_eq!(tidied("cannot\n  open /a/b/c/d: no\n"), "cannot open … no");
        assert_eq!(tidied("text/event-stream is fine"), "text/event-stream is fine");
    }
}
