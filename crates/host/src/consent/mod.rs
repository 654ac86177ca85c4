//! Consent: what may be done here, who is asked, what they said, and a record of all of it.
//!
//! [Rules](PolicyConfig) allow, ask or deny; the first that matches decides. What is to be asked about goes to a person, as a form
//! that names the server, the tool and the arguments; `always` and `never` are remembered by the digest of the
//! definition, so that a changed tool asks again. Every decision and every call can be [audited](AuditConfig), and nobody
//! may call faster than the [limits](CallLimits) permit.
//!
//! Nothing here forwards a call, and nothing here asks anybody by itself: it says what to ask, and what an answer means.
//! Annotations of servers that are not trusted decide nothing.

mod asking;
mod audit;
mod case;
mod explain;
mod limits;
mod question;
mod remembered;
pub mod review;
mod rules;
mod text;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use contexture::Principal;
use contexture::model::ErrorObject;

pub use asking::{Answer, AskPerson, Asking, NO_PIN, Outcome, Record, Verdict};
pub use audit::{AuditConfig, rfc3339};
pub use case::{Case, Decision, Kind, Pin, named};
pub use explain::{Explanation, RuleExplained};
pub use limits::{Admission, CallLimits};
pub use question::{Person, PersonQuestion, attributed};
pub use remembered::{Decided, Remembered};
pub use rules::{Hints, PolicyConfig, Rule};

pub(crate) use asking::hints;

use asking::Why;
use audit::{Audit, Line};
use limits::Gauge;
use remembered::Recalled;
use rules::Because;

/// What consent is built from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The rules.
    pub policy: PolicyConfig,
    /// Where decisions and calls are written down, if anywhere.
    pub audit: Option<AuditConfig>,
    /// How much is permitted at once and in a second.
    pub limits: CallLimits,
    /// The folder in which answers are remembered; in memory only, if there is none.
    pub state: Option<PathBuf>,
}

/// Decides what may be done. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Consent {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    current: RwLock<Arc<Current>>,
    gauge: Gauge,
}

/// What a reload replaces, whole.
#[derive(Debug)]
struct Current {
    policy: PolicyConfig,
    audit: Arc<Audit>,
    remembered: Arc<Remembered>,
    state: Option<PathBuf>,
}

impl Consent {
    /// Begins to decide. A log that cannot be written is told of, and denies everything if it is required.
    pub fn open(settings: Settings) -> Self {
        let current = Current {
            policy: settings.policy,
            audit: Arc::new(Audit::open(settings.audit, Arc::default())),
            remembered: Arc::new(Remembered::open(settings.state.as_deref())),
            state: settings.state,
        };
        let inner = Inner { current: RwLock::new(Arc::new(current)), gauge: Gauge::new(settings.limits) };
        Self { inner: Arc::new(inner) }
    }

    /// Goes on with other rules. What was counted and remembered stays.
    pub fn reload(&self, settings: Settings) {
        let before = self.current();
        let audit = if before.audit.is_as(settings.audit.as_ref()) {
            Arc::clone(&before.audit)
        } else {
            Arc::new(before.audit.followed_by(settings.audit))
        };
        let remembered = if before.state == settings.state {
            Arc::clone(&before.remembered)
        } else {
            Arc::new(Remembered::open(settings.state.as_deref()))
        };
        let next = Current { policy: settings.policy, audit, remembered, state: settings.state };
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.inner.gauge.change(settings.limits);
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.inner.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether this may be done, now and as it is.
    pub fn decide(&self, asking: &Asking<'_>) -> Verdict {
        let current = self.current();
        let (ruled, because) = current.policy.judge(&asking.case());
        let mut why = Why::Ruled(because);
        let mut decision = ruled;
        let mut changed = false;
        if ruled == Decision::Ask {
            match current.remembered.recall(asking) {
                Recalled::Always => (decision, why) = (Decision::Allow, Why::Remembered),
                Recalled::Never => (decision, why) = (Decision::Deny, Why::Remembered),
                Recalled::Changed => changed = true,
                Recalled::Nothing => {}
            }
        }
        if let Some(denied) = current.refused(asking, decision, why) {
            return denied;
        }
        match decision {
            Decision::Allow => Verdict::Allow,
            Decision::Deny => Verdict::Deny { reason: current.reason(asking, why) },
            Decision::Ask => Verdict::Ask(question::about(asking, changed)),
        }
    }

    /// What a person's answer comes to: the call is allowed or it is not, and what they want remembered is.
    pub fn answered(&self, asking: &Asking<'_>, answer: Answer) -> Verdict {
        let current = self.current();
        let answer = answer.as_offered(asking);
        let decision = if answer.allows() { Decision::Allow } else { Decision::Deny };
        if let Some(denied) = current.refused(asking, decision, Why::Answered(answer)) {
            return denied;
        }
        current.remembered.keep(asking, answer);
        match decision {
            Decision::Allow => Verdict::Allow,
            _ => Verdict::Deny { reason: asking.refusal(answer) },
        }
    }

    /// What happens when there is nobody to ask: it is denied, and the reason says how it could be allowed.
    pub fn nobody(&self, asking: &Asking<'_>) -> Verdict {
        let current = self.current();
        let denied = current.refused(asking, Decision::Deny, Why::Nobody);
        denied.unwrap_or_else(|| Verdict::Deny { reason: asking.unasked() })
    }

    /// Writes down how a call ended. What cannot be written is counted; the next decision knows of it.
    pub fn record(&self, record: Record<'_>) {
        let current = self.current();
        if current.audit.is_on() {
            // Whether it was written matters to the next call, and the log itself tells people.
            let _ = current.audit.write(&Line::call(&record));
        }
    }

    /// What would be decided, and what each rule says to it. Decides nothing and writes nothing.
    pub fn explain(&self, case: &Case<'_>) -> Explanation {
        let current = self.current();
        explain::explain(&current.policy, &current.remembered, case)
    }

    /// Whether something is denied however it is used: then there is no point in showing it. For names that stand for many, as those
    /// of templates do, `exact` is false.
    pub fn conceals(&self, case: &Case<'_>, exact: bool) -> bool {
        self.current().policy.conceals(case, exact)
    }

    /// Whether callers may see different things.
    pub fn tells_callers_apart(&self) -> bool {
        self.current().policy.tells_callers_apart()
    }

    /// Lets a call begin, or says when to try again. The call is over when the admission is dropped.
    ///
    /// # Errors
    /// The caller, or everybody together, asks too much of this server.
    pub fn admit(&self, principal: &Principal, server: &str) -> Result<Admission, ErrorObject> {
        self.inner.gauge.admit(principal, server)
    }

    /// Lets a server ask something (of a person, of a model, for roots), or says when to try again.
    ///
    /// # Errors
    /// It asks too often.
    pub fn admit_question(&self, server: &str) -> Result<(), ErrorObject> {
        self.inner.gauge.admit_question(server)
    }

    /// Lines of the audit that could not be written, here and wherever it was written before.
    pub fn audit_lost(&self) -> u64 {
        self.current().audit.lost()
    }

    /// Answers that are remembered.
    pub fn remembered(&self) -> Arc<Remembered> {
        Arc::clone(&self.current().remembered)
    }
}

impl Current {
    /// Writes a decision down. `Some` if it had to be and could not: then nothing is done.
    fn refused(&self, asking: &Asking<'_>, decision: Decision, why: Why) -> Option<Verdict> {
        if !self.audit.is_on() {
            return None;
        }
        let line = Line::decision(asking, decision, &why.words(&self.policy), self.audit.keeps_arguments());
        match self.audit.write(&line) {
            Err(fault) if self.audit.is_required() => Some(Verdict::Deny {
                reason: format!(
                    "the audit log is required and cannot be written ({fault}): whoever runs this gateway has to mend that"
                ),
            }),
            _ => None,
        }
    }

    fn reason(&self, asking: &Asking<'_>, why: Why) -> String {
        match why {
            Why::Ruled(Because::Rule(at)) => {
                let said = self.policy.rules.get(at).and_then(|rule| rule.reason.as_deref());
                let said = said.map(|said| format!(": {said}")).unwrap_or_default();
                format!("{} is denied by rule {} of the policy{said}", asking.what(), at + 1)
            }
            Why::Ruled(_) => format!("{} is denied by the default of the policy", asking.what()),
            _ => asking.refusal(Answer::Never),
        }
    }
}
