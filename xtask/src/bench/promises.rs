//! What we promised, judged by one run's own figures: each promise with its ratio, and every row in which a peer
//! does better than ours. It rounds nothing in our favour and skips nothing that was measured.

use super::figures::{Better, FIGURES, named};
use super::peers::{BARE_HTTP, BARE_STDIO, OURS, Role, role};
use super::plan::{ERAS, SESSIONS, SETTINGS, TOOLS, WINDOWS, WORK_SETTINGS};
use super::results::Results;

/// How long a small write waits for the other side's delayed acknowledgement, where it does: the stall that HTTP
/// libraries are known for.
const STALL_US: f64 = 40_000.0;

/// Which side of its limit a ratio must be on.
#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Limit {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(limit) => ratio >= limit,
            Self::AtMost(limit) => ratio <= limit,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("≥ {limit:.2}"),
            Self::AtMost(limit) => format!("≤ {limit:.2}"),
        }
    }
}

/// Whom a figure of ours is divided by: of several, whoever is best in that very figure.
#[derive(Clone, Copy)]
enum Against {
    One(&'static str),
    /// Peers in Rust as their documentation teaches them.
    Taught,
    /// Peers in Rust in the fastest configuration that we found.
    Tuned,
    AnyPeer,
}

/// One promise and what became of it.
pub(super) struct Verdict {
    row: String,
    figure: &'static str,
    against: String,
    ratio: f64,
    limit: Limit,
}

impl Verdict {
    /// Whether it holds.
    pub(super) fn holds(&self) -> bool {
        self.limit.holds(self.ratio)
    }
}

/// A row in which a peer does better.
pub(super) struct Beaten {
    pub(super) row: String,
    pub(super) figure: &'static str,
    pub(super) server: String,
    pub(super) ours: f64,
    pub(super) theirs: f64,
}

/// A figure as it is compared: of a list, tools are counted and not pages.
fn score(results: &Results, row: &str, server: &str, figure: &str) -> Option<f64> {
    let value = results.get(row, server, figure)?;
    Some(match (figure, results.get(row, server, "page")) {
        ("rps", Some(page)) => value * page,
        ("cpu_us", Some(page)) => value / page,
        _ => value,
    })
}

fn meant(against: Against, server: &str) -> bool {
    match (against, role(server)) {
        (Against::One(name), _) => name == server,
        (Against::Taught, Some(role)) => role == Role::Taught,
        (Against::Tuned, Some(role)) => role == Role::Tuned,
        (Against::AnyPeer, Some(role)) => role.is_peer(),
        _ => false,
    }
}

/// The best of those that are meant.
fn best(results: &Results, row: &str, figure: &'static str, against: Against) -> Option<(String, f64)> {
    let servers = results.rows.get(row)?.keys().filter(|server| meant(against, server));
    let scores = servers.filter_map(|server| Some((server.clone(), score(results, row, server, figure)?)));
    match named(figure)?.better {
        Better::Higher => scores.max_by(|a, b| a.1.total_cmp(&b.1)),
        _ => scores.min_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

struct Judge<'a> {
    results: &'a Results,
    verdicts: Vec<Verdict>,
}

impl Judge<'_> {
    /// Ours divided by theirs; silent when either was not measured.
    fn ratio(&mut self, row: &str, figure: &'static str, against: Against, limit: Limit) {
        let ours = score(self.results, row, OURS, figure);
        if let (Some(ours), Some((server, theirs))) = (ours, best(self.results, row, figure, against)) {
            let verdict = Verdict { row: row.into(), figure, against: server, ratio: ours / theirs, limit };
            self.verdicts.push(verdict);
        }
    }

    /// Against peers in Rust, said separately: as they are taught, and tuned.
    fn rust(&mut self, row: &str, figure: &'static str, limit: Limit) {
        self.ratio(row, figure, Against::Taught, limit);
        self.ratio(row, figure, Against::Tuned, limit);
    }

    /// A row of small writes, in which nobody waits for an acknowledgement.
    fn no_stall(&mut self, row: String) {
        if let Some(slowest) = self.results.get(&row, OURS, "p99_us") {
            let (against, ratio) = ("a delayed acknowledgement".to_owned(), slowest / STALL_US);
            self.verdicts.push(Verdict { row, figure: "p99_us", against, ratio, limit: Limit::AtMost(0.5) });
        }
    }

    /// The largest deviation from the first point of a curve.
    fn flat(&mut self, rows: &[String], what: &str) {
        let points: Vec<f64> = rows.iter().filter_map(|row| self.results.get(row, OURS, "cpu_us")).collect();
        let (Some(first), Some(last)) = (points.first(), rows.last()) else { return };
        if points.len() < 2 {
            return;
        }
        let ratios = points.iter().map(|point| point / first);
        let ratio = ratios.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs())).unwrap_or(1.0);
        let limit = if ratio < 1.0 { Limit::AtLeast(0.9) } else { Limit::AtMost(1.1) };
        let verdict = Verdict { row: last.clone(), figure: "cpu_us", against: what.into(), ratio, limit };
        self.verdicts.push(verdict);
    }
}

/// Every promise that this run can judge.
pub(super) fn judge(results: &Results) -> Vec<Verdict> {
    let mut judge = Judge { results, verdicts: Vec::new() };
    for (setting, _) in SETTINGS {
        judge.no_stall(format!("echo/{setting}/1"));
        for connections in [32, 256] {
            let row = format!("echo/{setting}/{connections}");
            judge.rust(&row, "rps", Limit::AtLeast(4.0));
            judge.ratio(&row, "rps", Against::One(BARE_HTTP), Limit::AtLeast(0.8));
            judge.ratio(&row, "p99_us", Against::AnyPeer, Limit::AtMost(1.0));
        }
    }
    for (era, _) in ERAS {
        let row = format!("stdio/{era}/pipelined");
        for (peer, limit) in [("rmcp", 20.0), ("rmcp-tuned", 20.0)] {
            judge.ratio(&row, "rps", Against::One(peer), Limit::AtLeast(limit));
        }
        for peer in ["tower-mcp", "tower-mcp-tuned", "tower-mcp-sync"] {
            judge.ratio(&row, "rps", Against::One(peer), Limit::AtLeast(7.0));
        }
        judge.ratio(&row, "rps", Against::One(BARE_STDIO), Limit::AtLeast(0.6));
        let row = format!("stdio/{era}/one-core");
        judge.ratio(&row, "p50_us", Against::One(BARE_STDIO), Limit::AtMost(1.5));
    }
    for setting in WORK_SETTINGS {
        let row = format!("steps/{setting}");
        judge.ratio(&row, "cpu_us", Against::Taught, Limit::AtMost(1.0 / 3.0));
        judge.ratio(&row, "cpu_us", Against::AnyPeer, Limit::AtMost(1.0 / 3.0));
        judge.no_stall(row);
        for work in ["blob", "length"] {
            let row = format!("{work}/{setting}");
            judge.ratio(&row, "rps", Against::AnyPeer, Limit::AtLeast(2.0));
            if let Some(ratio) = results.get(&row, OURS, "payloads") {
                let against = "the payload".to_owned();
                judge.verdicts.push(Verdict {
                    row,
                    figure: "peak_mb",
                    against,
                    ratio,
                    limit: Limit::AtMost(3.0),
                });
            }
        }
    }
    for transport in ["stdio", "http"] {
        for (era, _) in ERAS {
            for window in WINDOWS {
                for peer in ["rmcp", "rmcp-tuned"] {
                    let row = format!("client/{transport}/{era}/{window}");
                    judge.ratio(&row, "cpu_us", Against::One(peer), Limit::AtMost(1.0 / 3.0));
                }
            }
        }
    }
    let rows =
        |kind: &str, points: &[usize]| points.iter().map(|n| format!("{kind}/{n}")).collect::<Vec<_>>();
    judge.flat(&rows("tools", &TOOLS), "itself with one tool");
    judge.flat(&rows("growth", &SESSIONS), "itself with one session");
    judge.verdicts
}

/// Every figure of every row in which a peer does better than ours.
pub(super) fn beaten(results: &Results) -> Vec<Beaten> {
    let mut beaten = Vec::new();
    for (row, servers) in &results.rows {
        for figure in FIGURES.iter().filter(|figure| figure.better != Better::Neither) {
            let Some(ours) = score(results, row, OURS, figure.name) else { continue };
            for server in servers.keys().filter(|server| meant(Against::AnyPeer, server)) {
                let Some(theirs) = score(results, row, server, figure.name) else { continue };
                let better = if figure.better == Better::Higher { theirs > ours } else { theirs < ours };
                if better {
                    let (row, server) = (row.clone(), server.clone());
                    beaten.push(Beaten { row, figure: figure.heading, server, ours, theirs });
                }
            }
        }
    }
    beaten
}

/// The promises as a table.
pub(super) fn table(verdicts: &[Verdict]) -> String {
    let mut text =
        "| row | ours ÷ theirs | in | ratio | promised | |\n|---|---|---|---:|---:|---|\n".to_owned();
    for verdict in verdicts {
        let mark = if verdict.holds() { "holds" } else { "**missed**" };
        let heading = named(verdict.figure).map_or(verdict.figure, |figure| figure.heading);
        text += &format!(
            "| {} | {} | {heading} | {:.2} | {} | {mark} |\n",
            verdict.row,
            verdict.against,
            verdict.ratio,
            verdict.limit.text()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(rows: &[(&str, &str, &str, f64)]) -> Results {
        let mut results = Results::default();
        for (row, server, figure, value) in rows {
            let servers = results.rows.entry((*row).into()).or_default();
            servers.entry((*server).into()).or_default().insert((*figure).into(), *value);
        }
        results
    }

    #[test]
    fn the_best_peer_is_the_one_that_counts() {
        let row = "echo/modern/32";
        let all = [(row, OURS, "rps", 100.0), (row, "rmcp", "rps", 20.0), (row, "rmcp-tuned", "rps", 50.0)];
        let verdicts = judge(&results(&all));
        let found: Vec<_> = verdicts.iter().map(|v| (v.against.as_str(), v.ratio, v.holds())).collect();
        assert_eq!(found, [("rmcp", 5.0, true), ("rmcp-tuned", 2.0, false)]);
    }

    #[test]
    fn a_wait_for_an_acknowledgement_is_a_stall() {
        let steps = |p99| [("steps/modern", OURS, "p99_us", p99)];
        assert!(judge(&results(&steps(3_000.0)))[0].holds());
        assert!(!judge(&results(&steps(44_000.0)))[0].holds());
    }

    #[test]
    fn a_curve_is_flat_within_a_tenth() {
        let curve = |last| [("tools/1", OURS, "cpu_us", 10.0), ("tools/10000", OURS, "cpu_us", last)];
        assert!(judge(&results(&curve(10.9)))[0].holds());
        assert!(!judge(&results(&curve(11.1)))[0].holds());
        assert!(!judge(&results(&curve(8.0)))[0].holds());
    }

    #[test]
    fn lists_are_compared_by_tools_and_limits_beat_nobody() {
        let row = "list/modern";
        let (ours, peer) = ((row, OURS, "rps", 10.0), (row, "rmcp", "rps", 15.0));
        let all = [
            ours,
            peer,
            (row, OURS, "page", 105.0),
            (row, "rmcp", "page", 50.0),
            (row, BARE_HTTP, "rps", 99.0),
        ];
        assert!(beaten(&results(&all)).is_empty());
        assert_eq!(beaten(&results(&all[..2])).len(), 1);
    }
}
