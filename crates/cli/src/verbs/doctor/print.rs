//! Reports for people, and for programs.

use serde_json::json;

use super::report::{Finding, Report, State};
use crate::terminal::style::Style;
use crate::terminal::text::safe_line;
use crate::terminal::width::{of_stdout, wrap};

/// Titles are this wide.
const TITLE: usize = 26;
/// Where the words of a finding begin: after the margin, the mark and the title.
const MARGIN: usize = 4;

/// All reports as one document.
pub(super) fn document(reports: &[Report], exit: u8, strict: bool) -> serde_json::Value {
    let servers: Vec<_> = reports.iter().map(|report| report.to_json(strict)).collect();
    json!({ "ok": exit == 0, "exit": exit, "servers": servers })
}

/// One report.
pub(super) fn one(report: &Report) -> String {
    let style = Style::of_stdout();
    let mut lines = Vec::new();
    steps(report, style, &mut lines);
    lines.push(String::new());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn steps(report: &Report, style: Style, lines: &mut Vec<String>) {
    lines.push(style.bold(&safe_line(&report.name)));
    let (missed, seen): (Vec<_>, Vec<_>) = report
        .findings
        .iter()
        .partition(|finding| finding.state == State::NotReached && finding.seen == "not reached");
    for finding in seen {
        tell(finding, style, lines);
    }
    if !missed.is_empty() {
        let mut titles: Vec<&str> = missed.iter().map(|finding| finding.step.topic()).collect();
        titles.dedup();
        let words = wrap(&format!("not reached: {}", titles.join(", ")), of_stdout() - MARGIN);
        for (index, line) in words.iter().enumerate() {
            lines.push(style.dim(&format!("  {} {line}", if index == 0 { "–" } else { " " })));
        }
    }
}

fn tell(finding: &Finding, style: Style, lines: &mut Vec<String>) {
    let mark = match finding.state {
        State::Passed => style.green("✓"),
        State::Warning => style.bold("!"),
        State::Failed => style.bold("✗"),
        State::NotReached => style.dim("–"),
    };
    let room = of_stdout().saturating_sub(MARGIN + TITLE).max(MARGIN + TITLE);
    let words = wrap(&safe_line(&finding.seen), room);
    for (index, line) in words.iter().enumerate() {
        lines.push(match index {
            0 => format!("  {mark} {:<TITLE$}{line}", finding.step.title()),
            _ => format!("{}{line}", " ".repeat(MARGIN + TITLE)),
        });
    }
    let inner = " ".repeat(MARGIN + 2);
    lines.extend(finding.details.iter().map(|line| style.dim(&format!("{inner}{}", safe_line(line)))));
    if let Some(next) = &finding.next {
        let words = wrap(&format!("→ {}", safe_line(next)), of_stdout().saturating_sub(inner.len()));
        lines.extend(words.iter().enumerate().map(|(index, line)| {
            let indent = if index == 0 { "" } else { "  " };
            format!("{inner}{indent}{line}")
        }));
    }
}

/// One line that says what all come to.
pub(super) fn summary(reports: &[Report], strict: bool) -> String {
    let words = match reports {
        [only] => alone(only, strict),
        several => together(several, strict),
    };
    format!("{words}\n")
}

fn together(reports: &[Report], strict: bool) -> String {
    let failed = reports.iter().filter(|report| report.exit(strict) != 0).count();
    let warned = reports.iter().filter(|report| report.exit(strict) == 0 && report.has(State::Warning));
    let warned = warned.count();
    let names: Vec<String> = reports
        .iter()
        .filter(|report| report.exit(strict) != 0)
        .map(|report| safe_line(&report.name))
        .collect();
    let well = reports.len() - failed - warned;
    let mut words =
        format!("{} looked at: {well} well, {warned} with warnings, {failed} failed", reports.len());
    if failed > 0 {
        words.push_str(&format!(" ({})", names.join(", ")));
    }
    words
}

fn alone(report: &Report, strict: bool) -> String {
    let name = safe_line(&report.name);
    let failed = report.findings.iter().find(|finding| finding.state == State::Failed);
    let warnings = report.findings.iter().filter(|finding| finding.state == State::Warning).count();
    match failed {
        Some(finding) => format!("{name} fails at: {}", finding.step.title()),
        None if warnings == 0 => format!("{name} is well"),
        None => {
            let word = if warnings == 1 { "warning" } else { "warnings" };
            let verdict = if strict { "fails with" } else { "works, with" };
            format!("{name} {verdict} {warnings} {word}")
        }
    }
}
