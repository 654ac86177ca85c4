//! What a server says, on a terminal: shown, but never obeyed.

use std::process::{Command, Output};

/// Runs a verb of the binary against the hostile server.
fn run(verb: &[&str], role: &str) -> Output {
    let script = format!(
        r#"export {}="{role}"; exec "$0" hostile::act --exact --nocapture --test-threads=1 3>&1 >/dev/null"#,
        crate::hostile::ROLE
    );
    Command::new(env!("CARGO_BIN_EXE_contexture"))
        .args(verb)
        .args(["--", "/bin/sh", "-c", &script])
        .arg(std::env::current_exe().expect("this binary has a path"))
        .output()
        .expect("the binary starts")
}

/// Whether a text could move the cursor, change colours or order, or hide anything.
fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| {
        let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && c != '\n' && c != '\t')
            || hidden
            || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{feff}')
    })
}

fn check(output: &Output, row: &str) -> (String, String) {
    let stdout = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let stderr = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert!(is_harmless(&stdout), "{row}: {stdout:?}");
    assert!(is_harmless(&stderr), "{row}: {stderr:?}");
    (stdout, stderr)
}

#[test]
fn names_and_descriptions() {
    for format in ["text", "json"] {
        let output = run(&["tools", "list", "--format", format], "legacy terminal");
        let (stdout, stderr) = check(&output, "I18");
        assert!(output.status.success(), "I18: {stderr}");
        assert!(stdout.contains("fine"), "I18: {stdout}");
    }
}

#[test]
fn log_messages_and_results() {
    let output = run(&["call", "log"], "legacy");
    let (stdout, stderr) = check(&output, "I20");
    assert!(stdout.contains("text"), "I20: {stdout}");
    // A log message cannot pretend to be two.
    assert!(!stderr.lines().any(|line| line.starts_with("second")), "I20: {stderr}");
}

#[test]
fn errors_of_servers() {
    for (tool, code) in [("both", 4), ("code_string", 4), ("exit", 4)] {
        let output = run(&["call", tool], "legacy");
        let (_, stderr) = check(&output, "A39");
        assert_eq!(output.status.code(), Some(code), "A39 {tool}: {stderr}");
    }
    let output = run(&["call", "fine"], "legacy flood");
    let (_, stderr) = check(&output, "H01");
    assert_eq!(output.status.code(), Some(4), "H01: {stderr}");
}
