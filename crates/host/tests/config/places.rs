//! Where hosts keep their files. Looking starts nothing.

use std::path::Path;

use contexture_host::config::{ConfigFile, Environment, HostKind, Platform, Scope, Sources, discover};

use crate::stage::Stage;

/// Files that are there, with host and scope, as `host scope path-below-the-stage`.
fn found(stage: &Stage, platform: Platform) -> Vec<String> {
    let environment: Environment = Vec::<(String, String)>::new().into_iter().collect();
    let sources = Sources::new(stage.home(), stage.project(), platform, environment);
    let root = stage.path("");
    let found = discover(&sources).into_iter().filter(|file| file.path.starts_with(&root));
    found
        .map(|file| {
            format!(
                "{} {:?} {}",
                file.host,
                file.scope,
                file.path.strip_prefix(&root).expect("it is inside").display()
            )
        })
        .collect()
}

#[test]
fn every_system_has_its_places() {
    let everywhere = [
        ("contexture Project", "project/contexture.json"),
        ("claude-code Project", "project/.mcp.json"),
        ("claude-code User", "home/.claude.json"),
        ("vscode Project", "project/.vscode/mcp.json"),
        ("cursor Project", "project/.cursor/mcp.json"),
        ("cursor User", "home/.cursor/mcp.json"),
        ("windsurf User", "home/.codeium/windsurf/mcp_config.json"),
        ("gemini Project", "project/.gemini/settings.json"),
        ("gemini User", "home/.gemini/settings.json"),
        ("codex Project", "project/.codex/config.toml"),
        ("codex User", "home/.codex/config.toml"),
    ];
    let each = [
        (Platform::Linux, "home/.config", "home/.config"),
        (Platform::MacOs, "home/.config", "home/Library/Application Support"),
        (Platform::Windows, "home/AppData/Roaming", "home/AppData/Roaming"),
    ];
    for (platform, own, settings) in each {
        let stage = Stage::new();
        let mut expected: Vec<String> =
            everywhere.iter().map(|(word, path)| format!("{word} {path}")).collect();
        expected.push(format!("contexture User {own}/contexture/contexture.json"));
        expected.push(format!("claude-desktop User {settings}/Claude/claude_desktop_config.json"));
        expected.push(format!("vscode User {settings}/Code/User/mcp.json"));
        for file in &expected {
            let path = file.splitn(3, ' ').nth(2).expect("there is a path");
            // What is in them does not matter: nothing is opened.
            stage.write(path, "not even JSON");
        }
        let mut found = found(&stage, platform);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{platform:?}");
    }
}

#[test]
fn nothing_is_found_where_nothing_is() {
    assert!(found(&Stage::new(), Platform::Linux).is_empty());
}

#[test]
fn variables_move_places() {
    let stage = Stage::new();
    let config = stage.path("elsewhere").display().to_string();
    let variables = [
        ("XDG_CONFIG_HOME", config.as_str()),
        ("XDG_STATE_HOME", "relative"),
        ("CODEX_HOME", config.as_str()),
    ];
    let sources =
        Sources::new(stage.home(), stage.project(), Platform::Linux, variables.into_iter().collect());
    assert_eq!(sources.user_file(), stage.path("elsewhere/contexture/contexture.json"));
    assert_eq!(sources.project_file(), stage.project().join("contexture.json"));
    assert_eq!(
        sources.state_folder(),
        stage.home().join(".local/state/contexture"),
        "a relative one is none"
    );
    stage.write("elsewhere/config.toml", "");
    assert!(discover(&sources).iter().any(|file| file.host == HostKind::Codex));
}

/// At home, what looks like a project's file is the user's own.
#[test]
fn a_home_is_no_project() {
    let stage = Stage::new();
    stage.write("home/.cursor/mcp.json", "{}");
    let environment: Environment = Vec::<(String, String)>::new().into_iter().collect();
    let sources = Sources::new(stage.home(), stage.home(), Platform::Linux, environment);
    let cursor: Vec<_> =
        discover(&sources).into_iter().filter(|file| file.host == HostKind::Cursor).collect();
    assert_eq!(cursor.iter().map(|file| file.scope).collect::<Vec<_>>(), [Scope::User]);
}

#[test]
fn a_name_tells_whose_file_it_is() {
    let cases = [
        ("x/claude_desktop_config.json", HostKind::ClaudeDesktop),
        ("x/.mcp.json", HostKind::ClaudeCode),
        (".claude.json", HostKind::ClaudeCode),
        ("managed-mcp.json", HostKind::ClaudeCode),
        ("x/.vscode/mcp.json", HostKind::VsCode),
        ("Code/User/mcp.json", HostKind::VsCode),
        ("x/.cursor/mcp.json", HostKind::Cursor),
        ("mcp_config.json", HostKind::Windsurf),
        (".gemini/settings.json", HostKind::Gemini),
        ("config.toml", HostKind::Codex),
        ("contexture.json", HostKind::Contexture),
        ("anything.json", HostKind::Contexture),
    ];
    for (path, host) in cases {
        assert_eq!(ConfigFile::named(Path::new(path)).host, host, "{path}");
        assert_eq!(HostKind::from_word(host.word()), Some(host));
    }
}
