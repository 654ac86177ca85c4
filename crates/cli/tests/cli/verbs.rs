//! What the verbs print, for people and for programs.

use serde_json::json;

use crate::{BINARY, on_demo, on_demo_with, run};

#[test]
fn lists_are_complete_over_any_number_of_pages() {
    for (verb, member, count) in
        [("tools", "tools", 20), ("resources", "resources", 3), ("prompts", "prompts", 3)]
    {
        let whole = on_demo(&[verb, "list", "--format", "json"]);
        assert_eq!(
            (whole.code, whole.json()[member].as_array().map(Vec::len)),
            (Some(0), Some(count)),
            "{verb}"
        );
        let paged = on_demo_with(&[verb, "list", "--format", "json"], "--page-size 1");
        assert_eq!(paged.json()[member], whole.json()[member], "{verb}");
        let text = on_demo(&[verb, "list"]);
        assert_eq!(text.code, Some(0), "{}", text.stderr);
        assert!(text.stdout.lines().count() >= count, "{}", text.stdout);
    }
    assert!(on_demo(&["tools", "list"]).stdout.contains("countdown(steps: integer, delay_ms?: integer)"));
    assert_eq!(
        on_demo(&["resources", "list", "--format", "json"]).json()["resourceTemplates"][0]["name"],
        "note"
    );
}

#[test]
fn arguments_are_read_by_the_schema_in_every_revision() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let sum = on_demo(&["call", "add", "a=40", "b=2", "--revision", revision]);
        assert_eq!((sum.code, sum.stdout.as_str()), (Some(0), "42\n"), "{revision}: {}", sum.stderr);
    }
    let mixed =
        on_demo(&["call", "add", "b:=2", "--json", "{\"a\": 1}", "--era", "legacy", "--format", "json"]);
    assert_eq!(mixed.json()["structuredContent"], json!({ "result": 3 }));
    assert_eq!(on_demo(&["call", "echo", "message=42"]).stdout, "42\n");
}

#[test]
fn resources_are_shown_or_printed_byte_for_byte() {
    assert_eq!(on_demo(&["read", "demo://notes/beta"]).stdout, "note beta\n");
    assert!(on_demo(&["read", "demo://logo.png"]).stdout.starts_with("[blob image/png, "));
    let raw =
        crate::command(&["read", "demo://logo.png", "--raw", "--", BINARY, "demo"]).output().expect("runs");
    assert!(raw.stdout.starts_with(b"\x89PNG\r\n\x1a\n"));
    let json = on_demo(&["read", "demo://notes/beta", "--format", "json"]).json();
    assert_eq!(json["contents"][0]["text"], "note beta");
}

#[test]
fn prompts_are_filled_in() {
    let greeting = on_demo(&["prompt", "greeting", "name=Ada", "style=pirate"]);
    assert_eq!(greeting.stdout, "user: Please greet Ada in a pirate style.\n");
    let review = on_demo(&["prompt", "review", "code=x = 1", "--format", "json"]).json();
    assert_eq!(review["messages"][1]["role"], "assistant");
}

#[test]
fn progress_and_logs_go_to_standard_error() {
    let countdown = on_demo(&["call", "countdown", "steps=2"]);
    assert_eq!(countdown.stdout, "liftoff\n");
    assert!(countdown.stderr.contains("1/2  1 of 2") && countdown.stderr.contains("2/2  2 of 2"));
    for era in ["legacy", "modern"] {
        let logged = on_demo(&["call", "log_lines", "--log", "alert", "--era", era]);
        let lines: Vec<&str> = logged.stderr.lines().collect();
        assert_eq!(
            lines,
            ["[alert] demo a message at level alert", "[emergency] demo a message at level emergency"]
        );
    }
}

#[test]
fn servers_can_ask_and_are_told_when_nobody_is_there() {
    for era in ["legacy", "modern"] {
        let greet = on_demo(&["call", "greet", "greeting=Hi", "--era", era]);
        assert_eq!(greet.code, Some(5), "{era}");
        assert!(
            greet.stderr.contains("asks: Whom shall I greet?") && greet.stderr.contains("not answered"),
            "{era}"
        );
        assert!(!greet.stderr.contains("declined"), "{era}: nobody was asked");
        let canned = on_demo(&["call", "ask_model", "question=Why?", "--sample", "Because.", "--era", era]);
        assert_eq!(canned.stdout, "Because.\n", "{era}");
        assert!(canned.stderr.contains("user: Why?"), "{era}: {}", canned.stderr);
        let roots = on_demo(&["call", "list_roots", "--root", "/", "--era", era]);
        assert_eq!(roots.stdout, "file:///\n", "{era}: {}", roots.stderr);
    }
}

#[test]
fn the_demo_answers_in_process_by_its_name() {
    assert_eq!(run(&["call", "demo", "echo", "message=hello"]).stdout, "hello\n");
    assert_eq!(run(&["read", "demo", "demo://notes/alpha"]).stdout, "note alpha\n");
}

/// Row K12 of the threats: text of a server does nothing to a terminal, unless it is wanted as it is.
#[test]
fn text_of_servers_is_made_harmless() {
    let hostile = "\u{1b}]8;;https://evil.example\u{7}\u{1b}[31mred\rover\u{202e}txt";
    let argument = format!("message={hostile}");
    let is_harmless =
        |text: &str| !text.chars().any(|char| (char.is_control() && char != '\n') || char == '\u{202e}');
    let shown = on_demo(&["call", "echo", &argument]);
    assert!(is_harmless(&shown.stdout) && shown.stdout.contains("\\u{1b}[31mred"), "{:?}", shown.stdout);
    let failed = on_demo(&["call", "fail", &argument]);
    assert!(is_harmless(&failed.stderr), "{:?}", failed.stderr);
    let json = on_demo(&["call", "echo", &argument, "--format", "json"]);
    assert!(is_harmless(&json.stdout), "{:?}", json.stdout);
    assert_eq!(json.json()["content"][0]["text"], hostile);
    assert_eq!(on_demo(&["call", "echo", &argument, "--raw"]).stdout, format!("{hostile}\n"));
}

#[test]
fn what_the_demo_prints_is_not_among_the_results() {
    let run = run(&["call", "demo", "print", "text=boo", "-o", "json"]);
    assert_eq!(run.json()["content"][0]["text"], "printed");
    assert!(run.stderr.contains("boo"), "{}", run.stderr);
}
