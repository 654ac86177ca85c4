//! `cargo xtask bench gateway`: echo through our gateway beside other people's, and beside the direct call.
//!
//! Every gateway is in front of the same server, ours of the benchmark, and is called by the same driver. What one
//! cannot do is left out with the reason. A promise that is missed is said, and is no failure.

mod handshakes;
mod peers;
mod report;
mod setup;
mod upstream;

use super::options::Options;
use super::results::{Figures, median};
use super::{machine, peers::BARE_HTTP, run::tidied};
use crate::process::succeeds;
use peers::{GATEWAYS, Gateway, OURS, Place, Target, Way};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use upstream::Upstream;

/// How many callers there are at once, over HTTP.
const WORK: &str = "echo@32";
/// Servers behind ours, and how many tools each has.
const GROWTH: [(usize, usize); 5] = [(1, 10), (10, 10), (100, 10), (1, 10_000), (100, 100)];
/// The call without a gateway: what the server has to do, and what a client of ours has to do.
const DIRECT: &str = "direct";
const CLIENT: &str = "direct, the client";

/// What was found: by row and gateway.
#[derive(Default)]
struct Found {
    rows: BTreeMap<(String, String), Figures>,
    left_out: BTreeMap<(String, String), String>,
    /// Handshakes with the server, and calls, by row and gateway.
    handshakes: BTreeMap<(String, String), (usize, usize)>,
}

/// Builds, measures, and says what it found.
pub(super) fn run(bench: &Path, args: &[String]) -> Result<(), String> {
    // Some gateways need more than a second for the first of 32 answers; what was asked for comes later and counts.
    let words: Vec<String> =
        ["--seconds", "3"].map(str::to_owned).into_iter().chain(args.iter().cloned()).collect();
    let options = Options::parse(&words)?;
    for program in ["wrk", "taskset"] {
        if !succeeds(Command::new("sh").args(["-c", &format!("command -v {program}")])) {
            return Err(format!("`{program}` is not here"));
        }
    }
    let wanted: Vec<&Gateway> =
        GATEWAYS.iter().filter(|gateway| options.wants_server(gateway.name)).collect();
    let missing = setup::build(bench, &wanted)?;
    let mut measuring = Measuring { place: Place::new(bench)?, options: &options, found: Found::default() };
    for (gateway, reason) in missing {
        eprintln!("{gateway} is not measured: {reason}");
        for way in Way::ALL {
            measuring.found.left_out.insert((way.key().into(), gateway.into()), tidied(&reason));
        }
    }
    measuring.all(&wanted);
    let found = measuring.found;
    let words: Vec<String> = std::iter::once("gateway".to_owned()).chain(args.iter().cloned()).collect();
    let mut about = machine::about(&options, &words);
    about.extend(setup::versions(bench));
    let page = report::page(&about, &found);
    println!("{page}");
    if options.is_whole() {
        let path = bench.join("GATEWAY.md");
        std::fs::write(&path, &page).map_err(|error| format!("bench/GATEWAY.md: {error}"))?;
        println!("bench/GATEWAY.md is written");
    }
    match found.left_out.iter().find(|((_, gateway), _)| [OURS, DIRECT, CLIENT].contains(&gateway.as_str())) {
        None => Ok(()),
        Some(((row, _), reason)) => Err(format!("ours has no figures in {row}: {reason}")),
    }
}

struct Measuring<'a> {
    place: Place,
    options: &'a Options,
    found: Found,
}

impl Measuring<'_> {
    fn all(&mut self, wanted: &[&Gateway]) {
        for (setting, era) in [("sessions", "2025-06-18"), ("modern", "2026-07-28")] {
            let row = format!("http-http/{setting}");
            self.row(&row, DIRECT, |measuring| measuring.direct_http(setting));
            self.row(&row, CLIENT, |measuring| measuring.direct_client(era));
        }
        self.row("stdio-http", DIRECT, Self::direct_stdio);
        for way in Way::ALL {
            for gateway in wanted.iter().filter(|gateway| gateway.ways.contains(&way)) {
                for setting in gateway.settings(way) {
                    let row = if setting.is_empty() {
                        way.key().to_owned()
                    } else {
                        format!("{}/{setting}", way.key())
                    };
                    self.row(&row, gateway.name, |measuring| measuring.through(gateway, way, setting));
                }
                self.count(gateway, way);
            }
        }
        let ours = wanted.iter().find(|gateway| gateway.name == OURS);
        for (servers, tools) in ours.map_or(&[][..], |_| &GROWTH) {
            let row = format!("growth/{servers}x{tools}");
            self.row(&row, OURS, |measuring| measuring.grown(*servers, *tools));
        }
    }

    /// Measures one row of one gateway, as often as was asked for, and keeps the medians.
    fn row(&mut self, row: &str, name: &str, measure: impl Fn(&Self) -> Result<Value, String>) {
        let key = (row.to_owned(), name.to_owned());
        let gone = self
            .found
            .left_out
            .contains_key(&(row.split('/').next().unwrap_or(row).to_owned(), name.to_owned()));
        if gone || !self.options.wants_row(row) {
            return;
        }
        let mut rounds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for round in 1..=self.options.rounds {
            eprintln!("{name}: {row}, round {round} of {}", self.options.rounds);
            let figures = match measure(self) {
                Ok(figures) if figures["error"].is_null() => figures,
                Ok(figures) => return self.leave_out(key, figures["error"].as_str().unwrap_or_default()),
                Err(reason) => return self.leave_out(key, &reason),
            };
            for (name, value) in figures.as_object().into_iter().flatten() {
                rounds.entry(name.clone()).or_default().extend(value.as_f64());
            }
        }
        let medians = rounds.into_iter().filter_map(|(name, values)| Some((name, median(&values)?)));
        self.found.rows.insert(key, medians.collect());
    }

    fn leave_out(&mut self, key: (String, String), reason: &str) {
        eprintln!("  left out: {reason}");
        self.found.left_out.insert(key, tidied(reason));
    }

    fn direct_http(&self, setting: &str) -> Result<Value, String> {
        let command = self.place.server(&["http", "{port}"], 5);
        self.http(setting, &command)
    }

    /// What a client of ours has to do for a call; the bare server answers it.
    fn direct_client(&self, era: &str) -> Result<Value, String> {
        let target = self.place.bench.join("target/release").join(BARE_HTTP).to_string_lossy().into_owned();
        let args = ["client", "--era", era, "--transport", "http", "--target", &target, "--window", "32"];
        self.drive(&args, &self.place.server(&[], 0)[..1])
    }

    fn direct_stdio(&self) -> Result<Value, String> {
        self.stdio(&self.place.server(&["stdio"], 5))
    }

    fn through(&self, gateway: &Gateway, way: Way, setting: &str) -> Result<Value, String> {
        let upstream = if way == Way::HttpToStdio { None } else { Some(Upstream::start(&self.place, 5)?) };
        let target = match &upstream {
            Some(upstream) => Target::Url(upstream.url()),
            None => Target::Command(self.place.pinned_server(5)),
        };
        let command = (gateway.command)(&self.place, way, &target)?;
        if way == Way::StdioToHttp { self.stdio(&command) } else { self.http(setting, &command) }
    }

    /// Ours, with so many servers behind it. The first keeps its names, so that the driver finds `echo`.
    fn grown(&self, servers: usize, tools: usize) -> Result<Value, String> {
        let upstream = Upstream::start(&self.place, tools - 5)?;
        let command = peers::ours_with(&self.place, &vec![Target::Url(upstream.url()); servers])?;
        self.http("sessions", &command)
    }

    fn http(&self, setting: &str, command: &[String]) -> Result<Value, String> {
        let script = self.place.bench.join("http/load.lua").to_string_lossy().into_owned();
        // Whoever is behind the gateway works too, and is no disturbance: nothing is repeated because of it.
        let args = ["http", "--setting", setting, "--script", &script, "--work", WORK, "--retries", "0"];
        Ok(self.drive(&args, command)?[WORK].take())
    }

    fn stdio(&self, command: &[String]) -> Result<Value, String> {
        Ok(self.drive(&["stdio", "--era", "2025-06-18", "--window", "64"], command)?["pipelined"].take())
    }

    fn drive(&self, args: &[&str], command: &[String]) -> Result<Value, String> {
        let mut drive = Command::new(self.place.bench.join("target/release/drive"));
        drive.args(args).args(["--seconds", &self.options.seconds.to_string()]);
        drive.args(["--wait", &self.options.wait.to_string()]).arg("--").args(command);
        let output = drive.stdin(Stdio::null()).output().map_err(|error| format!("the driver: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("the driver's answer: {error}"))
    }

    /// How often a gateway shakes hands with the server behind it.
    fn count(&mut self, gateway: &Gateway, way: Way) {
        let key = (way.key().to_owned(), gateway.name.to_owned());
        if !self.options.wants_row(way.key())
            || !self.found.rows.keys().any(|(row, name)| row.starts_with(way.key()) && *name == key.1)
        {
            return;
        }
        let counted = handshakes::count(&self.place, gateway, way, |command| match way {
            Way::StdioToHttp => self.stdio(command),
            _ => self.http("sessions", command),
        });
        match counted {
            Ok(counts) => drop(self.found.handshakes.insert(key, counts)),
            Err(reason) => eprintln!("  handshakes were not counted: {reason}"),
        }
    }
}
