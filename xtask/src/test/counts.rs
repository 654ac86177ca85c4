//! How many messages the tests have checked against the JSON Schema of their revision.
//!
//! A test binary appends lines `<revision> <count>` to a file of its own in the directory that
//! `CONTEXTURE_SCHEMA_COUNTS` names; here they are added up. A
//! message that was found wrong leaves a line of its own, which is a failure like any that is not a count.

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

/// Prints the sums. Fails if a record cannot be understood, or if there is a schema and nothing was judged by
/// it; what has no schema, by `missing`, was not validated, and that is said.
pub fn report(directory: &Path, missing: &[&str]) -> Result<(), String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let texts: Vec<String> = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    let (sums, bad) = sum(texts.iter().flat_map(|text| text.lines()));
    println!("messages validated against the schema of their revision:");
    for (revision, count) in &sums {
        println!("  {revision} {count:>9}");
    }
    for revision in missing {
        println!(
            "!! {revision} NOT VALIDATED: its schema could not be had; set {}",
            super::schemas::VARIABLE
        );
    }
    verdict(&sums, &bad, missing)
}

fn verdict(sums: &BTreeMap<String, u64>, bad: &[String], missing: &[&str]) -> Result<(), String> {
    let is_unused = |date: &&str| !sums.contains_key(*date) && !missing.contains(date);
    let unused: Vec<&str> = REVISIONS.into_iter().filter(is_unused).collect();
    if !bad.is_empty() {
        return Err(format!("the record of validated messages says: {}", bad.join(", ")));
    }
    if !unused.is_empty() {
        return Err(format!("there is a schema of {}, but no message was judged by it", unused.join(", ")));
    }
    Ok(())
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

    #[test]
    fn every_schema_must_have_judged_something() {
        let all = || REVISIONS.iter().map(|date| ((*date).to_owned(), 1)).collect::<BTreeMap<_, _>>();
        assert_eq!(verdict(&all(), &[], &[]), Ok(()));
        let mut some = all();
        some.remove("2025-03-26");
        assert!(verdict(&some, &[], &[]).is_err_and(|error| error.contains("2025-03-26")));
        assert_eq!(verdict(&some, &[], &["2025-03-26"]), Ok(()), "without a schema nothing can be judged");
        assert!(verdict(&BTreeMap::new(), &[], &[]).is_err());
        let found = ["invalid message of 2025-06-18".to_owned()];
        assert!(verdict(&all(), &found, &[]).is_err_and(|error| error.contains("invalid")));
    }
}
