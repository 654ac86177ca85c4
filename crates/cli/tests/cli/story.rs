//! Bare `contexture` without a terminal.

use serde_json::Value;

use crate::{Run, command, run};

/// The story on a page of so many columns.
fn told(columns: &str) -> Run {
    command(&[]).env("COLUMNS", columns).output().expect("the binary runs").into()
}

#[test]
fn the_story_is_told_without_a_terminal() {
    let story = run(&[]);
    assert_eq!((story.code, story.stderr.as_str()), (Some(0), ""));
    assert!(!story.stdout.contains('\u{1b}'), "no colours without a terminal");
    let lines = story.stdout.lines().count();
    assert!((40..=65).contains(&lines), "{lines} lines");
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
    let story = told("120");
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

#[test]
fn the_story_fits_its_page() {
    for (columns, most) in [("", 80), ("60", 60), ("100", 100)] {
        let story = told(columns);
        let (text, _) = story.stdout.split_once("Your turn").expect("the end");
        for line in text.lines() {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
        let cut = text.lines().filter(|line| line.ends_with('…')).count();
        assert!(cut > 3, "{columns}: what does not fit is cut");
    }
}

#[test]
fn the_last_words_can_be_typed() {
    let by_cargo = command(&[]).env("CARGO", "cargo").output().expect("the binary runs");
    let by_cargo = Run::from(by_cargo);
    let cargo = if cfg!(debug_assertions) { "cargo run --" } else { "cargo run --release --" };
    assert!(by_cargo.stdout.contains(&format!("\n   {cargo} call add a=1 b=2\n")), "{}", by_cargo.stdout);
    let by_name = Run::from(command(&[]).env_remove("CARGO").output().expect("the binary runs"));
    assert!(
        by_name.stdout.contains(&format!("\n   {} call add a=1 b=2\n", crate::BINARY)),
        "{}",
        by_name.stdout
    );
}
