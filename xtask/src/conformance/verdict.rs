//! What a scenario's checks come to, strictly: a warning is a failure, and so is a check that was left out.

use super::suite::Said;
use super::{Side, Turn};
use serde::Deserialize;

/// Warnings and left out checks that are as they should be: scenario, name of the check, reason.
const TOLERATED: [(&str, &str, &str); 2] = [
    ("http-standard-headers", "ClientMcpMethodHeader_initialize", NO_HANDSHAKE),
    ("http-standard-headers", "ClientMcpMethodHeader_notifications_initialized", NO_HANDSHAKE),
];
const NO_HANDSHAKE: &str = "the revision that this is run in has no handshake";

/// Checks that the suite does not insist on, and we do: scenario, id, what it would mean if it did not hold.
const NEEDED: [(&str, &str, &str); 1] = [(
    "server-sse-polling",
    "server-sse-disconnect-resume",
    "the answer did not come over a second connection, though the tool hung up the first",
)];

/// The suite adds this check to every scenario, also to one in which our program did nothing.
const ALWAYS: &str = "wire-schema-valid";

/// What came of one scenario.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Checks that held.
    pub held: usize,
    /// Checks that did not.
    pub broken: usize,
    /// Checks that are tolerated as they are.
    pub tolerated: usize,
    /// Everything that is wrong, one sentence each.
    pub faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    #[serde(default)]
    name: String,
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
                "INFO" => {}
                "WARNING" | "SKIPPED" if is_tolerated(scenario, &check.name) => self.tolerated += 1,
                status => {
                    self.broken += 1;
                    let message = check.error_message.as_ref().unwrap_or(&check.description);
                    let message = message.lines().next().unwrap_or_default();
                    self.faults.push(format!("{} {}: {message}", status.to_lowercase(), check.id));
                }
            }
        }
        for (_, id, meaning) in NEEDED.iter().filter(|(of, ..)| *of == scenario) {
            if !checks.iter().any(|check| check.id == *id && check.status == "SUCCESS") {
                self.faults.push(format!("{id} did not hold: {meaning}"));
            }
        }
        if !exercised && self.faults.is_empty() {
            self.faults.push("nothing was exercised".to_owned());
        }
    }
}

fn is_tolerated(scenario: &str, check: &str) -> bool {
    TOLERATED.iter().any(|(of, name, _)| *of == scenario && *name == check)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(checks: &str, stderr: &str) -> Result<Said, String> {
        Ok(Said { checks: Some(checks.to_owned()), stderr: stderr.to_owned(), hung: false })
    }

    fn turn(side: Side, scenario: &str) -> Turn {
        Turn { side, revision: "2025-11-25", scenario: scenario.to_owned() }
    }

    fn verdict(scenario: &str, checks: &str) -> Verdict {
        Verdict::of(&turn(Side::Server, scenario), said(checks, ""))
    }

    #[test]
    fn a_warning_is_a_failure() {
        let checks = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"slow"}]"#;
        let verdict = verdict("ping", checks);
        assert_eq!((verdict.held, verdict.broken), (1, 1));
        assert_eq!(verdict.faults, ["warning b: slow"]);
    }

    #[test]
    fn a_check_that_was_left_out_is_a_failure_unless_there_is_a_reason() {
        let checks = r#"[{"id":"a","status":"SUCCESS"},
            {"id":"b","name":"ClientMcpMethodHeader_initialize","status":"SKIPPED"}]"#;
        assert_eq!(verdict("ping", checks).faults.len(), 1);
        let verdict = verdict("http-standard-headers", checks);
        assert!(verdict.passed());
        assert_eq!(verdict.tolerated, 1);
    }

    #[test]
    fn doing_nothing_is_a_failure() {
        let checks = r#"[{"id":"wire-schema-valid","status":"SUCCESS"},{"id":"b","status":"INFO"}]"#;
        assert_eq!(verdict("ping", checks).faults, ["nothing was exercised"]);
        assert!(!verdict("ping", "[]").passed());
    }

    #[test]
    fn what_we_insist_on_must_hold() {
        let without = r#"[{"id":"a","status":"SUCCESS"}]"#;
        let with = r#"[{"id":"server-sse-disconnect-resume","status":"SUCCESS"}]"#;
        assert!(!verdict("server-sse-polling", without).passed());
        assert!(verdict("server-sse-polling", with).passed());
    }

    #[test]
    fn a_client_that_ends_badly_fails_whatever_the_checks_say() {
        let checks = r#"[{"id":"a","status":"SUCCESS"}]"#;
        let client = turn(Side::Client, "ping");
        assert!(Verdict::of(&client, said(checks, "")).passed());
        assert!(!Verdict::of(&client, said(checks, "x\nCLIENT EXITED WITH ERROR (code 1)\n")).passed());
    }

    #[test]
    fn a_suite_that_says_nothing_fails() {
        let said = Said { checks: None, stderr: String::new(), hung: true };
        assert_eq!(Verdict::of(&turn(Side::Server, "ping"), Ok(said)).faults.len(), 2);
    }
}
