//! What was measured, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::{Ended, Extent, Load, Pace};
use super::tally::Tally;
use crate::terminal::style::Style;
use crate::terminal::text::{cut, safe_line};
use crate::terminal::width;

/// Shares of all calls, and what they are called.
const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// Rows of the picture at most.
const ROWS: usize = 14;

/// What was done, and how.
pub(super) struct Report<'a> {
    pub(super) server: String,
    pub(super) tool: &'a str,
    pub(super) revision: &'static str,
    pub(super) connections: usize,
    pub(super) load: Load,
    pub(super) seconds: f64,
    pub(super) ended: Ended,
    pub(super) tally: &'a Tally,
}

impl Report<'_> {
    fn a_second(&self) -> f64 {
        if self.seconds > 0.0 { self.tally.took.total() as f64 / self.seconds } else { 0.0 }
    }

    /// Calls that were due and never made.
    fn not_begun(&self) -> u64 {
        match self.load.pace {
            Pace::ASecond(_) if self.ended == Ended::Planned => {
                self.load.planned().unwrap_or(0).saturating_sub(self.tally.begun)
            }
            _ => 0,
        }
    }

    /// Calls that nobody waited for any more.
    fn left(&self) -> u64 {
        self.tally.begun.saturating_sub(self.tally.answered())
    }

    /// Of the calls that succeeded; nothing, if none did.
    fn latency(&self) -> Option<Value> {
        let took = &self.tally.took;
        let mut latency = json!({ "mean": milliseconds(took.mean()), "max": milliseconds(took.longest()) });
        for (name, share) in SHARES {
            latency[name] = milliseconds(took.within(share)).into();
        }
        (took.total() > 0).then_some(latency)
    }

    pub(super) fn json(&self) -> Value {
        let tally = self.tally;
        let faults = tally
            .faults
            .iter()
            .map(|(kind, fault)| json!({ "kind": kind, "count": fault.count, "example": fault.example }));
        let (pace, since) = match self.load.pace {
            Pace::AtATime(calls) => (json!({ "concurrency": calls }), "sent"),
            Pace::ASecond(calls) => (json!({ "rate": calls }), "due"),
        };
        json!({
            "server": self.server,
            "tool": self.tool,
            "revision": self.revision,
            "load": pace,
            "connections": self.connections,
            "ended": match self.ended {
                Ended::Planned => "as planned",
                Ended::Interrupted => "interrupted",
                Ended::Lost => "connection lost",
            },
            "seconds": self.seconds,
            "calls": tally.answered(),
            "succeeded": tally.took.total(),
            "failed": tally.failed(),
            "notBegun": self.not_begun(),
            "cancelled": self.left(),
            "callsPerSecond": self.a_second(),
            "resultBytes": tally.bytes,
            "latencyFrom": since,
            "latencyMs": self.latency(),
            "errors": faults.collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self) -> String {
        let style = Style::of_stdout();
        let page = width::of_stdout();
        let mut out = String::new();
        let mut line = |text: String| {
            out += &text;
            out.push('\n');
        };
        let title = format!(
            "{} on {}, {}, {:.1} s",
            safe_line(self.tool),
            safe_line(&self.server),
            self.revision,
            self.seconds
        );
        width::wrap(&title, page).iter().for_each(|part| line(style.bold(part)));
        let tally = self.tally;
        line(format!(
            "  {:<9} {:>10}  {}/s",
            "succeeded",
            grouped(tally.took.total()),
            rounded(self.a_second())
        ));
        line(format!("  {:<9} {:>10}", "failed", grouped(tally.failed())));
        for (kind, fault) in &tally.faults {
            line(format!("    {} × {}", grouped(fault.count), safe_line(kind)));
            line(format!("      {}", style.dim(&cut(&safe_line(&fault.example), page.saturating_sub(6)))));
        }
        if self.not_begun() > 0 {
            let what = "due and never begun: the server could not keep up";
            line(format!("  {:<9} {:>10}  {what}", "missed", grouped(self.not_begun())));
        }
        if self.left() > 0 {
            line(format!("  {:<9} {:>10}  under way at the end", "cancelled", grouped(self.left())));
        }
        line(format!("  {:<9} {:>10}  of results", "bytes", grouped(tally.bytes)));
        if tally.took.total() > 0 {
            let since = match self.load.pace {
                Pace::AtATime(_) => "from its start to its answer",
                Pace::ASecond(_) => "from when it was due to its answer",
            };
            line(String::new());
            line(format!("  {}", style.dim(&format!("a call, {since}"))));
            for (name, share) in SHARES {
                line(format!("  {name:<6} {:>10}", time(tally.took.within(share))));
            }
            line(format!("  {:<6} {:>10}", "max", time(tally.took.longest())));
            line(String::new());
            picture(tally, page).into_iter().for_each(line);
        }
        out
    }
}

/// How the load is said before it begins.
pub(super) fn intent(load: Load, tool: &str, server: &str, connections: usize) -> String {
    let calls = match load.planned() {
        Some(1) => "1 call".to_owned(),
        Some(calls) => format!("{} calls", grouped(calls)),
        None => "as many calls as are answered".to_owned(),
    };
    let time = match load.extent {
        Extent::Time(time) => format!(" in {} s", time.as_secs_f64()),
        Extent::Count(_) => String::new(),
    };
    let pace = match load.pace {
        Pace::AtATime(calls) => format!("{} at a time", grouped(calls as u64)),
        Pace::ASecond(calls) => format!("{calls} a second"),
    };
    let over = if connections > 1 { format!(", over {connections} connections") } else { String::new() };
    format!("{} on {}: {calls}{time}, {pace}{over}", safe_line(tool), safe_line(server))
}

/// One line of what happened in the last second.
pub(super) fn moment(second: u64, tally: &Tally) -> String {
    let lately = &tally.lately;
    let failed = match tally.failed() {
        0 => String::new(),
        failed => format!("  {} failed so far", grouped(failed)),
    };
    format!(
        "{second:>4} s {:>9}/s  p50 {:>8}  p99 {:>8}{failed}",
        grouped(lately.total()),
        time(lately.within(0.5)),
        time(lately.within(0.99)),
    )
}

/// The same for programs.
pub(super) fn moment_json(second: u64, tally: &Tally) -> Value {
    let lately = &tally.lately;
    json!({
        "second": second,
        "succeeded": lately.total(),
        "failedSoFar": tally.failed(),
        "latencyMs": {
            "p50": milliseconds(lately.within(0.5)),
            "p99": milliseconds(lately.within(0.99)),
            "max": milliseconds(lately.longest()),
        },
    })
}

/// A bar for each step of 1, 2, 5, 10, or of ten where these are too many.
fn picture(tally: &Tally, page: usize) -> Vec<String> {
    let rows = [&[1, 2, 5][..], &[1]].into_iter().map(|steps| bars(tally, steps));
    let rows = rows.reduce(|fine, coarse| if fine.len() <= ROWS { fine } else { coarse }).unwrap_or_default();
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let room = page.saturating_sub(28).clamp(8, 60);
    let bar = |(limit, count): (Duration, u64)| {
        let length = (count as f64 / most as f64 * room as f64).ceil() as usize;
        format!("  < {:<8} {:>11}  {}", time(limit), grouped(count), "█".repeat(length)).trim_end().to_owned()
    };
    rows.into_iter().map(bar).collect()
}

/// How many there were below each limit and not below the one before, without the empty ends.
fn bars(tally: &Tally, steps: &[u64]) -> Vec<(Duration, u64)> {
    let mut rows = Vec::new();
    let mut before = 0;
    for decade in 3..13 {
        for step in steps {
            let limit = Duration::from_nanos(step * 10_u64.pow(decade));
            let below = tally.took.below(limit);
            if below > 0 && before < tally.took.total() {
                rows.push((limit, below - before));
            }
            before = below;
        }
    }
    rows
}

fn milliseconds(took: Duration) -> f64 {
    // Nothing finer is measured.
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// A time in the unit that suits it.
fn time(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match seconds {
        _ if seconds < 0.001 => format!("{:.0} µs", (seconds * 1e6).round()),
        _ if seconds < 1.0 => format!("{} ms", rounded(seconds * 1e3)),
        _ => format!("{} s", rounded(seconds)),
    }
}

/// Three digits that mean something.
fn rounded(number: f64) -> String {
    match number {
        _ if number < 10.0 => format!("{number:.2}"),
        _ if number < 100.0 => format!("{number:.1}"),
        _ => grouped(number.round() as u64),
    }
}

/// Digits in threes.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tally::Outcome;
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let numbers = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        numbers.iter().for_each(|(number, text)| assert_eq!(grouped(*number), *text));
        let times = [(500, "1 µs"), (47_200, "47 µs"), (1_234_000, "1.23 ms"), (45_600_000, "45.6 ms")];
        times.iter().for_each(|(took, text)| assert_eq!(time(Duration::from_nanos(*took)), *text));
        assert_eq!(time(Duration::from_millis(12_345)), "12.3 s");
    }

    #[test]
    fn bars_count_every_call_once() {
        for slowest in [3, 30_000_000_000] {
            let mut tally = Tally::new();
            for took in [7, 900, 1_100, 450_000, slowest] {
                tally.add(Duration::from_nanos(took), Outcome::Done { bytes: 1 });
            }
            for steps in [&[1, 2, 5][..], &[1]] {
                assert_eq!(bars(&tally, steps).iter().map(|(_, count)| count).sum::<u64>(), 5);
            }
            assert!(picture(&tally, 40).len() <= ROWS);
        }
    }
}
