//! Outside of the change, every byte is as it was.

use contexture_host::config::HostKind;

use super::{entry, open, place, read, save};
use crate::stage::Stage;

/// All that people do to files without thinking about it.
#[derive(Debug, Clone, Copy)]
struct Habit {
    indent: &'static str,
    newline: &'static str,
    mark: bool,
    /// Whether the last line ends.
    ended: bool,
    /// Whether a comma follows the last member.
    comma: bool,
}

fn habits() -> Vec<Habit> {
    let mut habits = Vec::new();
    for indent in ["\t", "  ", "    "] {
        for newline in ["\n", "\r\n"] {
            // Each two of these meet in every way.
            for bits in [0b000, 0b011, 0b101, 0b110] {
                let bit = |number: u32| bits & (1 << number) != 0;
                habits.push(Habit { indent, newline, mark: bit(0), ended: bit(1), comma: bit(2) });
            }
        }
    }
    habits
}

/// A file with comments, keys that nobody knows, and two servers, written by habit.
fn written(host: HostKind, habit: Habit) -> String {
    let lines = match host {
        HostKind::Codex => CODEX.to_owned(),
        _ => {
            let root = if matches!(host, HostKind::VsCode | HostKind::Contexture) {
                "servers"
            } else {
                "mcpServers"
            };
            let comma = if habit.comma { "," } else { "" };
            JSON.replace("ROOT", root).replace("COMMA", comma)
        }
    };
    let lines = lines.replace('\t', habit.indent).replace('\n', habit.newline);
    let lines = if habit.ended { lines.as_str() } else { lines.trim_end() };
    format!("{}{lines}", if habit.mark { "\u{feff}" } else { "" })
}

const JSON: &str = r#"{
	// Written by hand.
	"theme": {"dark": true},   /* not ours */
	"ROOT": {
		// The first one.
		"one": { "command": "one", "args": ["a",  "b"], "x-mine": [1,2] }, // stays
		"two": {
			"command": "two",
			// Why this is here.
			"env": {
				"A": "1", // one
				"B": "2"
			},
			"x-mine": {"y" : null}
		}COMMA // last
		// "three": { "command": "three" }
	},
	"after": [ 1, 2,
		3 ]
}
"#;

const CODEX: &str = r#"# Written by hand.
model = "o9"   # not ours

[mcp_servers.one] # the first one
command = "one"
args = ["a",  "b"]
x_mine = [1,2]

# Why this is here.
[mcp_servers.two]
command = "two"
[mcp_servers.two.env]
A = "1" # one
B = '2'

[profiles.x] # after
y = 3
"#;

fn each(test: impl Fn(HostKind, Habit, &str, &Stage)) {
    for host in HostKind::ALL {
        for habit in habits() {
            // TOML has no commas there, and its indentation is nobody's.
            if host == HostKind::Codex && (habit.comma || habit.indent != "\t") {
                continue;
            }
            let text = written(host, habit);
            let stage = Stage::new();
            stage.write(place(host), &text);
            test(host, habit, &text, &stage);
        }
    }
}

fn new_server() -> Vec<(String, serde_json::Value)> {
    entry(r#"{ "args": ["-y", "it"], "command": "npx", "env": { "LEVEL": "9" } }"#)
}

/// The lines of one text that are in the other, too, in their order: all, if what was added is all that changed. A comma at
/// the end of one line is needed.
fn missing(old: &str, new: &str, forgiven: usize) -> Vec<String> {
    let mut new = new.split_inclusive('\n');
    let mut missing = Vec::new();
    for line in old.split_inclusive('\n') {
        if !new.clone().any(|other| other == line) {
            missing.push(line.to_owned());
            continue;
        }
        new.find(|other| *other == line);
    }
    if missing.len() <= forgiven { Vec::new() } else { missing }
}

#[test]
fn a_server_is_added_and_taken_out_again() {
    each(|host, habit, text, stage| {
        let mut document = open(stage, host);
        document.put("new", &new_server()).unwrap_or_else(|fault| panic!("{fault}"));
        let path = save(&document);
        let added = read(&path);
        // One line gets its comma, the last one of a file without an end may get one.
        let forgiven = usize::from(host != HostKind::Codex && !habit.comma)
            + usize::from(!habit.ended && host == HostKind::Codex);
        let missing = missing(text, &added, forgiven);
        assert!(missing.is_empty(), "{host} {habit:?}: {missing:?}\n{added}");
        if habit.newline == "\r\n" {
            assert_eq!(
                added.matches('\n').count(),
                added.matches("\r\n").count(),
                "{host} {habit:?}\n{added:?}"
            );
        }
        if host != HostKind::Codex {
            let line = format!("{0}{0}\"new\": {{", habit.indent);
            assert!(added.lines().any(|one| one == line), "{host} {habit:?}: {added}");
        }
        let mut document = open(stage, host);
        assert_eq!(document.servers(), ["one", "two", "new"], "{host}");
        document.remove("new").unwrap_or_else(|fault| panic!("{fault}"));
        save(&document);
        assert_eq!(read(&path), text, "{host} {habit:?}");
    });
}

#[test]
fn a_server_is_removed_from_between_and_from_the_end() {
    each(|host, habit, text, stage| {
        for (gone, stays) in [("one", "two"), ("two", "one")] {
            let path = stage.write(place(host), text);
            let mut document = open(stage, host);
            assert!(document.remove(gone).unwrap_or_else(|fault| panic!("{fault}")));
            save(&document);
            let left = read(&path);
            let document = open(stage, host);
            assert_eq!(document.servers(), [stays], "{host} {habit:?}\n{left}");
            for kept in ["Written by hand.", "not ours", "Why this is here", "after"] {
                let is_inside = kept.starts_with("Why") && host != HostKind::Codex && gone == "two";
                assert_eq!(left.contains(kept), !is_inside, "{host} {habit:?}: {kept}\n{left}");
            }
            // Nothing came that was not there before.
            let new = missing(&left, text, usize::from(host != HostKind::Codex));
            assert!(new.is_empty(), "{host} {habit:?}: {new:?}");
        }
    });
}

#[test]
fn what_is_said_again_changes_nothing_and_what_is_new_changes_itself() {
    each(|host, habit, text, stage| {
        let mut document = open(stage, host);
        for name in ["one", "two"] {
            let (entry, _) = document.entry(name).expect("it is there");
            document.put(name, &entry).unwrap_or_else(|fault| panic!("{fault}"));
        }
        assert!(!document.is_changed(), "{host} {habit:?}");
        document
            .put("two", &entry(r#"{ "command": "zwei", "env": { "A": "1", "B": "3" } }"#))
            .unwrap_or_else(|fault| panic!("{fault}"));
        let path = save(&document);
        let quote = if host == HostKind::Codex { '\'' } else { '"' };
        let wanted = text.replace("\"two\",", "\"zwei\",");
        let wanted = wanted.replace("command = \"two\"", "command = \"zwei\"");
        let wanted = wanted.replace(&format!("{quote}2{quote}"), "\"3\"");
        assert_eq!(read(&path), wanted, "{host} {habit:?}");
    });
}

#[test]
fn a_server_is_switched_off_and_on() {
    each(|host, habit, text, stage| {
        let mut document = open(stage, host);
        let switched = document.switch("two", false);
        if matches!(
            host,
            HostKind::ClaudeDesktop | HostKind::ClaudeCode | HostKind::VsCode | HostKind::Cursor
        ) {
            let fault = switched.expect_err("there is no word for it").to_string();
            assert!(fault.contains(&format!("contexture remove {host}:two")), "{fault}");
            assert!(!document.is_changed());
            return;
        }
        switched.unwrap_or_else(|fault| panic!("{fault}"));
        let path = save(&document);
        let off = read(&path);
        assert!(missing(text, &off, 1 + usize::from(!habit.ended)).is_empty(), "{host} {habit:?}\n{off}");
        let mut sources = stage.sources();
        sources.import = vec![host];
        let config = contexture_host::config::load(&sources);
        // Our own file has keys in these tests that it refuses.
        if host != HostKind::Contexture {
            let config = config.unwrap_or_else(|error| panic!("{error}"));
            assert!(!crate::stage::server(&config, "two").enabled(), "{host} {habit:?}\n{off}");
            assert!(crate::stage::server(&config, "one").enabled(), "{host} {habit:?}\n{off}");
        }
        let mut document = open(stage, host);
        document.switch("two", true).unwrap_or_else(|fault| panic!("{fault}"));
        document.switch("one", true).unwrap_or_else(|fault| panic!("{fault}"));
        save(&document);
        let on = read(&path).replace("\"enabled\": true", "\"enabled\": false");
        let on = on
            .replace("\"disabled\": false", "\"disabled\": true")
            .replace("enabled = true", "enabled = false");
        let on = on.replace("\"excluded\": []", "\"excluded\": [\"two\"]");
        assert_eq!(on, off, "{host} {habit:?}");
    });
}

/// Objects in one line stay in one, and empty ones open.
#[test]
fn flat_and_empty_files_are_filled_as_they_are_written() {
    let cases = [
        ("", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"),
        ("{}", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}"),
        (r#"{"a":1}"#, r#"{"a":1,"mcpServers":{"new":{"command":"x"}}}"#),
        (r#"{"mcpServers": {}}"#, r#"{"mcpServers": {"new": {"command": "x"}}}"#),
        (
            r#"{"mcpServers": {"a": {"command": "a"}}}"#,
            r#"{"mcpServers": {"a": {"command": "a"}, "new": {"command": "x"}}}"#,
        ),
        (
            "{\n\t\"mcpServers\": {}\n}",
            "{\n\t\"mcpServers\": {\n\t\t\"new\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}",
        ),
        (
            "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // none yet\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n",
        ),
    ];
    for (old, new) in cases {
        let stage = Stage::new();
        let path = stage.write(place(HostKind::Cursor), old);
        let mut document = open(&stage, HostKind::Cursor);
        document.put("new", &entry(r#"{ "command": "x" }"#)).unwrap_or_else(|fault| panic!("{fault}"));
        save(&document);
        assert_eq!(read(&path), new, "{old:?}");
    }
}
