//! Servers that are well: nothing fails, and there is nothing to warn of.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::site::{Answer, Site, well};
use crate::stage::{BINARY, Home, Verdict};

/// The demo over HTTP, gone with this.
pub(crate) struct Demo {
    child: Child,
    pub(crate) url: String,
}

impl Demo {
    pub(crate) fn listen(arguments: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(["demo", "--listen", "127.0.0.1:0"]).args(arguments).env_remove("RUST_LOG");
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let url = lines.find_map(|line| {
            let line = line.expect("text");
            let (_, url) = line.split_once("listening on ")?;
            Some(url.trim().to_owned())
        });
        // Whatever else it says is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.expect("an address") }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All is well, even strictly, and something was asked.
fn clean(verdict: &Verdict, steps: &[&str]) {
    assert_eq!(verdict.code, 0, "{:#}{}", verdict.document, verdict.stderr);
    assert_eq!(verdict.document["ok"], true);
    for step in verdict.steps() {
        assert_eq!(step["state"], "passed", "{step:#}");
    }
    steps.iter().for_each(|id| assert!(verdict.step(id)["seen"].is_string()));
}

#[test]
fn the_demo_is_well_in_both_eras() {
    let home = Home::new();
    for era in ["auto", "legacy", "modern"] {
        clean(&home.doctor(&["--strict", "--era", era, "demo"]), &["protocol.call", "lint.size"]);
        let started = home.doctor(&["--strict", "--era", era, "--", BINARY, "demo"]);
        clean(&started, &["process.command", "process.start", "process.stdout", "protocol.call"]);
    }
}

#[test]
fn the_demo_is_well_over_http_in_both_eras() {
    let (home, demo) = (Home::new(), Demo::listen(&[]));
    for era in ["auto", "legacy", "modern"] {
        let verdict = home.doctor(&["--strict", "--era", era, &demo.url]);
        clean(&verdict, &["http.answer", "http.session", "http.stream", "http.origin", "protocol.call"]);
    }
}

#[test]
fn every_revision_is_named() {
    let home = Home::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let verdict = home.doctor(&["--strict", "--revision", revision, "demo"]);
        clean(&verdict, &["protocol.call"]);
        assert!(Verdict::words(verdict.step("protocol.revision")).contains(revision));
    }
}

#[test]
fn a_tool_is_called_only_if_it_is_named() {
    let home = Home::new();
    let verdict = home.doctor(&["--call", "add", "--arguments", r#"{"a": 1, "b": 2}"#, "demo"]);
    assert!(
        Verdict::words(verdict.step("protocol.call")).starts_with("add is answered"),
        "{:#}",
        verdict.document
    );
    let verdict = home.doctor(&["--call", "add", "--arguments", r#"{"a": "x"}"#, "demo"]);
    assert_eq!((verdict.failed()["id"].as_str(), verdict.code), (Some("protocol.call"), 5));
}

#[test]
fn the_older_transport_is_recognized() {
    let site = Site::new(|request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/sse") => Answer::Whole(
            200,
            vec![("Content-Type", "text/event-stream".to_owned())],
            "event: endpoint\ndata: /messages\n\n".to_owned(),
        ),
        ("POST", "/sse") => Answer::status(405),
        _ => well(request),
    });
    let verdict = Home::new().doctor(&["--timeout", "2", &site.url("/sse")]);
    assert!(Verdict::words(verdict.step("http.answer")).contains("HTTP+SSE"), "{:#}", verdict.document);
    // And where it is, if one looks elsewhere.
    let site = Site::new(|request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/sse") => Answer::of(200, "text/event-stream", "event: endpoint\ndata: /messages\n\n"),
        _ => Answer::status(404),
    });
    let verdict = Home::new().doctor(&["--timeout", "2", &site.url("/mcp")]);
    let next = verdict.failed()["next"].as_str().unwrap_or_default().to_owned();
    assert!(next.contains("/sse: use that address"), "{next}");
}
