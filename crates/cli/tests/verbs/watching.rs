//! `subscribe` and `logs`: one line for each thing that happens.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use serde_json::{Value, json};

use crate::Bench;

/// A verb that follows, and the lines that it prints.
struct Following {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Following {
    fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let mut child = bench.command(arguments).spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> String {
        self.lines.next().expect("a line").expect("text")
    }

    fn next_json(&mut self) -> Value {
        serde_json::from_str(&self.next()).expect("JSON")
    }

    /// Ends it as Ctrl-C does, and returns its code.
    fn end(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-INT", &pid]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        self.child.wait().expect("it ends").code()
    }
}

#[test]
fn a_resource_is_followed_and_read() {
    let bench = Bench::new();
    let mut events = Following::start(&bench, &["subscribe", "./server", "x:one", "-o", "ndjson"]);
    assert_eq!(events.next_json(), json!({ "event": "updated", "uri": "x:one" }));
    assert_eq!(events.end(), Some(0));
    let mut read = Following::start(&bench, &["subscribe", "./server", "x:one", "--read", "-o", "ndjson"]);
    let event = read.next_json();
    assert!(
        event["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("# Version 1")),
        "{event}"
    );
    assert_eq!(read.end(), Some(0));
    let mut text = Following::start(&bench, &["subscribe", "./server", "x:one", "--read"]);
    assert_eq!((text.next().as_str(), text.next().as_str()), ("updated x:one", "# Version 1"));
    assert_eq!(text.end(), Some(0));
}

#[test]
fn the_lists_are_followed() {
    let bench = Bench::new();
    let mut lists = Following::start(&bench, &["subscribe", "-o", "ndjson", "--", "./server", "changing"]);
    assert_eq!(lists.next_json(), json!({ "event": "changed", "list": "tools" }));
    assert_eq!(lists.end(), Some(0));
}

/// The demo, over HTTP; it is gone with this.
struct Listening {
    demo: Child,
    url: String,
}

impl Listening {
    fn new(bench: &Bench) -> Self {
        let mut demo = bench.command(&["demo", "--listen", "127.0.0.1:0"]).spawn().expect("starts");
        let stderr = BufReader::new(demo.stderr.take().expect("a pipe"));
        let line = stderr.lines().next().expect("a line").expect("text");
        let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { demo, url }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.demo.kill().expect("it was alive");
        self.demo.wait().expect("it is gone");
    }
}

#[test]
fn changes_that_others_make_are_followed_over_http_in_every_era() {
    let bench = Bench::new();
    let server = Listening::new(&bench);
    for era in ["legacy", "modern"] {
        let arguments = ["subscribe", &server.url, "demo://clock", "--era", era, "--read", "-o", "ndjson"];
        let mut following = Following::start(&bench, &arguments);
        let begun = BufReader::new(following.child.stderr.take().expect("a pipe")).lines().next();
        assert!(begun.is_some_and(|line| line.is_ok_and(|line| line.starts_with("following demo://clock"))));
        assert_eq!(bench.run(&["call", &server.url, "touch"]).stdout, "touched\n");
        let event = following.next_json();
        assert_eq!((&event["event"], &event["uri"]), (&"updated".into(), &"demo://clock".into()), "{era}");
        assert!(
            event["contents"][0]["text"].as_str().is_some_and(|text| text.contains("touched")),
            "{era}: {event}"
        );
        assert_eq!(following.end(), Some(0), "{era}");
    }
    let mut lists = Following::start(&bench, &["subscribe", &server.url]);
    let begun = BufReader::new(lists.child.stderr.take().expect("a pipe")).lines().next();
    assert!(begun.is_some_and(|line| line.is_ok_and(|line| line.starts_with("following the lists"))));
    assert_eq!(bench.run(&["call", &server.url, "toggle"]).code, Some(0));
    assert_eq!(lists.next(), "changed: tools");
    assert_eq!(lists.end(), Some(0));
}

#[test]
fn log_messages_are_followed_from_a_level_on() {
    let bench = Bench::new();
    let mut text = Following::start(&bench, &["logs", "./server", "--level", "warning"]);
    assert_eq!(text.next(), "[error] disk full\\u{1b}[2J");
    assert_eq!(text.next(), "[alert] {\"free\":0}");
    assert_eq!(text.end(), Some(0));
    assert!(crate::heard(&bench.folder, "logging/setLevel").contains("\"level\":\"warning\""));
    let mut events = Following::start(&bench, &["logs", "./server", "-o", "ndjson"]);
    assert_eq!(
        events.next_json(),
        json!({ "event": "log", "level": "error", "logger": "disk", "data": "full\u{1b}[2J" })
    );
    assert_eq!(events.end(), Some(0));
    let modern = bench.run(&["logs", "demo", "--era", "modern"]);
    assert_eq!(modern.code, Some(1), "{}", modern.stderr);
    assert!(
        modern.stderr.contains("reports only while it answers") && modern.stderr.contains("call … --log")
    );
}

#[test]
fn a_server_that_dies_is_told_and_a_reader_that_leaves_is_not() {
    let bench = Bench::new();
    let dying = bench.run(&["subscribe", "x:one", "--", "./server", "fleeting"]);
    assert_eq!((dying.code, dying.stdout.as_str()), (Some(4), "updated x:one\n"), "{}", dying.stderr);
    let mut read = Following::start(&bench, &["logs", "./server"]);
    read.next();
    let Following { mut child, lines } = read;
    drop(lines);
    // Nothing more is said, so it is ended; the pipe that nobody reads is no failure.
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|status| status.success())
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
