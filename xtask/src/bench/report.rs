//! `bench/RESULTS.md`: what a run found, as tables, from `results.json` and nothing else.

use super::figures::{FIGURES, Figure, named};
use super::peers::{OURS, PEERS};
use super::plan::{
    CONNECTIONS, ERAS, IDLE_SESSIONS, IDLE_STREAMS, PAYLOADS, SESSIONS, SETTINGS, TOOLS, WINDOWS,
    WORK_SETTINGS, WORKS,
};
use super::promises;
use super::results::Results;
use std::collections::BTreeMap;

/// Above this share of the two cores, somebody else's work is in the figures.
const QUIET: f64 = 5.0;

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let mut text = "# What the benchmark found\n\nWritten by `cargo xtask bench`; `README.md` says what each figure is. \
                    Ours is **contexture**; bare-hyper and bare-loop are the limits of the transports, not servers.\n\n"
        .to_owned();
    text += "| | |\n|---|---|\n";
    for (name, value) in &results.about {
        text += &format!("| {name} | {value} |\n");
    }
    text += "\n![Bar charts of the tables below](results.svg)\n";
    text += &disturbed(results);
    text += &promised(results);
    text += &tables(results);
    text += &left_out(results);
    text
}

fn promised(results: &Results) -> String {
    let verdicts = promises::judge(results);
    let held = verdicts.iter().filter(|verdict| verdict.holds()).count();
    let mut text = format!("\n## What we promised\n\n{held} of {} hold. ", verdicts.len());
    text += "Peers in Rust are judged twice: as their documentation teaches them, and tuned as far as their public \
             API goes.\n\n";
    text += &promises::table(&verdicts);
    let beaten = promises::beaten(results);
    text += "\n### Where a peer does better\n\n";
    if beaten.is_empty() {
        return text + "In no row.\n";
    }
    text += "| row | figure | peer | theirs | ours |\n|---|---|---|---:|---:|\n";
    for row in beaten {
        text += &format!(
            "| {} | {} | {} | {:.2} | {:.2} |\n",
            row.row, row.figure, row.server, row.theirs, row.ours
        );
    }
    text
}

/// Every table, without the page around them.
pub(super) fn tables(results: &Results) -> String {
    let mut text = section(
        results,
        "HTTP: echo of 64 bytes",
        SETTINGS.iter().flat_map(|(setting, title)| {
            CONNECTIONS
                .map(|count| (format!("echo/{setting}/{count}"), format!("{title}, {count} connections")))
        }),
    );
    let kinds = [
        ("pipelined", "64 calls in flight"),
        ("one-core", "one call at a time, both processes on one core"),
        ("free", "one call at a time, wherever the scheduler puts them (not judged)"),
    ];
    text += &section(
        results,
        "stdio: echo of 64 bytes",
        ERAS.iter().flat_map(|(era, revision)| {
            kinds.map(|(kind, title)| (format!("stdio/{era}/{kind}"), format!("{revision}, {title}")))
        }),
    );
    let start = |(era, revision): &(&str, &str)| {
        (format!("start/{era}"), format!("Start-up to the first answer, {revision}"))
    };
    text += &section(results, "Start-up", ERAS.iter().map(start));
    text += &section(
        results,
        "HTTP: other work",
        WORKS.iter().flat_map(|(key, spec, _, title)| {
            WORK_SETTINGS.map(|setting| {
                let (_, connections) = spec.split_once('@').unwrap_or_default();
                let revision =
                    SETTINGS.iter().find(|(key, _)| *key == setting).map_or(setting, |(_, title)| title);
                (
                    format!("{key}/{setting}"),
                    format!("{}, {revision}, {connections} connections", capital(title)),
                )
            })
        }),
    );
    text += &section(
        results,
        "Clients, against the bare servers",
        ["stdio", "http"].iter().flat_map(|transport| {
            ERAS.iter().flat_map(move |(era, revision)| {
                WINDOWS.map(|window| {
                    (
                        format!("client/{transport}/{era}/{window}"),
                        format!("{transport}, {revision}, {window} in flight"),
                    )
                })
            })
        }),
    );
    text += &section(
        results,
        "Idle sessions and open streams",
        [
            ("idle/sessions".to_owned(), format!("{IDLE_SESSIONS} idle sessions, 2025-06-18")),
            ("idle/streams".to_owned(), format!("{IDLE_STREAMS} open GET streams, 2025-06-18")),
            (
                "idle/listen".to_owned(),
                format!("{IDLE_STREAMS} open subscriptions/listen streams, 2026-07-28"),
            ),
        ],
    );
    text += &growth(results);
    text
}

/// Whether somebody else was at work meanwhile.
pub(super) fn disturbed(results: &Results) -> String {
    let busy = |figures: &BTreeMap<String, f64>| figures.get("others").is_some_and(|share| *share > QUIET);
    let count = results.rows.values().flat_map(BTreeMap::values).filter(|figures| busy(figures)).count();
    if count == 0 {
        return String::new();
    }
    format!(
        "\n**The machine was busy with other things in {count} measurements** (*others %* above {QUIET:.0}): their \
         requests per second and p99 mean little.\n"
    )
}

fn section(results: &Results, title: &str, rows: impl IntoIterator<Item = (String, String)>) -> String {
    let tables: Vec<_> = rows.into_iter().filter_map(|(row, title)| table(results, &row, &title)).collect();
    if tables.is_empty() { String::new() } else { format!("\n## {title}\n{}", tables.concat()) }
}

/// One row's table: a line for each server, a column for each figure that anybody has.
fn table(results: &Results, row: &str, title: &str) -> Option<String> {
    let servers = results.rows.get(row)?;
    let shown = |figure: &&Figure| servers.values().any(|figures| figures.contains_key(figure.name));
    let columns: Vec<_> = FIGURES.iter().filter(shown).collect();
    let headings: Vec<_> = columns.iter().map(|figure| figure.heading).collect();
    let mut text = format!("\n### {title}\n\n`{row}`\n\n| | {} |\n", headings.join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(columns.len()));
    for peer in PEERS.iter().filter(|peer| servers.contains_key(peer.name)) {
        let value = |figure: &&Figure| results.get(row, peer.name, figure.name);
        let cells: Vec<_> = columns
            .iter()
            .map(|figure| value(figure).map_or("–".into(), |value| figure.show(value)))
            .collect();
        text += &format!("| {} | {} |\n", marked(peer.name), cells.join(" | "));
    }
    Some(text)
}

/// CPU per call as something grows: a line for each server, a column for each point.
fn growth(results: &Results) -> String {
    let curves: [(&str, &str, &[usize]); 3] = [
        ("payload", "bytes of payload, 8 connections", &PAYLOADS),
        ("tools", "tools, `echo` called over 32 connections", &TOOLS),
        ("growth", "open sessions, one of them calling over 32 connections", &SESSIONS),
    ];
    let mut text = String::new();
    for (kind, title, points) in curves {
        let rows: Vec<_> = points.iter().map(|point| format!("{kind}/{point}")).collect();
        let known = |name: &str| rows.iter().any(|row| results.get(row, name, "cpu_us").is_some());
        let servers: Vec<_> = PEERS.iter().filter(|peer| known(peer.name)).collect();
        if servers.is_empty() {
            continue;
        }
        let headings: Vec<_> = points.iter().map(|point| super::figures::thousands(*point as f64)).collect();
        text += &format!("\n### CPU µs per call by {title}\n\n| | {} |\n", headings.join(" | "));
        text += &format!("|---|{}\n", "---:|".repeat(points.len()));
        for peer in servers {
            let cell = |row: &String| {
                let value = results.get(row, peer.name, "cpu_us");
                value.zip(named("cpu_us")).map_or("–".into(), |(value, figure)| figure.show(value))
            };
            let cells: Vec<_> = rows.iter().map(cell).collect();
            text += &format!("| {} | {} |\n", marked(peer.name), cells.join(" | "));
        }
    }
    if text.is_empty() { text } else { format!("\n## Growth\n{text}") }
}

/// Who is missing where, and why; rows with the same reason together.
fn left_out(results: &Results) -> String {
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (row, servers) in &results.left_out {
        for (server, reason) in servers {
            reasons.entry((server, reason)).or_default().push(row);
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = "\n## Left out\n\n| | reason | rows |\n|---|---|---|\n".to_owned();
    for ((server, reason), rows) in reasons {
        text += &format!("| {server} | {} | {} |\n", reason.replace('|', "\\|"), rows.join(", "));
    }
    text
}

fn marked(name: &str) -> String {
    if name == OURS { format!("**{name}**") } else { name.to_owned() }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
