//! How the program ends: exit codes, the error line, closed pipes, signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{BINARY, Run, command, on_demo, run};

#[test]
fn exit_codes_tell_what_went_wrong() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["call", "add", "a=x", "b=2"], 1, "usage"),
        (&["call", "add", "alone"], 1, "usage"),
        (&["call", "no_such_tool"], 1, "usage"),
        (&["read", "demo://nothing"], 1, "usage"),
        (&["prompt", "greeting"], 1, "usage"),
        (&["call", "echo", "--root", "/no/such/directory"], 1, "usage"),
        (&["call", "fail", "message=no"], 5, "tool_error"),
        (&["call", "panic"], 5, "tool_error"),
    ];
    for (arguments, code, kind) in cases {
        let failed = on_demo(&[arguments, &["--format", "json"]].concat());
        assert_eq!(failed.code, Some(code), "{arguments:?}: {}", failed.stderr);
        let error = failed.error();
        assert_eq!((&error["kind"], &error["exit"]), (&kind.into(), &code.into()), "{arguments:?}");
    }
    let result = on_demo(&["call", "fail", "message=no", "--format", "json"]).json();
    assert_eq!(result["isError"], true);
}

#[test]
fn servers_that_cannot_be_reached_are_named() {
    for target in [&["/no/such/program"][..], &["sh", "-c", "echo dying >&2; exit 3"]] {
        let failed = run(&[&["tools", "list", "--format", "json", "--"], target].concat());
        assert_eq!((failed.code, &failed.error()["kind"]), (Some(4), &"unreachable".into()), "{target:?}");
    }
    let dying = run(&["tools", "list", "--", "sh", "-c", "echo dying >&2; exit 3"]);
    assert!(dying.stderr.contains("exited with 3") && dying.stderr.contains("dying"), "{}", dying.stderr);
}

#[test]
fn a_command_line_that_makes_no_sense_is_usage() {
    for arguments in [&["frobnicate"][..], &["call"], &["tools", "list", "--revision", "1999-01-01"]] {
        assert_eq!(run(arguments).code, Some(1), "{arguments:?}");
        let json = run(&[arguments, &["--format", "json"]].concat());
        assert_eq!((json.code, &json.error()["kind"]), (Some(1), &"usage".into()), "{arguments:?}");
    }
    let help = run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for code in ["1  usage", "4  unreachable", "5  the tool", "130  interrupted"] {
        assert!(help.stdout.contains(code), "{code}: {}", help.stdout);
    }
    assert!(run(&["--version"]).stdout.starts_with("contexture "));
}

/// Row K14 of the threats.
#[test]
fn a_reader_that_leaves_is_no_failure() {
    for arguments in [&["call", "big", "bytes=4000000", "--", BINARY, "demo"][..], &[]] {
        let mut child = command(arguments).spawn().expect("starts");
        let mut first = [0; 1];
        child.stdout.take().expect("a pipe").read_exact(&mut first).expect("something is printed");
        let ended = Run::from(child.wait_with_output().expect("ends"));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// Row K14 of the threats: nothing that was started is left behind.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_as_well() {
    for signal in ["INT", "TERM"] {
        // The server tells its id and then never answers.
        let script = "echo $$ >&2; exec sleep 600";
        let mut child = command(&["tools", "list", "-v", "--", "sh", "-c", script]).spawn().expect("starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut server = String::new();
        stderr.read_line(&mut server).expect("the server's id");
        let server = server.trim();
        assert!(is_alive(server), "{signal}");
        let sent = std::process::Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("ends").code(), Some(130), "{signal}");
        let begun = Instant::now();
        while is_alive(server) {
            assert!(begun.elapsed() < Duration::from_secs(5), "{signal}: the server is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[cfg(unix)]
fn is_alive(process: &str) -> bool {
    let mut probe = std::process::Command::new("kill");
    probe.args(["-0", process]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn arguments_can_come_from_standard_input() {
    let mut child =
        command(&["call", "demo", "echo", "--json", "-"]).stdin(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(b"{\"message\": \"piped\"}").expect("it reads");
    let ended = Run::from(child.wait_with_output().expect("ends"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "piped\n"), "{}", ended.stderr);
}
