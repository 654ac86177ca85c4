//! The tables of the HTTP benchmark and the verdicts below them. It prints every figure that it judges, and
//! beside each ratio of ours that of bare hyper, which nothing on this stack can beat by much.

use super::super::Limit;
use super::Entry;
use super::servers::{BARE, OURS, Role, Server, Setting};

/// The columns: the script's name for the figure, the heading, decimals.
pub(super) const FIGURES: [(&str, &str, usize); 8] = [
    ("rps", "req/s", 0),
    ("p50_us", "p50 µs", 0),
    ("p99_us", "p99 µs", 0),
    ("cpu_us", "CPU µs", 2),
    ("rss_mb", "RSS MB", 1),
    ("server_core", "server %", 0),
    ("wrk_core", "wrk %", 0),
    ("others", "others %", 0),
];

/// Above this share of the two cores, somebody else's work is in the figures.
pub(super) const QUIET: f64 = 5.0;
/// KiB that an idle legacy session of ours can cost.
const SESSION: f64 = 2.0;

/// Which of the peers a figure of ours is divided by: the best of them in that very figure.
#[derive(Clone, Copy)]
enum Against {
    Bare,
    AnyPeer,
    TaughtPeer,
}

struct Target {
    figure: &'static str,
    against: Against,
    limit: Limit,
}

const fn target(figure: &'static str, against: Against, limit: Limit) -> Target {
    Target { figure, against, limit }
}

/// The project's targets, against whatever peer is best; then, where that is a peer which we tuned, the
/// same against the best of those that run as their documentation teaches.
const TARGETS: [Target; 6] = [
    target("rps", Against::AnyPeer, Limit::AtLeast(3.0)),
    target("rps", Against::Bare, Limit::AtLeast(0.7)),
    target("cpu_us", Against::AnyPeer, Limit::AtMost(0.333)),
    target("p99_us", Against::AnyPeer, Limit::Below(1.0)),
    target("rps", Against::TaughtPeer, Limit::AtLeast(3.0)),
    target("cpu_us", Against::TaughtPeer, Limit::AtMost(0.333)),
];

/// One setting: a line for each server, then the verdicts.
pub(super) fn table(setting: &Setting, entries: &[Entry], rounds: usize, seconds: usize) -> String {
    let entries: Vec<_> = entries.iter().filter(|entry| entry.setting.key == setting.key).collect();
    let mut text = format!(
        "\n{}: echo of 64 bytes, 32 connections, {seconds} s, median of {rounds} rounds\n\n{:18}",
        setting.title, ""
    );
    for (_, heading, _) in FIGURES {
        text += &format!(" {heading:>9}");
    }
    for entry in &entries {
        text += &format!("\n{:18}", entry.server.name);
        for (figure, _, decimals) in FIGURES {
            let value = entry.median(figure).map_or("-".into(), |value| format!("{value:.decimals$}"));
            text += &format!(" {value:>9}");
        }
    }
    text += "\n\n";
    for target in &TARGETS {
        text += &verdict(target, &entries);
    }
    if entries.iter().any(|entry| entry.median("others").is_some_and(|share| share > QUIET)) {
        text += "The machine was busy with other things: requests per second and p99 mean little.\n";
    }
    text
}

/// One line about one target; nothing when either side was not measured.
fn verdict(target: &Target, entries: &[&Entry]) -> String {
    let named = |name| entries.iter().find(|entry| entry.server.name == name);
    let figure = |entry: &&Entry| entry.median(target.figure);
    let Some(ours) = named(OURS).and_then(figure) else { return String::new() };
    let Some((peer, theirs)) = best(target, entries) else { return String::new() };
    let bare = named(BARE).and_then(figure);
    let ratio = ours / theirs;
    let mark = if target.limit.holds(ratio) { "OK  " } else { "MISS" };
    let heading = FIGURES.iter().find(|(name, _, _)| *name == target.figure).map_or("", |row| row.1);
    let name = format!("{heading} / {peer}");
    let limit = target.limit.text();
    let bare = bare.map_or(String::new(), |bare| format!("bare hyper {:.2}", bare / theirs));
    format!("{mark}  {name:28} {ratio:6.2}   {limit:14} {bare}\n")
}

/// Whom the target compares with, and that server's figure.
fn best(target: &Target, entries: &[&Entry]) -> Option<(&'static str, f64)> {
    let meant = |role: Role| match target.against {
        Against::Bare => role == Role::Limit,
        Against::AnyPeer => role.is_peer(),
        Against::TaughtPeer => role == Role::Taught,
    };
    let candidates = entries.iter().filter(|entry| meant(entry.server.role));
    let figures = candidates.filter_map(|entry| Some((entry.server.name, entry.median(target.figure)?)));
    match target.limit {
        Limit::AtLeast(_) => figures.max_by(|a, b| a.1.total_cmp(&b.1)),
        Limit::AtMost(_) | Limit::Below(_) => figures.min_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

/// What an idle legacy session costs.
pub(super) fn sessions(count: usize, rows: &[(&'static Server, f64)]) -> String {
    let mut text = format!("\nidle legacy sessions: {count} of them, KiB each\n\n");
    for (server, kib) in rows {
        let mark = match (server.role, *kib <= SESSION) {
            (Role::Ours, true) => format!("   OK, at most {SESSION}"),
            (Role::Ours, false) => format!("   MISS, at most {SESSION}"),
            _ => String::new(),
        };
        text += &format!("{:18} {kib:>9.2}{mark}\n", server.name);
    }
    text
}
