//! What a scenario's checks come to, strictly.

use super::suite::Said;
use super::{Side, Turn};
use serde::Deserialize;

/// Warnings that are right to ignore: scenario, check, reason. There are none.
const TOLERATED: [(&str, &str, &str); 0] = [];

/// The suite adds this check to every scenario, also to one in which our program did nothing.
const ALWAYS: &str = "wire-schema-valid";

/// What came of one scenario.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Checks that held.
    pub held: usize,
    /// Checks that did not.
    pub broken: usize,
    /// Checks that the suite left out.
    pub skipped: usize,
    /// Everything that is wrong, one sentence each.
    pub faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    #[serde(default)]
    description: String,
    error_message: Option<String>,
}

impl Verdict {
    /// Something that kept the scenario from being run.
    pub fn fault(what: String) -> Self {
        Self { faults: vec![what], ..Self::default() }
    }

    /// Judges what the suite said.
    pub fn of(turn: &Turn, said: Result<Said, String>) -> Self {
        let said = match said {
            Ok(said) => said,
            Err(what) => return Self::fault(what),
        };
        let mut verdict = Self::default();
        if said.hung {
            verdict.faults.push("the suite did not end, and was killed".to_owned());
        }
        match said.checks.as_deref().map(serde_json::from_str::<Vec<Check>>) {
            Some(Ok(checks)) => verdict.count(&turn.scenario, &checks),
            Some(Err(error)) => verdict.faults.push(format!("checks.json cannot be read: {error}")),
            None => verdict.faults.push("the suite wrote no checks.json".to_owned()),
        }
        if turn.side == Side::Client {
            let ends = said.stderr.lines().filter(|line| {
                line.contains("CLIENT TIMED OUT") || line.contains("CLIENT EXITED WITH ERROR")
            });
            verdict.faults.extend(ends.map(|line| line.trim().to_owned()));
        }
        verdict
    }

    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.faults.is_empty()
    }

    fn count(&mut self, scenario: &str, checks: &[Check]) {
        let mut exercised = false;
        for check in checks {
            match check.status.as_str() {
                "SUCCESS" => {
                    self.held += 1;
                    exercised |= check.id != ALWAYS;
                }
                "SKIPPED" => self.skipped += 1,
                "INFO" => {}
                "WARNING" if is_tolerated(scenario, &check.id) => {}
                status => {
                    self.broken += 1;
                    let message = check.error_message.as_ref().unwrap_or(&check.description);
                    let message = message.lines().next().unwrap_or_default();
                    self.faults.push(format!("{} {}: {message}", status.to_lowercase(), check.id));
                }
            }
        }
        if !exercised && self.faults.is_empty() {
            self.faults.push("nothing was exercised".to_owned());
        }
    }
}

fn is_tolerated(scenario: &str, check: &str) -> bool {
    TOLERATED.iter().any(|(of, id, _)| *of == scenario && *id == check)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(side: Side, checks: &str, stderr: &str) -> Verdict {
        let turn = Turn { side, revision: "2025-11-25", scenario: "ping".to_owned() };
        let said = Said { checks: Some(checks.to_owned()), stderr: stderr.to_owned(), hung: false };
        Verdict::of(&turn, Ok(said))
    }

    #[test]
    fn a_warning_is_a_failure() {
        let checks = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"slow"}]"#;
        let verdict = verdict(Side::Server, checks, "");
        assert_eq!((verdict.held, verdict.broken), (1, 1));
        assert_eq!(verdict.faults, ["warning b: slow"]);
    }

    #[test]
    fn doing_nothing_is_a_failure() {
        let checks = r#"[{"id":"wire-schema-valid","status":"SUCCESS"},{"id":"b","status":"SKIPPED"}]"#;
        assert_eq!(verdict(Side::Server, checks, "").faults, ["nothing was exercised"]);
        assert!(!verdict(Side::Server, "[]", "").passed());
    }

    #[test]
    fn a_client_that_ends_badly_fails_whatever_the_checks_say() {
        let checks = r#"[{"id":"a","status":"SUCCESS"}]"#;
        assert!(verdict(Side::Client, checks, "").passed());
        assert!(!verdict(Side::Client, checks, "x\nCLIENT EXITED WITH ERROR (code 1)\n").passed());
    }

    #[test]
    fn a_suite_that_says_nothing_fails() {
        let turn = Turn { side: Side::Server, revision: "2025-11-25", scenario: "ping".to_owned() };
        let said = Said { checks: None, stderr: String::new(), hung: true };
        assert_eq!(Verdict::of(&turn, Ok(said)).faults.len(), 2);
    }
}
