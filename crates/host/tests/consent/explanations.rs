//! What is said about a decision is what is decided.

use contexture_host::consent::{Answer, Kind, Verdict};
use serde_json::json;

use crate::{Wish, consent, read_only, word};

#[test]
fn an_explanation_agrees_with_the_decision_and_names_the_rule() {
    let consent = consent(json!({ "rules": [
        { "tool": "delete*", "decision": "deny" },
        { "annotations": { "readOnlyHint": true }, "decision": "allow", "reason": "harmless" },
        { "server": "files", "decision": "ask" },
        { "server": "files", "tool": "x", "decision": "allow" },
    ] }));
    for wish in [
        Wish::tool("delete_all"),
        Wish::tool("x"),
        Wish::tool("x").trusted(),
        Wish::tool("x").hints(read_only()),
        Wish::tool("x").hints(read_only()).trusted(),
        Wish::tool("x").server("other"),
        Wish::of_kind(Kind::Prompt, "x"),
    ] {
        let explained = consent.explain(&wish.asking().case());
        assert_eq!(explained.decision.to_string(), word(&consent.decide(&wish.asking())), "{}", wish.name);
        assert_eq!(explained.rules.len(), 4);
        assert!(explained.rules.iter().filter(|rule| rule.why == "decides").count() <= 1);
    }
    let untrusted = consent.explain(&Wish::tool("x").hints(read_only()).asking().case());
    assert_eq!(untrusted.because, "rule 3");
    let told: Vec<(bool, &str)> =
        untrusted.rules.iter().map(|rule| (rule.matches, rule.why.as_str())).collect();
    assert_eq!(told[0], (false, "is about another name"));
    assert!(!told[1].0 && told[1].1.contains("not trusted"), "{told:?}");
    assert_eq!(told[2], (true, "decides"));
    assert_eq!(told[3], (true, "matches, but rule 3 comes first"));
    let trusted = consent.explain(&Wish::tool("x").hints(read_only()).trusted().asking().case());
    assert_eq!(trusted.because, "rule 2: harmless");
}

#[test]
fn what_was_said_before_is_part_of_it() {
    let consent =
        consent(json!({ "rules": [{ "annotations": { "readOnlyHint": true }, "decision": "deny" }] }));
    let wish = Wish::tool("x").hints(read_only());
    assert!(matches!(consent.decide(&wish.asking()), Verdict::Ask(_)));
    consent.answered(&wish.asking(), Answer::Always);
    let explained = consent.explain(&wish.asking().case());
    assert_eq!(explained.decision.to_string(), "allow");
    assert!(explained.remembered.is_some_and(|words| words.contains("for good")));
    // The definition is not known here, but what was said when a person was asked is.
    let mut case = wish.asking().case();
    (case.annotations, case.trusted) = (None, true);
    assert_eq!(consent.explain(&case).decision.to_string(), "deny");
    case.name = "y";
    let unknown = consent.explain(&case);
    assert!(unknown.rules[0].why.contains("not known here"), "{unknown:?}");
}
