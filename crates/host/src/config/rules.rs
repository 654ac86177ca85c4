//! The section `policy`, as it was written: what is wrong with it, rule by rule, each in its own line.
//!
//! Nothing is interpreted here, and no variable is filled in: what these hold must not be in a complaint.

use super::nearest::nearest;
use super::node::{Node, Tree};
use super::reading::Reading;
use super::sections::unknown;
use crate::consent::Rule;

pub(super) const POLICY_KEYS: &[&str] = &["default", "rules"];
pub(super) const RULE_KEYS: &[&str] = &[
    "server",
    "tool",
    "prompt",
    "resource",
    "kinds",
    "principal",
    "annotations",
    "arguments",
    "decision",
    "reason",
];
pub(super) const HINT_KEYS: &[&str] = &["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
const DECISIONS: &[&str] = &["allow", "ask", "deny"];

/// Whether nothing is wrong that could be told more exactly than of the section as a whole.
pub(super) fn are_sound(reading: &mut Reading<'_>, policy: &Node) -> bool {
    let before = reading.faults.len();
    for member in policy.members().unwrap_or_default() {
        match (member.key.as_str(), &member.node.tree) {
            ("default", Tree::Null) => {}
            ("default", _) => decision(reading, &member.node, "default", "the policy"),
            ("rules", Tree::List(rules)) => {
                rules.iter().enumerate().for_each(|(at, node)| rule(reading, at + 1, node));
            }
            ("rules", _) => {
                let what = format!("\"rules\" of the policy is {}, not a list", member.node.kind());
                reading.error(member.node.line, what);
            }
            (other, _) => unknown(reading, other, member.line, "the policy", POLICY_KEYS),
        }
    }
    reading.faults.len() == before
}

fn rule(reading: &mut Reading<'_>, number: usize, node: &Node) {
    let before = reading.faults.len();
    let this = format!("rule {number} of the policy");
    if node.members().is_none() {
        return reading.error(node.line, format!("{this} is {}, not an object", node.kind()));
    }
    for member in reading.map(node, &this) {
        match member.key.as_str() {
            "decision" => decision(reading, &member.node, "decision", &this),
            "annotations" => {
                let hints = member.node.members().unwrap_or_default();
                let strange = hints.iter().filter(|hint| !HINT_KEYS.contains(&hint.key.as_str()));
                let of = format!("the annotations of {this}");
                strange.for_each(|hint| unknown(reading, &hint.key, hint.line, &of, HINT_KEYS));
            }
            known if RULE_KEYS.contains(&known) => {}
            other => unknown(reading, other, member.line, &this, RULE_KEYS),
        }
    }
    // One that is misspelt has been told of.
    if reading.faults.len() == before && node.get("decision").is_none() {
        reading.error(node.line, format!("{this} has no \"decision\": \"allow\", \"ask\" or \"deny\""));
    }
    // All else, in the words of whoever reads it.
    if reading.faults.len() == before
        && let Err(error) = serde_json::from_value::<Rule>(node.to_value())
    {
        reading.error(node.line, format!("{this}: {error}"));
    }
}

fn decision(reading: &mut Reading<'_>, node: &Node, key: &str, of: &str) {
    let word = match &node.tree {
        Tree::Text(word) if DECISIONS.contains(&word.as_str()) => return,
        Tree::Text(word) => word,
        _ => return reading.error(node.line, format!("{key:?} of {of} is {}, not text", node.kind())),
    };
    let near = match nearest(word, DECISIONS.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}", DECISIONS.join(", ")),
    };
    reading.error(node.line, format!("{key:?} of {of} is {word:?}; {near}"));
}
