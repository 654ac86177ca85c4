//! Programs that are no MCP servers, or take their time.

use std::time::{Duration, Instant};

use crate::{BINARY, run};

/// Runs a verb on a script of the shell.
fn on_script(arguments: &[&str], script: &str) -> crate::Run {
    run(&[arguments, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_program_that_prints_something_else_is_told_once() {
    for script in ["echo hello world; exec sleep 100", "echo hello world; echo again"] {
        let failed = on_script(&["tools", "list", "--timeout", "2"], script);
        assert_eq!(failed.code, Some(4), "{}", failed.stderr);
        let told = failed.stderr.matches("this does not look like an MCP server: its first line was").count();
        assert_eq!(told, 1, "{}", failed.stderr);
        assert!(!failed.stderr.contains("WARN"), "{}", failed.stderr);
    }
}

#[test]
fn a_greeting_before_the_protocol_is_no_failure() {
    let script = format!("echo starting up; exec {BINARY} demo");
    let listed = on_script(&["call", "echo", "message=hello"], &script);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), "hello\n"), "{}", listed.stderr);
    assert_eq!(listed.stderr.lines().count(), 1, "{}", listed.stderr);
}

#[test]
fn the_timeout_bounds_connecting_as_a_whole() {
    let begun = Instant::now();
    let failed = on_script(&["tools", "list", "--timeout", "1"], "exec sleep 100");
    assert_eq!(failed.code, Some(4), "{}", failed.stderr);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(failed.stderr.contains("no answer within 1s"), "{}", failed.stderr);
}
