//! What is said about the command line is true: examples run as they stand, pages are up to date, completions complete.
#![cfg(unix)]

#[path = "help/completions.rs"]
mod completions;
#[path = "help/examples.rs"]
mod examples;
#[path = "help/house.rs"]
mod house;
#[path = "help/pages.rs"]
mod pages;

use std::process::{Command, Output};

/// The program, run to its end.
fn contexture(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_contexture")).args(arguments).output().expect("the program runs")
}

/// What it prints, if all is well.
#[track_caller]
fn said(arguments: &[&str]) -> String {
    let output = contexture(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// All verbs that help shows.
fn verbs() -> Vec<String> {
    let help = said(&["--help"]);
    let indented = help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-'));
    let words = indented.filter_map(|line| line.split_whitespace().next());
    let is_verb = |word: &&str| word.chars().all(|char| char.is_ascii_lowercase() || char == '-');
    words.filter(is_verb).filter(|word| *word != "help").map(str::to_owned).collect()
}
