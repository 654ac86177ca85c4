//! `bench`: what it says before, on the way and at the end.

use std::process::Command;

use serde_json::Value;

use crate::program;
use crate::screen::Screen;

/// A server of the older era whose only tool destroys something, and which counts how often it was called.
const SHREDDER: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shredder","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"shred","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}]}' ;;
    *'"tools/call"'*) echo called >>calls; result='{"content":[]}' ;;
    *'"id"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}'; continue ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

/// Says this, and answers no second call.
const DYING: &str = "the server went away";

fn json(arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contexture"));
    let output = command.arg("bench").args(arguments).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    (output.status.code(), lines.collect())
}

#[test]
fn a_person_sees_what_is_done_and_how_it_went() {
    let screen = Screen::open();
    screen.run("contexture bench demo sleep ms=5 --duration 2.5 --concurrency 4");
    screen.shows("sleep on Contexture demo: as many calls as are answered in 2.5 s, 4 at a time");
    screen.shows("/s  p50 ");
    assert_eq!(screen.ended(), 0);
    let text = screen.text();
    for part in ["succeeded", "failed             0", "p50", "p99.9", "max", "< 10.0 ms", "█"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_call_is_counted_once() {
    let (code, lines) = json(&["demo", "echo", "message=hi", "-n", "250", "-c", "7", "-o", "json"]);
    let [report] = &lines[..] else { panic!("one document: {lines:?}") };
    assert_eq!((code, &report["calls"], &report["failed"]), (Some(0), &250.into(), &0.into()), "{report}");
    assert_eq!(report["succeeded"], 250);
    let latency = |name: &str| report["latencyMs"][name].as_f64().expect("a number");
    assert!(latency("p50") > 0.0 && latency("p50") <= latency("p99") && latency("p99") <= latency("max"));
    assert_eq!(report["latencyFrom"], "sent");
    assert!(report["resultBytes"].as_u64() > Some(250 * 20), "{report}");
}

/// A server that answers one call after the other cannot hide that the others waited. `block` holds a thread, but
/// calls over one pipe to a shell script are really one after the other.
#[test]
fn at_a_rate_waiting_counts() {
    let screen = Screen::open();
    let slow =
        SHREDDER.replace("echo called >>calls", "sleep 0.1").replace("destructiveHint", "readOnlyHint");
    program(&screen, "slow", &slow);
    let path = screen.home().join("slow");
    let path = path.to_str().expect("text");
    let (code, lines) = json(&["shred", "-r", "100", "-n", "20", "-o", "json", "--", path]);
    let report = &lines[0];
    assert_eq!((code, &report["calls"]), (Some(0), &20.into()), "{report}");
    assert_eq!((&report["latencyFrom"], &report["load"]["rate"]), (&"due".into(), &100.0.into()));
    // The last was due after 190 ms and answered after two seconds at the earliest.
    assert!(report["latencyMs"]["max"].as_f64() > Some(1700.0), "{report}");
    assert!(report["latencyMs"]["p50"].as_f64() > Some(800.0), "{report}");
}

#[test]
fn programs_hear_of_every_second() {
    let (code, lines) = json(&["demo", "sleep", "ms=10", "-d", "2.2", "-o", "ndjson"]);
    let (report, seconds) = lines.split_last().expect("lines");
    assert_eq!(code, Some(0), "{lines:?}");
    let numbers: Vec<u64> = seconds.iter().filter_map(|line| line["second"].as_u64()).collect();
    assert!(!numbers.is_empty() && numbers.len() == seconds.len() && numbers.is_sorted(), "{lines:?}");
    assert_eq!((&report["ended"], &report["tool"]), (&"as planned".into(), &"sleep".into()));
}

#[test]
fn failures_are_counted_by_kind() {
    let (code, lines) = json(&["demo", "fail", "message=no", "-n", "9", "--warmup", "0", "-o", "json"]);
    let report = &lines[0];
    assert_eq!(
        (code, &report["failed"], &report["latencyMs"]),
        (Some(5), &9.into(), &Value::Null),
        "{report}"
    );
    let fault = &report["errors"][0];
    assert_eq!((&fault["kind"], &fault["count"]), (&"tool error".into(), &9.into()));
    assert_eq!(fault["example"], "no");
    // One that cannot work is not repeated.
    let (code, lines) = json(&["demo", "fail", "message=no", "-o", "json"]);
    assert_eq!((code, lines.len()), (Some(5), 0));
}

#[test]
fn what_destroys_is_not_repeated_by_accident() {
    let screen = Screen::open();
    program(&screen, "shredder", SHREDDER);
    screen.run("contexture bench shred -n 3 --warmup 0 -- ./shredder");
    assert_eq!(screen.ended(), 1);
    screen
        .shows("shred on shredder: 3 calls, 1 at a time: the server says that this tool destroys something");
    screen.shows("--yes calls it all the same");
    assert!(!screen.home().join("calls").exists(), "nothing was called");
    screen.run("contexture bench shred -n 3 --warmup 0 --yes -- ./shredder");
    assert_eq!(screen.ended(), 0, "{}", screen.text());
    let calls = std::fs::read_to_string(screen.home().join("calls")).expect("text");
    assert_eq!(calls.lines().count(), 3);
}

#[test]
fn control_c_ends_early_and_still_reports() {
    let screen = Screen::open();
    screen.run("contexture bench sleep ms=50 -d 100000 -c 3 --connections 3 -- contexture demo");
    screen.shows("/s  p50 ");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
    let text = screen.text();
    assert!(text.contains("succeeded") && text.contains("p99"), "{text}");
    assert!(text.contains("cancelled          3  under way at the end"), "{text}");
    let servers = screen.processes().into_iter().filter(|(_, line)| line.contains("contexture demo"));
    assert_eq!(servers.collect::<Vec<_>>(), [], "they are gone");
}

#[test]
fn a_server_that_dies_is_no_result() {
    let screen = Screen::open();
    program(
        &screen,
        "dying",
        &SHREDDER.replace("echo called >>calls", "exit 3").replace("destructive", "readOnly"),
    );
    screen.run("contexture bench shred -d 100000 --warmup 0 -- ./dying");
    assert_eq!(screen.ended(), 4, "{}", screen.text());
    screen.shows(DYING);
}
