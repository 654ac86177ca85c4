//! `contexture` in terminals of every kind, and where there is none: what belongs to no verb alone.
#![cfg(unix)]

#[path = "screen/mod.rs"]
mod screen;

use screen::Screen;

#[test]
fn what_is_typed_is_answered() {
    let screen = Screen::open();
    screen.run("contexture tools list demo");
    let shown = screen.shows("echo");
    assert_eq!(screen.ended(), 0, "{shown}");
    screen.run("sh -c 'exit 7';");
    assert_eq!(screen.ended(), 7);
    screen.keys(&["echo a", "Space", "b", "Enter"]);
    screen.shows("\na b\n$");
}
