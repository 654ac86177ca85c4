//! `import` and `export`: other hosts' servers.

use serde_json::json;

use crate::stage::{OURS, Stage};

const CURSOR: &str = r#"{
	// Mine.
	"mcpServers": {
		"web": { "url": "https://web.example/mcp", "headers": { "X-Key": "${env:KEY}" } }, // first
		"run": {
			"command": "uvx",
			"args": ["run"],
			"x-mine": 1
		},
	},
	"other": [1,2]
}
"#;

#[test]
fn other_hosts_servers_are_taken_over_and_given_back() {
    let stage = Stage::new();
    stage.write("home/.cursor/mcp.json", CURSOR);
    stage.write("home/.codex/config.toml", "[mcp_servers.code]\ncommand = \"code\"\n");
    let asked = stage.run(&["import"]);
    asked.refused(&["nobody is here to agree", "--yes"]);
    assert!(!stage.path(OURS).exists());
    let dry = stage.run(&["import", "--dry-run"]).well();
    assert!(dry.out.contains("+    \"web\": {") && !stage.path(OURS).exists(), "{dry:?}");
    assert!(dry.err.contains("cursor:run: \"x-mine\" is left out"), "{dry:?}");

    let imported = stage.run(&["import", "--yes", "-o", "json"]).well().json();
    assert_eq!(imported["imported"], json!(["web", "run", "code"]));
    assert_eq!(stage.read("home/.cursor/mcp.json"), CURSOR, "others' files are only read");
    let again = stage.run(&["import", "--yes"]).well();
    assert!(
        again.out.starts_with("nothing to change") && again.err.contains("is there already"),
        "{again:?}"
    );

    let back = stage.run(&["export", "--to", "cursor", "web", "run", "--yes"]).well();
    assert!(back.out.starts_with("nothing to change"), "{back:?}");
    let given = stage.run(&["export", "--to", "cursor", "--yes"]).well();
    assert!(given.out.contains("exported web, run, code in ~/.cursor/mcp.json"), "{given:?}");
    let added = "\t\t\"code\": {\n\t\t\t\"command\": \"code\"\n\t\t},\n\t},\n";
    assert_eq!(
        stage.read("home/.cursor/mcp.json"),
        CURSOR.replace("\t},\n\t\"other\"", &format!("{added}\t\"other\""))
    );
    assert_eq!(stage.read("home/.cursor/mcp.json.contexture-backup"), CURSOR);
    stage.run(&["remove", "cursor:code"]).well();
    assert_eq!(stage.read("home/.cursor/mcp.json"), CURSOR);
    stage.run(&["remove", "web"]).well();
    stage.run(&["disable", "web"]).refused(&["there is no server \"web\"", "cursor:web"]);
    stage.is_tidy();
}

#[test]
fn hosts_and_names_choose_what_is_imported() {
    let stage = Stage::new();
    stage.write("home/.cursor/mcp.json", CURSOR);
    stage.write("home/.claude.json", r#"{ "mcpServers": { "web": { "type": "http", "url": "https://claude.example/mcp" }, "x": { "command": "x" } } }"#);
    let both = stage.run(&["import", "web", "--dry-run"]).well();
    assert!(both.err.contains("say `host:name` to choose"), "{both:?}");
    let one = stage.run(&["import", "cursor:web", "--yes", "-o", "json"]).well().json();
    assert_eq!(one["imported"], json!(["web"]));
    let other = stage.run(&["import", "claude", "--yes", "-o", "json"]).well().json();
    assert_eq!(other["imported"], json!(["x"]));
    assert!(other["skipped"][0]["what"].as_str().is_some_and(|what| what.contains("--force")), "{other}");
    stage.run(&["import", "claude-code:web", "--force", "--yes"]).well();
    assert!(stage.read(OURS).contains("claude.example"));
}

/// What a project brings never becomes the user's own by itself.
#[test]
fn a_projects_servers_stay_in_the_project() {
    let stage = Stage::new();
    stage.write("project/.vscode/mcp.json", r#"{ "servers": { "evil": { "command": "evil" } } }"#);
    assert!(stage.run(&["import", "--yes"]).well().out.starts_with("nothing to change"));
    stage.run(&["import", "--project", "--yes"]).well();
    assert!(!stage.path(OURS).exists());
    let list = stage.run(&["list", "contexture", "-o", "json"]).well().json();
    assert_eq!((&list[0]["name"], &list[0]["state"]), (&json!("evil"), &json!("held")));
}

#[test]
fn every_host_gets_its_own_words() {
    let stage = Stage::new();
    stage.write(OURS, r#"{ "servers": { "web": { "url": "https://web.example/mcp", "headers": { "Authorization": "Bearer ${T}" } } } }"#);
    let program = env!("CARGO_BIN_EXE_contexture");
    let bridge = r#""args": ["bridge", "https://web.example/mcp"]"#;
    let cases = [
        ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", bridge),
        ("claude-code", "home/.claude.json", r#""type": "http""#),
        ("vscode", "home/.config/Code/User/mcp.json", r#""Authorization": "Bearer ${env:T}""#),
        ("cursor", "home/.cursor/mcp.json", r#""url": "https://web.example/mcp""#),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", r#""serverUrl": "https://web.example/mcp""#),
        ("gemini", "home/.gemini/settings.json", r#""httpUrl": "https://web.example/mcp""#),
        ("codex", "home/.codex/config.toml", r#"bearer_token_env_var = "T""#),
    ];
    for (host, file, words) in cases {
        let given = stage.run(&["export", "--to", host, "--yes"]).well();
        let text = stage.read(file);
        assert!(text.contains(words), "{host}: {text}");
        let is_named = given.err.contains("\"headers.Authorization\" is left out");
        assert_eq!(is_named, host == "claude-desktop", "{host}: {given:?}");
        // It is read back as what it was, or as us.
        let list = stage.run_with(&["list", host, "-o", "json"], &[("T", "t")], "").well().json();
        assert_eq!((&list[0]["name"], &list[0]["state"]), (&json!("web"), &json!("enabled")), "{list}");
        if host == "claude-desktop" {
            assert!(text.contains(&json!(program).to_string()), "{text}");
        }
    }
    for (host, file) in [
        ("claude-code", "project/.mcp.json"),
        ("vscode", "project/.vscode/mcp.json"),
        ("codex", "project/.codex/config.toml"),
    ] {
        stage.run(&["export", "web", "--to", host, "--project", "--yes"]).well();
        assert!(stage.read(file).contains("web.example"), "{host}");
    }
}
