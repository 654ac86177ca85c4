//! What was found, as a page: one table for each way, growth, handshakes, and what was promised.

use super::super::figures::{FIGURES, thousands};
use super::super::results::Figures;
use super::peers::{OURS, Way};
use super::{CLIENT, DIRECT, Found, GROWTH};
use std::fmt::Write as _;

/// How much more than the others: calls per second.
const FASTER: f64 = 10.0;
/// How much a call may cost more: CPU of the gateway, in calls without it.
const ADDED: f64 = 2.0;
/// What still counts as flat.
const FLAT: f64 = 1.25;

/// The columns.
const SHOWN: [&str; 6] = ["rps", "p50_us", "p99_us", "cpu_us", "rss_mb", "server_core"];

pub(super) fn page(about: &[(String, String)], found: &Found) -> String {
    let mut page = "# Through a gateway\n\n".to_owned();
    page += "Echo of 64 bytes, 32 callers over HTTP and 64 calls in flight over stdio, through each gateway to the same server. ";
    page += "CPU and memory are the gateway's own process. `cargo xtask bench gateway` makes this page.\n\n";
    for (name, value) in about {
        let _ = writeln!(page, "- {name}: {value}");
    }
    for row in rows(found) {
        let _ = writeln!(page, "\n## `{row}`\n");
        table(&mut page, found, &row);
    }
    handshakes(&mut page, found);
    promises(&mut page, found);
    page
}

fn rows(found: &Found) -> Vec<String> {
    let mut rows: Vec<String> =
        found.rows.keys().chain(found.left_out.keys()).map(|(row, _)| row.clone()).collect();
    rows.sort();
    rows.dedup();
    rows
}

fn table(page: &mut String, found: &Found, row: &str) {
    let heading =
        |name: &str| FIGURES.iter().find(|figure| figure.name == name).map_or("", |figure| figure.heading);
    let headings: Vec<&str> = SHOWN.iter().map(|name| heading(name)).collect();
    let _ = writeln!(page, "| | {} |\n|-{}|", headings.join(" | "), "|-:".repeat(SHOWN.len()));
    let mut lines: Vec<(&String, &Figures)> = found
        .rows
        .iter()
        .filter(|((known, _), _)| known == row)
        .map(|((_, name), figures)| (name, figures))
        .collect();
    lines.sort_by(|(_, one), (_, other)| rps(other).total_cmp(&rps(one)));
    for (name, figures) in lines {
        let show = |wanted: &&str| {
            let figure = FIGURES.iter().find(|figure| figure.name == *wanted);
            figures.get(*wanted).zip(figure).map_or_else(String::new, |(value, figure)| figure.show(*value))
        };
        let _ = writeln!(page, "| {name} | {} |", SHOWN.iter().map(show).collect::<Vec<_>>().join(" | "));
    }
    for ((known, name), reason) in &found.left_out {
        if known == row {
            let _ = writeln!(page, "\n{name} is left out: {reason}");
        }
    }
}

fn rps(figures: &Figures) -> f64 {
    figures.get("rps").copied().unwrap_or_default()
}

fn handshakes(page: &mut String, found: &Found) {
    page.push_str("\n## Handshakes with the server\n\nIn a run of their own, in which what passes is copied and counted.\n\n");
    page.push_str("| | | handshakes | calls |\n|-|-|-:|-:|\n");
    for ((row, name), (hands, calls)) in &found.handshakes {
        let _ = writeln!(
            page,
            "| `{row}` | {name} | {} | {} |",
            thousands(*hands as f64),
            thousands(*calls as f64)
        );
    }
}

fn promises(page: &mut String, found: &Found) {
    page.push_str("\n## What was promised\n\n| promise | found | |\n|-|-|-|\n");
    let figure = |row: &str, name: &str, figure: &str| -> Option<f64> {
        found.rows.get(&(row.to_owned(), name.to_owned()))?.get(figure).copied()
    };
    let mut line = |promise: String, value: f64, kept: bool| {
        let _ = writeln!(page, "| {promise} | {value:.2} | {} |", if kept { "kept" } else { "**missed**" });
    };
    for way in Way::ALL {
        let row =
            if way == Way::StdioToHttp { way.key().to_owned() } else { format!("{}/sessions", way.key()) };
        let Some(ours) = figure(&row, OURS, "rps") else { continue };
        for ((known, name), figures) in &found.rows {
            if *known == row
                && ![DIRECT, CLIENT].contains(&name.as_str())
                && !name.starts_with(OURS)
                && rps(figures) > 0.0
            {
                let times = ours / rps(figures);
                line(format!("`{row}`: at least {FASTER} times the calls of {name}"), times, times >= FASTER);
            }
        }
    }
    for (row, direct) in [
        ("http-http/sessions", "http-http/sessions"),
        ("http-http/modern", "http-http/modern"),
        ("http-stdio/sessions", "http-http/sessions"),
        ("http-stdio/modern", "http-http/modern"),
    ] {
        let (server, client) = (figure(direct, DIRECT, "cpu_us"), figure(direct, CLIENT, "cpu_us"));
        let (Some(ours), Some(server)) = (figure(row, OURS, "cpu_us"), server) else { continue };
        // "A direct call" can be read in two ways, and both are said: the stricter one first.
        let readings = [
            ("its server alone", Some(server)),
            ("its client and its server", client.map(|client| client + server)),
        ];
        for (whose, direct) in readings {
            if let Some(times) = direct.map(|direct| ours / direct) {
                let promise = format!(
                    "`{row}`: at most {ADDED} times the CPU of a direct call added, counting {whose}"
                );
                line(promise, times, times <= ADDED);
            }
        }
    }
    let (few, few_tools) = GROWTH[0];
    if let Some(first) = figure(&format!("growth/{few}x{few_tools}"), OURS, "cpu_us") {
        for (servers, tools) in &GROWTH[1..] {
            if let Some(cpu) = figure(&format!("growth/{servers}x{tools}"), OURS, "cpu_us") {
                let times = cpu / first;
                line(
                    format!("CPU of a call with {servers} servers of {tools} tools, to 1 of 10: flat"),
                    times,
                    times <= FLAT,
                );
            }
        }
    }
    for ((row, name), (hands, calls)) in found.handshakes.iter().filter(|((_, name), _)| name == OURS) {
        let each = *hands as f64 / (*calls).max(1) as f64;
        line(format!("`{row}`: no handshake per call of {name}"), each, each < 0.01);
    }
}
