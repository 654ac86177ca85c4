//! What people see in a terminal.

use crate::Bench;
use crate::screen::Screen;

fn screen() -> Screen {
    let screen = Screen::open();
    crate::scripted::install(screen.home());
    screen
}

#[test]
fn markdown_is_set_and_nothing_of_it_moves_the_terminal() {
    let screen = screen();
    screen.run("contexture call ./server markdown");
    assert_eq!(screen.ended(), 0);
    let text = screen.text();
    for line in ["Findings", "• two of three", "• see the docs (https://example.org/docs)", "apples", "ls -l"]
    {
        assert!(text.lines().any(|shown| shown.starts_with(line)), "{line}: {text}");
    }
    assert!(text.contains("pears\\u{1b}[2J  3") && !text.contains("```") && !text.contains("|---"), "{text}");
    assert!(screen.coloured().contains("\u{1b}[1mFindings"), "{}", screen.coloured());
    screen.clear();
    screen.run("NO_COLOR=1 contexture call ./server markdown");
    assert_eq!(screen.ended(), 0);
    assert!(screen.text().contains("# Findings") && screen.text().contains("**two**"), "{}", screen.text());
}

#[test]
fn text_in_a_pipe_is_as_the_server_sent_it() {
    let bench = Bench::new();
    let run = bench.run(&["call", "./server", "markdown"]);
    assert!(
        run.stdout.starts_with("# Findings\n\n- **two** of `three`\n") && run.stdout.contains("|------|")
    );
    let rows = bench.run(&["call", "./server", "rows"]);
    assert!(rows.stdout.starts_with("{\"people\":[{"), "{}", rows.stdout);
}

#[test]
fn rows_are_a_table() {
    let screen = screen();
    screen.run("contexture call ./server rows");
    let text = screen.shows("Grace");
    // The order of the columns is the server's; JSON in this test has them sorted.
    assert!(text.lines().any(|line| line.trim_end() == "age  name"), "{text}");
    assert!(text.lines().any(|line| line.trim_end() == "85   Grace"), "{text}");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn bytes_are_named_and_kept_only_where_the_person_says() {
    let screen = screen();
    screen.run("contexture call ./server picture");
    let text = screen.shows("(for the model, priority 0.5)");
    assert!(text.contains("[image image/png, 8 bytes; --save DIR keeps it]"), "{text}");
    assert_eq!(screen.ended(), 0);
    assert!(!screen.home().join("image.png").exists());
    screen.run("contexture call ./server picture --save kept");
    let text = screen.shows("kept as kept/evil.bin");
    assert!(text.contains("kept as kept/image.png]"), "{text}");
    assert_eq!(screen.ended(), 0);
    assert_eq!(std::fs::read(screen.home().join("kept/evil.bin")).expect("kept"), [0, 1, 2]);
    screen.run("contexture read demo demo://logo.png --save kept");
    screen.shows("kept as kept/logo.png]");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn pictures_are_shown_where_the_terminal_can() {
    let screen = screen();
    // Not through tmux: what reaches the terminal is looked at by itself.
    screen
        .run("env -u TMUX KITTY_WINDOW_ID=1 script -qc 'contexture call ./server picture' shown > /dev/null");
    assert_eq!(screen.ended(), 0);
    let shown = std::fs::read(screen.home().join("shown")).expect("what was shown");
    let wanted = b"\x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgo=\x1b\\";
    assert!(shown.windows(wanted.len()).any(|some| some == wanted), "{}", String::from_utf8_lossy(&shown));
}

#[test]
fn progress_is_a_bar_with_log_messages_above_it_and_leaves_nothing() {
    let screen = screen();
    screen.run("contexture call demo countdown steps=4 delay_ms=400");
    let text = screen.shows("2/4  2 of 4");
    assert!(text.contains("━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌  50%"), "{text}");
    screen.shows("liftoff");
    assert_eq!(screen.ended(), 0);
    assert!(!screen.text().contains('━'), "{}", screen.text());
    screen.run("contexture call ./server wait");
    screen.shows("halfway to half");
    let text = screen.shows("[info] still at it");
    let at = |what: &str| text.lines().position(|line| line.contains(what)).unwrap_or(usize::MAX);
    assert!(at("still at it") < at("25%"), "{text}");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
}

#[test]
fn lists_fit_the_terminal() {
    let screen = screen();
    screen.run("contexture tools list ./server");
    let text = screen.shows("does echo");
    assert!(text.contains("echo(size?: \"s\" | \"m\"") || text.contains("size?: \"s\" | \"m\""), "{text}");
    assert!(!text.contains("and more"), "the first line of a description is enough: {text}");
    assert_eq!(screen.ended(), 0);
    screen.clear();
    screen.run("contexture tools list -- ./server huge");
    let text = screen.shows("odd");
    assert!(text.contains("odd\\u{1b}[2J\\u{202e}\\u{200b}") && text.contains("a\\u{7}b"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(screen.ended(), 0);
}
