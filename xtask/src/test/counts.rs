//! How many messages the tests have checked against the JSON Schema of their revision.
//!
//! A test binary appends lines `<revision> <count>` to a file of its own in the directory that
//! `CONTEXTURE_SCHEMA_COUNTS` names; here they are added up. A revision without messages is said aloud.

use crate::workspace::{self, REVISIONS};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The variable that tells the tests where to write.
pub const VARIABLE: &str = "CONTEXTURE_SCHEMA_COUNTS";

/// A new, empty directory for this run.
pub fn directory() -> Result<PathBuf, String> {
    let path = workspace::root().join("target/schema-counts");
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(|error| format!("target/schema-counts: {error}"))?;
    }
    std::fs::create_dir_all(&path).map_err(|error| format!("target/schema-counts: {error}"))?;
    Ok(path)
}

/// Prints the sums.
pub fn print(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let texts: Vec<String> = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    let (sums, bad) = sum(texts.iter().flat_map(|text| text.lines()));
    println!("messages validated against the schema of their revision:");
    for (revision, count) in &sums {
        println!("  {revision} {count:>9}");
    }
    for revision in REVISIONS.iter().filter(|revision| !sums.contains_key(**revision)) {
        println!("!! {revision} NOT VALIDATED: no test sent a message of this revision");
    }
    for line in bad {
        println!("!! NOT UNDERSTOOD, expected `<revision> <count>`: {line}");
    }
}

fn sum<'a>(lines: impl Iterator<Item = &'a str>) -> (BTreeMap<String, u64>, Vec<String>) {
    let mut sums = BTreeMap::new();
    let mut bad = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let parsed = line.split_once(' ').and_then(|(revision, count)| {
            let known = REVISIONS.contains(&revision);
            known.then(|| count.trim().parse::<u64>().ok()).flatten().map(|count| (revision, count))
        });
        match parsed {
            Some((_, 0)) => {}
            Some((revision, count)) => *sums.entry(revision.to_owned()).or_default() += count,
            None => bad.push(line.to_owned()),
        }
    }
    (sums, bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up_and_garbage_is_kept() {
        let lines = [
            "2025-06-18 3",
            "2026-07-28 1",
            "2025-06-18 4",
            "",
            "2025-01-01 1",
            "2025-06-18 x",
            "2024-11-05 0",
        ];
        let (sums, bad) = sum(lines.into_iter());
        assert_eq!(sums, BTreeMap::from([("2025-06-18".to_owned(), 7), ("2026-07-28".to_owned(), 1)]));
        assert_eq!(bad, ["2025-01-01 1", "2025-06-18 x"]);
    }
}
