//! Servers that are reached by URL, and the demo that is served at one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Child;

use crate::{BINARY, Run, command};

/// The demo, listening; it is gone with this.
struct Listening {
    demo: Child,
    url: String,
}

impl Listening {
    fn new() -> Self {
        let mut demo = command(&["demo", "--listen", "127.0.0.1:0"]).spawn().expect("the binary runs");
        let stderr = BufReader::new(demo.stderr.take().expect("standard error"));
        let line = stderr.lines().next().expect("a line").expect("text");
        let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { demo, url }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        at(&self.url, arguments)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.demo.kill().expect("it was alive");
        self.demo.wait().expect("it is gone");
    }
}

fn at(url: &str, arguments: &[&str]) -> Run {
    command(&[arguments, &["--", url]].concat()).output().expect("the binary runs").into()
}

// covers: HTTP-COMPAT-CLIENT-URL
#[test]
fn verbs_reach_a_server_by_its_url_in_every_revision_and_by_either_transport() {
    let server = Listening::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let sum = server.run(&["call", "add", "a=40", "b=2", "--revision", revision]);
        assert_eq!((sum.code, sum.stdout.as_str()), (Some(0), "42\n"), "{revision}: {}", sum.stderr);
    }
    let tools = server.run(&["tools", "list", "--format", "json"]);
    assert_eq!(tools.json()["tools"].as_array().map(Vec::len), Some(20));
    assert_eq!(server.run(&["read", "demo://notes/beta"]).stdout, "note beta\n");
    let older = server.url.replace("/mcp", "/sse");
    assert_eq!(at(&older, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn the_server_may_ask_and_report_over_http() {
    let server = Listening::new();
    for era in ["legacy", "modern"] {
        let asked = server.run(&["call", "ask_model", "question=why", "--sample", "because", "--era", era]);
        assert!(asked.stdout.contains("because"), "{era}: {} {}", asked.stdout, asked.stderr);
        let counted = server.run(&["call", "countdown", "steps=3", "--era", era]);
        assert_eq!(counted.code, Some(0), "{era}: {}", counted.stderr);
    }
}

#[test]
fn what_is_wrong_with_a_url_has_a_code_of_its_own() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let gone = at(&format!("http://{nobody}/mcp"), &["tools", "list", "--format", "json"]);
    assert_eq!((gone.code, gone.error()["kind"].as_str()), (Some(4), Some("unreachable")), "{}", gone.stderr);
    let door = refusing("401 Unauthorized");
    let refused = at(&door, &["tools", "list", "--format", "json"]);
    assert_eq!((refused.code, refused.error()["kind"].as_str()), (Some(3), Some("auth_required")));
    for wrong in [vec!["tools", "list", "--env", "A=1"], vec!["tools", "list", "--header", "no colon"]] {
        assert_eq!(at(&door, &wrong).code, Some(1), "{wrong:?}");
    }
    let started: Run =
        command(&["tools", "list", "-H", "a: b", "--", BINARY, "demo"]).output().expect("runs").into();
    assert_eq!(started.code, Some(1), "{}", started.stderr);
}

#[test]
fn headers_are_sent_with_every_request() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let seen = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = [0; 4096];
        let read = stream.read(&mut head).expect("a request");
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").expect("an answer");
        String::from_utf8_lossy(&head[..read]).to_lowercase()
    });
    assert_eq!(at(&url, &["tools", "list", "-H", "X-Key: secret"]).code, Some(3));
    assert!(seen.join().expect("a request").contains("x-key: secret\r\n"));
}

/// A server that answers everything with this status.
fn refusing(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                drop(stream.write_all(answer.as_bytes()));
            }
        }
    });
    url
}
