//! What a walk found, step by step. Findings are only added; what was planned and not reached is filled in at the end.

use serde_json::{Value, json};

use super::live::Now;
use super::step::Step;
use crate::terminal::text::cut;

/// Nobody reads more details of one finding.
const DETAILS: usize = 8;
/// Nor longer ones.
const LONGEST: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Passed,
    Warning,
    Failed,
    NotReached,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::NotReached => "notReached",
        }
    }
}

/// One step that was tried.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) step: Step,
    pub(super) state: State,
    /// What was seen.
    pub(super) seen: String,
    pub(super) details: Vec<String>,
    /// What to do now.
    pub(super) next: Option<String>,
    exit: u8,
}

/// One server, or the configuration itself.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) name: String,
    pub(super) findings: Vec<Finding>,
    /// What hosts call it, and put before its names.
    pub(super) alias: Option<String>,
    /// What is asked of such a server, in this order.
    plan: Vec<Step>,
    /// What is being asked now: what is to blame if time runs out.
    pub(super) now: Now,
}

impl Report {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), findings: Vec::new(), alias: None, plan: Vec::new(), now: Now::default() }
    }

    /// These will be asked, too.
    pub(super) fn plan(&mut self, steps: &[Step]) {
        self.plan.extend_from_slice(steps);
    }

    /// Begins to ask.
    pub(super) fn begin(&mut self, step: Step) {
        self.now.set(Some(step));
    }

    pub(super) fn passed(&mut self, step: Step, seen: impl Into<String>) {
        self.add(step, State::Passed, seen.into(), None);
    }

    pub(super) fn warn(&mut self, step: Step, seen: impl Into<String>, next: impl Into<String>) {
        self.add(step, State::Warning, seen.into(), Some(next.into()));
    }

    /// Notes a failure. What follows usually cannot be asked any more, so that this is the end of a walk, too.
    pub(super) fn fail<T>(
        &mut self,
        step: Step,
        seen: impl Into<String>,
        next: impl Into<String>,
    ) -> Option<T> {
        self.add(step, State::Failed, seen.into(), Some(next.into()));
        None
    }

    /// Something that is left alone on purpose.
    pub(super) fn leave(&mut self, step: Step, seen: impl Into<String>) {
        self.add(step, State::NotReached, seen.into(), None);
    }

    fn add(&mut self, step: Step, state: State, seen: String, next: Option<String>) {
        let seen = cut(&seen, LONGEST);
        self.findings.push(Finding { step, state, seen, details: Vec::new(), next, exit: step.exit() });
    }

    /// Adds lines to what was found last.
    pub(super) fn details(&mut self, lines: impl IntoIterator<Item = impl Into<String>>) {
        let Some(last) = self.findings.last_mut() else { return };
        let mut lines = lines.into_iter().map(Into::into);
        last.details.extend(lines.by_ref().take(DETAILS).map(|line: String| cut(&line, LONGEST)));
        let more = lines.count();
        if more > 0 {
            last.details.push(format!("and {more} more"));
        }
    }

    /// Another kind of failure than this step usually is.
    pub(super) fn ends_with(&mut self, exit: u8) {
        if let Some(last) = self.findings.last_mut() {
            last.exit = exit;
        }
    }

    /// Time ran out.
    pub(super) fn out_of_time(&mut self, words: String) {
        let step = self.now.get().unwrap_or(Step::Handshake);
        let next = "give it longer: --timeout SECONDS";
        let _: Option<()> = self.fail(step, words, next);
    }

    /// What was planned and nobody got to.
    pub(super) fn finish(&mut self) {
        self.now.set(None);
        let reached = |step: &Step| self.findings.iter().any(|finding| finding.step == *step);
        let missed: Vec<Step> = self.plan.iter().copied().filter(|step| !reached(step)).collect();
        missed.into_iter().for_each(|step| self.leave(step, "not reached"));
    }

    pub(super) fn has(&self, state: State) -> bool {
        self.findings.iter().any(|finding| finding.state == state)
    }

    /// How the program ends: as the first step says that failed.
    pub(super) fn exit(&self, strict: bool) -> u8 {
        let is_failure = |state: State| state == State::Failed || (strict && state == State::Warning);
        self.findings.iter().find(|finding| is_failure(finding.state)).map_or(0, |finding| finding.exit)
    }

    pub(super) fn to_json(&self, strict: bool) -> Value {
        let steps: Vec<Value> = self.findings.iter().map(Finding::to_json).collect();
        let exit = self.exit(strict);
        json!({ "server": self.name, "ok": exit == 0, "exit": exit, "steps": steps })
    }
}

impl Finding {
    fn to_json(&self) -> Value {
        let mut step = json!({
            "id": self.step.id(),
            "title": self.step.title(),
            "state": self.state.word(),
            "seen": self.seen,
        });
        if !self.details.is_empty() {
            step["details"] = json!(self.details);
        }
        if let Some(next) = &self.next {
            step["next"] = json!(next);
        }
        step
    }
}
