//! Rules about files: their size, and the sentence at their head.

use super::Finding;
use super::source::Source;

/// Lines of code, comments and docs that a file can have beside its tests.
const LIMIT: usize = 400;
/// The same for tests.
const TEST_LIMIT: usize = 600;

/// Checks one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let count = |test: bool| source.lines.iter().filter(|line| line.test == test && !line.is_blank()).count();
    for (lines, limit, what) in [(count(false), LIMIT, "lines"), (count(true), TEST_LIMIT, "lines of tests")]
    {
        if lines > limit {
            let message = format!("{lines} {what}, at most {limit}: split it by what its parts are about");
            findings.push(Finding::new("size", &source.path, 0, message));
        }
    }
    let ours = source.in_crates().is_some() || source.path.starts_with("xtask/src/");
    let headed = source.lines.first().is_some_and(|line| line.comment.starts_with("//!"));
    if ours && !headed {
        let message = "start the file with `//!`: what the module is, and what it refuses to do";
        findings.push(Finding::new("header", &source.path, 1, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&Source::new(path, text)).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn long_files_are_found_and_blank_lines_are_free() {
        let header = "//! A.\n".to_owned();
        assert!(rules("crates/core/src/a.rs", &(header.clone() + &"let a;\n".repeat(399))).is_empty());
        assert_eq!(rules("crates/core/src/a.rs", &(header.clone() + &"let a;\n".repeat(400))), ["size"]);
        assert!(rules("crates/core/src/a.rs", &(header.clone() + &"\n".repeat(999))).is_empty());
        assert!(rules("crates/core/tests/a.rs", &(header + &"let a;\n".repeat(599))).is_empty());
    }

    #[test]
    fn tests_have_a_limit_of_their_own() {
        let tests = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "let a;\n".repeat(500));
        assert!(rules("crates/core/src/a.rs", &tests).is_empty());
    }

    #[test]
    fn modules_say_what_they_are() {
        assert_eq!(rules("crates/sdk/src/a.rs", "use a;\n"), ["header"]);
        assert_eq!(rules("crates/sdk/src/a.rs", ""), ["header"]);
        assert!(rules("interop/rmcp/src/a.rs", "use a;\n").is_empty());
    }
}
