//! Files that change while we run.

use std::fs;
use std::time::Duration;

use contexture_host::config::{Config, HostKind, Watcher, diff};

use crate::stage::{Stage, faults, process, server};

/// The next configuration; a test that waits for one that never comes ends.
async fn next(watcher: &mut Watcher) -> Config {
    tokio::time::timeout(Duration::from_secs(20), watcher.changed()).await.expect("there is a change")
}

/// The next configuration of which this is true: systems may tell of one change in two parts.
async fn until(watcher: &mut Watcher, wanted: impl Fn(&Config) -> bool) -> Config {
    loop {
        let config = next(watcher).await;
        if wanted(&config) {
            return config;
        }
    }
}

fn start(stage: &Stage) -> (Config, Watcher) {
    Watcher::new(stage.sources()).unwrap_or_else(|error| panic!("{error}"))
}

fn one(command: &str) -> String {
    format!(r#"{{"servers": {{"a": {{"command": "{command}"}}}}}}"#)
}

fn command(config: &Config) -> Option<String> {
    config.server("a").map(|entry| process(entry).0)
}

#[tokio::test]
async fn a_file_is_written_renamed_deleted_and_made_anew() {
    let stage = Stage::new();
    let file = stage.user(&one("first"));
    let (config, mut watcher) = start(&stage);
    assert_eq!(command(&config).as_deref(), Some("first"));
    stage.user(&one("second"));
    until(&mut watcher, |config| command(config).as_deref() == Some("second")).await;
    // As editors do it.
    let draft = stage.write("home/.config/contexture/.contexture.json.swp", &one("third"));
    fs::rename(draft, &file).expect("it can be renamed");
    until(&mut watcher, |config| command(config).as_deref() == Some("third")).await;
    fs::remove_file(&file).expect("it is there");
    let config = until(&mut watcher, |config| !config.faults.is_empty()).await;
    assert_eq!(command(&config).as_deref(), Some("third"), "it counts as it was");
    stage.user(&one("fourth"));
    let config = until(&mut watcher, |config| command(config).as_deref() == Some("fourth")).await;
    assert_eq!(faults(&config), "");
}

/// What the user's own file forbids stays forbidden when it is gone; a project's file, and all that it says, goes.
#[tokio::test]
async fn rules_of_the_user_do_not_go_with_their_file() {
    let stage = Stage::new();
    let own = stage.user(r#"{"policy": {"rules": [{"tool": "delete*", "decision": "deny"}]}}"#);
    let project = stage.write("project/contexture.json", &one("x"));
    let (config, mut watcher) = start(&stage);
    assert_eq!(config.policy.rules.len(), 1);
    fs::remove_file(&own).expect("it is there");
    let gone = until(&mut watcher, |config| config.faults.len() == 1).await;
    assert_eq!(gone.policy, config.policy);
    assert!(faults(&gone).contains("there is no such file any more"), "{}", faults(&gone));
    fs::remove_file(&project).expect("it is there");
    let config = until(&mut watcher, |config| command(config).is_none()).await;
    assert_eq!(config.policy, gone.policy, "a second look makes no difference");
    stage.user("{}");
    let config = until(&mut watcher, |config| config.faults.is_empty()).await;
    assert!(config.policy.rules.is_empty(), "a file that says nothing says it");
}

#[tokio::test]
async fn a_broken_file_counts_as_it_was() {
    let stage = Stage::new();
    stage.user(&one("first"));
    let (_, mut watcher) = start(&stage);
    for broken in ["", "{\"servers\": {", "{\"policy\": {\"default\": \"dney\"}}", "{\"severs\": {}}"] {
        stage.user(broken);
        let config = next(&mut watcher).await;
        assert_eq!(command(&config).as_deref(), Some("first"), "{broken}");
        assert!(faults(&config).contains("contexture.json"), "{broken}: {}", faults(&config));
        stage.user(&one("first"));
        let config = next(&mut watcher).await;
        assert_eq!(faults(&config), "");
    }
}

/// Another host's file that is being written is not the end of its servers either.
#[tokio::test]
async fn a_broken_file_of_another_host_counts_as_it_was() {
    let stage = Stage::new();
    stage.user(r#"{"import": ["cursor"]}"#);
    let theirs = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    stage.write("home/.cursor/mcp.json", theirs);
    let (config, mut watcher) = start(&stage);
    assert!(config.server("a").is_some());
    stage.write("home/.cursor/mcp.json", &theirs[..20]);
    let config = next(&mut watcher).await;
    assert!(config.server("a").is_some(), "{}", faults(&config));
    assert!(faults(&config).contains("no JSON"));
}

#[tokio::test]
async fn many_writes_are_one_change() {
    let stage = Stage::new();
    stage.user(&one("0"));
    let (_, mut watcher) = start(&stage);
    for number in 1..=200 {
        stage.user(&one(&number.to_string()));
    }
    let mut changes = 1;
    while command(&next(&mut watcher).await).as_deref() != Some("200") {
        changes += 1;
    }
    assert!(changes <= 5, "{changes} configurations came of writes that did not stop");
}

#[tokio::test]
async fn folders_that_are_not_there_yet_are_waited_for() {
    let stage = Stage::new();
    let (config, mut watcher) = start(&stage);
    assert!(config.servers.is_empty());
    stage.user(&one("x"));
    until(&mut watcher, |config| command(config).as_deref() == Some("x")).await;
    fs::remove_dir_all(stage.home().join(".config")).expect("it is there");
    let config = until(&mut watcher, |config| !config.faults.is_empty()).await;
    assert_eq!(command(&config).as_deref(), Some("x"), "it counts as it was");
    stage.user(&one("y"));
    until(&mut watcher, |config| command(config).as_deref() == Some("y")).await;
}

#[tokio::test]
async fn what_is_imported_from_now_on_is_watched_from_now_on() {
    let stage = Stage::new();
    stage.user("{}");
    stage.write("home/.cursor/mcp.json", r#"{"mcpServers": {}}"#);
    let (_, mut watcher) = start(&stage);
    stage.user(r#"{"import": ["cursor"]}"#);
    let config = next(&mut watcher).await;
    assert!(config.files.iter().any(|file| file.ends_with(".cursor/mcp.json")));
    stage.write("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let config = until(&mut watcher, |config| config.server("a").is_some()).await;
    assert_eq!(server(&config, "a").origin.host, HostKind::Cursor);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_behind_a_link_is_watched() {
    let stage = Stage::new();
    let real = stage.write("dotfiles/contexture.json", &one("first"));
    fs::create_dir_all(stage.path("home/.config/contexture")).expect("folders can be made");
    std::os::unix::fs::symlink(&real, stage.path("home/.config/contexture/contexture.json"))
        .expect("a link can be made");
    let (config, mut watcher) = start(&stage);
    assert_eq!(command(&config).as_deref(), Some("first"));
    stage.write("dotfiles/contexture.json", &one("second"));
    until(&mut watcher, |config| command(config).as_deref() == Some("second")).await;
}

#[tokio::test]
async fn trust_is_seen() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", &one("x"));
    let (config, mut watcher) = start(&stage);
    assert!(!server(&config, "a").enabled());
    stage.agree(&file);
    until(&mut watcher, |config| server(config, "a").enabled()).await;
    stage.trust().withdraw(&file).expect("it can be forgotten");
    until(&mut watcher, |config| !server(config, "a").enabled()).await;
}

/// Waiting can be given up and taken up again.
#[tokio::test]
async fn a_change_is_not_lost_with_who_waited() {
    let stage = Stage::new();
    stage.user(&one("first"));
    let (_, mut watcher) = start(&stage);
    stage.user(&one("second"));
    let mut tries = 0;
    let config = loop {
        tries += 1;
        match tokio::time::timeout(Duration::from_millis(tries), watcher.changed()).await {
            Ok(config) => break config,
            Err(_) => assert!(tries < 1000, "the change is lost"),
        }
    };
    assert_eq!(command(&config).as_deref(), Some("second"));
}

#[test]
fn a_difference_names_what_is_different() {
    let stage = Stage::new();
    let load = |text: &str| {
        stage.user(text);
        stage.load()
    };
    let old = load(
        r#"{"servers": {"same": {"command": "x"}, "gone": {"command": "y"}, "other": {"command": "z"}}}"#,
    );
    let new = load(
        "{\n\n\"servers\": {\"new\": {\"command\": \"n\"}, \"other\": {\"command\": \"z\", \"args\": [\"1\"]},\n\"same\": {\"command\": \"x\"}}}",
    );
    let changes = diff(&old, &new);
    assert_eq!(
        (changes.added, changes.removed, changes.changed),
        (vec!["new".to_owned()], vec!["gone".to_owned()], vec!["other".to_owned()])
    );
    assert!(!changes.settings);
    assert!(diff(&new, &new.clone()).is_empty());
    let named = load(r#"{"name": "n", "servers": {"same": {"command": "x", "env": {"A": "1"}}}}"#);
    let secret = load(r#"{"name": "n", "servers": {"same": {"command": "x", "env": {"A": "2"}}}}"#);
    assert!(diff(&old, &named).settings);
    assert_eq!(diff(&named, &secret).changed, ["same"], "a variable's value is a difference");
}
