//! A limit's client against the clock, as the other clients are: warmed up, then timed, and told to whoever started
//! it in two lines, between which its CPU time is read. How calls are made is the caller's.

use crate::Outcome;
use std::io::{self, Write};
use std::time::{Duration, Instant};

const WARM_UP: usize = 1_000;

/// Makes so many calls; `make` makes as many as it is told and returns how long each took. It returns when stdin
/// ends: until then the memory of a connected client can be looked at.
pub fn run(calls: usize, mut make: impl FnMut(usize) -> Outcome<Vec<Duration>>) -> Outcome {
    make(WARM_UP)?;
    say("begin")?;
    let begun = Instant::now();
    let mut waits = make(calls)?;
    let elapsed = begun.elapsed().as_secs_f64();
    let (made, p50, p99) = (waits.len(), micros(&mut waits, 50), micros(&mut waits, 99));
    say(&format!(r#"end {{"calls":{made},"elapsed_s":{elapsed:.6},"p50_us":{p50:.2},"p99_us":{p99:.2}}}"#))?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// A percentile; none of none. It sorts no more than it has to, because it is on the CPU time that is being read.
fn micros(waits: &mut [Duration], percent: usize) -> f64 {
    let Some(last) = waits.len().checked_sub(1) else { return 0.0 };
    waits.select_nth_unstable(last * percent / 100).1.as_secs_f64() * 1e6
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
