//! What the programs reported, as one table: a row for each check, a column for each program.
//!
//! A report is one JSON object per line, `{"check", "status": "ok|fail|absent", "detail"}`. Whatever does
//! not fit (an unknown check, a line that is no JSON, a check reported twice) fails the column.

use std::collections::BTreeMap;

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It worked.
    Ok,
    /// It did not, and why.
    Fail(String),
    /// The peer has no such feature, and what is missing.
    Absent(String),
}

/// One program's report.
#[derive(Debug)]
pub struct Column {
    /// Peer, direction and era.
    pub name: String,
    /// One cell for each check, in their order.
    pub cells: Vec<Cell>,
    /// What is wrong with the report as a whole.
    pub notes: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Report {
    check: String,
    status: String,
    #[serde(default)]
    detail: String,
}

impl Column {
    /// Reads a report.
    pub fn read(name: String, checks: &[&str], text: &str) -> Self {
        let mut found: BTreeMap<String, Cell> = BTreeMap::new();
        let mut notes = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let report: Report = match serde_json::from_str(line) {
                Ok(report) => report,
                Err(error) => {
                    notes.push(format!("not a report ({error}): {line}"));
                    continue;
                }
            };
            let cell = match report.status.as_str() {
                "ok" => Cell::Ok,
                "absent" if report.detail.trim().is_empty() => {
                    Cell::Fail("absent without a reason".to_owned())
                }
                "absent" => Cell::Absent(report.detail),
                "fail" => Cell::Fail(report.detail),
                other => Cell::Fail(format!("unknown status `{other}`")),
            };
            if !checks.contains(&report.check.as_str()) {
                notes.push(format!("unknown check `{}`", report.check));
            } else if found.insert(report.check.clone(), cell).is_some() {
                notes.push(format!("`{}` was reported twice", report.check));
            }
        }
        let cell =
            |check: &&str| found.remove(*check).unwrap_or_else(|| Cell::Fail("not reported".to_owned()));
        let cells = checks.iter().map(cell).collect();
        Self { name, cells, notes }
    }

    /// Whether anything in the column failed.
    pub fn failed(&self) -> bool {
        self.failures() > 0
    }

    fn failures(&self) -> u64 {
        let failed = self.cells.iter().filter(|cell| matches!(cell, Cell::Fail(_))).count();
        (self.notes.len() + failed) as u64
    }
}

/// The line of a report, for a check that no program makes.
pub fn line(check: &str, cell: &Cell) -> String {
    let (status, detail) = match cell {
        Cell::Ok => ("ok", ""),
        Cell::Fail(detail) => ("fail", detail.as_str()),
        Cell::Absent(detail) => ("absent", detail.as_str()),
    };
    serde_json::json!({ "check": check, "status": status, "detail": detail }).to_string() + "\n"
}

/// How many checks passed.
pub fn passed(columns: &[Column]) -> u64 {
    let cells = columns.iter().flat_map(|column| &column.cells);
    cells.filter(|cell| matches!(cell, Cell::Ok)).count() as u64
}

/// Prints the table, then every reason; returns the number of failures.
pub fn print(checks: &[&str], columns: &[Column]) -> u64 {
    let width = checks.iter().map(|check| check.len()).max().unwrap_or(0);
    println!();
    for (index, column) in columns.iter().enumerate() {
        println!("{} = {}", letter(index), column.name);
    }
    println!("\nnone: the peer or the era has no such feature; the reasons are below the table");
    print!("\n{:width$}", "");
    (0..columns.len()).for_each(|index| print!("  {:<4}", letter(index)));
    println!();
    for (row, check) in checks.iter().enumerate() {
        print!("{check:width$}");
        for column in columns {
            let word = match &column.cells[row] {
                Cell::Ok => "ok",
                Cell::Fail(_) => "FAIL",
                Cell::Absent(_) => "none",
            };
            print!("  {word:<4}");
        }
        println!();
    }
    println!();
    absences(checks, columns).iter().for_each(|line| println!("{line}"));
    failures(checks, columns).iter().for_each(|line| println!("{line}"));
    columns.iter().map(Column::failures).sum()
}

/// What is not there, and why: a line for each reason, with all the columns that gave it.
fn absences(checks: &[&str], columns: &[Column]) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, check) in checks.iter().enumerate() {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (index, column) in columns.iter().enumerate() {
            if let Cell::Absent(why) = &column.cells[row] {
                reasons.entry(why).or_default().push(letter(index));
            }
        }
        lines.extend(reasons.iter().map(|(why, who)| format!("none {} {check}: {why}", who.join(" "))));
    }
    lines
}

/// What failed, and why: a line for each check, unless a whole column failed for one reason.
fn failures(checks: &[&str], columns: &[Column]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let failed = checks.iter().zip(&column.cells).filter_map(|(check, cell)| match cell {
            Cell::Fail(detail) => Some((*check, detail)),
            _ => None,
        });
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        failed.for_each(|(check, why)| reasons.entry(why).or_default().push(check));
        for (why, which) in reasons {
            let which = if which.len() > 5 { format!("{} checks", which.len()) } else { which.join(", ") };
            lines.push(format!("FAIL {} {which}: {why}", letter(index)));
        }
        lines.extend(column.notes.iter().map(|note| format!("FAIL {} {note}", letter(index))));
    }
    lines
}

/// A to Z, then AA.
fn letter(index: usize) -> String {
    let last = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    if index < 26 { last.to_string() } else { letter(index / 26 - 1) + &last.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKS: [&str; 3] = ["handshake", "ping", "close"];

    fn read(text: &str) -> Column {
        Column::read("peer".into(), &CHECKS, text)
    }

    fn line(check: &str, status: &str, detail: &str) -> String {
        format!("{{\"check\":\"{check}\",\"status\":\"{status}\",\"detail\":\"{detail}\"}}\n")
    }

    #[test]
    fn a_full_report_is_read() {
        let text =
            line("handshake", "ok", "") + &line("ping", "absent", "no ping") + &line("close", "ok", "");
        let column = read(&text);
        assert_eq!(column.cells, [Cell::Ok, Cell::Absent("no ping".into()), Cell::Ok]);
        assert!(!column.failed());
    }

    #[test]
    fn what_is_not_reported_failed() {
        let column = read(&line("handshake", "ok", ""));
        assert_eq!(column.cells[2], Cell::Fail("not reported".into()));
        assert_eq!(column.failures(), 2);
    }

    #[test]
    fn a_reason_is_given_once_for_all_columns() {
        let text = line("ping", "absent", "no ping");
        let columns: Vec<Column> = (0..28).map(|_| read(&text)).collect();
        let lines = absences(&CHECKS, &columns);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("none A B C ") && lines[0].ends_with(" Z AA AB ping: no ping"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_column_that_failed_as_a_whole_is_one_line() {
        let many = ["a", "b", "c", "d", "e", "f"];
        let column = Column::read("peer".into(), &many, "");
        assert_eq!(failures(&many, &[column]), ["FAIL A 6 checks: not reported"]);
        assert_eq!(
            failures(&CHECKS, &[read(&line("ping", "ok", ""))]),
            ["FAIL A handshake, close: not reported"]
        );
    }

    #[test]
    fn a_report_that_does_not_fit_fails() {
        let full: String = CHECKS.iter().map(|check| line(check, "ok", "")).collect();
        for extra in [line("ping", "ok", ""), line("pong", "ok", ""), "garbage\n".to_owned()] {
            assert_eq!(read(&(full.clone() + &extra)).failures(), 1, "{extra}");
        }
        assert!(read(&full.replace("\"ok\"", "\"absent\"")).failed(), "absent needs a reason");
    }
}
