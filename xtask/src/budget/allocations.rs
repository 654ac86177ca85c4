//! Allocations: a test of the SDK counts and prints them. Whether they are too many is decided here as well as
//! there, so that all numbers are in one table.

use super::Measured;
use super::drive::{WORKS, Work};
use super::file::Kind;
use crate::{process, workspace};

/// Runs the test. It fails where a budget is exceeded, which is not a reason to measure nothing.
pub(super) fn measure() -> Result<Vec<Measured>, String> {
    let mut command = workspace::cargo();
    command.args(["test", "--locked", "--quiet", "-p", "contexture", "--test", "allocations", "--"]);
    command.args(["--nocapture", "--test-threads", "1"]);
    // What it fails with says enough.
    command.env("RUST_BACKTRACE", "0");
    let mut heard = Vec::new();
    let result = process::run_heard(&mut command, |line| heard.extend(read(line)));
    let counted = |work: &Work| heard.iter().find(|(name, _)| name == work.name).map(|(_, each)| *each);
    let measured = WORKS.iter().map(|work| Some(Measured::new(Kind::Allocations, work.name, counted(work)?)));
    match measured.collect() {
        Some(measured) => Ok(measured),
        None => result.and(Err("the test `allocations` did not count everything".to_owned())),
    }
}

/// `allocations: http, 2026-07-28, echo = 12`, perhaps after what the test's harness says.
fn read(line: &str) -> Option<(String, f64)> {
    let (name, each) = line.split_once("allocations: ")?.1.rsplit_once(" = ")?;
    Some((name.to_owned(), each.parse().ok()?))
}
