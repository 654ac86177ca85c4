//! `cargo xtask bench http`: an echo server of ours over HTTP against its peers and against bare hyper.
//! `bench/http/*.py` start one server each, check its answer and load it with wrk; this runs them in turns.
//! It measures nothing itself, and it needs wrk, taskset and python3 on Linux.

mod report;
mod servers;

use super::{build, built, root};
use crate::process::{capture, succeeds};
use serde_json::Value;
use servers::{Role, SERVERS, SETTINGS, Server, Setting};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub(super) const USAGE: &str = "\
usage: cargo xtask bench http [--rounds N] [--seconds N] [--wait SECONDS] [--retries N] [--sessions N] [--only NAME,NAME]
       cargo xtask bench http --perf NAME sessions|stateless|modern [--seconds N]";

/// One server in one setting, with the figures of every round.
struct Entry {
    server: &'static Server,
    setting: &'static Setting,
    rounds: BTreeMap<&'static str, Vec<f64>>,
}

impl Entry {
    fn median(&self, figure: &str) -> Option<f64> {
        super::median(self.rounds.get(figure)?)
    }
}

struct Options {
    rounds: usize,
    seconds: usize,
    sessions: usize,
    retries: usize,
    wait: usize,
    only: Vec<String>,
    perf: Option<(String, String)>,
}

/// Runs the benchmark.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    for (program, hint) in [("wrk", "apt-get install wrk"), ("taskset", "apt-get install util-linux")] {
        if !succeeds(Command::new("sh").args(["-c", &format!("command -v {program}")])) {
            return Err(format!("`{program}` is not here: {hint}"));
        }
    }
    let bench = root()?.join("bench");
    if let Some((name, setting)) = &options.perf {
        return profile(&bench, name, setting, &options);
    }
    let servers = chosen(&bench, &options)?;
    let mut entries = answering(&bench, &servers)?;
    for round in 1..=options.rounds {
        for entry in &mut entries {
            let (name, key) = (entry.server.name, entry.setting.key);
            eprintln!("round {round} of {}: {name}, {key}", options.rounds);
            measure(&bench, entry, &options)?;
        }
    }
    for setting in &SETTINGS {
        print!("{}", report::table(setting, &entries, options.rounds, options.seconds));
    }
    if options.sessions > 0 {
        print!("{}", report::sessions(options.sessions, &idle_sessions(&bench, &servers, options.sessions)?));
    }
    Ok(())
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options =
        Options { rounds: 5, seconds: 3, sessions: 5000, retries: 2, wait: 20, only: Vec::new(), perf: None };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        let number = || value.parse::<usize>().map_err(|_| USAGE.to_owned());
        match name.as_str() {
            "--rounds" => options.rounds = number()?.max(1),
            "--seconds" => options.seconds = number()?.max(1),
            "--sessions" => options.sessions = number()?,
            "--retries" => options.retries = number()?,
            "--wait" => options.wait = number()?,
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            "--perf" => options.perf = Some((value.clone(), args.next().ok_or(USAGE)?.clone())),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

/// The servers that were asked for, built.
fn chosen(bench: &Path, options: &Options) -> Result<Vec<&'static Server>, String> {
    if let Some(name) = options.only.iter().find(|name| !SERVERS.iter().any(|s| s.name == name.as_str())) {
        return Err(unknown(name));
    }
    let wanted = |server: &&Server| options.only.is_empty() || options.only.iter().any(|n| n == server.name);
    let servers: Vec<_> = SERVERS.iter().filter(wanted).collect();
    let mut packages: Vec<_> = servers.iter().map(|server| server.package).collect();
    packages.dedup();
    for package in packages {
        eprintln!("building {package}");
        build(bench, package, "release")?;
    }
    Ok(servers)
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = SERVERS.iter().map(|server| server.name).collect();
    format!("there is no server `{name}`; there are {}", names.join(", "))
}

/// The servers that answer correctly, in the settings in which they do. Ours must in all; a peer that
/// does not is left out of that setting, aloud.
fn answering(bench: &Path, servers: &[&'static Server]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for setting in &SETTINGS {
        for &server in servers {
            let entry = Entry { server, setting, rounds: BTreeMap::new() };
            match load(bench, &entry, "release", &["--check"]) {
                Ok(_) => entries.push(entry),
                Err(error) if server.role == Role::Ours => return Err(error),
                Err(error) => eprintln!("{} is not measured, {}: {error}", server.name, setting.key),
            }
        }
    }
    Ok(entries)
}

/// One round of one server. If somebody else was at work meanwhile it is measured again, as often as was
/// asked for, and the least disturbed counts: whoever shares the machine should not decide who is fastest.
fn measure(bench: &Path, entry: &mut Entry, options: &Options) -> Result<(), String> {
    let args = ["--seconds", &options.seconds.to_string(), "--wait", &options.wait.to_string()];
    let others = |figures: &Value| figures["others"].as_f64().unwrap_or_default();
    let mut figures = load(bench, entry, "release", &args)?;
    for _ in 0..options.retries {
        if others(&figures) <= report::QUIET {
            break;
        }
        let again = load(bench, entry, "release", &args)?;
        if others(&again) < others(&figures) {
            figures = again;
        }
    }
    for (figure, _, _) in report::FIGURES {
        if let Some(value) = figures[figure].as_f64() {
            entry.rounds.entry(figure).or_default().push(value);
        }
    }
    Ok(())
}

/// Runs the load script on one server and parses its line.
fn load(bench: &Path, entry: &Entry, profile: &str, args: &[&str]) -> Result<Value, String> {
    let mut command = Command::new("python3");
    command.arg(bench.join("http/http_bench.py")).args(args).args(entry.setting.load_args());
    command.arg("--").arg(built(bench, entry.server.package, profile)).args(entry.server.args(entry.setting));
    printed(&mut command).map_err(|error| format!("{}, {}: {error}", entry.server.name, entry.setting.key))
}

/// The last line of a script's output, which is JSON, or its complaint.
fn printed(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|e| format!("python3: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("the script's output: {e}"))
}

/// What an idle legacy session costs each server that has sessions, in KiB.
fn idle_sessions(
    bench: &Path,
    servers: &[&'static Server],
    count: usize,
) -> Result<Vec<(&'static Server, f64)>, String> {
    let mut rows = Vec::new();
    let [setting, ..] = &SETTINGS;
    for &server in servers.iter().filter(|server| server.role != Role::Limit) {
        eprintln!("{count} idle sessions: {}", server.name);
        let mut command = Command::new("python3");
        command.arg(bench.join("http/sessions.py")).arg(count.to_string()).arg("--");
        command.arg(built(bench, server.package, "release")).args(server.args(setting));
        let figures = printed(&mut command).map_err(|error| format!("{}: {error}", server.name))?;
        rows.extend(figures["kib_per_session"].as_f64().map(|kib| (server, kib)));
    }
    Ok(rows)
}

/// Where one server spends its time under load: the symbols above half a percent.
fn profile(bench: &Path, name: &str, key: &str, options: &Options) -> Result<(), String> {
    let server = SERVERS.iter().find(|server| server.name == name).ok_or_else(|| unknown(name))?;
    let setting = SETTINGS.iter().find(|setting| setting.key == key).ok_or(USAGE)?;
    let directory = bench.join("target/profiling");
    build(bench, server.package, "profiling")?;
    let file = directory.join("perf.data").to_string_lossy().into_owned();
    let entry = Entry { server, setting, rounds: BTreeMap::new() };
    let seconds = options.seconds.to_string();
    let figures = load(bench, &entry, "profiling", &["--seconds", &seconds, "--perf", &file])?;
    println!("{name}, {key}: {figures}");
    for sort in ["dso", "dso,symbol"] {
        let mut perf = Command::new("perf");
        perf.args([
            "report",
            "--stdio",
            "--no-children",
            "--percent-limit",
            "0.5",
            "--sort",
            sort,
            "-i",
            &file,
        ]);
        println!();
        for line in capture(&mut perf)?.lines().filter(|line| line.contains('%') && !line.starts_with('#')) {
            let words: Vec<_> = line.split_whitespace().filter(|word| *word != "-").collect();
            println!("{}", words.join(" ").chars().take(140).collect::<String>());
        }
    }
    Ok(())
}
