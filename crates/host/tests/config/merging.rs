//! Several files become one.

use contexture_host::config::{HostKind, Limits, Severity, Sources, load};
use contexture_host::consent::Decision;

use crate::stage::{Stage, faults, process, server};

fn one(command: &str) -> String {
    format!(r#"{{"mcpServers": {{"a": {{"command": "{command}"}}}}}}"#)
}

fn sources(stage: &Stage) -> Sources {
    let mut sources = stage.sources();
    sources.import = vec![HostKind::Cursor, HostKind::ClaudeDesktop];
    sources
}

fn stage_of_four() -> Stage {
    let stage = Stage::new();
    let own = stage.write("project/contexture.json", &one("own-project"));
    stage.agree(&own);
    stage.user(&one("own-user"));
    stage.write("home/.cursor/mcp.json", &one("cursor"));
    stage.write("home/.config/Claude/claude_desktop_config.json", &one("claude"));
    stage
}

#[test]
fn the_first_has_the_name_and_the_others_are_told() {
    let stage = stage_of_four();
    let config = load(&sources(&stage)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).0, "own-project");
    assert_eq!(config.servers.len(), 1);
    let said = faults(&config);
    assert_eq!(config.faults.len(), 3, "{said}");
    assert!(
        config
            .faults
            .iter()
            .all(|fault| fault.severity == Severity::Notice && fault.server.as_deref() == Some("a"))
    );
    assert!(said.contains("select this one as \"cursor:a\""), "{said}");

    std::fs::remove_file(stage.path("project/contexture.json")).expect("it was there");
    let config = load(&sources(&stage)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).0, "own-user");
    stage.user("{}");
    let config = load(&sources(&stage)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).0, "claude");
}

#[test]
fn one_is_selected_by_host_and_name() {
    let stage = stage_of_four();
    let mut sources = sources(&stage);
    sources.only = vec!["cursor:a".to_owned()];
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((process(server(&config, "a")).0.as_str(), config.servers.len()), ("cursor", 1));

    stage.user(r#"{"servers": {"alpha": {"command": "x"}, "beta": {"command": "y"}}}"#);
    sources.only = vec!["beta".to_owned()];
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["beta"]);

    sources.only = vec!["betta".to_owned()];
    let error = load(&sources).expect_err("there is none");
    assert!(error.to_string().contains("there is no server \"betta\"; did you mean \"beta\"?"), "{error}");
}

/// Opening a folder must not take a server away, let alone put another in its place.
#[test]
fn what_is_held_takes_no_name() {
    let stage = Stage::new();
    stage.user(&one("mine"));
    stage.write("project/contexture.json", &one("theirs"));
    let config = stage.load();
    assert_eq!(process(server(&config, "a")).0, "mine");
    assert!(server(&config, "a").enabled());
}

#[test]
fn files_that_are_named_are_the_only_ones() {
    let stage = stage_of_four();
    let (one_file, other) = (stage.write("one.json", &one("one")), stage.write("other.json", &one("other")));
    let mut sources = sources(&stage);
    sources.files = vec![other, one_file];
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).0, "other");
    assert_eq!(config.faults.len(), 1);
}

#[test]
fn the_users_settings_go_before_the_projects() {
    let stage = Stage::new();
    stage.user(r#"{"policy": {"rules": [{"tool": "x", "decision": "deny"}]}, "limits": {"connections": 3}}"#);
    let file = stage.write(
        "project/contexture.json",
        r#"{"name": "project", "policy": {"default": "allow", "rules": [{"tool": "x", "decision": "allow"}]}, "limits": {"connections": 9}}"#,
    );
    // Not trusted: as if it were not there.
    let config = stage.load();
    assert_eq!((config.policy.default, config.policy.rules.len()), (None, 1));
    assert_eq!(config.name, "contexture");
    assert!(faults(&config).contains("its settings beside the servers are left out"));

    stage.agree(&file);
    let config = stage.load();
    let decisions: Vec<Decision> = config.policy.rules.iter().map(|rule| rule.decision).collect();
    assert_eq!(decisions, [Decision::Deny, Decision::Allow]);
    assert_eq!((config.policy.default, config.name.as_str()), (Some(Decision::Allow), "project"));
    assert_eq!(config.limits.connections, 3);
    assert_ne!(config.limits, Limits::default());
}

/// A project's word that its own tools need no question counts for nothing, trusted or not.
#[test]
fn only_the_user_allows_without_a_question() {
    let stage = Stage::new();
    let file =
        stage.write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "x", "autoApprove": ["*"]}}}"#);
    stage.agree(&file);
    let mut sources = stage.sources();
    sources.import = vec![HostKind::ClaudeCode];
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert!(server(&config, "a").enabled());
    assert!(config.policy.rules.is_empty());
    assert!(faults(&config).contains("only files of the user's own"));
}

/// What was allowed of one server is not allowed of another that has its name.
#[test]
fn an_allowance_goes_with_its_server() {
    let stage = Stage::new();
    stage.user(&one("mine"));
    stage.write("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x", "autoApprove": ["*"]}}}"#);
    let config = load(&sources(&stage)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).0, "mine");
    assert!(config.policy.rules.is_empty());
}
