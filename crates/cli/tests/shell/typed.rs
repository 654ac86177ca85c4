//! Lines that a person types: history, questions, several lines, and what is said meanwhile.

use std::io::BufRead as _;
use std::os::unix::fs::PermissionsExt as _;

use super::{Screen, says, shell};

#[test]
fn a_person_is_greeted_and_sees_results_with_their_names() {
    let screen = shell("demo");
    let shown = screen.shows("Contexture demo>");
    assert!(shown.contains("revision 2026-07-28") && shown.contains("Ctrl-D ends"), "{shown}");
    says(&screen, "call add a=1 b=2", "3\n($1)\n");
    says(&screen, "call add a=$1.structuredContent b=1", "4\n($2)\n");
    says(&screen, "help", "begins again with the server");
    says(&screen, "help call", "Usage: contexture call");
    screen.run("exit");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn json_goes_on_in_the_next_line() {
    let screen = shell("demo");
    screen.run("call echo --json {");
    screen.run("\"message\": \"two lines\"");
    says(&screen, "}", "\ntwo lines\n($1)");
}

/// Private, and with nothing in it that was the answer to a question.
#[test]
fn history_is_kept_for_the_next_shell_and_for_nobody_else() {
    let screen = shell("demo");
    says(&screen, "call echo message=remembered", "($1)");
    says(&screen, " call echo message=hidden", "($2)");
    screen.run("call greet greeting=Hello");
    screen.shows("\n  name:");
    screen.run("Secretive");
    screen.shows("Send this?");
    screen.run("y");
    screen.shows("($3)\nContexture demo>");
    screen.keys(&["C-d"]);
    assert_eq!(screen.ended(), 0);

    let file = screen.home().join(".local/state/contexture/shell-history");
    let kept = std::fs::read_to_string(&file).expect("a history");
    assert!(kept.contains("remembered") && kept.contains("call greet"), "{kept}");
    assert!(!kept.contains("Secretive") && !kept.contains("hidden"), "{kept}");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));

    screen.clear();
    screen.run("contexture shell demo");
    screen.shows("demo>");
    screen.keys(&["Up", "Up", "Enter"]);
    screen.shows("demo> call echo message=remembered\nremembered\n");
}

/// A history that cannot be kept is no reason not to talk.
#[test]
fn a_folder_that_cannot_be_written_to_is_no_obstacle() {
    let screen = Screen::open();
    std::fs::write(screen.home().join(".local"), "in the way").expect("it is written");
    screen.run("contexture shell demo");
    screen.shows("demo>");
    says(&screen, "call add a=1 b=2", "3\n($1)\nContexture demo>");
    screen.keys(&["C-d"]);
    assert_eq!(screen.ended(), 0);
}

#[test]
fn changes_and_log_messages_are_said_above_the_line() {
    let screen = shell("demo");
    says(&screen, "call toggle", "(the list of tools has changed)");
    // It is known at once.
    screen.keys(&["call ext", "Tab", "C-c"]);
    screen.shows("demo> call extra");
    screen.run("log warning");
    let shown = says(&screen, "call log_lines", "[emergency]");
    assert!(!shown.contains("[info]"), "{shown}");
}

/// While somebody types, what others say does not end up in their line.
#[test]
fn a_line_that_is_being_typed_stays_as_it_is() {
    let demo = Demo::listen();
    let screen = shell(&format!("--era legacy {}", demo.url));
    screen.keys(&["call echo message=half"]);
    screen.shows("demo> call echo message=half");
    let other = std::process::Command::new(env!("CARGO_BIN_EXE_contexture"))
        .args(["call", &demo.url, "toggle"])
        .output()
        .expect("it runs");
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stderr));
    screen.shows("(the list of tools has changed)\nContexture demo> call echo message=half");
    screen.keys(&["way", "Enter"]);
    screen.shows("\nhalfway\n($1)");
}

/// A demo over HTTP, for as long as it is needed.
struct Demo {
    url: String,
    child: std::process::Child,
}

impl Demo {
    fn listen() -> Self {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_contexture"));
        command.args(["demo", "--listen", "127.0.0.1:0"]).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("a pipe");
        std::io::BufReader::new(stderr).read_line(&mut line).expect("it says where it is");
        let url = line.trim().rsplit(' ').next().expect("an address").to_owned();
        Self { url, child }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn subscriptions_end_with_control_c() {
    let screen = shell("demo");
    screen.run("subscribe demo://clock");
    screen.shows("following demo://clock; Ctrl-C ends");
    screen.keys(&["C-c"]);
    let shown = says(&screen, "call add a=1 b=2", "3\n($1)");
    assert!(!shown.contains("interrupted"), "{shown}");
}

/// Who types faster than a server answers loses nothing.
#[test]
fn lines_that_were_typed_ahead_are_read_in_their_turn() {
    let screen = shell("demo");
    screen.keys(&[
        "call sleep ms=300",
        "Enter",
        "call echo message=one",
        "Enter",
        "call echo message=two",
        "Enter",
    ]);
    screen.shows("\none\n($2)\n");
    screen.shows("\ntwo\n($3)\n");
}
