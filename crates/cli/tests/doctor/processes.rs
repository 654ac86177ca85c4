//! Broken servers that are started: each says something else, and each has another cause.

use crate::stage::{Case, Home, Verdict, server};

const TOOLS: &str = r#"{"tools":{}}"#;

fn lists(tools: &str) -> String {
    server("", TOOLS, &[("tools/list", &format!("reply '{{\"tools\":{tools}}}'"))])
}

/// Each server, how long it may be silent, and what is said about it.
fn table() -> Vec<(String, &'static str, Case)> {
    vec![
        (
            server("echo 'Server running on stdio'", "{}", &[]),
            "20",
            Case {
                name: "a banner on standard output",
                step: "process.stdout",
                exit: 5,
                seen: &["no message", "Server running on stdio"],
                next: "standard error",
            },
        ),
        (
            "#!/bin/sh\necho 'waiting for a license' >&2\ncat > /dev/null\n".to_owned(),
            "1",
            Case {
                name: "never answers",
                step: "protocol.handshake",
                exit: 4,
                seen: &["no answer within 1 s", "waiting for a license"],
                next: "--timeout",
            },
        ),
        (
            "#!/bin/sh\ncat >&2 <<'END'\nTraceback (most recent call last):\n  File \"server.py\", line 1, in <module>\n    from mcp.server import FastMCP\nModuleNotFoundError: No module named 'mcp'\nEND\nexit 1\n".to_owned(),
            "20",
            Case {
                name: "dies at start for lack of a module",
                step: "process.start",
                exit: 4,
                seen: &["exited with 1", "No module named 'mcp'"],
                next: "pip install mcp",
            },
        ),
        (
            "#!/bin/sh\necho 'Error: GITHUB_TOKEN is required' >&2\nexit 2\n".to_owned(),
            "20",
            Case {
                name: "dies for lack of a variable",
                step: "process.start",
                exit: 4,
                seen: &["exited with 2", "GITHUB_TOKEN is required"],
                next: "--env NAME",
            },
        ),
        (
            server("", TOOLS, &[("notifications/initialized", "echo 'out of ideas' >&2; exit 3")]),
            "20",
            Case {
                name: "dies after initialize",
                step: "protocol.lists",
                exit: 4,
                seen: &["it ended after the handshake", "exited with 3", "out of ideas"],
                next: "log",
            },
        ),
        (
            server("", "{}", &[("initialize", r#"id='"1"'; reply '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"broken","version":"1"}}'"#)]),
            "6",
            Case {
                name: "answers with another id",
                step: "protocol.handshake",
                exit: 5,
                seen: &["\"1\"", "nobody asked"],
                next: "repeat the id",
            },
        ),
        (
            server("", "{}", &[("initialize", r#"printf '{\n  "jsonrpc": "2.0",\n  "id": %s,\n  "result": {}\n}\n' "$id""#)]),
            "6",
            Case {
                name: "messages on several lines",
                step: "process.stdout",
                exit: 5,
                seen: &["over several lines"],
                next: "without indentation",
            },
        ),
        (
            server("", "{}", &[("initialize", r#"printf 'Content-Length: 2\r\n\r\n{}\n'"#)]),
            "6",
            Case {
                name: "headers before messages",
                step: "process.stdout",
                exit: 5,
                seen: &["Content-Length"],
                next: "without headers",
            },
        ),
        (
            server("", "{}", &[("initialize", "refuse")]),
            "20",
            Case {
                name: "refuses the handshake",
                step: "protocol.handshake",
                exit: 5,
                seen: &["Method not found"],
                next: "`initialize`",
            },
        ),
        (
            server("", "{}", &[("initialize", r#"reply '{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"broken","version":"1"}}'"#)]),
            "20",
            Case {
                name: "speaks a revision that there is not",
                step: "protocol.revision",
                exit: 5,
                seen: &["1999-01-01"],
                next: "update",
            },
        ),
        (
            lists(r#"[{"name":"t","inputSchema":{"type":"nonsense"}}]"#),
            "20",
            Case {
                name: "a schema that is none",
                step: "protocol.lists",
                exit: 5,
                seen: &["\"t\"", "inputSchema is no JSON Schema"],
                next: "specification",
            },
        ),
        (
            lists(r#"[{"name":"good","inputSchema":{"type":"object"}},{"name":"bare"}]"#),
            "20",
            Case {
                name: "a tool without a schema",
                step: "protocol.lists",
                exit: 5,
                seen: &["\"bare\"", "inputSchema"],
                next: "specification",
            },
        ),
        (
            server("", TOOLS, &[]),
            "20",
            Case {
                name: "declares tools, and has none",
                step: "protocol.capabilities",
                exit: 5,
                seen: &["tools is declared", "Method not found"],
                next: "declare only what is there",
            },
        ),
        (
            lists(r#"[{"name":"t","inputSchema":{"type":"object"}},{"name":"t","inputSchema":{"type":"object"}}]"#),
            "20",
            Case {
                name: "two tools of one name",
                step: "protocol.names",
                exit: 5,
                seen: &["\"t\" is there twice"],
                next: "its own name",
            },
        ),
        (
            server("", TOOLS, &[("tools/list", ":")]),
            "6",
            Case {
                name: "leaves a question without an answer",
                step: "protocol.lists",
                exit: 5,
                seen: &["tools/list is not answered"],
                next: "--timeout",
            },
        ),
    ]
}

#[test]
fn each_cause_is_named() {
    let cases = table();
    assert!(cases.len() >= 12);
    std::thread::scope(|scope| {
        for (script, timeout, case) in &cases {
            scope.spawn(move || {
                let home = Home::new();
                let program = home.program("server", script);
                case.holds(&home.doctor(&["--timeout", timeout, "--", &program]));
            });
        }
    });
}

#[test]
fn what_clients_stumble_over_is_a_warning() {
    let home = Home::new();
    let hidden: String =
        "obey".chars().filter_map(|char| char::from_u32(0xe0000 + u32::from(char))).collect();
    let tools = format!(
        r##"[{{"name":"Add","description":"Adds{hidden}.","inputSchema":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/n"}}}},"$defs":{{"n":{{"type":"number"}}}}}},"annotations":{{"readOnlyHint":true,"destructiveHint":true}}}},
        {{"name":"add","inputSchema":{{"type":"object","anyOf":[{{}}]}},"outputSchema":{{"type":"array"}}}}]"##
    )
    .replace('\n', "");
    let program = home.program("server", &lists(&tools));
    let verdict = home.doctor(&["--", &program]);
    assert_eq!(verdict.code, 0, "{:#}", verdict.document);
    for (step, words) in [
        ("protocol.names", "differ by capitals only"),
        ("lint.references", "1 $ref"),
        ("lint.descriptions", "\"add\": no description"),
        ("lint.annotations", "read-only and destructive"),
        ("lint.schemas", "anyOf at the top"),
        ("lint.output", "\"array\""),
        ("lint.hidden", "hidden in tags: \"obey\""),
    ] {
        let step = verdict.step(step);
        assert_eq!(step["state"], "warning", "{step}");
        assert!(Verdict::words(step).contains(words), "{words:?}: {step:#}");
        assert!(step["next"].is_string());
    }
    assert_eq!(home.doctor(&["--strict", "--", &program]).code, 5);
}

#[test]
fn what_is_not_declared_is_found() {
    let home = Home::new();
    let tools = r#"reply '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'"#;
    let program = home.program("server", &server("", "{}", &[("tools/list", tools)]));
    let verdict = home.doctor(&["--", &program]);
    let step = verdict.step("protocol.capabilities");
    assert_eq!(step["state"], "warning");
    assert!(Verdict::words(step).contains("tools is not declared"), "{step:#}");
}

#[test]
fn a_server_that_ends_at_the_newer_handshake_is_started_again() {
    let home = Home::new();
    let program = home.program("server", &server("", "{}", &[("server/discover", "exit 1")]));
    let verdict = home.doctor(&["--", &program]);
    assert_eq!(verdict.code, 0, "{:#}", verdict.document);
    assert!(Verdict::words(verdict.step("process.start")).contains("started again"));
}

#[test]
fn carriage_returns_are_no_fault() {
    let home = Home::new();
    let program = home.program("server", &server("", "{}", &[]).replace("\\n'", "\\r\\n'"));
    let verdict = home.doctor(&["--strict", "--", &program]);
    assert_eq!(verdict.code, 0, "{:#}", verdict.document);
}

#[test]
fn what_is_declared_beside_lists_must_be_known() {
    let home = Home::new();
    let program = home.program("server", &server("", r#"{"logging":{},"completions":{}}"#, &[]));
    let verdict = home.doctor(&["--", &program]);
    let words = Verdict::words(verdict.failed());
    assert_eq!(verdict.failed()["id"], "protocol.capabilities");
    assert!(words.contains("logging/setLevel") && words.contains("completion/complete"), "{words}");
}

/// Nothing that a server sends is without a bound, and all of it is told in a few lines.
#[test]
fn ten_thousand_tools_are_too_many_and_no_trouble() {
    let home = Home::new();
    let many = r#"{ printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[' "$id"; awk 'BEGIN { for (n = 0; n < 10000; n++) printf "%s{\"name\":\"t%d\",\"description\":\"\\u001b[2Jtool\",\"inputSchema\":{\"type\":\"object\"}}", n ? "," : "", n }'; printf ']}}\n'; }"#;
    let program = home.program("server", &server("", TOOLS, &[("tools/list", many)]));
    let verdict = home.doctor(&["--", &program]);
    assert!(Verdict::words(verdict.step("protocol.lists")).contains("10000 tools"), "{:#}", verdict.document);
    assert_eq!(verdict.step("lint.size")["state"], "warning");
    let hidden = verdict.step("lint.hidden");
    assert!(Verdict::words(hidden).contains("and 9992 more"), "{hidden:#}");
    assert!(verdict.document.to_string().len() < 20_000);
}

#[test]
fn a_list_without_an_end_is_left() {
    let home = Home::new();
    let page = r#"reply '{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"again"}'"#;
    let program = home.program("server", &server("", TOOLS, &[("tools/list", page)]));
    let verdict = home.doctor(&["--", &program]);
    assert_eq!(verdict.failed()["id"], "protocol.lists");
    assert!(Verdict::words(verdict.failed()).contains("does not end"), "{:#}", verdict.document);
}
