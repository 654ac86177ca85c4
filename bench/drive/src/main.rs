//! Drives one stdio server and prints what it measured, as one line of JSON:
//! start-up, sequential round trips, pipelined throughput, CPU and memory.
//!
//! It compares nothing and repeats nothing: rounds, medians and verdicts are
//! `cargo xtask bench`'s.
//!
//! `drive [--check | --sequential] [--era E] [--count N] [--window N] [--bytes N] -- COMMAND…`

mod load;
mod message;
mod process;

use message::Dialect;
use process::Server;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Starts of which the median counts; one alone is mostly the machine's noise.
const STARTS: usize = 7;
/// No run of a sane server is longer; a silent one must not hold up the others.
const PATIENCE: Duration = Duration::from_secs(180);

struct Options {
    check: bool,
    sequential: bool,
    era: String,
    count: usize,
    window: usize,
    bytes: usize,
    command: Vec<String>,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("drive: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        check: false,
        sequential: false,
        era: "2025-06-18".into(),
        count: 100_000,
        window: 64,
        bytes: 64,
        command: Vec::new(),
    };
    while let Some(name) = args.next() {
        let mut value = || args.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--check" => options.check = true,
            "--sequential" => options.sequential = true,
            "--era" => options.era = value()?,
            "--count" => options.count = number(&value()?)?,
            "--window" => options.window = number(&value()?)?,
            "--bytes" => options.bytes = number(&value()?)?,
            "--" => options.command = args.by_ref().collect(),
            other => return Err(format!("unknown option {other}")),
        }
    }
    if options.command.is_empty() {
        return Err("no command: drive [OPTIONS] -- COMMAND ARGS…".into());
    }
    Ok(options)
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or(format!("{text} is not a positive number"))
}

fn run(options: &Options) -> Result<serde_json::Value, String> {
    let dialect = Dialect::new(&options.era, options.bytes);
    if options.check {
        let mut server = Server::spawn(&options.command, PATIENCE)?;
        dialect.check_handshake(&server.exchange(&dialect.handshake())?)?;
        server.open(&dialect)?;
        dialect.check_answer(&server.exchange(&dialect.call(1))?, 1)?;
        return Ok(serde_json::json!({ "era": options.era, "answers": true }));
    }
    let (mut starts, mut round_trips) = (Vec::new(), Vec::new());
    let mut server = None;
    for _ in 0..STARTS {
        let (mut started, seconds) = start(options, &dialect)?;
        started.open(&dialect)?;
        starts.push(seconds);
        // Where the scheduler puts two processes decides much of a round trip: each start is one throw.
        round_trips.push(load::sequential(&mut started, &dialect, options.count / 20 / STARTS)?);
        server = Some(started);
    }
    let mut figures = serde_json::json!({
        "start_ms": load::median(&mut starts) * 1e3,
        "round_trip_us": load::median(&mut round_trips) * 1e6,
    });
    let Some(mut server) = server.filter(|_| !options.sequential) else { return Ok(figures) };
    let burst = load::pipelined(&mut server, &dialect, options.count, options.window)?;
    figures["calls_per_s"] = (options.count as f64 / burst.elapsed).into();
    figures["cpu_us"] = (burst.cpu * 1e6 / options.count as f64).into();
    figures["rss_mb"] = (server.resident_kb()? as f64 / 1024.0).into();
    Ok(figures)
}

/// Spawns the server and times it up to its first answer, in seconds.
fn start(options: &Options, dialect: &Dialect) -> Result<(Server, f64), String> {
    let clock = Instant::now();
    let mut server = Server::spawn(&options.command, PATIENCE)?;
    let answer = server.exchange(&dialect.handshake())?;
    let seconds = clock.elapsed().as_secs_f64();
    dialect.check_handshake(&answer)?;
    Ok((server, seconds))
}
