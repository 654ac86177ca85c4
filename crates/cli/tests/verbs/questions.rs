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

/// The clock is the server's: it stands still while a person thinks.
#[test]
fn nobody_has_to_hurry() {
    let screen = asked("contexture call ./server visit --unchecked --timeout 3");
    screen.shows("Agree?");
    // Longer than the server may be silent.
    std::thread::sleep(std::time::Duration::from_millis(3500));
    screen.keys(&["y", "Enter"]);
    screen.shows("\"action\":\"accept\"");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn ctrl_c_at_a_question_ends_the_call() {
    let screen = asked("contexture call ./server ask");
    screen.shows("one (one of red, green, required)");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
}

/// A model at an address of its own, which always says the same; it tells what it was asked.
fn model() -> (String, std::sync::mpsc::Receiver<String>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (tell, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            let mut some = [0; 4096];
            let read = stream.read(&mut some).expect("a request");
            request.extend_from_slice(&some[..read]);
        }
        tell.send(String::from_utf8_lossy(&request).into_owned()).expect("somebody wants to know");
        let answer = serde_json::json!({ "id": "1", "object": "chat.completion", "created": 1, "model": "small", "choices": [
            { "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "42 of course" } }] });
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all((head + &answer).as_bytes()).expect("it reads");
    });
    (url, asked)
}

// covers: SAMP-UI-REVIEW
#[test]
fn a_model_of_the_configuration_answers_after_the_question_was_changed() {
    let (url, asked) = model();
    let screen = Screen::open();
    crate::scripted::install(screen.home());
    let config = serde_json::json!({ "sampling": {
        "providers": { "local": { "kind": "openai", "url": url } }, "models": [{ "name": "small", "provider": "local" }] } });
    std::fs::write(screen.home().join("models.json"), config.to_string()).expect("it is ours");
    screen.run("contexture call ./server sample --provider local --config models.json");
    screen.shows("Ask the model?");
    screen.keys(&["e", "Enter"]);
    screen.shows("The last message instead");
    screen.keys(&["how much?", "Enter", "Enter"]);
    screen.keys(&["y", "Enter"]);
    screen.shows("small answers:");
    assert!(asked.recv().expect("it was asked").contains("how much?"));
    screen.shows("42 of course");
    screen.keys(&["Enter"]);
    screen.shows("\"text\":\"42 of course\"");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn a_provider_must_be_configured() {
    let bench = crate::Bench::new();
    let failed = bench.run(&["call", "./server", "sample", "--provider", "local"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("no model of \"local\" is configured"), "{}", failed.stderr);
}
