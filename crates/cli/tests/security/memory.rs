//! What bad input costs in memory, read from the kernel. Linux only; bounds are generous, growth is not.

#![cfg(target_os = "linux")]

use crate::child::{Demo, Line};
use crate::stage::{NEWEST, STAGES, Stage};

const MEBIBYTE: usize = 1 << 20;
/// What a process may need for reasons that have nothing to do with the row.
const SLACK: usize = 16 * MEBIBYTE;

/// The most memory that the process has held at once.
fn peak(demo: &Demo) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", demo.pid())).expect("the process lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel counts memory");
    let kibibytes: usize =
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kibibytes << 10
}

/// Sends a line and returns the one response and by how much the peak grew.
fn cost(demo: &mut Demo, stage: Stage, line: &[u8], row: &str) -> (Line, usize) {
    // What the first requests of a process need belongs to no row.
    stage.settle(demo, 0, row);
    let before = peak(demo);
    demo.send(line);
    let mut seen = stage.settle(demo, 1, row);
    assert_eq!(seen.len(), 1, "{row} {stage:?}");
    (seen.remove(0), peak(demo) - before)
}

#[test]
fn nesting_costs_no_more_than_its_bytes() {
    for stage in NEWEST {
        for open in ["[", r#"{"a":"#] {
            let mut demo = stage.start();
            let bomb = open.repeat(200_000);
            let (line, grown) = cost(&mut demo, stage, bomb.as_bytes(), "A18");
            assert_eq!(line.code(), Some(-32700), "A18 {stage:?}");
            assert!(grown < 4 * bomb.len() + SLACK, "A18 {stage:?}: {grown} bytes for {}", bomb.len());
            demo.finish();
        }
    }
}

#[test]
fn many_small_values() {
    let arrays = format!("[{}[]]", "[],".repeat(4 * MEBIBYTE / 3));
    let keys: Vec<String> = (0..500_000).map(|key| format!(r#""k{key}":1"#)).collect();
    let object = format!("{{{}}}", keys.join(","));
    for stage in NEWEST {
        for value in [&arrays, &object] {
            let mut demo = stage.start();
            let call = stage.call("1", "echo", &format!(r#"{{"message":"x","pad":{value}}}"#));
            let (line, grown) = cost(&mut demo, stage, call.as_bytes(), "A20");
            assert_eq!(line.raw_id().as_deref(), Some("1"), "A20 {stage:?}: {:.300}", line.text);
            assert!(grown <= 20 * call.len(), "A20 {stage:?}: {grown} bytes for {}", call.len());
            demo.finish();
        }
    }
}

#[test]
fn a_line_as_long_as_lines_may_be() {
    for stage in STAGES {
        let mut demo = stage.start();
        let message = "x".repeat(7 * MEBIBYTE);
        let answer = demo.ask(stage.call("1", "echo", &format!(r#"{{"message":"{message}"}}"#)), "1");
        assert_eq!(
            answer.json["result"]["content"][0]["text"].as_str().map(str::len),
            Some(message.len()),
            "A22"
        );
        let padding = "x".repeat(15 * MEBIBYTE);
        let call = stage.call("2", "echo", &format!(r#"{{"message":"y","pad":"{padding}"}}"#));
        let (line, _) = cost(&mut demo, stage, call.as_bytes(), "A22");
        assert!(line.code() != Some(-32700), "A22 {stage:?}: {:.300}", line.text);
        let padding = "x".repeat(16 * MEBIBYTE);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{},"pad":"{padding}"}}"#,
            stage.forbidden()
        );
        let (line, _) = cost(&mut demo, stage, line.as_bytes(), "A22");
        assert!(matches!(line.code(), Some(-32700 | -32600)), "A22 {stage:?}: {:.300}", line.text);
        assert_eq!(line.raw_id().as_deref(), stage.unreadable_id(), "A22 {stage:?}");
        demo.finish();
    }
}

/// A gibibyte without a newline is dropped as it comes, and the line after it is a line again.
#[test]
fn a_line_without_end() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let before = peak(&demo);
        let piece = vec![b'['; MEBIBYTE];
        for _ in 0..1024 {
            demo.write(&piece);
        }
        demo.send("");
        let seen = stage.settle(&mut demo, 1, "A22");
        assert_eq!(seen.len(), 1, "A22 {stage:?}");
        assert!(matches!(seen[0].code(), Some(-32700 | -32600)), "A22 {stage:?}: {:.300}", seen[0].text);
        let grown = peak(&demo) - before;
        assert!(grown <= 2 * 16 * MEBIBYTE + SLACK, "A22 {stage:?}: {grown} bytes");
        demo.finish();
    }
}

/// Refused lines leave nothing behind, however many there are.
#[test]
fn refusals_do_not_add_up() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let line = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "i".repeat(MEBIBYTE));
        for _ in 0..4 {
            cost(&mut demo, stage, line.as_bytes(), "A07");
        }
        let settled = peak(&demo);
        for _ in 0..60 {
            cost(&mut demo, stage, line.as_bytes(), "A07");
        }
        let grown = peak(&demo) - settled;
        assert!(grown <= SLACK, "A07 {stage:?}: {grown} bytes");
        demo.finish();
    }
}
