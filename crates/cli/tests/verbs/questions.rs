//! Servers ask, and the person at the terminal answers, changes their mind or declines.

use crate::screen::Screen;

fn asked(line: &str) -> Screen {
    let screen = Screen::open();
    crate::scripted::install(screen.home());
    screen.run(line);
    screen
}

// covers: ELIC-UI-REVIEW
#[test]
fn a_form_has_choices_defaults_and_a_last_look() {
    let screen = asked("contexture call ./server ask");
    screen.shows("scripted asks: Which colours?");
    screen.shows("one (one of red, green, required)");
    screen.keys(&["blue", "Enter"]);
    screen.shows("That is not among the choices.");
    screen.keys(&["green", "Enter"]);
    screen.shows("several (any of a, b, c, separated by commas)");
    screen.keys(&["a, c", "Enter"]);
    screen.shows("size [3]:");
    screen.keys(&["Enter"]);
    screen.shows("Send this?");
    screen.keys(&["Enter"]);
    let text = screen.shows("\"action\":\"accept\"");
    assert!(text.contains("\"one\":\"green\"") && text.contains("\"several\":[\"a\",\"c\"]"), "{text}");
    assert_eq!(screen.ended(), 0);
}

// covers: ELIC-UI-DECLINE
#[test]
fn an_address_is_shown_and_never_opened() {
    let screen = asked("contexture call ./server visit --unchecked");
    let text = screen.shows("Agree?");
    assert!(text.contains("visit pay.example") && text.contains("https://pay.example/now"), "{text}");
    screen.keys(&["n", "Enter"]);
    screen.shows("\"action\":\"decline\"");
    assert_eq!(screen.ended(), 0);
}

// covers: SAMP-HUMAN-LOOP, SAMP-EDIT-PROMPT, SAMP-REVIEW-RESPONSE
#[test]
fn a_question_to_the_model_is_approved_answered_and_seen_before_it_goes_back() {
    let screen = asked("contexture call ./server sample");
    screen.shows("scripted wants to ask the model:");
    screen.shows("user: why\\u{202e}?");
    screen.shows("Answer it yourself?");
    screen.keys(&["y", "Enter"]);
    screen.shows("Your answer, ended by an empty line:");
    screen.keys(&["because", "Enter", "Enter"]);
    screen.shows("a person answers:");
    screen.shows("Send this?");
    screen.keys(&["e", "Enter"]);
    screen.shows("The answer instead");
    screen.keys(&["just because", "Enter", "Enter"]);
    screen.keys(&["y", "Enter"]);
    screen.shows("\"text\":\"just because\"");
    assert_eq!(screen.ended(), 0);
    screen.clear();
    screen.run("contexture call ./server sample");
    screen.shows("Answer it yourself?");
    screen.keys(&["n", "Enter"]);
    assert_ne!(screen.ended(), 130);
    assert!(!screen.text().contains("because"), "{}", screen.text());
}

#[test]
fn ctrl_c_at_a_question_ends_the_call() {
    let screen = asked("contexture call ./server ask");
    screen.shows("one (one of red, green, required)");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
}

#[test]
fn a_provider_must_be_configured() {
    let bench = crate::Bench::new();
    let failed = bench.run(&["call", "./server", "sample", "--provider", "local"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("no model of \"local\" is configured"), "{}", failed.stderr);
}
