//! How many checks passed and failed, over all test binaries and all peers.
//!
//! A test binary says so itself, in the line that its harness ends with; nothing else that it prints counts.

use std::ops::AddAssign;

/// Passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// What held.
    pub passed: u64,
    /// What did not.
    pub failed: u64,
}

impl Tally {
    /// What a line of a test binary adds: `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
    pub fn of_line(line: &str) -> Self {
        let Some(result) = line.strip_prefix("test result: ") else { return Self::default() };
        let counts = result.split_once(". ").map_or("", |(_, counts)| counts);
        let number = |what: &str| {
            let count = counts.split("; ").find_map(|part| part.trim().strip_suffix(what));
            count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        Self { passed: number("passed"), failed: number("failed") }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_test_binaries_are_added_up() {
        let output = "\
running 5 tests
test a ... FAILED
test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.10s
test result: ok. 210 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s
some test result: ok. 9 passed; 9 failed; 0 ignored
";
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally += Tally::of_line(line));
        assert_eq!(tally, Tally { passed: 214, failed: 1 });
    }
}
