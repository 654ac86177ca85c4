//! What would be decided, and why: each rule in turn.

use contexture::model::ToolAnnotations;
use serde::Serialize;

use super::case::{Case, Decision, Kind, named};
use super::remembered::Remembered;
use super::rules::{Arguments, Because, PolicyConfig};

/// What would happen, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What would happen.
    pub decision: Decision,
    /// What would happen if the server said that the tool only reads, where its word counts, is not known here, and would
    /// make a difference.
    #[serde(rename = "ifReadOnly", skip_serializing_if = "Option::is_none")]
    pub if_read_only: Option<Decision>,
    /// What decides.
    pub because: String,
    /// Who is meant.
    pub principal: String,
    /// Every rule, in order.
    pub rules: Vec<RuleExplained>,
    /// What a person has said before, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remembered: Option<String>,
}

/// One rule, and whether it matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleExplained {
    /// Its number, counted from one.
    pub number: usize,
    /// What it says.
    pub decision: Decision,
    /// Whether it matches.
    pub matches: bool,
    /// Why it does not, or that it decides, or that an earlier one did.
    pub why: String,
}

pub(super) fn explain(policy: &PolicyConfig, remembered: &Remembered, case: &Case<'_>) -> Explanation {
    // Offline, what the server said when a person was last asked is the best that is known.
    let known = case.annotations.is_none().then(|| remembered.annotations(case.server, case.name)).flatten();
    let case = &Case { annotations: case.annotations.or(known.as_ref()), ..*case };
    let (decision, because, said) = decided(policy, remembered, case);
    Explanation {
        decision,
        if_read_only: if_read_only(policy, remembered, case).filter(|other| *other != decision),
        because: because.words(policy),
        principal: named(case.principal),
        rules: rules(policy, case),
        remembered: said,
    }
}

fn decided(
    policy: &PolicyConfig,
    remembered: &Remembered,
    case: &Case<'_>,
) -> (Decision, Because, Option<String>) {
    let (ruled, because) = policy.judge(case);
    let (decision, said) = match ruled {
        Decision::Ask => recalled(remembered, case),
        other => (other, None),
    };
    (decision, because, said)
}

fn if_read_only(policy: &PolicyConfig, remembered: &Remembered, case: &Case<'_>) -> Option<Decision> {
    if case.kind != Kind::Tool || !case.trusted || case.annotations.is_some() {
        return None;
    }
    let reading = ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() };
    let case = Case { annotations: Some(&reading), ..*case };
    Some(decided(policy, remembered, &case).0)
}

fn recalled(remembered: &Remembered, case: &Case<'_>) -> (Decision, Option<String>) {
    match remembered.said(case.principal, case.server, case.kind, case.name) {
        None => (Decision::Ask, None),
        Some(said) if said.allowed => {
            let words =
                "it was allowed for good, and is asked about again only if its definition has changed";
            (Decision::Allow, Some(words.to_owned()))
        }
        Some(_) => (Decision::Deny, Some("it was denied for good".to_owned())),
    }
}

fn rules(policy: &PolicyConfig, case: &Case<'_>) -> Vec<RuleExplained> {
    let arguments = Arguments::of(case);
    let mut decided = None;
    let explained = policy.rules.iter().enumerate().map(|(at, rule)| {
        let number = at + 1;
        let judged = rule.judge(case, &arguments);
        let why = match (&judged, decided) {
            (Err(miss), _) => miss.to_string(),
            (Ok(()), Some(earlier)) => format!("matches, but rule {earlier} comes first"),
            (Ok(()), None) => {
                decided = Some(number);
                "decides".to_owned()
            }
        };
        RuleExplained { number, decision: rule.decision, matches: judged.is_ok(), why }
    });
    explained.collect()
}
