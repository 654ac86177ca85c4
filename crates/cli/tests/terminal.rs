//! `contexture` in terminals of every kind, and where there is none: what belongs to no verb alone.
#![cfg(unix)]

#[path = "terminal/bench.rs"]
mod bench;
#[path = "terminal/homes.rs"]
mod homes;
#[path = "terminal/looks.rs"]
mod looks;
#[path = "terminal/pipes.rs"]
mod pipes;
#[path = "screen/mod.rs"]
mod screen;

use std::os::unix::fs::PermissionsExt as _;

use screen::Screen;

#[test]
fn what_is_typed_is_answered() {
    let screen = Screen::open();
    screen.run("contexture tools list demo");
    let shown = screen.shows("Says back what it is told");
    assert_eq!(screen.ended(), 0, "{shown}");
    screen.run("sh -c 'exit 7';");
    assert_eq!(screen.ended(), 7);
    screen.clear();
    screen.keys(&["echo a", "Space", "b", "Enter"]);
    screen.shows("\na b\n$");
    assert!(!screen.text().contains("contexture"), "it was cleared");
}

/// A window that is closed in the middle of a call takes the server with it.
#[test]
fn a_terminal_that_goes_away_takes_everything_with_it() {
    let screen = Screen::open();
    screen.run("contexture call countdown steps=1000 delay_ms=1000 -- contexture demo");
    screen.shows("1 of 1000");
    assert!(screen.processes().iter().any(|(_, line)| line.ends_with("contexture demo ")), "the server runs");
    screen.hang_up();
    screen.is_deserted();
    let left: Vec<_> = std::fs::read_dir(screen.temporary()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Writes a program that the person could have written.
fn program(screen: &Screen, name: &str, text: &str) {
    let path = screen.home().join(name);
    std::fs::write(&path, text).expect("it can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
}
