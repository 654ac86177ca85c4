//! Exceptions from the rules of tidy, `xtask/allowed.txt`: `rule path reason`, one per line.
//!
//! An exception without a reason is refused, and so is one that nothing needs any more. Coverage and
//! dependencies have lists of their own (`spec/deferred.txt`, `policy.json`) and cannot be excepted here.

use super::Finding;
use crate::workspace::TextFile;

const FILE: &str = "xtask/allowed.txt";

/// Takes away what is excepted and adds what is wrong with the exceptions.
pub fn apply(files: &[TextFile], findings: Vec<Finding>) -> Vec<Finding> {
    let text = files.iter().find(|file| file.path == FILE).map_or("", |file| file.text.as_str());
    filter(text, findings)
}

fn filter(text: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept = findings;
    let mut mistakes = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut parts = line.splitn(3, ' ');
        let (Some(rule), Some(path), Some(_reason)) = (parts.next(), parts.next(), parts.next()) else {
            mistakes.push(Finding::new("allowed", FILE, index + 1, "expected `rule path reason`"));
            continue;
        };
        let before = kept.len();
        kept.retain(|finding| finding.rule != rule || finding.path != path);
        if kept.len() == before {
            let message = format!("nothing in {path} needs this exception from `{rule}`: remove the line");
            mistakes.push(Finding::new("allowed", FILE, index + 1, message));
        }
    }
    kept.extend(mistakes);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_need_a_reason_and_a_use() {
        let finding = || vec![Finding::new("size", "a.rs", 0, "too long")];
        assert!(filter("size a.rs a table", finding()).is_empty());
        assert_eq!(filter("size a.rs", finding()).len(), 2);
        assert_eq!(filter("size b.rs a table", finding()).len(), 2);
        assert_eq!(filter("# a comment\n", finding()).len(), 1);
    }
}
