//! Readers that leave, disks that are full, and nobody at all.

use crate::screen::Screen;

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let screen = Screen::open();
    for (line, reader) in [
        ("contexture tools list demo", "head -1"),
        ("contexture --help", "head -1"),
        ("contexture tools list demo -o json", "head -c 1"),
        ("contexture call demo big bytes=3000000", "head -c 1"),
        ("contexture bench demo echo message=hi -n 5 -o ndjson", "head -c 1"),
        ("contexture </dev/null", "head -1"),
        // It ends when its reader does, not when it would have ended.
        ("contexture bench demo sleep ms=1 -d 100000 -o ndjson", "head -1"),
    ] {
        screen.run(&format!("{{ {line} 2>said; echo $? >code; }} | {reader}"));
        assert_eq!(screen.ended(), 0);
        let written = |name: &str| std::fs::read_to_string(screen.home().join(name)).expect("text");
        assert_eq!(written("code"), "0\n", "{line}: {}", written("said"));
        assert!(!written("said").contains("contexture:"), "{line}: {}", written("said"));
    }
}

#[test]
fn a_full_disk_is_said() {
    let screen = Screen::open();
    for line in [
        "contexture --help",
        "contexture tools list demo",
        "contexture call demo echo message=hi -o json",
        "contexture bench demo echo message=hi -n 5",
    ] {
        screen.clear();
        screen.run(&format!("{line} > /dev/full"));
        assert_eq!(screen.ended(), 1, "{line}");
        screen.shows("cannot write: No space left on device");
    }
}

/// Also with standard error closed, and with nothing open at all.
#[test]
fn nothing_needs_a_terminal() {
    let screen = Screen::open();
    for (line, code) in [
        ("setsid -w contexture tools list demo </dev/null >out 2>err", 0),
        ("contexture tools list demo 2>&-", 0),
        ("contexture tools list demo <&- 2>&- >out", 0),
        ("contexture tools list -- contexture demo <&- 2>&- >out", 0),
        // Nobody can be asked.
        ("setsid -w contexture call demo greet greeting=Hi </dev/null >out 2>err", 5),
    ] {
        screen.run(line);
        assert_eq!(screen.ended(), code, "{line}\n{}", screen.text());
    }
    let said = std::fs::read_to_string(screen.home().join("err")).expect("text");
    assert!(said.contains("asks"), "who asked is said: {said}");
}
