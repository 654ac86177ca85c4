//! `cargo xtask bench stdio`: an echo server of ours against its peers and against the pipes themselves.
//! The driver (`bench/drive`) measures; this starts it, in turns, and judges nothing that it did not print.

use super::{Limit, build, built, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const USAGE: &str = "usage: cargo xtask bench stdio [--rounds N] [--count N]";
const RELEASE: &str = "release";
const LEGACY: &str = "2025-06-18";
const ERAS: [&str; 2] = [LEGACY, "2026-07-28"];
const OURS: &str = "contexture-echo";
const DEMO: &str = "contexture demo";
const BARE: &str = "bare-loop";
const RMCP: &str = "rmcp-echo";
const RMCP_TUNED: &str = "rmcp-echo-tuned";
const TOWER: &str = "tower-mcp-echo";
const TOWER_SYNC: &str = "tower-mcp-echo-sync";
const PEERS: [&str; 5] = [BARE, RMCP, RMCP_TUNED, TOWER, TOWER_SYNC];
/// The columns of the table: the driver's name for the figure, the heading, decimals.
const FIGURES: [(&str, &str, usize); 6] = [
    ("start_ms", "start ms", 2),
    ("round_trip_us", "trip µs", 1),
    (PINNED, "1-core µs", 1),
    ("calls_per_s", "calls/s", 0),
    ("cpu_us", "CPU µs", 2),
    ("rss_mb", "RSS MB", 1),
];
/// A round trip with both processes on one core. Left to the scheduler, the same program
/// takes 5 µs or 30 depending on whether another core has to be woken: that is shown, not
/// judged, unless processes cannot be kept on a core here.
const PINNED: &str = "pinned_us";

/// What must hold: a figure of ours divided by the same figure of a peer.
struct Target {
    name: &'static str,
    figure: &'static str,
    peer: &'static str,
    limit: Limit,
}

const fn target(name: &'static str, figure: &'static str, peer: &'static str, limit: Limit) -> Target {
    Target { name, figure, peer, limit }
}

/// The project's targets, then the same against the peers' fastest configurations,
/// which is the harder comparison and is printed so that nobody has to take our word.
const TARGETS: [Target; 13] = [
    target("calls/s", "calls_per_s", RMCP, Limit::AtLeast(15.0)),
    target("calls/s", "calls_per_s", TOWER, Limit::AtLeast(5.0)),
    target("CPU per call", "cpu_us", RMCP, Limit::AtMost(0.1)),
    target("round trip", PINNED, BARE, Limit::AtMost(2.0)),
    target("start-up", "start_ms", RMCP, Limit::AtMost(1.0)),
    target("start-up", "start_ms", TOWER, Limit::AtMost(1.0)),
    target("resident memory", "rss_mb", RMCP, Limit::AtMost(1.5)),
    target("calls/s", "calls_per_s", RMCP_TUNED, Limit::AtLeast(15.0)),
    target("calls/s", "calls_per_s", TOWER_SYNC, Limit::AtLeast(5.0)),
    target("CPU per call", "cpu_us", RMCP_TUNED, Limit::AtMost(0.1)),
    target("start-up", "start_ms", RMCP_TUNED, Limit::AtMost(1.0)),
    target("start-up", "start_ms", TOWER_SYNC, Limit::AtMost(1.0)),
    target("resident memory", "rss_mb", RMCP_TUNED, Limit::AtMost(1.5)),
];

/// One server in one era, with the figures of every round.
struct Entry {
    name: &'static str,
    command: Vec<String>,
    era: &'static str,
    rounds: BTreeMap<&'static str, Vec<f64>>,
}

struct Options {
    rounds: usize,
    count: usize,
}

/// Runs the benchmark.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    let root = root()?;
    let bench = root.join("bench");
    for package in ["drive", BARE, OURS, RMCP, TOWER] {
        build(&bench, package, RELEASE)?;
    }
    build(root, "contexture-cli", RELEASE)?;
    let drive = built(&bench, "drive", RELEASE);
    let mut entries = answering(&drive, &servers(root, &bench))?;
    let pinned = one_core();
    for round in 1..=options.rounds {
        for entry in &mut entries {
            eprintln!("round {round} of {}: {} {}", options.rounds, entry.name, entry.era);
            measure(&drive, entry, &options, pinned)?;
        }
    }
    for era in ERAS {
        let text = report(era, &entries, &options);
        std::io::stdout().write_all(text.as_bytes()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options { rounds: 3, count: 100_000 };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(USAGE.into()) };
        let value = value.parse().ok().filter(|n| *n > 0).ok_or(USAGE)?;
        match name.as_str() {
            "--rounds" => options.rounds = value,
            "--count" => options.count = value,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

fn servers(root: &Path, bench: &Path) -> Vec<(&'static str, Vec<String>)> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let ours = (OURS, vec![text(built(bench, OURS, RELEASE))]);
    let demo = (DEMO, vec![text(built(root, "contexture", RELEASE)), "demo".into()]);
    let peers = PEERS.map(|name| (name, vec![text(built(bench, name, RELEASE))]));
    [ours, demo].into_iter().chain(peers).collect()
}

/// The servers that give a correct answer, in the eras in which they do. Every one must
/// in the legacy era; whoever does not speak the modern one is left out of it, aloud.
fn answering(drive: &Path, servers: &[(&'static str, Vec<String>)]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for era in ERAS {
        for (name, command) in servers {
            let entry = Entry { name, command: command.clone(), era, rounds: BTreeMap::new() };
            match call(Command::new(drive).arg("--check"), &entry) {
                Ok(_) => entries.push(entry),
                Err(error) if era == LEGACY || *name == OURS => return Err(format!("{name} {era}: {error}")),
                Err(error) => eprintln!("{name} is not measured in {era}: {error}"),
            }
        }
    }
    Ok(entries)
}

fn measure(drive: &Path, entry: &mut Entry, options: &Options, pinned: bool) -> Result<(), String> {
    let count = options.count.to_string();
    let mut figures = call(Command::new(drive).args(["--count", &count]), entry)?;
    if pinned {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(drive).args(["--sequential", "--count", &count]);
        figures[PINNED] = call(&mut command, entry)?["round_trip_us"].take();
    }
    for (figure, _, _) in FIGURES {
        if let Some(value) = figures[figure].as_f64() {
            entry.rounds.entry(figure).or_default().push(value);
        }
    }
    Ok(())
}

/// Whether processes can be kept on one core here.
fn one_core() -> bool {
    let mut probe = Command::new("taskset");
    probe.args(["-c", "0", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Runs the driver on one server and parses its line.
fn call(command: &mut Command, entry: &Entry) -> Result<Value, String> {
    command.args(["--era", entry.era, "--window", "64", "--bytes", "64", "--"]).args(&entry.command);
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("driver: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("driver: {e}"))
}

fn report(era: &str, entries: &[Entry], options: &Options) -> String {
    let entries: Vec<_> = entries.iter().filter(|entry| entry.era == era).collect();
    let mut text = format!(
        "\n{era}: echo of 64 bytes, window 64, {} calls, median of {} rounds\n\n{:20}",
        options.count, options.rounds, ""
    );
    for (_, heading, _) in FIGURES {
        text += &format!(" {heading:>10}");
    }
    for entry in &entries {
        text += &format!("\n{:20}", entry.name);
        for (figure, _, decimals) in FIGURES {
            let value = median(entry, figure).map_or("-".into(), |value| format!("{value:.decimals$}"));
            text += &format!(" {value:>10}");
        }
    }
    text += "\n\n";
    for target in &TARGETS {
        text += &verdict(target, &entries);
    }
    text
}

/// One line about one target; nothing when either side was not measured. The bare loop's
/// ratio stands beside ours: nothing that reads and writes these pipes can do much better.
fn verdict(target: &Target, entries: &[&Entry]) -> String {
    let figure = |name| entries.iter().find(|e| e.name == name).and_then(|e| judged(e, target.figure));
    let (Some(ours), Some(bare), Some(theirs)) = (figure(OURS), figure(BARE), figure(target.peer)) else {
        return String::new();
    };
    let ratio = ours / theirs;
    let mark = if target.limit.holds(ratio) { "holds" } else { "FAILS" };
    let limit = target.limit.text();
    let name = format!("{} / {}", target.name, target.peer);
    format!("{mark}  {name:36} {ratio:7.2}   {limit:12} bare loop {:.2}\n", bare / theirs)
}

fn judged(entry: &Entry, figure: &str) -> Option<f64> {
    median(entry, figure).or_else(|| if figure == PINNED { median(entry, "round_trip_us") } else { None })
}

fn median(entry: &Entry, figure: &str) -> Option<f64> {
    super::median(entry.rounds.get(figure)?)
}
