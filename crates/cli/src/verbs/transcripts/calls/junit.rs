//! What came of tests, as JUnit writes it: what build servers read.

use std::fmt::Write as _;

use super::Outcome;

pub(super) fn report(file: &str, outcomes: &[Outcome]) -> String {
    let failed = outcomes.iter().filter(|outcome| !outcome.faults.is_empty()).count();
    let total: u128 = outcomes.iter().map(|outcome| outcome.milliseconds).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<testsuites><testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" time=\"{}\">",
        escaped(file),
        outcomes.len(),
        seconds(total)
    );
    for outcome in outcomes {
        let (name, time) = (escaped(&outcome.name), seconds(outcome.milliseconds));
        let _ = write!(out, "  <testcase classname=\"{}\" name=\"{name}\" time=\"{time}\"", escaped(file));
        match outcome.faults.first() {
            None => out.push_str("/>\n"),
            Some(first) => {
                let all = escaped(&outcome.faults.join("\n"));
                let _ = writeln!(out, "><failure message=\"{}\">{all}</failure></testcase>", escaped(first));
            }
        }
    }
    out.push_str("</testsuite></testsuites>\n");
    out
}

fn seconds(milliseconds: u128) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

/// What XML cannot hold is shown by its number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {
                out.extend(char.escape_default());
            }
            char => out.push(char),
        }
    }
    out
}
