//! Mistakes: file, line, and what to do; one entry's do not cost another.

use contexture_host::config::{Severity, load};

use crate::stage::{Stage, faults, restrict};

/// What is said of an entry in our own file, whose only line is the second.
fn said_of(entry: &str) -> String {
    let stage = Stage::new();
    let file = stage.write(
        "contexture.json",
        &format!("{{\"servers\": {{\n\"a\": {entry},\n\"good\": {{\"command\": \"x\"}}}}}}"),
    );
    let config = stage.load_file(&file).unwrap_or_else(|error| panic!("{entry}: {error}"));
    assert!(config.server("a").is_none(), "{entry} is taken");
    assert!(config.server("good").is_some(), "{entry} costs another entry: {}", faults(&config));
    assert_eq!(config.faults[0].line, Some(2), "{entry}");
    assert_eq!(config.faults[0].server.as_deref(), Some("a"), "{entry}");
    config.faults[0].what.clone()
}

#[test]
fn mistakes_of_an_entry_say_what_is_wrong() {
    let cases = [
        (r#"{"command": "x", "arg": []}"#, "did you mean \"args\"?"),
        (r#"{"command": "x", "disabled": true}"#, "did you mean \"enabled\"?"),
        (r#"{"command": "x", "comand": "y"}"#, "did you mean \"command\"?"),
        (r#"{"command": 5}"#, "a number, not text"),
        (r#"{"command": "x", "args": "y"}"#, "text, not a list"),
        (r#"{"command": "x", "args": [1]}"#, "a number, not text"),
        (r#"{"command": "x", "command": "y"}"#, "twice"),
        (r#"{"command": " "}"#, "empty"),
        (r#"{"command": "x\u0000y"}"#, "zero byte"),
        (r#"{}"#, "neither"),
        (r#""x""#, "text, not an object"),
        (r#"{"command": "x", "url": "https://y"}"#, "\"type\" says"),
        (r#"{"type": "stdio", "url": "https://y"}"#, "no \"command\""),
        (r#"{"type": "http", "command": "x"}"#, "no address"),
        (r#"{"type": "ws", "url": "wss://y"}"#, "WebSocket"),
        (r#"{"type": "carrier-pigeon", "url": "https://y"}"#, "none of"),
        (r#"{"url": "ftp://y"}"#, "no URL"),
        (r#"{"url": "not an address"}"#, "no URL"),
        (r#"{"url": "https://user:pass@y/"}"#, "password"),
        (r#"{"url": "https://y", "headers": {"a b": "c"}}"#, "header"),
        (r#"{"url": "https://y", "headers": {"a": "b\r\nc: d"}}"#, "header"),
        (r#"{"command": "x", "env": {"A=B": "c"}}"#, "name of a variable"),
        (r#"{"command": "x", "era": "middle"}"#, "none of"),
        (r#"{"command": "x", "sharing": "all"}"#, "none of"),
        (r#"{"command": "x", "roots": ["https://y"]}"#, "file://"),
        (r#"{"command": "x", "callTimeout": -1}"#, "time"),
        (r#"{"command": "x", "callTimeout": 1e300}"#, "time"),
        (r#"{"command": "x", "callTimeout": "soon"}"#, "time"),
        (r#"{"command": "x", "tools": {"only": []}}"#, "include, exclude"),
        (r#"{"url": "https://y", "login": {"clientID": "z"}}"#, "did you mean \"clientId\"?"),
        (r#"{"url": "https://y", "login": {"callbackPort": 70000}}"#, "65535"),
        (r#"{"command": "x", "envFile": "missing.env"}"#, "is not there"),
    ];
    for (entry, expected) in cases {
        let said = said_of(entry);
        assert!(said.contains(expected), "{entry}: {said}");
    }
}

#[test]
fn mistakes_of_the_file_are_the_end_of_it() {
    let cases = [
        ("{\n\"polcy\": {}}", 2, "did you mean \"policy\"?"),
        ("{\n\n\"policy\": {\"rules\": [{\"tool\": \"x\", \"decision\": \"perhaps\"}]}}", 3, "perhaps"),
        ("{\n\"policy\": {\"default\": \"ask\", \"rule\": []}}", 2, "rule"),
        ("{\n\"policy\": []}", 2, "policy"),
        ("{\n\"audit\": {\"paths\": \"x\"}}", 2, "audit"),
        ("{\n\"limits\": {\"parkTimes\": 1}}", 2, "did you mean \"parkTime\"?"),
        ("{\n\"limits\": {\"connections\": 0}}", 2, "whole number"),
        ("{\n\"import\": [\"emacs\"]}", 2, "claude-code"),
        ("{\n\"servers\": []}", 2, "not an object"),
        ("{\n\"servers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}", 3, "twice"),
        ("{\n\"servers\": {\n\"a\" {}}}", 3, "no JSON"),
        ("{\n\"servers\": {}", 1, "no JSON"),
        ("{'servers': {}}", 1, "no JSON"),
        ("{\"servers\": {} \"policy\": {}}", 1, "no JSON"),
        ("[]", 1, "not an object"),
    ];
    for (text, line, expected) in cases {
        let stage = Stage::new();
        let error = stage.load_file(&stage.write("contexture.json", text)).expect_err(text);
        let fault = &error.faults[0];
        assert_eq!(fault.line, Some(line), "{text}: {fault}");
        assert!(fault.what.contains(expected), "{text}: {fault}");
    }
}

/// Each mistake in a policy is told where it is, of which rule, and what may have been meant.
#[test]
fn mistakes_of_a_policy_name_the_rule_and_its_line() {
    let cases = [
        (
            r#"{"tol": "x", "decision": "deny"}"#,
            "\"tol\" is no key of rule 2 of the policy; did you mean \"tool\"?",
        ),
        (
            r#"{"tool": "x", "decision": "dney"}"#,
            "\"decision\" of rule 2 of the policy is \"dney\"; did you mean \"deny\"?",
        ),
        (r#"{"tool": "x", "decision": "whatever"}"#, "there are allow, ask, deny"),
        (r#"{"tool": "x", "decision": 1}"#, "\"decision\" of rule 2 of the policy is a number"),
        (r#"{"tool": "x"}"#, "rule 2 of the policy has no \"decision\""),
        (r#"{"annotations": {"readOnly": true}, "decision": "allow"}"#, "did you mean \"readOnlyHint\"?"),
        (r#"{"kinds": ["tols"], "decision": "allow"}"#, "rule 2 of the policy: unknown variant `tols`"),
        (r#"{"tool": 7, "decision": "allow"}"#, "rule 2 of the policy: invalid type"),
        (r#"{"tool": "x", "tool": "y", "decision": "allow"}"#, "twice"),
        ("7", "rule 2 of the policy is a number, not an object"),
    ];
    for (rule, expected) in cases {
        let stage = Stage::new();
        let text = format!("{{\"policy\": {{\n\"rules\": [\n{{\"decision\": \"ask\"}},\n{rule}]}}}}");
        let error = stage.load_file(&stage.write("contexture.json", &text)).expect_err(rule);
        assert_eq!(error.faults.len(), 1, "{rule}: {error}");
        assert_eq!(error.faults[0].line, Some(4), "{rule}: {error}");
        assert!(error.faults[0].what.contains(expected), "{rule}: {error}");
    }
    // All of them at once, each in its line.
    let stage = Stage::new();
    let text =
        "{\"policy\": {\n\"defualt\": \"ask\",\n\"rules\": [{\"tool\": \"x\",\n\"decison\": \"deny\"}]}}";
    let error = stage.load_file(&stage.write("contexture.json", text)).expect_err(text);
    let lines: Vec<Option<usize>> = error.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [Some(2), Some(4)], "{error}");
}

/// What a policy forbids must not be allowed because it cannot be read.
#[test]
fn the_users_own_file_is_never_left_out() {
    for text in ["", "{", "\u{0}", "{\"policy\": {\"default\": \"dney\"}}"] {
        let stage = Stage::new();
        stage.user(text);
        assert!(load(&stage.sources()).is_err(), "{text:?}");
    }
    let stage = Stage::new();
    let file = stage.user("{}");
    std::fs::write(&file, b"{\"name\": \"\xff\"}").expect("it can be written");
    let error = load(&stage.sources()).expect_err("this is no text");
    assert!(error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let stage = Stage::new();
    let error = stage.load_file(&stage.path("nowhere.json")).expect_err("it is not there");
    assert!(error.to_string().contains("nowhere.json: there is no such file"), "{error}");
}

/// A project must not be able to keep us from starting, nor can another host's file.
#[test]
fn other_files_that_cannot_be_read_cost_themselves_only() {
    let stage = Stage::new();
    stage.write("project/contexture.json", "{");
    stage.write("project/.mcp.json", "{");
    stage.write("home/.codex/config.toml", "[mcp_servers.a\n");
    stage.user(r#"{"import": ["claude-code", "codex"], "servers": {"good": {"command": "x"}}}"#);
    let config = stage.load();
    assert!(config.server("good").is_some());
    let said = faults(&config);
    assert_eq!(config.faults.len(), 3, "{said}");
    assert!(said.contains("no JSON") && said.contains("config.toml:1: this is no TOML"), "{said}");
    assert!(config.faults.iter().all(|fault| fault.severity == Severity::Error));
}

#[test]
fn names_are_names() {
    let stage = Stage::new();
    let long = "n".repeat(129);
    let text = format!(
        r#"{{"servers": {{"": {{"command": "x"}}, "a\nb": {{"command": "x"}}, "{long}": {{"command": "x"}}, "ok": {{"command": "x"}}}}}}"#
    );
    stage.user(&text);
    let config = stage.load();
    assert_eq!(config.servers.len(), 1, "{}", faults(&config));
    assert_eq!(config.faults.len(), 3);
}

#[test]
fn secrets_that_others_can_read_are_told() {
    let entry = r#"{"url": "https://x", "headers": {"Authorization": "Bearer abc"}}"#;
    let variable = r#"{"url": "https://x", "headers": {"Authorization": "Bearer ${TOKEN:-t}"}}"#;
    for (entry, mode, told) in [(entry, 0o644, true), (entry, 0o600, false), (variable, 0o644, false)] {
        let stage = Stage::new();
        let file = stage.user(&format!(r#"{{"servers": {{"a": {entry}}}}}"#));
        restrict(&file, mode);
        let config = stage.load();
        assert!(config.server("a").is_some(), "it works all the same");
        let said = faults(&config);
        assert_eq!(said.contains("chmod 600"), told && cfg!(unix), "{entry} {mode:o}: {said}");
        assert!(!said.contains("abc"), "{said}");
    }
}

/// A rule that matches nothing is pointed out in its line, but only if that is certain of what is configured.
#[test]
fn a_rule_that_matches_nothing_is_pointed_out() {
    let said = |servers: &str, rule: &str| {
        let stage = Stage::new();
        let text = format!("{{\"servers\": {servers}, \"policy\": {{\"rules\": [\n{rule}]}}}}");
        let mut sources = stage.sources();
        sources.files = vec![stage.write("contexture.json", &text)];
        sources.only = vec!["a".to_owned()];
        let config = load(&sources).unwrap_or_else(|error| panic!("{text}: {error}"));
        let strays = config.faults.iter().filter(|fault| fault.what.contains("rule 1"));
        let lines: Vec<_> = strays.map(|fault| (fault.severity, fault.line)).collect();
        assert!(lines.iter().all(|place| *place == (Severity::Notice, Some(2))), "{}", faults(&config));
        lines.len()
    };
    let servers = r#"{"a": {"command": "x"}, "bare": {"command": "x", "prefix": false}, "off": {"command": "x", "enabled": false}, "bad": {}}"#;
    for (rule, count) in [
        (r#"{"server": "c", "decision": "deny"}"#, 1),
        (r#"{"server": "c*", "tool": "x", "decision": "deny"}"#, 1),
        (r#"{"tool": "a__x", "decision": "deny"}"#, 1),
        (r#"{"prompt": "a__*", "decision": "deny"}"#, 1),
        (r#"{"server": "off", "tool": "off__x", "decision": "deny"}"#, 1),
        (r#"{"server": "b*", "tool": "a__x", "decision": "deny"}"#, 0),
        (r#"{"tool": "bare__x", "decision": "deny"}"#, 0),
        (r#"{"tool": "a__", "decision": "deny"}"#, 0),
        (r#"{"tool": "x__y", "decision": "deny"}"#, 0),
        (r#"{"server": "off", "decision": "deny"}"#, 0),
        (r#"{"server": "bad", "decision": "deny"}"#, 0),
        (r#"{"tool": "x", "decision": "deny"}"#, 0),
    ] {
        assert_eq!(said(servers, rule), count, "{rule}");
    }
    let stage = Stage::new();
    stage.user(r#"{"policy": {"rules": [{"server": "c", "decision": "deny"}]}}"#);
    assert_eq!(faults(&stage.load()), "", "where no server is, none is missing");
}
