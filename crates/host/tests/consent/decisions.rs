//! Which rule decides.

use contexture::Principal;
use contexture::model::ToolAnnotations;
use contexture_host::consent::{Kind, PolicyConfig, Verdict};
use serde_json::{Value, json};

use crate::{Wish, consent, policy, read_only, reason, word};

// covers: SEC-TOOL-CAUTION, SEC-TOOL-CONSENT, TOOLS-HUMAN-LOOP, TOOLS-UI-CONFIRM, TOOLS-CLIENT-CONFIRM
// covers: TOOLS-ANNOTATIONS-UNTRUSTED, TOOLS-ANNOTATIONS-NO-DECISION, SEC-TOOL-DESC-UNTRUSTED
// covers: SAMP-APPROVAL, SEC-SAMPLING-CONSENT, SAMP-HUMAN-LOOP, ROOTS-CLIENT-CONSENT, SEC-CONSENT-OPERATIONS, SEC-DATA-CONSENT
#[test]
fn without_a_policy_only_the_harmless_is_allowed() {
    let nothing = consent(json!({}));
    let cases = [
        (Wish::tool("write"), "ask"),
        // What a server says about itself counts only if it is trusted.
        (Wish::tool("read").hints(read_only()), "ask"),
        (Wish::tool("read").hints(read_only()).trusted(), "allow"),
        (Wish::tool("write").trusted(), "ask"),
        (Wish::tool("write").hints(ToolAnnotations::new().destructive_hint(false)).trusted(), "ask"),
        (Wish::of_kind(Kind::Prompt, "greet"), "allow"),
        (Wish::of_kind(Kind::Resource, "file:///a"), "allow"),
        (Wish::of_kind(Kind::Sampling, ""), "ask"),
        (Wish::of_kind(Kind::Roots, ""), "ask"),
        (Wish::of_kind(Kind::Elicitation, ""), "allow"),
        (Wish::of_kind(Kind::Login, ""), "ask"),
    ];
    for (wish, wanted) in cases {
        let verdict = nothing.decide(&wish.asking());
        assert_eq!(word(&verdict), wanted, "{:?} {}", wish.kind, wish.name);
    }
}

// covers: SEC-USER-CONTROL
#[test]
fn the_default_of_a_policy_is_for_everything_that_no_rule_matches() {
    for default in ["allow", "ask", "deny"] {
        let consent = consent(json!({ "default": default }));
        for kind in [
            Kind::Tool,
            Kind::Prompt,
            Kind::Resource,
            Kind::Sampling,
            Kind::Roots,
            Kind::Elicitation,
            Kind::Login,
        ] {
            let wish = Wish { kind, ..Wish::tool("x") };
            assert_eq!(word(&consent.decide(&wish.asking())), default, "{kind:?}");
        }
    }
    assert_eq!(policy(json!({ "default": "allow" })), PolicyConfig::allow_all());
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = json!({ "default": "deny", "rules": [
        { "server": "files", "tool": "delete_*", "decision": "deny", "reason": "ask an operator" },
        { "server": "files", "tool": "*", "principal": "https://id.example ada", "decision": "allow" },
        { "server": "fi*s", "tool": "read*", "decision": "allow" },
        { "server": "files", "tool": "read_secret", "decision": "deny" },
        { "resource": "file:///tmp/*", "decision": "allow" },
        { "server": "notes", "prompt": "greet", "decision": "ask" },
        { "kinds": ["sampling", "roots"], "server": "notes", "decision": "allow" },
        { "principal": "local", "kinds": ["sampling"], "decision": "ask" },
        { "annotations": { "readOnlyHint": true, "openWorldHint": false }, "decision": "allow" },
        { "tool": "fetch", "arguments": { "url": "https://example.org/*", "depth": "1" }, "decision": "allow" },
    ] });
    let ada = || Principal::new("https://id.example", "ada");
    let closed = || read_only().open_world_hint(false);
    let fetch = |arguments: &str| Wish::tool("fetch").server("web").arguments(arguments);
    let cases = [
        (Wish::tool("delete_all").by(ada()), "deny"),
        (Wish::tool("anything").by(ada()), "allow"),
        (Wish::tool("anything").by(Principal::new("https://id.example", "adam")), "deny"),
        (Wish::tool("anything").by(Principal::new("https://other.example", "ada")), "deny"),
        (Wish::tool("read_secret"), "allow"),
        (Wish::tool("Read"), "deny"),
        (Wish::tool("read").server("files2"), "deny"),
        (Wish::of_kind(Kind::Resource, "file:///tmp/a"), "allow"),
        (Wish::of_kind(Kind::Resource, "file:///etc/passwd"), "deny"),
        (Wish::of_kind(Kind::Prompt, "greet").server("notes"), "ask"),
        // A prompt of the name of a tool that is allowed is still a prompt.
        (Wish::of_kind(Kind::Prompt, "read"), "deny"),
        (Wish::of_kind(Kind::Sampling, "").server("notes"), "allow"),
        (Wish::of_kind(Kind::Sampling, ""), "ask"),
        (Wish::of_kind(Kind::Roots, ""), "deny"),
        (Wish::tool("list").hints(closed()).trusted(), "allow"),
        (Wish::tool("list").hints(closed()), "deny"),
        (Wish::tool("list").hints(read_only()).trusted(), "deny"),
        (fetch(r#"{"url": "https://example.org/a", "depth": 1}"#), "allow"),
        (fetch(r#"{"url": "https://example.org/\u0061", "depth": 1, "more": []}"#), "allow"),
        (fetch(r#"{"url": "https://example.org/a", "depth": 2}"#), "deny"),
        (fetch(r#"{"url": "https://example.com/a", "depth": 1}"#), "deny"),
        (fetch(r#"{"url": ["https://example.org/a"], "depth": 1}"#), "deny"),
        (fetch(r#"{"depth": 1}"#), "deny"),
        (Wish::tool("fetch").server("web"), "deny"),
    ];
    let consent = consent(rules);
    for (wish, wanted) in cases {
        let verdict = consent.decide(&wish.asking());
        assert_eq!(word(&verdict), wanted, "{} {:?} by {:?}", wish.name, wish.arguments, wish.principal);
    }
}

#[test]
fn whoever_is_denied_learns_by_what() {
    let consent = consent(json!({ "default": "deny", "rules": [
        { "tool": "a", "decision": "allow" },
        { "tool": "delete", "decision": "deny", "reason": "ask an operator" },
    ] }));
    let by_rule = reason(consent.decide(&Wish::tool("delete").asking()));
    assert!(by_rule.contains("rule 2") && by_rule.contains("ask an operator"), "{by_rule}");
    assert!(by_rule.contains("\"delete\"") && by_rule.contains("\"files\""), "{by_rule}");
    let by_default = reason(consent.decide(&Wish::tool("x").asking()));
    assert!(by_default.contains("default"), "{by_default}");
}

/// The reason holds a rule that does what it says.
#[test]
fn where_nobody_can_be_asked_the_refusal_says_how_to_allow_it() {
    for wish in [
        Wish::tool("write \"x\"").server("my files"),
        Wish::of_kind(Kind::Sampling, ""),
        Wish::of_kind(Kind::Roots, ""),
    ] {
        let consent = consent(json!({}));
        assert!(matches!(consent.decide(&wish.asking()), Verdict::Ask(_)));
        let reason = reason(consent.nobody(&wish.asking()));
        let (from, to) = (reason.find("put {").expect("a rule"), reason.rfind('}').expect("its end"));
        let rule: Value = serde_json::from_str(&reason[from + 4..=to]).expect("a rule in JSON");
        let allowing = crate::consent(json!({ "default": "deny", "rules": [rule] }));
        assert_eq!(word(&allowing.decide(&wish.asking())), "allow", "{reason}");
    }
}

#[test]
fn a_policy_with_a_mistake_is_none() {
    for wrong in [
        json!({ "rules": [{ "tol": "x", "decision": "allow" }] }),
        json!({ "rules": [{ "tool": "x" }] }),
        json!({ "rules": [{ "tool": "x", "decision": "maybe" }] }),
        json!({ "rules": [{ "annotations": { "readonlyHint": true }, "decision": "allow" }] }),
        json!({ "rules": [{ "kinds": ["everything"], "decision": "allow" }] }),
        json!({ "rules": [{ "tool": null, "decision": "allow" }] }),
        json!({ "defualt": "deny" }),
    ] {
        assert!(serde_json::from_value::<PolicyConfig>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn other_rules_hold_at_once_for_all_clones() {
    let consent = consent(json!({ "default": "deny" }));
    let clone = consent.clone();
    let settings =
        contexture_host::consent::Settings { policy: PolicyConfig::allow_all(), ..Default::default() };
    consent.reload(settings);
    assert_eq!(word(&clone.decide(&Wish::tool("x").asking())), "allow");
}

#[test]
fn a_pattern_that_was_made_to_be_slow_is_not() {
    let stars = "a*".repeat(2_000) + "b";
    let consent = consent(json!({ "default": "deny", "rules": [{ "tool": stars, "decision": "allow" }] }));
    let wish = Wish::tool(&"a".repeat(100_000));
    assert_eq!(word(&consent.decide(&wish.asking())), "deny");
}

// Catalogue J04.
#[test]
fn only_what_is_denied_in_any_case_is_concealed() {
    let denying = consent(json!({ "default": "deny", "rules": [
        { "tool": "maybe", "arguments": { "a": "1" }, "decision": "allow" },
        { "tool": "asked", "decision": "ask" },
        { "tool": "never", "arguments": { "a": "1" }, "decision": "deny" },
        { "annotations": { "readOnlyHint": true }, "decision": "allow" },
        { "server": "docs", "resource": "file:///tmp/*", "decision": "allow" },
    ] }));
    let cases = [
        (Wish::tool("maybe"), true, false),
        (Wish::tool("asked"), true, false),
        (Wish::tool("never"), true, true),
        (Wish::tool("read").hints(read_only()), true, true),
        (Wish::tool("read").hints(read_only()).trusted(), true, false),
        (Wish::of_kind(Kind::Resource, "file:///tmp/a").server("docs"), true, false),
        (Wish::of_kind(Kind::Resource, "file:///etc/a").server("docs"), true, true),
        // Some of what a template stands for may be allowed.
        (Wish::of_kind(Kind::Resource, "file:///{path}").server("docs"), false, false),
        (Wish::of_kind(Kind::Prompt, "x"), true, true),
    ];
    for (wish, exact, wanted) in cases {
        let conceals = denying.conceals(&wish.asking().case(), exact);
        assert_eq!(conceals, wanted, "{} {exact}", wish.name);
        let verdict = denying.decide(&wish.asking());
        assert!(
            !conceals || matches!(verdict, Verdict::Deny { .. }),
            "{} is concealed and {verdict:?}",
            wish.name
        );
    }
    let allowing = consent(json!({ "rules": [
        { "tool": "no", "decision": "deny" },
        { "tool": "sometimes", "arguments": { "a": "1" }, "decision": "deny" },
        { "resource": "file:///etc/*", "decision": "deny" },
        { "server": "closed", "decision": "deny" },
    ] }));
    for (wish, exact, wanted) in [
        (Wish::tool("no"), true, true),
        (Wish::tool("sometimes"), true, false),
        (Wish::tool("other"), true, false),
        (Wish::of_kind(Kind::Resource, "file:///etc/{name}"), false, false),
        (Wish::of_kind(Kind::Resource, "file:///{path}").server("closed"), false, true),
    ] {
        assert_eq!(allowing.conceals(&wish.asking().case(), exact), wanted, "{}", wish.name);
    }
    assert!(!allowing.tells_callers_apart());
    assert!(consent(json!({ "rules": [{ "principal": "x", "decision": "deny" }] })).tells_callers_apart());
}
