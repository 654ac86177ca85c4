//! `contexture shell`: what is typed, what is on the screen, and what scripts can rely on.
#![cfg(unix)]

#[path = "shell/ends.rs"]
mod ends;
#[path = "screen/mod.rs"]
mod screen;
#[path = "shell/scripts.rs"]
mod scripts;
#[path = "shell/tab.rs"]
mod tab;
#[path = "shell/typed.rs"]
mod typed;

use screen::Screen;

/// A shell on the demo, at its first prompt.
fn shell(on: &str) -> Screen {
    let screen = Screen::open();
    screen.run(&format!("contexture shell {on}"));
    screen.shows("Contexture demo>");
    screen
}

/// Types a line, and waits for what comes of it. Before Ctrl-D that is the next prompt: while a line runs, a terminal has no end to
/// tell of.
#[track_caller]
fn says(screen: &Screen, line: &str, answer: &str) -> String {
    screen.run(line);
    screen.shows(answer)
}
