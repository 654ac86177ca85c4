//! Servers and surroundings that are not as they should be.

use std::io::Read as _;
use std::process::Stdio;

use crate::Bench;

#[test]
fn ten_thousand_tools_are_listed() {
    let bench = Bench::new();
    let text = bench.run(&["tools", "list", "--", "./server", "many"]);
    assert_eq!((text.code, text.stdout.lines().count()), (Some(0), 20_000), "{}", text.stderr);
    let lines = bench.run(&["tools", "list", "-o", "ndjson", "--", "./server", "many"]).lines();
    assert_eq!((lines.len(), &lines[9_999]["name"]), (10_000, &"tool_9999".into()));
}

#[test]
fn a_description_of_ten_megabytes_is_cut_for_people_and_whole_for_programs() {
    let bench = Bench::new();
    let text = bench.run(&["tools", "list", "--", "./server", "huge"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(text.stdout.len() < 3000, "{} bytes", text.stdout.len());
    let json = bench.run(&["tools", "list", "-o", "json", "--", "./server", "huge"]).json();
    assert!(json["tools"][0]["description"].as_str().is_some_and(|text| text.len() > 10_000_000));
}

#[test]
fn a_server_that_dies_or_talks_nonsense_is_named_for_what_it_does() {
    let bench = Bench::new();
    let dead = bench.run(&["call", "./server", "die", "-o", "json"]);
    assert_eq!((dead.code, dead.stdout.as_str()), (Some(4), ""), "{}", dead.stderr);
    let line: serde_json::Value =
        serde_json::from_str(dead.stderr.lines().last().expect("a line")).expect("JSON");
    assert_eq!(line["error"]["kind"], "unreachable");
    let nonsense = bench.run(&["call", "./server", "nonsense"]);
    assert_eq!((nonsense.code, nonsense.stdout.as_str()), (Some(0), "after all\n"), "{}", nonsense.stderr);
    assert!(!nonsense.stderr.contains('\u{1b}'), "{:?}", nonsense.stderr);
}

#[test]
fn a_call_that_never_ends_has_an_end_if_the_person_says_so() {
    let bench = Bench::new();
    let silent = bench.run(&["call", "./server", "wait", "--timeout", "0.7"]);
    assert_eq!(silent.code, Some(4), "{}", silent.stderr);
    crate::heard(&bench.folder, "notifications/cancelled");
}

/// Row K14 of the threats.
#[test]
fn a_reader_that_leaves_is_no_failure_and_a_full_disk_is_one() {
    let bench = Bench::new();
    for format in ["text", "ndjson"] {
        let arguments = ["tools", "list", "-o", format, "--", "./server", "many"];
        let mut child = bench.command(&arguments).spawn().expect("starts");
        child.stdout.take().expect("a pipe").read_exact(&mut [0]).expect("something is printed");
        let ended = child.wait_with_output().expect("ends");
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]), "{format}");
    }
    for arguments in [
        &["tools", "list", "demo"][..],
        &["call", "demo", "echo", "message=x", "-o", "ndjson"],
        &["read", "demo", "demo://readme", "--raw"],
        &["ping", "demo", "-n", "1"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("there is one");
        let run = bench.command(arguments).stdout(Stdio::from(full)).output().expect("runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(said.contains("cannot write"), "{arguments:?}: {said}");
        assert_eq!(run.status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let bench = Bench::new();
    std::fs::write(bench.folder.join("file"), "").expect("it is ours");
    let failed = bench.run(&["call", "./server", "picture", "--save", "file/folder"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("cannot keep file/folder"), "{}", failed.stderr);
}
