//! HTTP under load: every kind of work that was asked for, one after the other, on one server. Answers are read in
//! full before the clock runs; while it runs wrk looks at statuses, and the mean length of the answers must
//! stay what it was, because looking into each would cost wrk a tenth of its speed.

use crate::args::Args;
use crate::http::{Address, Connection};
use crate::proc::{self, Cpu};
use crate::served::Served;
use crate::work::Work;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What stands for the id in the request that wrk copies: every id has as many digits.
const FIRST_ID: usize = 100_000_000;
/// How long and by how many callers answers are read in full.
const CHECKING: Duration = Duration::from_millis(200);
const CHECKERS: usize = 4;
/// Above this share of the two cores, somebody else's work is in the figures.
const QUIET: f64 = 5.0;
/// A tenth: event ids and chunk sizes grow; an error is another length altogether.
const TOLERANCE: f64 = 0.1;
/// From this size on wrk is given finished requests in turn, because making one costs more than sending it.
const LARGE: usize = 64 * 1024;

/// Runs the verb: an object with the figures of each work, or with why there are none.
pub fn run(args: &Args) -> Result<Value, String> {
    let server = Served::start(&args.command, args.need("setting")?, "0")?;
    let idle: usize = args.number("idle", 0)?;
    // The first of all sessions is the one that is busy: the others only have to be there.
    let address = match idle {
        0 | 1 => server.caller()?,
        _ => server.callers(idle)?.swap_remove(0),
    };
    let mut figures = serde_json::Map::new();
    for spec in args.all("work") {
        let found = measure(&server, &address, spec, args);
        figures.insert(spec.into(), found.unwrap_or_else(|error| json!({ "error": error })));
    }
    Ok(Value::Object(figures))
}

fn measure(server: &Served, address: &Address, spec: &str, args: &Args) -> Result<Value, String> {
    let (work, connections) = spec.split_once('@').ok_or("work is WORK[:BYTES]@CONNECTIONS")?;
    let work = Work::parse(work)?;
    let connections: usize = connections.parse().map_err(|_| "connections are a number")?;
    let (length, page) = checked(address, work)?;
    if args.has("check") {
        return Ok(json!({}));
    }
    let mut best: Option<Value> = None;
    for _ in 0..=args.number("retries", 2)? {
        proc::wait_for_quiet(args.number("wait", 20)?)?;
        let figures = timed(server, address, work, connections, length, args)?;
        let others = |figures: &Value| figures["others"].as_f64().unwrap_or_default();
        if best.as_ref().is_none_or(|best| others(&figures) < others(best)) {
            best = Some(figures);
        }
        if best.as_ref().is_some_and(|best| others(best) <= QUIET) {
            break;
        }
    }
    let mut best = best.ok_or("nothing was measured")?;
    if page > 0 {
        best["page"] = page.into();
    }
    Ok(best)
}

/// Several callers at once, every answer read in full: its mean length, and how many tools a list has.
fn checked(address: &Address, work: Work) -> Result<(f64, usize), String> {
    let caller = |first: usize| -> Result<(usize, usize, usize), String> {
        let mut connection = Connection::open(address.port)?;
        let (mut bytes, mut count, mut page) = (0, 0, 0);
        let end = Instant::now() + CHECKING;
        while count == 0 || Instant::now() < end {
            let id = first + count;
            let answer = connection.exchange(&address.work(work, id))?;
            page = address.dialect.check(work, id, &answer.messages)?;
            bytes += answer.length;
            count += 1;
        }
        Ok((bytes, count, page))
    };
    thread::scope(|scope| {
        let first = |index: usize| FIRST_ID + index * 10_000_000;
        let callers: Vec<_> = (1..=CHECKERS).map(|index| scope.spawn(move || caller(first(index)))).collect();
        let (mut bytes, mut count, mut page) = (0, 0, 0);
        for caller in callers {
            let seen = caller.join().map_err(|_| "a caller panicked")??;
            (bytes, count, page) = (bytes + seen.0, count + seen.1, seen.2);
        }
        Ok((bytes as f64 / count as f64, page))
    })
}

/// One run of wrk on core 1, with everybody's CPU time around it.
fn timed(
    server: &Served,
    address: &Address,
    work: Work,
    connections: usize,
    right: f64,
    args: &Args,
) -> Result<Value, String> {
    let seconds: u64 = args.number("seconds", 1)?;
    let request = address.work(work, FIRST_ID);
    let file = std::env::temp_dir().join(format!("drive-{}-request", std::process::id()));
    std::fs::write(&file, &request).map_err(|e| format!("{}: {e}", file.display()))?;
    let perf = args.get("perf").map(|output| record(server.pid, output, seconds)).transpose()?;
    let before = (Cpu::of(server.pid)?, proc::children()?, proc::busy_cores()?, Instant::now());
    let output = Command::new("taskset")
        .args(["-c", "1", "wrk", "-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
        .args(["--timeout", "10s", "--latency", "-s", args.need("script")?])
        .arg(format!("http://127.0.0.1:{}", server.port))
        .env("REQUEST", &file)
        .env("COPIES", if request.len() >= LARGE { "32" } else { "0" })
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("wrk: {e}"))?;
    let (cpu, wrk, wall) = (
        Cpu::of(server.pid)?.since(&before.0),
        proc::children()? - before.1,
        before.3.elapsed().as_secs_f64(),
    );
    let busy = proc::busy_cores()? - before.2;
    if let Some(mut perf) = perf {
        perf.wait().map_err(|e| format!("perf: {e}"))?;
    }
    let _ = std::fs::remove_file(&file);
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("RESULT "));
    let mut figures: Value = line
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| format!("wrk measured nothing: {said}{}", String::from_utf8_lossy(&output.stderr)))?;
    let number = |name: &str| figures[name].as_f64().unwrap_or_default();
    let (count, length) = (number("n"), number("length"));
    if count < 1.0 {
        return Err(format!("no answer within {seconds} s"));
    }
    if number("errors") > 0.0 {
        return Err(format!("{} of {count} answers were wrong or missing", number("errors")));
    }
    // wrk counts the bytes of answers that it did not wait for; there is at most one on each connection.
    let cut = right * connections as f64 / count;
    if length < right * (1.0 - TOLERANCE) || length > (right + cut) * (1.0 + TOLERANCE) {
        return Err(format!("answers have {length} bytes, but those that were right had {right}"));
    }
    figures["cpu_us"] = (cpu / count * 1e6).into();
    figures["rss_mb"] = (proc::memory(server.pid, "VmRSS")? / 1024.0).into();
    figures["server_core"] = (cpu / wall * 100.0).into();
    figures["wrk_core"] = (wrk / wall * 100.0).into();
    figures["others"] = ((busy - cpu - wrk) / wall * 50.0).max(0.0).into();
    Ok(figures)
}

/// A profile of the server while it is loaded.
fn record(pid: u32, output: &str, seconds: u64) -> Result<Child, String> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-F", "1999", "-p", &pid.to_string(), "-o", output, "--", "sleep"]);
    perf.arg(seconds.to_string()).stdout(Stdio::null()).spawn().map_err(|e| format!("perf: {e}"))
}
