//! What people see.

use crate::screen::Screen;

#[test]
fn a_server_that_is_well_is_told_step_by_step() {
    let screen = Screen::open();
    screen.run("contexture doctor demo");
    let shown = screen.shows("demo is well");
    assert!(shown.contains("✓ handshake"), "{shown}");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn a_server_that_is_broken_is_told_with_its_cause() {
    let screen = Screen::open();
    let script = "#!/bin/sh\necho 'Starting \u{1b}[31mup'\nexit 1\n";
    std::fs::write(screen.home().join("server.sh"), script).expect("it can be written");
    screen.run("contexture doctor -- sh server.sh");
    let shown = screen.shows("sh fails at: started");
    for words in [
        "✓ command found",
        "✗ started",
        "it exited with 1",
        "stdout: Starting \\u{1b}[31mup",
        "→ ",
        "– not reached: ",
    ] {
        assert!(shown.contains(words), "{words:?}: {shown}");
    }
    assert_eq!(screen.ended(), 4);
}

#[test]
fn a_walk_can_be_interrupted_and_leaves_nothing() {
    let screen = Screen::open();
    std::fs::write(screen.home().join("hang.sh"), "echo there >&2\ncat > /dev/null\n")
        .expect("it can be written");
    screen.run("contexture doctor --verbose -- sh hang.sh");
    screen.shows("there");
    // While one waits, it says what it waits for.
    screen.shows(" s, at sh: handshake");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
    screen.hang_up();
    screen.is_deserted();
}
