//! An entry of one host in the words of another, and back.

use contexture_host::config::{HostKind, TransportSpec};
use serde_json::{Value, json};

use super::{entry, file, open, place, read, save, translate};
use crate::stage::{Stage, server};

fn stage() -> Stage {
    Stage::new()
        .variable("TOKEN", "t0ken")
        .variable("HOME", "/home/me")
        .variable("CONTEXTURE_INPUT_KEY", "k3y")
}

/// What each host's users have, comments and all; servers `run` and `web` in each.
const FILES: [(HostKind, &str); 7] = [
    (
        HostKind::ClaudeDesktop,
        r#"{
  // Mine.
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "run": { "command": "npx", "args": ["-y", "it"], "env": { "LEVEL": "1" }, "x-mine": true },
    "web": { "command": "/opt/contexture", "args": ["bridge", "https://web.example/mcp", "--header", "X-Team: a"] }
  }
}
"#,
    ),
    (
        HostKind::ClaudeCode,
        r#"{
  "numStartups": 3, // theirs
  "mcpServers": {
    "run": { "type": "stdio", "command": "npx", "args": ["-y", "it"], "env": { "TOKEN": "${TOKEN}", "LEVEL": "${LEVEL:-1}" }, "alwaysLoad": true },
    "web": { "type": "http", "url": "https://web.example/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" }, "timeout": 5000 }
  }
}
"#,
    ),
    (
        HostKind::VsCode,
        r#"{
	"inputs": [ { "id": "key", "type": "promptString", "password": true } ],
	"servers": {
		"run": { "type": "stdio", "command": "npx", "args": ["-y", "it"], "env": { "TOKEN": "${env:TOKEN}", "KEY": "${input:key}" }, "cwd": "/srv" },
		// Theirs.
		"web": { "type": "http", "url": "https://web.example/mcp", "headers": { "Authorization": "Bearer ${env:TOKEN}" }, "gallery": "x" }
	}
}
"#,
    ),
    (
        HostKind::Cursor,
        r#"{
  "mcpServers": {
    "run": { "command": "npx", "args": ["-y", "it"], "env": { "TOKEN": "${env:TOKEN}" }, "x-mine": 1 }, // run
    "web": { "url": "https://web.example/mcp", "type": "http", "headers": { "X-Key": "${env:TOKEN}" } }
  }
}
"#,
    ),
    (
        HostKind::Windsurf,
        r#"{
    "mcpServers": {
        "run": { "command": "npx", "args": ["-y", "it"], "env": { "TOKEN": "${env:TOKEN}" }, "disabledTools": ["rm"] },
        "web": { "serverUrl": "https://web.example/mcp", "headers": { "X-Key": "${env:TOKEN}" }, "disabled": true }
    }
}
"#,
    ),
    (
        HostKind::Gemini,
        r#"{
  "security": { "auth": { "selectedType": "oauth-personal" } },
  "mcpServers": {
    "run": { "command": "npx", "args": ["-y", "it"], "env": { "TOKEN": "${TOKEN}" }, "cwd": "/srv", "timeout": 5000, "trust": false },
    "web": { "httpUrl": "https://web.example/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" }, "includeTools": ["a"], "excludeTools": ["b"] }
  },
  /* theirs */ "ui": {}
}
"#,
    ),
    (
        HostKind::Codex,
        r#"model = "o9" # theirs

[mcp_servers.run]
command = "npx"
args = ["-y", "it"]
env_vars = ["TOKEN"]
startup_timeout_sec = 20
required = true # theirs, too

[mcp_servers.run.env]
LEVEL = "1"

# Mine.
[mcp_servers.web]
url = "https://web.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X-Team = "a" }
env_http_headers = { X-Key = "TOKEN" }
tool_timeout_sec = 5
enabled_tools = ["a"]
scopes = ["read"]
"#,
    ),
];

fn transport(stage: &Stage, path: &std::path::Path, name: &str) -> TransportSpec {
    let config = stage.load_file(path).unwrap_or_else(|error| panic!("{error}"));
    let mut transport = server(&config, name).transport.clone();
    // Their order means nothing.
    if let TransportSpec::Http { headers, .. } = &mut transport {
        headers.sort_by(|one, other| one.0.cmp(&other.0));
    }
    transport
}

/// What is imported and exported again is the same file, byte for byte; one argument more is one argument more.
#[test]
fn import_and_export_come_round_in_all_seven_formats() {
    for (host, text) in FILES {
        let stage = stage();
        let path = stage.write(place(host), text);
        let (theirs, mut ours) = (open(&stage, host), open(&stage, HostKind::Contexture));
        for name in theirs.servers() {
            let (entry, _) = theirs.entry(name).expect("it is there");
            let own =
                translate(&stage, host, HostKind::Contexture, &entry).unwrap_or_else(|why| panic!("{why}"));
            ours.put(name, &own.entry).unwrap_or_else(|fault| panic!("{fault}"));
        }
        let own = save(&ours);
        for name in ["run", "web"] {
            let (before, after) = (transport(&stage, &path, name), transport(&stage, &own, name));
            let is_bridge = host == HostKind::ClaudeDesktop && name == "web";
            if is_bridge {
                assert!(
                    matches!(&after, TransportSpec::Http { url, headers, .. }
                    if url == "https://web.example/mcp" && headers.len() == 1),
                    "{after:?}"
                );
            } else {
                assert_eq!(after, before, "{host}:{name}\n{}", read(&own));
            }
        }
        let mut back = open(&stage, host);
        for name in ["run", "web"] {
            let (entry, _) = ours.entry(name).expect("it was put there");
            let said =
                translate(&stage, HostKind::Contexture, host, &entry).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(said.left, Vec::<String>::new(), "{host}:{name}");
            back.put(name, &said.entry).unwrap_or_else(|fault| panic!("{fault}"));
        }
        assert!(!back.is_changed(), "{host}: {:?}", back.diff());
        let (mut entry, _) = back.entry("run").expect("it is there");
        for (key, value) in &mut entry {
            if key == "args" {
                *value = json!(["-y", "it", "more"]);
            }
        }
        back.put("run", &entry).unwrap_or_else(|fault| panic!("{fault}"));
        save(&back);
        assert_eq!(read(&path), text.replace(r#"["-y", "it"]"#, r#"["-y", "it", "more"]"#), "{host}");
    }
}

/// From every host to every other and back: what all can say is the same at the end.
#[test]
fn every_host_tells_every_other() {
    let stage = stage();
    let servers = [
        (r#"{ "command": "npx", "args": ["-y", "it"], "env": { "LEVEL": "1" } }"#),
        (r#"{ "type": "http", "url": "https://web.example/mcp", "headers": { "X-Team": "a" } }"#),
    ];
    for own in servers {
        let own = entry(own);
        for one in &HostKind::ALL[1..] {
            for other in &HostKind::ALL[1..] {
                let say = |from, to, entry: &[(String, Value)]| {
                    let said =
                        translate(&stage, from, to, entry).unwrap_or_else(|why| panic!("{from} {to}: {why}"));
                    assert!(said.left.is_empty(), "{from} {to}: {:?}", said.left);
                    said.entry
                };
                let there = say(*one, *other, &say(HostKind::Contexture, *one, &own));
                let mut back = say(*other, HostKind::Contexture, &there);
                back.sort_by(|one, other| one.0.cmp(&other.0));
                // Those that find out by themselves which transport it is say nothing about it.
                let wanted: Vec<_> = own.iter().filter(|(key, _)| key != "type").cloned().collect();
                back.retain(|(key, _)| key != "type");
                assert_eq!(back, wanted, "{one} {other}: {there:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_said_is_named() {
    let stage = stage();
    let own = entry(
        r#"{ "command": "x", "env": { "A": "${TOKEN}", "B": "${TOKEN:-b}", "C": "${keyring:s/C}", "D": "a$${b" },
             "cwd": "/srv", "prefix": false, "enabled": false, "callTimeout": "5s", "tools": { "include": ["a*"] } }"#,
    );
    let cases: [(HostKind, &[&str]); 7] = [
        (
            HostKind::ClaudeDesktop,
            &["env.A", "env.B", "env.C", "cwd", "prefix", "enabled", "callTimeout", "tools.include"],
        ),
        (HostKind::ClaudeCode, &["env.C", "env.D", "cwd", "prefix", "enabled", "tools.include"]),
        (HostKind::VsCode, &["env.B", "env.D", "prefix", "enabled", "callTimeout", "tools.include"]),
        (
            HostKind::Cursor,
            &["env.B", "env.C", "env.D", "cwd", "prefix", "enabled", "callTimeout", "tools.include"],
        ),
        (HostKind::Windsurf, &["env.B", "env.C", "env.D", "cwd", "prefix", "callTimeout", "tools.include"]),
        (HostKind::Gemini, &["env.C", "env.D", "prefix", "enabled", "tools.include"]),
        (HostKind::Codex, &["env.A", "env.B", "env.C", "prefix", "tools.include"]),
    ];
    for (host, wanted) in cases {
        let said = translate(&stage, HostKind::Contexture, host, &own).unwrap_or_else(|why| panic!("{why}"));
        let mut left: Vec<&str> = said.left.iter().filter_map(|what| what.split('"').nth(1)).collect();
        left.sort_unstable();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(left, wanted, "{host}: {:?}", said.left);
        assert!(!said.left.iter().any(|what| what.contains("t0ken")), "{:?}", said.left);
    }
}

#[test]
fn what_would_be_another_server_is_refused() {
    let stage = stage();
    let refused =
        |from, to, json: &str| translate(&stage, from, to, &entry(json)).expect_err("it is refused");
    let ours = HostKind::Contexture;
    assert!(
        refused(HostKind::VsCode, ours, r#"{ "command": "x", "sandboxEnabled": true }"#).contains("sandbox")
    );
    assert!(refused(HostKind::VsCode, ours, r#"{ "command": "${file}" }"#).contains("outside of its editor"));
    assert!(
        refused(HostKind::ClaudeCode, ours, r#"{ "type": "ws", "url": "ws://x" }"#).contains("WebSocket")
    );
    assert!(refused(ours, HostKind::ClaudeDesktop, r#"{ "command": "${PROGRAM}" }"#).contains("variables"));
    assert!(
        refused(ours, HostKind::Cursor, r#"{ "url": "http://localhost/mcp", "socket": "/run/x" }"#)
            .contains("socket")
    );
}

/// A path means the same place in another file.
#[test]
fn paths_move_with_their_servers() {
    let stage = stage();
    let project = stage.write("project/.vscode/mcp.json", "{}");
    let mut from = file(&stage, HostKind::VsCode);
    (from.path, from.scope) = (project, contexture_host::config::Scope::Project);
    let to = file(&stage, HostKind::Contexture);
    let way = contexture_host::config::edit::Translation {
        sources: &stage.sources(),
        from: &from,
        to: &to,
        program: "x",
    };
    let said = way
        .entry(&entry(
            r#"{ "command": "x", "args": ["${workspaceFolder}/a"], "cwd": "sub", "envFile": "/etc/e" }"#,
        ))
        .unwrap_or_else(|why| panic!("{why}"));
    let get = |key: &str| said.entry.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    let here = |path: &str| json!(stage.project().join(path));
    assert_eq!(get("cwd"), Some(here("sub")));
    assert_eq!(get("envFile"), Some(json!("/etc/e")));
    assert_eq!(get("args"), Some(json!([here("a")])));
}

/// What the keyring has for us VS Code asks for, once, and keeps itself.
#[test]
fn secrets_become_inputs_of_vs_code() {
    let stage = stage();
    let path = stage.write(
        place(HostKind::VsCode),
        "{\n\t\"inputs\": [\n\t\t{ \"id\": \"old\", \"type\": \"promptString\" } // theirs\n\t],\n\t\"servers\": {}\n}\n",
    );
    let own = entry(r#"{ "command": "x", "env": { "A": "${keyring:s/A}", "B": "${input:old}" } }"#);
    let said =
        translate(&stage, HostKind::Contexture, HostKind::VsCode, &own).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(said.left, Vec::<String>::new());
    let mut document = open(&stage, HostKind::VsCode);
    document.put("s", &said.entry).unwrap_or_else(|fault| panic!("{fault}"));
    document.put("s", &said.entry).unwrap_or_else(|fault| panic!("{fault}"));
    save(&document);
    let text = read(&path);
    let input =
        "\"promptString\" }, // theirs\n\t\t{\n\t\t\t\"description\": \"s-A\",\n\t\t\t\"id\": \"s-A\",\n";
    assert!(text.contains(input), "{text}");
    assert!(text.contains("\"A\": \"${input:s-A}\"") && text.contains("\"B\": \"${input:old}\""), "{text}");
    assert_eq!(text.matches("\"id\": \"s-A\"").count(), 1, "{text}");
}
