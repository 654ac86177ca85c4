//! Bare `contexture` without a terminal.

use serde_json::Value;

use crate::run;

#[test]
fn the_story_is_told_without_a_terminal() {
    let story = run(&[]);
    assert_eq!((story.code, story.stderr.as_str()), (Some(0), ""));
    assert!(!story.stdout.contains('\u{1b}'), "no colours without a terminal");
    let lines = story.stdout.lines().count();
    assert!((40..=60).contains(&lines), "{lines} lines");
    for piece in [
        "speaks 2026-07-28",
        "20 tools: echo, add",
        "= \"Hello, MCP\"",
        "21.5 °C, clear, as its schema says",
        "█████  liftoff",
        "Standard input is no terminal",
        "Hello, world!",
        "note alpha",
        "greet Ada",
        "\"method\":\"initialize\"",
    ] {
        assert!(story.stdout.contains(piece), "{piece}: {}", story.stdout);
    }
}

#[test]
fn every_step_shows_its_wire() {
    let story = run(&[]);
    for step in 1..=9 {
        let begin = story.stdout.find(&format!("\n{step}. ")).unwrap_or_else(|| panic!("step {step}"));
        let rest = &story.stdout[begin..];
        let text = rest.split("\n\n").next().unwrap_or_default();
        assert!(text.contains("{\"jsonrpc\":\"2.0\""), "step {step}: {text}");
    }
    // What fits on its line is shown whole, but for the metadata.
    let whole = story.stdout.lines().find(|line| line.contains("resources/read")).expect("the read");
    let json = whole.trim().trim_start_matches("→ ").replace("{…}", "{}");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON")["params"]["uri"], "demo://notes/alpha");
}
