//! `diff`: what a client would miss.

use super::stage::{BINARY, Folder, run};

/// What the demo offers, recorded, changed by hand.
fn offer(folder: &Folder, change: impl Fn(String) -> String) -> String {
    let file = folder.name("session.jsonl");
    run(&["diff", "demo", "demo", "--record", &file]).succeeds();
    let text = folder.read("session.jsonl");
    folder.write("changed.jsonl", &change(text))
}

#[test]
fn a_server_is_the_same_as_itself() {
    let folder = Folder::new();
    assert!(run(&["diff", "demo", "demo"]).succeeds().stdout.contains("no difference"));
    run(&["diff", "demo", "--", BINARY, "demo"]).succeeds();
    let same = offer(&folder, |text| text);
    run(&["diff", &same, "demo"]).succeeds();
}

#[test]
fn what_is_gone_or_narrower_is_missed_and_what_is_new_is_not() {
    let folder = Folder::new();
    let changed = offer(&folder, |text| {
        let text = text.replace("\"name\":\"fail\"", "\"name\":\"fails\"");
        let text = text.replace("\"maximum\":1000", "\"maximum\":10");
        text.replace("Says back what it is told.", "Echoes.")
    });
    let told = run(&["diff", "demo", &changed]).fails(5, "a client would miss something, in 2 places");
    for part in [
        "tool fail: gone",
        "tool fails: new",
        "tool countdown: arguments: steps: maximum was 1000 and is 10",
        "tool echo: another description",
    ] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    let json = run(&["diff", "demo", &changed, "-o", "json"]).json();
    let breaking =
        json["changes"].as_array().expect("changes").iter().filter(|change| change["breaking"] == true);
    assert_eq!(breaking.count(), 2);
    // The other way round the bound is wider: only the renamed tool is missed.
    run(&["diff", &changed, "demo"]).fails(5, "tool fails: gone");
    let only_more = offer(&folder, |text| text.replace("\"maximum\":1000", "\"maximum\":2000"));
    run(&["diff", "demo", &only_more]).succeeds();
}

#[test]
fn two_revisions_of_one_server_are_compared() {
    let told = run(&["diff", "demo", "--revisions", "2026-07-28,2024-11-05"])
        .fails(5, "a client would miss something");
    assert!(told.stdout.contains("2026-07-28 → 2024-11-05"), "{}", told.stdout);
    assert!(told.stdout.contains("tool weather: its structured result is gone"), "{}", told.stdout);
    run(&["diff", "--revisions", "2025-06-18,2025-06-18", "--", BINARY, "demo"]).succeeds();
    run(&["diff", "demo", "--revisions", "2025-06-18"]).fails(1, "two dates");
    run(&["diff", "demo"]).fails(1, "with which other server?");
    run(&["diff", "demo", "demo", "--", BINARY, "demo"]).fails(1, "three servers");
}
