//! What a table of rows has found wrong: all of it, not only the first row.
//!
//! It decides nothing; rows do. A test that ends without looking at what was found has found it anyway.

use crate::site::Site;
use crate::wire::Answer;

/// Collects complaints, and fails the test with all of them when it is dropped.
#[derive(Default)]
pub(crate) struct Findings {
    wrong: Vec<String>,
}

impl Findings {
    /// Notes a complaint unless the row is right.
    pub(crate) fn check(&mut self, right: bool, row: &str, what: impl FnOnce() -> String) {
        if !right {
            self.wrong.push(format!("{row}: {}", what()));
        }
    }

    /// The status must be one of these.
    pub(crate) fn status(&mut self, row: &str, input: &str, answer: &Answer, wanted: &[u16]) {
        self.check(wanted.contains(&answer.status()), row, || {
            format!("{input:.200}\n   wanted {wanted:?}, got {}", answer.text())
        });
    }

    /// The server must live, and must not have run what it must not run.
    pub(crate) fn unharmed(&mut self, row: &str, input: &str, site: &Site) {
        if let Some(harm) = site.harm() {
            self.check(false, row, || format!("{input:.200}\n   {harm}"));
        }
    }

    /// Status and code of a refusal.
    pub(crate) fn refusal(&mut self, row: &str, input: &str, answer: &Answer, status: u16, code: i64) {
        let right = answer.status() == status && answer.code() == Some(code);
        self.check(right, row, || format!("{input:.200}\n   wanted {status} {code}, got {}", answer.text()));
    }
}

impl Drop for Findings {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.wrong.is_empty() {
            panic!("{} rows are wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
        }
    }
}
