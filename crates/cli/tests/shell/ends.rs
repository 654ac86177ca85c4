//! What ends, and what does not: calls, questions, servers, the shell itself.

use std::process::Command;

use super::{Screen, says, shell};

#[test]
fn control_c_ends_the_call_and_not_the_shell() {
    let screen = shell("-- contexture demo");
    screen.run("call countdown steps=1000 delay_ms=1000");
    screen.shows("1 of 1000");
    screen.keys(&["C-c"]);
    screen.shows("contexture: interrupted\nContexture demo>");
    says(&screen, "call add a=1 b=2", "3\n($1)\nContexture demo>");
    screen.keys(&["C-d"]);
    assert_eq!(screen.ended(), 0);
}

/// What is typed after a question that is gone is a line, and not an answer.
#[test]
fn control_c_ends_a_question_and_the_keyboard_is_free_again() {
    let screen = shell("demo");
    screen.run("call greet greeting=Hello");
    screen.shows("\n  name:");
    screen.keys(&["C-c"]);
    screen.shows("contexture: interrupted\n");
    for number in 1..=3 {
        says(
            &screen,
            &format!("call echo message=line{number}"),
            &format!("\nline{number}\n(${number})\nContexture demo>"),
        );
    }
    screen.keys(&["C-d"]);
    assert_eq!(screen.ended(), 0);
}

#[test]
fn control_c_at_the_prompt_empties_the_line() {
    let screen = shell("demo");
    screen.keys(&["call nothing", "C-c"]);
    says(&screen, "call add a=1 b=2", "3\n($1)");
    assert!(!screen.text().contains("there is no"), "{}", screen.text());
}

#[test]
fn a_server_that_dies_is_said_and_can_be_started_again() {
    let screen = shell("-- contexture demo");
    says(&screen, "call add a=1 b=2", "($1)");
    kill(&screen, "demo ");
    screen.shows("(the server is gone; `reconnect` starts again)");
    says(&screen, "call add a=1 b=2", "contexture: the connection is over");
    screen.clear();
    screen.run("reconnect");
    screen.shows("Tab completes");
    says(&screen, "call add a=$1.structuredContent b=4", "7\n($2)\nContexture demo>");
    screen.run("reconnect");
    let shown = says(&screen, "call add a=1 b=9", "10\n($3)\nContexture demo>");
    assert!(!shown.contains("is gone"), "to reconnect is no news: {shown}");
    screen.keys(&["C-d"]);
    assert_eq!(screen.ended(), 0);
}

/// Told to end by the system, it leaves the terminal as it was, and nobody behind.
#[test]
fn the_system_ends_it_at_the_prompt() {
    let screen = shell("-- contexture demo");
    screen.keys(&["half a line"]);
    screen.shows("demo> half a line");
    kill(&screen, "shell -- contexture demo ");
    assert_eq!(screen.ended(), 130);
    screen.run("stty -a | tr ' ' '\\n' | grep -x -e -*icanon -e -*echo");
    screen.shows("\nicanon\necho\n");
    assert!(
        !screen.processes().iter().any(|(_, line)| line.ends_with("contexture demo ")),
        "{:?}",
        screen.processes()
    );
}

#[test]
fn a_terminal_that_goes_away_takes_the_server_with_it() {
    let screen = shell("-- contexture demo");
    screen.hang_up();
    screen.is_deserted();
}

/// Ends the one program of ours with these words.
#[track_caller]
fn kill(screen: &Screen, line: &str) {
    let processes = screen.processes();
    let is_meant = |known: &str| {
        known.rsplit_once("/contexture ").map_or(known, |(_, rest)| rest).trim_start_matches("contexture ")
            == line
    };
    let (number, _) = processes.iter().find(|(_, known)| is_meant(known)).expect("it runs");
    let done = Command::new("kill").args(["-TERM", &number.to_string()]).status().expect("kill runs");
    assert!(done.success());
}
