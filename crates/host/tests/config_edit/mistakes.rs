//! Mistakes that people make: a message that names the file, the line and what to do, and a file that is as it was.

use contexture_host::config::HostKind;
use contexture_host::config::edit::Document;

use super::{entry, file, place, read};
use crate::stage::Stage;

#[test]
fn broken_files_are_left_as_they_were() {
    use HostKind as H;
    let cases: [(HostKind, &str, usize, &str); 17] = [
        (H::Cursor, "{\n  “mcpServers”: {}\n}", 2, "plain ones"),
        (H::Cursor, "{\n  \"mcpServers\": {\n    \"a\": { \"command\": “x” }\n  }\n}", 3, "plain ones"),
        (H::Cursor, "{\n  'mcpServers': {}\n}", 2, "double quotes"),
        (H::Cursor, "{\n  mcpServers: {}\n}", 2, "double quotes"),
        (H::Cursor, "{\n  \"a\": 1\n  \"mcpServers\": {}\n}", 2, "comma"),
        (H::Cursor, "{\n  \"mcpServers\": {\n", 2, "closing bracket"),
        (H::Cursor, "{\n  \"mcpServers\": {},\n  \"mcpServers\": {}\n}", 3, "twice"),
        (H::Cursor, "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"a\": {}\n  }\n}", 4, "twice"),
        (H::Cursor, "{\n  \"mcpServers\": [\n    { \"name\": \"a\" }\n  ]\n}", 2, "not an object"),
        (H::Cursor, "{\n  \"servers\": {}\n}", 2, "under \"mcpServers\": rename"),
        (H::VsCode, "{\n\n  \"mcpServers\": {}\n}", 3, "under \"servers\": rename"),
        (H::ClaudeDesktop, "{\n  \"mcp_servers\": {}\n}", 2, "under \"mcpServers\": rename"),
        (H::Gemini, "[\n]", 1, "not an object"),
        (H::Codex, "[mcp_servers.a]\ncommand = x\n", 2, "no TOML"),
        (H::Codex, "[mcp_servers.a]\n[mcp_servers.a]\n", 2, "no TOML"),
        (H::Codex, "\nmcp_servers = [1]\n", 2, "not an object"),
        (H::Contexture, "{\n  \"servers\": 1\n}", 2, "not an object"),
    ];
    for (host, text, line, what) in cases {
        let stage = Stage::new();
        let path = stage.write(place(host), text);
        let fault = Document::open(&stage.sources(), &file(&stage, host)).expect_err("it is broken");
        assert_eq!(fault.file, path, "{fault}");
        assert_eq!(fault.line, Some(line), "{text:?}: {fault}");
        assert!(fault.what.contains(what), "{text:?}: {fault}");
        assert_eq!(read(&path), text);
    }
}

/// Claude's own programs read no comments. These stay, and it is said.
#[test]
fn what_a_strict_host_does_not_read_is_named() {
    for (text, line) in [
        ("{\n  // note\n  \"mcpServers\": {}\n}\n", Some(2)),
        ("{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" },\n  }\n}\n", Some(4)),
        ("{\n  \"mcpServers\": {}\n}\n", None),
    ] {
        let stage = Stage::new();
        let path = stage.write(place(HostKind::ClaudeDesktop), text);
        let mut document = super::open(&stage, HostKind::ClaudeDesktop);
        document.put("new", &entry(r#"{ "command": "x" }"#)).unwrap_or_else(|fault| panic!("{fault}"));
        let notices = document.notices();
        assert_eq!(notices.first().and_then(|notice| notice.line), line, "{notices:?}");
        super::save(&document);
        assert!(read(&path).contains("note") == text.contains("note"));
    }
}

/// TOML can be written in ways to which no table can be added.
#[test]
fn what_cannot_be_changed_is_said() {
    for text in ["mcp_servers = { a = { command = \"a\" } }\n", "mcp_servers.a.command = \"a\"\n"] {
        let stage = Stage::new();
        let path = stage.write(place(HostKind::Codex), text);
        let mut document = super::open(&stage, HostKind::Codex);
        match document.put("new", &entry(r#"{ "command": "x" }"#)) {
            Err(fault) => assert!(fault.to_string().contains("by hand"), "{fault}"),
            Ok(()) => {
                super::save(&document);
                let names: Vec<String> =
                    super::open(&stage, HostKind::Codex).servers().into_iter().map(str::to_owned).collect();
                assert_eq!(names, ["a", "new"], "{}", read(&path));
            }
        }
        assert!(read(&path).contains("\"a\""));
    }
}
