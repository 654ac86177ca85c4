//! Variables: each host's own way to write them, and no other.

use contexture_host::config::Severity;

use crate::stage::{Stage, faults, process, server};

/// What becomes of one argument in a file of this host.
fn expanded(stage: &Stage, file: &str, text: &str) -> Result<String, String> {
    let text = serde_json::to_string(text).expect("a text");
    let content = match file {
        "x.toml" => format!("[mcp_servers.a]\ncommand = \"x\"\nargs = [{text}]\n"),
        ".vscode/mcp.json" => format!(r#"{{"servers": {{"a": {{"command": "x", "args": [{text}]}}}}}}"#),
        _ => format!(r#"{{"mcpServers": {{"a": {{"command": "x", "args": [{text}]}}}}}}"#),
    };
    let path = stage.write(&format!("project/{file}"), &content);
    let config = stage.load_file(&path).unwrap_or_else(|error| panic!("{error}"));
    match config.server("a") {
        Some(entry) => Ok(process(entry).1.remove(0)),
        None => Err(config.faults[0].what.clone()),
    }
}

fn check(file: &str, cases: &[(&str, &str)]) {
    let stage = Stage::new()
        .variable("NAME", "value")
        .variable("EMPTY", "")
        .variable("NESTED", "${NAME}")
        .variable("CONTEXTURE_INPUT_API_KEY", "from input");
    for (text, expected) in cases {
        let expected = expected.replace("PROJECT", &stage.project().display().to_string());
        let expected = expected.replace("HOME", &stage.home().display().to_string());
        assert_eq!(expanded(&stage, file, text).as_deref(), Ok(expected.as_str()), "{file}: {text}");
    }
}

#[test]
fn ours() {
    check(
        "contexture.json",
        &[
            ("${NAME}", "value"),
            ("a${NAME}b${NAME}c", "avaluebvaluec"),
            ("${env:NAME}", "value"),
            ("${MISSING:-default}", "default"),
            ("${EMPTY:-default}", "default"),
            ("${EMPTY}", ""),
            ("${MISSING:-}", ""),
            ("$${NAME}", "${NAME}"),
            ("$NAME $ 5$", "$NAME $ 5$"),
            // What a variable holds is not looked at again.
            ("${NESTED}", "${NAME}"),
        ],
    );
}

#[test]
fn claude_code() {
    check(
        ".mcp.json",
        &[
            ("${NAME}", "value"),
            ("${MISSING:-default}", "default"),
            ("${env:NAME}", "${env:NAME}"),
            ("${not a name}", "${not a name}"),
            ("$NAME", "$NAME"),
            ("${unfinished", "${unfinished"),
        ],
    );
}

#[test]
fn editors() {
    for file in [".vscode/mcp.json", ".cursor/mcp.json", "mcp_config.json"] {
        check(
            file,
            &[
                ("${env:NAME}", "value"),
                ("${workspaceFolder}/x", "PROJECT/x"),
                ("${workspaceFolderBasename}", "project"),
                ("${userHome}/y", "HOME/y"),
                ("a${pathSeparator}b${/}c", "a/b/c"),
                ("${input:api-key}", "from input"),
                ("$NAME", "$NAME"),
            ],
        );
    }
}

#[test]
fn gemini() {
    check(
        ".gemini/settings.json",
        &[
            ("$NAME", "value"),
            ("${NAME}", "value"),
            ("$NAME-x", "value-x"),
            ("${MISSING:-default}", "default"),
            // A text with a dollar in it is no variable.
            ("pa$$word", "pa$$word"),
        ],
    );
}

#[test]
fn those_that_have_none() {
    for file in ["claude_desktop_config.json", "x.toml"] {
        check(file, &[("${NAME}", "${NAME}"), ("$NAME", "$NAME")]);
    }
}

#[test]
fn what_is_not_set_is_a_fault_of_the_entry_that_names_it() {
    let stage = Stage::new().variable("SECRET", "s3cret");
    let cases = [
        ("contexture.json", "${SECRET}${MISSING}", "MISSING"),
        ("contexture.json", "${env:MISSING}", "MISSING"),
        ("contexture.json", "${workspaceFolder!}", "workspaceFolder!"),
        ("contexture.json", "${SECRET", "no `}`"),
        (".mcp.json", "${MISSING}", "MISSING"),
        (".vscode/mcp.json", "${env:MISSING}", "MISSING"),
        (".vscode/mcp.json", "${SECRET}${input:other}", "SECRET"),
        (".vscode/mcp.json", "${input:other id}", "CONTEXTURE_INPUT_OTHER_ID"),
        (".vscode/mcp.json", "${command:pick}", "command:pick"),
        (".gemini/settings.json", "${MISSING}", "MISSING"),
    ];
    for (file, text, named) in cases {
        let what = expanded(&stage, file, text).expect_err(text);
        assert!(what.contains(named), "{file} {text}: {what}");
        assert!(!what.contains("s3cret"), "{what}");
    }
}

#[test]
fn the_other_entries_work() {
    let stage = Stage::new();
    stage.user(
        r#"{"servers": {
            "bad": {"command": "x", "env": {"KEY": "${MISSING}"}},
            "good": {"command": "y"}
        }}"#,
    );
    let config = stage.load();
    assert!(config.server("bad").is_none());
    assert!(server(&config, "good").enabled());
    let fault = &config.faults[0];
    assert_eq!(
        (fault.server.as_deref(), fault.line, fault.severity),
        (Some("bad"), Some(2), Severity::Error)
    );
    assert!(
        faults(&config)
            .contains("contexture.json:2: server \"bad\": \"KEY\": the variable MISSING is not set"),
        "{}",
        faults(&config)
    );
}

#[test]
fn variables_are_filled_in_wherever_there_is_text() {
    let stage = Stage::new().variable("V", "v");
    stage.user(
        r#"{"name": "${V}", "audit": "/${V}", "servers": {
            "a": {"url": "https://${V}.example/", "headers": {"X": "${V}"}, "tools": ["${V}*"], "login": {"clientId": "${V}"}},
            "b": {"command": "${V}", "cwd": "/${V}", "roots": ["file:///${V}"]}
        }}"#,
    );
    let config = stage.load();
    assert_eq!(faults(&config), "");
    let shown = format!("{:?}{:?}", config, crate::stage::address(server(&config, "a")));
    assert!(!shown.contains("${V}"), "{shown}");
}
