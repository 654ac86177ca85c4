//! Broken configurations: the file, the line and the fix.

use serde_json::Value;

use crate::stage::{BINARY, Case, Home, Verdict};

/// The user's own file, and what is said about the server `x`.
const TABLE: &[(&str, Case)] = &[
    (
        "{\n  \"servers\": {\n    \"x\": { \"command\": \"cat\" }\n  }\n} garbage\n",
        Case {
            name: "something after the end",
            step: "config.syntax",
            exit: 1,
            seen: &["contexture.json:5"],
            next: "correct it there",
        },
    ),
    (
        "{\n  \"servers\": {\n    \"x\": { \"command\": \"cat\" \"args\": [] }\n  }\n}\n",
        Case {
            name: "a comma is missing",
            step: "config.syntax",
            exit: 1,
            seen: &["contexture.json:3"],
            next: "correct it there",
        },
    ),
    (
        "{ \"servers\": {\n  \"x\": { \"command\": \"cat\", \"env\": { \"A\": \"${NO_SUCH_VARIABLE}\" } }\n} }",
        Case {
            name: "a variable is not set",
            step: "config.variables",
            exit: 1,
            seen: &["contexture.json:2", "NO_SUCH_VARIABLE"],
            next: "set the variable",
        },
    ),
    (
        "{ \"servers\": { \"x\": { \"command\": \"no-such-command\" } } }",
        Case {
            name: "the command is not found",
            step: "process.command",
            exit: 1,
            seen: &["\"no-such-command\" is in no folder of PATH"],
            next: "install it",
        },
    ),
    (
        "{\n  \"mcpServer\": { \"x\": { \"command\": \"cat\" } }\n}",
        Case {
            name: "a key that nobody reads",
            step: "config.entry",
            exit: 1,
            seen: &["contexture.json:2", "\"mcpServer\"", "did you mean \"mcpServers\"?"],
            next: "correct it there",
        },
    ),
    (
        "{ \"servers\": {\n  \"x\": { \"command\": \"cat\", \"url\": \"https://example.com/mcp\" }\n} }",
        Case {
            name: "a command and an address",
            step: "config.entry",
            exit: 1,
            seen: &["contexture.json:2", "both a command and an address"],
            next: "correct it there",
        },
    ),
    (
        "{ \"servers\": {\n  \"x\": { \"comand\": \"cat\" }\n} }",
        Case {
            name: "a slip in a key",
            step: "config.entry",
            exit: 1,
            seen: &["contexture.json:2", "did you mean \"command\"?"],
            next: "correct it there",
        },
    ),
    (
        "{ \"servers\": { \"x\": { \"command\": \"cat\", \"enabled\": false } } }",
        Case {
            name: "it is disabled",
            step: "config.standing",
            exit: 1,
            seen: &["disabled", "contexture.json"],
            next: "contexture enable x",
        },
    ),
    (
        "{ \"servers\": { \"xy\": { \"command\": \"cat\" } } }",
        Case {
            name: "another name",
            step: "config.entry",
            exit: 1,
            seen: &["there is no server \"x\""],
            next: "did you mean xy",
        },
    ),
];

#[test]
fn each_cause_is_named() {
    for (text, case) in TABLE {
        let home = Home::new();
        home.configured(text);
        case.holds(&home.doctor(&["x"]));
        let file = home.path().join(".config/contexture/contexture.json");
        assert_eq!(std::fs::read_to_string(file).expect("the file"), *text, "it is left as it was");
    }
}

#[test]
fn a_key_of_another_host_that_nobody_reads_is_found() {
    let home = Home::new();
    let file =
        home.write("claude_desktop_config.json", "{ \"mcpServer\": { \"x\": { \"command\": \"cat\" } } }");
    let verdict = home.doctor(&["x", "--config", &file]);
    let failed = verdict.failed();
    assert_eq!(failed["id"], "config.entry");
    assert!(failed["next"].as_str().is_some_and(|next| next.contains("\"mcpServers\"")), "{failed:#}");
}

#[test]
fn what_nobody_trusts_is_not_started() {
    let home = Home::new();
    let witness = home.path().join("started");
    let program = home.program("server", &format!("#!/bin/sh\ntouch {}\n", witness.display()));
    home.write(
        "project/contexture.json",
        &format!("{{ \"servers\": {{ \"x\": {{ \"command\": \"{program}\" }} }} }}"),
    );
    let case = Case {
        name: "held back",
        step: "config.standing",
        exit: 1,
        seen: &["nobody has trusted"],
        next: "contexture trust",
    };
    case.holds(&home.doctor(&["x"]));
    let all = home.doctor(&[]);
    assert_eq!(all.step("config.standing")["state"], "notReached", "{:#}", all.document);
    assert!(!witness.exists(), "it was started");
}

#[test]
fn everything_is_looked_at_side_by_side() {
    let home = Home::new();
    let slow = home.program("slow", "#!/bin/sh\ncat > /dev/null\n");
    home.configured(&format!(
        r#"{{ "servers": {{
            "broken": {{ "command": "cat", "url": "https://example.com" }},
            "off": {{ "command": "cat", "enabled": false }},
            "slow": {{ "command": "{slow}" }},
            "well": {{ "command": "{BINARY}", "args": ["demo", "--page-size", "3"] }}
        }} }}"#
    ));
    let verdict = home.doctor(&["--timeout", "10"]);
    let servers = verdict.document["servers"].as_array().expect("servers");
    let of = |name: &str| servers.iter().find(|server| server["server"] == name).expect(name);
    let exits = ["broken", "off", "slow", "well"].map(|name| of(name)["exit"].as_u64());
    assert_eq!(exits, [Some(1), Some(0), Some(4), Some(0)], "{:#}", verdict.document);
    assert_eq!(verdict.code, 1, "the first that fails decides");
}

#[test]
fn secrets_in_arguments_are_found_and_not_shown() {
    let home = Home::new();
    home.configured(&format!(
        r#"{{ "servers": {{ "x": {{ "command": "{BINARY}", "args": ["demo", "--page-size", "3", "--", "--api-key", "s3cret-s3cret"] }} }} }}"#
    ));
    let verdict = home.doctor(&["x"]);
    let step = verdict.step("config.secrets");
    assert_eq!(step["state"], "warning");
    assert!(Verdict::words(step).contains("after --api-key"), "{step:#}");
    assert!(!verdict.document.to_string().contains("s3cret"), "{:#}", verdict.document);
}

#[test]
fn nothing_configured_says_where_it_looked() {
    let home = Home::new();
    let output = home.command(&["doctor", "-o", "json"]).output().expect("the binary runs");
    let line: Value = serde_json::from_slice(&output.stderr).expect("a line of JSON");
    assert_eq!(line["error"]["exit"], 1);
    assert!(line["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--from")), "{line}");
}

#[test]
fn a_mistake_in_another_hosts_file_is_found_by_its_name() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        "{ \"mcpServers\": {\n  \"x\": { \"command\": \"${env:NO_SUCH_VARIABLE}\" }\n} }",
    );
    let case = Case {
        name: "a variable in the file of Cursor",
        step: "config.variables",
        exit: 1,
        seen: &["mcp.json:2", "NO_SUCH_VARIABLE"],
        next: "set the variable",
    };
    case.holds(&home.doctor(&["x"]));
    case.holds(&home.doctor(&["cursor:x"]));
    home.write(".cursor/mcp.json", "{ \"mcpServers\": {\n  \"x\": {{ }\n} }");
    let case = Case {
        name: "the file of Cursor is no JSON",
        step: "config.syntax",
        exit: 1,
        seen: &["mcp.json:2"],
        next: "correct it there",
    };
    case.holds(&home.doctor(&["cursor:x"]));
}

#[test]
fn programs_get_one_line_for_each_server() {
    let home = Home::new();
    home.configured(&format!(
        r#"{{ "servers": {{ "a": {{ "command": "{BINARY}", "args": ["demo"] }}, "b": {{ "command": "no-such-command" }} }} }}"#
    ));
    let output = home.command(&["doctor", "-o", "ndjson"]).output().expect("the binary runs");
    let lines = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = lines.iter().map(|line| (line["server"].as_str(), line["exit"].as_u64())).collect();
    assert_eq!(told, [(Some("a"), Some(0)), (Some("b"), Some(1))]);
    assert_eq!(output.status.code(), Some(1));
    // The same for people: each by itself, and all in one line.
    let output = home.command(&["doctor"]).output().expect("the binary runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.ends_with("2 looked at: 1 well, 0 with warnings, 1 failed (b)\n"), "{text}");
    assert!(text.contains("✗ command found") && text.contains("→ "), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours where there is no terminal");
}
