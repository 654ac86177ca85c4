//! `cargo xtask conformance`: the official suite on our server, our client and our authorization server for development,
//! in every revision that it knows; and on our server once more through the gateway, with each era before and behind it.
//!
//! Strictly: a warning is a failure, so is a check that was left out, a scenario in which nothing was exercised,
//! and a client that ends badly. There is no list of expected failures. What is not run is said: extensions other
//! than those of authorization.

mod programs;
mod suite;
mod verdict;
mod visit;

use crate::test::Tally;
use crate::workspace;
use programs::Programs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use suite::Suite;
use verdict::Verdict;

/// The suite knows nothing of the first revision.
const REVISIONS: &[&str] = workspace::REVISIONS.split_at(1).1;

/// The revisions that the suite has extensions of authorization for.
const EXTENDED: &[&str] = REVISIONS.split_at(REVISIONS.len() - 2).1;

/// The revisions that clients of the gateway speak here.
const TRANSLATED: &[&str] = REVISIONS.split_at(REVISIONS.len() - 3).1;

/// How many scenarios run at once, if nothing is said.
const JOBS: usize = 2;

/// Scenarios that measure time, or that others would notice: they run by themselves.
const ALONE: [&str; 3] = ["sse-retry", "server-sse-polling", "server-stateless"];

/// Scenarios about how a server treats the very connection that it was called over. A server behind a gateway has another
/// one, with the gateway, and hangs up on that: the gateway comes back for the answer, as any client does. Its own client is
/// not let go, and should not be: it may speak an era that has no polling, or no HTTP, and so may the server; and a
/// connection that is cheap for the one to keep is no reason for the other to come back later.
const ONE_CONNECTION: [&str; 1] = ["server-sse-polling"];

const USAGE: &str =
    "usage: cargo xtask conformance [server|client|authorization|gateway] [--revision DATE] [--only TEXT]";

/// Which of our programs is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Server,
    Client,
    Authorization,
    /// The server once more, behind the gateway.
    Gateway(Behind),
}

/// What the server behind the gateway speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Legacy,
    Modern,
    Both,
}

const SIDES: [Side; 6] = [
    Side::Server,
    Side::Client,
    Side::Authorization,
    Side::Gateway(Behind::Legacy),
    Side::Gateway(Behind::Modern),
    Side::Gateway(Behind::Both),
];

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Authorization => "authorization",
            Self::Gateway(Behind::Legacy) => "gateway-to-legacy",
            Self::Gateway(Behind::Modern) => "gateway-to-modern",
            Self::Gateway(Behind::Both) => "gateway-to-both",
        }
    }

    /// What the suite takes it for.
    fn role(self) -> &'static str {
        match self {
            Self::Gateway(_) => Self::Server.name(),
            _ => self.name(),
        }
    }

    fn revisions(self) -> &'static [&'static str] {
        match self {
            Self::Gateway(_) => TRANSLATED,
            _ => REVISIONS,
        }
    }
}

/// What to run.
#[derive(Default)]
struct Wish {
    sides: Option<fn(Side) -> bool>,
    revision: Option<String>,
    only: Option<String>,
}

/// One scenario in one revision.
struct Turn {
    side: Side,
    revision: &'static str,
    scenario: String,
}

/// A turn that was run.
struct Row {
    turn: Turn,
    verdict: Verdict,
    time: Duration,
}

/// Installs the suite, builds our programs, runs everything, prints the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let wish = Wish::parse(args)?;
    let root = workspace::root();
    let suite = Suite::install(&root)?;
    let turns = plan(&suite, &wish)?;
    if turns.is_empty() {
        return Err("no scenario fits what was asked for".to_owned());
    }
    let programs = Programs::start(&root, |side| turns.iter().any(|turn| turn.side == side))?;
    let start = Instant::now();
    let rows = run_all(&suite, &programs, turns);
    report(&rows, start.elapsed());
    let failed = rows.iter().filter(|row| !row.verdict.passed()).count();
    *tally += Tally { passed: (rows.len() - failed) as u64, failed: failed as u64 };
    if wish.is_partial() {
        println!("!! ONLY a part of the suite was run");
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} scenarios failed; what they saw is in target/conformance/results")),
    }
}

impl Wish {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| USAGE.to_owned());
            match arg.as_str() {
                "server" => wish.sides = Some(|side| side == Side::Server),
                "client" => wish.sides = Some(|side| side == Side::Client),
                "authorization" => wish.sides = Some(|side| side == Side::Authorization),
                "gateway" => wish.sides = Some(|side| matches!(side, Side::Gateway(_))),
                "--revision" => wish.revision = Some(value()?),
                "--only" => wish.only = Some(value()?),
                _ => return Err(USAGE.to_owned()),
            }
        }
        if wish.revision.as_ref().is_some_and(|date| !REVISIONS.contains(&date.as_str())) {
            return Err(format!("the suite knows only {}", REVISIONS.join(", ")));
        }
        Ok(wish)
    }

    fn is_partial(&self) -> bool {
        self.sides.is_some() || self.revision.is_some() || self.only.is_some()
    }

    fn wants(&self, turn: &Turn) -> bool {
        self.sides.is_none_or(|wanted| wanted(turn.side))
            && self.revision.as_ref().is_none_or(|date| date == turn.revision)
            && self.only.as_ref().is_none_or(|only| turn.scenario.contains(only))
    }
}

/// Every scenario that applies, in every revision.
fn plan(suite: &Suite, wish: &Wish) -> Result<Vec<Turn>, String> {
    let mut turns = Vec::new();
    let mut left_out = 0;
    for side in SIDES {
        for revision in side.revisions() {
            let mut scenarios = suite.scenarios(side, revision)?;
            scenarios.retain(|scenario| {
                !(matches!(side, Side::Gateway(_)) && ONE_CONNECTION.contains(&scenario.as_str()))
            });
            turns.extend(scenarios.into_iter().map(|scenario| Turn { side, revision, scenario }));
        }
        for scenario in suite.extensions(side)?.into_iter().filter(|_| !matches!(side, Side::Gateway(_))) {
            if !scenario.starts_with("auth/") {
                left_out += 1;
                continue;
            }
            let again = |revision: &&'static str| Turn { side, revision, scenario: scenario.clone() };
            turns.extend(EXTENDED.iter().map(again));
        }
    }
    println!("conformance: {} scenarios; not run: {left_out} of other extensions", turns.len());
    turns.retain(|turn| wish.wants(turn));
    Ok(turns)
}

fn run_all(suite: &Suite, programs: &Programs, turns: Vec<Turn>) -> Vec<Row> {
    let (alone, together): (Vec<Turn>, Vec<Turn>) =
        turns.into_iter().partition(|turn| ALONE.contains(&turn.scenario.as_str()));
    let jobs = std::env::var("CONFORMANCE_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(JOBS);
    let mut rows = run_at_once(suite, programs, together, jobs);
    rows.extend(run_at_once(suite, programs, alone, 1));
    rows
}

fn run_at_once(suite: &Suite, programs: &Programs, turns: Vec<Turn>, jobs: usize) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let turns: Vec<Mutex<Option<Turn>>> = turns.into_iter().map(|turn| Mutex::new(Some(turn))).collect();
    let run = || {
        let mut rows = Vec::new();
        while let Some(turn) = turns.get(next.fetch_add(1, Ordering::Relaxed)) {
            let turn = turn.lock().ok().and_then(|mut turn| turn.take());
            rows.extend(turn.map(|turn| run_one(suite, programs, turn)));
        }
        rows
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

fn run_one(suite: &Suite, programs: &Programs, turn: Turn) -> Row {
    let start = Instant::now();
    let verdict = Verdict::of(&turn, suite.play(&turn, programs.target(turn.side)));
    let row = Row { turn, verdict, time: start.elapsed() };
    let Turn { side, revision, scenario } = &row.turn;
    let mark = if row.verdict.passed() { "ok    " } else { "FAILED" };
    let time = row.time.as_secs_f64();
    println!("{mark} {revision} {} {scenario}: {} checks, {time:.1} s", side.name(), row.verdict.held);
    for fault in &row.verdict.faults {
        println!("       {fault}");
    }
    row
}

/// Scenarios passed, of how many, and checks: by revision and side.
fn report(rows: &[Row], time: Duration) {
    let heads = SIDES.map(|side| format!("{:>22}", side.name()));
    println!("\n{:<12}{}", "", heads.concat());
    for revision in REVISIONS {
        let cell =
            |side| totals(rows.iter().filter(|row| row.turn.revision == *revision && row.turn.side == side));
        println!("{revision:<12}{}", SIDES.map(|side| format!("{:>22}", cell(side))).concat());
    }
    let tolerated: usize = rows.iter().map(|row| row.verdict.tolerated).sum();
    let all = totals(rows.iter());
    println!("conformance: {all}, {tolerated} checks left out for a reason, {:.0} s", time.as_secs_f64());
}

fn totals<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let (mut passed, mut all, mut held, mut checks) = (0, 0, 0, 0);
    for row in rows {
        passed += usize::from(row.verdict.passed());
        all += 1;
        held += row.verdict.held;
        checks += row.verdict.held + row.verdict.broken;
    }
    if all == 0 { "–".to_owned() } else { format!("{passed}/{all} ({held}/{checks})") }
}
