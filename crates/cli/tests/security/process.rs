//! The server as a process: what it does when its pipes close, stall or are written to by others.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::child::{PATIENCE, wait};
use crate::stage::{NEWEST, STAGES, Stage};

#[test]
fn the_end_of_input_with_calls_under_way() {
    for stage in STAGES {
        let mut demo = stage.start();
        demo.send(stage.call("1", "sleep", r#"{"ms":300}"#));
        demo.send(stage.call("2", "echo", r#"{"message":"x"}"#));
        demo.close_input();
        let rest = demo.rest();
        for id in ["1", "2"] {
            let answered = rest
                .iter()
                .any(|line| line.raw_id().as_deref() == Some(id) && line.json.get("result").is_some());
            assert!(answered, "H15 {stage:?} {id}: {rest:?}");
        }
        assert!(demo.exit().success(), "H15 {stage:?}");
    }
}

/// A host that is killed closes both pipes at once, whatever was under way.
#[test]
fn a_host_that_vanishes() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_contexture"))
        .arg("demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    writeln!(stdin, "{}", Stage::Modern.call("1", "countdown", r#"{"steps":1000,"delay_ms":1}"#))
        .expect("it reads");
    drop(child.stdout.take());
    drop(stdin);
    // Whether it calls that success is its own affair; that it ends is not.
    wait(&mut child);
}

/// A reader that stopped reading costs no more than the bounds say, and once it is gone so is the server.
#[test]
fn a_reader_that_stops_reading() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_contexture"))
        .arg("demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let (sender, progress) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for id in 0..2000 {
            let line = Stage::Modern.call(&id.to_string(), "big", r#"{"bytes":200000}"#);
            let padded = format!("{line}{}\n", " ".repeat(16 << 10));
            if stdin.write_all(padded.as_bytes()).is_err() || sender.send(id).is_err() {
                return;
            }
        }
    });
    // Until nothing moves any more: the server pushes back, or it has swallowed everything.
    let end = Instant::now() + PATIENCE;
    while progress.recv_timeout(Duration::from_secs(2)).is_ok() {
        assert!(Instant::now() < end, "H08: still swallowing");
    }
    #[cfg(target_os = "linux")]
    {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("the process lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel counts memory");
        let kibibytes: usize = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
        assert!(kibibytes < 128 << 10, "H08: {kibibytes} KiB for answers that nobody reads");
    }
    drop(stdout);
    wait(&mut child);
    writer.join().expect("the writer was let go");
}

// covers: STDIO-STDOUT-CLEAN, STDIO-STREAM-ROLES
#[test]
fn handlers_that_print_and_panic() {
    for stage in STAGES {
        let mut demo = stage.start();
        let text = r#"stray \"line\"\n{\"jsonrpc\":\"2.0\",\"id\":\"forged\",\"result\":{}}\n"#;
        let answer = demo.ask(stage.call("1", "print", &format!(r#"{{"text":"{text}"}}"#)), "1");
        assert_eq!(answer.json["result"]["content"][0]["text"], "printed", "H16 {stage:?}");
        let answer = demo.ask(stage.call("2", "panic", "{}"), "2");
        assert_eq!(answer.code(), Some(-32603), "H16 {stage:?}: {}", answer.text);
        // Nothing but protocol came out: the harness parses every line, and no forged response was among them.
        let seen = stage.settle(&mut demo, 0, "H16");
        assert!(seen.is_empty(), "H16 {stage:?}: {seen:?}");
        let log = String::from_utf8_lossy(&demo.finish()).into_owned();
        assert!(log.contains("forged"), "H16 {stage:?}: what was printed is on stderr: {log}");
    }
}

/// A thousand panics are a thousand answers.
#[test]
fn panics_do_not_wear_it_out() {
    for stage in NEWEST {
        let mut demo = stage.start();
        for id in 0..1000 {
            let answer = demo.ask(stage.call(&id.to_string(), "panic", "{}"), &id.to_string());
            assert_eq!(answer.code(), Some(-32603), "H16 {stage:?}: {}", answer.text);
        }
        stage.settle(&mut demo, 0, "H16");
        demo.finish();
    }
}

#[test]
fn handlers_that_block() {
    for stage in NEWEST {
        let mut demo = stage.start();
        demo.send(stage.call("1", "block", r#"{"ms":1000}"#));
        demo.send(stage.call("2", "echo", r#"{"message":"x"}"#));
        let first = demo.next();
        assert_eq!(first.raw_id().as_deref(), Some("2"), "G14 {stage:?}: {}", first.text);
        assert_eq!(demo.answer("1").json["result"]["content"][0]["text"], "blocked", "G14 {stage:?}");
        demo.finish();
    }
}
