//! The example of a host, as a program: a person at a terminal decides, and a server is started only to be asked.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::example;

/// What a person sees who types these lines.
fn session(tool: &str, arguments: &str, typed: &str) -> String {
    let mut child = Command::new(example("host"))
        .args([tool, arguments])
        .arg(example("hello"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the example starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(typed.as_bytes()).expect("the example reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

// covers: SEC-IMPL-CONSENT-FLOWS
#[test]
fn a_host_asks_before_it_acts() {
    let greeting = r#"{"greeting":"Hello"}"#;
    let seen = session("greet", greeting, "y\ny\nAda\n");
    for part in ["Greets whoever is there.", greeting, "Your name?", "Hello, Ada"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    let declined = session("greet", greeting, "y\nn\n");
    assert!(declined.contains("Your name?") && declined.contains("declined"), "{declined}");
    for no in ["n\n", "\n", "", "yes please\n"] {
        let seen = session("add", r#"{"a":1,"b":2}"#, no);
        assert!(seen.contains("Adds two numbers.") && seen.contains("declined"), "{no:?}: {seen}");
    }
    assert!(session("add", r#"{"a":1,"b":2}"#, "y\n").contains("\n3\n"));
}
