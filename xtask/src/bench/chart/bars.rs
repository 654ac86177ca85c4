//! Bars: one panel for each of the most telling rows, one bar for each server. It draws only what was measured.

use super::super::figures::{Better, named};
use super::super::peers::{PEERS, Role};
use super::super::results::Results;
use super::{COLUMN, Panel, round_up, short, text, text_end, text_middle};

/// Row, figure, title, axis.
const PANELS: [(&str, &str, &str, &str); 14] = [
    (
        "echo/sessions/32",
        "rps",
        "HTTP echo, 2025-06-18 with a session",
        "requests per second, 32 connections",
    ),
    ("echo/modern/32", "rps", "HTTP echo, 2026-07-28", "requests per second, 32 connections"),
    ("stdio/legacy/pipelined", "rps", "stdio echo, 2025-06-18", "calls per second, 64 in flight"),
    ("stdio/modern/pipelined", "rps", "stdio echo, 2026-07-28", "calls per second, 64 in flight"),
    ("steps/modern", "cpu_us", "Ten progress notifications over SSE", "CPU µs per call, 2026-07-28"),
    ("list/modern", "rps", "tools/list with 100 tools", "pages per second, 2026-07-28"),
    ("blob/modern", "rps", "A result of 1 MiB", "requests per second, 8 connections"),
    ("length/modern", "rps", "An argument of 1 MiB", "requests per second, 8 connections"),
    ("weather/modern", "rps", "Structured output", "requests per second, 32 connections"),
    ("tool/modern", "rps", "One of 64 tools with nested schemas", "requests per second, 32 connections"),
    ("client/http/modern/32", "cpu_us", "Client over HTTP, 2026-07-28", "CPU µs per call, 32 in flight"),
    ("client/stdio/legacy/32", "cpu_us", "Client over stdio, 2025-06-18", "CPU µs per call, 32 in flight"),
    ("idle/sessions", "kib_each", "An idle session", "KiB each, 5,000 open"),
    ("start/legacy", "start_ms", "Start-up to the first answer", "ms, stdio"),
];

const LABELS: f64 = 112.0;
const VALUES: f64 = 56.0;
const BAR: f64 = 20.0;
const TOP: f64 = 14.0;

/// Every panel that has at least one bar.
pub(super) fn panels(results: &Results) -> Vec<Panel> {
    PANELS.iter().filter_map(|(row, figure, title, axis)| panel(results, row, figure, title, axis)).collect()
}

fn panel(results: &Results, row: &str, figure: &str, title: &str, axis: &str) -> Option<Panel> {
    let found = |peer: &'static super::super::peers::Peer| Some((peer, results.get(row, peer.name, figure)?));
    let bars: Vec<_> = PEERS.iter().filter_map(found).collect();
    let most = round_up(bars.iter().map(|(_, value)| *value).reduce(f64::max)?);
    let length = COLUMN - LABELS - VALUES;
    let bottom = TOP + 8.0 + bars.len() as f64 * BAR;
    let mut body = text(0.0, TOP - 4.0, "panel", title);
    for tick in [0.0, 0.5, 1.0] {
        let x = LABELS + tick * length;
        body += &format!(
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\n",
            TOP + 6.0
        );
        body += &text_middle(
            x,
            bottom + 13.0,
            "note",
            &if tick == 0.0 { "0".into() } else { short(most * tick) },
        );
    }
    for (index, (peer, value)) in bars.iter().enumerate() {
        let y = TOP + 8.0 + index as f64 * BAR;
        let (class, words) = match peer.role {
            Role::Ours => ("ours", "ours-text"),
            Role::Limit => ("limit", "note"),
            _ => ("peer", ""),
        };
        let wide = (value / most * length).max(1.0);
        body += &text_end(LABELS - 8.0, y + 13.0, words, peer.name);
        body += &format!(
            "<rect class=\"{class}\" x=\"{LABELS:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"13\"/>\n",
            y + 2.5
        );
        body += &text(LABELS + wide + 6.0, y + 13.0, words, &short(*value));
    }
    let better = named(figure).map_or("", |figure| match figure.better {
        Better::Higher => " (more is better)",
        _ => " (less is better)",
    });
    body += &text_middle(LABELS + length / 2.0, bottom + 28.0, "note", &format!("{axis}{better}"));
    Some(Panel { height: bottom + 32.0, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_shows_a_row_that_is_measured() {
        let rows = super::super::super::plan::tests::rows("");
        assert!(PANELS.iter().all(|(row, ..)| rows.contains(*row)));
    }
}
