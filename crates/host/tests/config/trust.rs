//! What is in a project's file starts nothing until somebody agrees to it.

use std::fs;

use contexture_host::config::{HostKind, Platform, Sources, Standing, Trusted, load, proposals};

use crate::stage::{Stage, restrict, server};

const ENTRY: &str =
    r#"{"servers": {"a": {"command": "x", "args": ["1"], "env": {"K": "v"}}, "b": {"command": "y"}}}"#;

fn held(stage: &Stage, name: &str) -> Option<String> {
    match &server(&stage.load(), name).standing {
        Standing::Held { why } => Some(why.clone()),
        Standing::Enabled => None,
        Standing::Disabled => panic!("{name} is disabled"),
    }
}

/// K15 of the catalogue of bad input.
#[test]
fn nothing_starts_before_it_is_trusted() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", ENTRY);
    let why = held(&stage, "a").expect("it is held");
    assert!(why.contains("nobody has trusted") && why.contains("contexture trust"), "{why}");
    stage.agree(&file);
    assert_eq!((held(&stage, "a"), held(&stage, "b")), (None, None));
    let agreed = stage.trust().list().expect("it can be read");
    assert_eq!(agreed.len(), 1);
    assert_eq!((&agreed[0].file, agreed[0].settings), (&file, false));
    assert_eq!(agreed[0].servers, ["a", "b"]);
    assert!(stage.trust().withdraw(&file).expect("it can be forgotten"));
    assert!(held(&stage, "a").is_some());
    assert!(!stage.trust().withdraw(&file).expect("there is nothing to forget"));
}

#[test]
fn an_entry_that_changed_is_asked_about_again() {
    let changes = [
        ("\"x\"", "\"/tmp/evil\""),
        ("\"1\"", "\"2\""),
        ("\"K\"", "\"LD_PRELOAD\""),
        ("\"v\"", "\"/tmp/evil.so\""),
        ("\"command\": \"x\"", "\"command\": \"x\", \"trusted\": true"),
        (
            "\"command\": \"x\", \"args\": [\"1\"], \"env\": {\"K\": \"v\"}",
            "\"url\": \"https://evil.example\"",
        ),
    ];
    for (from, to) in changes {
        let stage = Stage::new();
        let file = stage.write("project/contexture.json", ENTRY);
        stage.agree(&file);
        stage.write("project/contexture.json", &ENTRY.replacen(from, to, 1));
        let why = held(&stage, "a").unwrap_or_else(|| panic!("{to} is taken"));
        assert!(why.contains("changed since"), "{why}");
        assert_eq!(held(&stage, "b"), None, "the other one is as it was");
        // As it was, it is trusted again.
        stage.write("project/contexture.json", ENTRY);
        assert_eq!(held(&stage, "a"), None);
    }
}

#[test]
fn what_means_the_same_is_the_same() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", ENTRY);
    stage.agree(&file);
    let moved = r#"{"mcpServers": {
        "b": {"command": "y"}, // moved
        "a": {"env": {"K": "v"}, "args": ["1"], "command": "x"}, "c": {"command": "new"}}}"#;
    stage.write("project/contexture.json", moved);
    assert_eq!((held(&stage, "a"), held(&stage, "b")), (None, None));
    assert!(held(&stage, "c").is_some());
}

/// Trust is given to what was written: what variables hold is the user's own business.
#[test]
fn variables_are_not_part_of_it() {
    let stage = Stage::new().variable("V", "1");
    let file =
        stage.write("project/contexture.json", r#"{"servers": {"a": {"command": "x", "args": ["${V}"]}}}"#);
    stage.agree(&file);
    let mut sources = stage.sources();
    sources.environment = [("V", "2")].into_iter().collect();
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert!(server(&config, "a").enabled());
}

#[test]
fn a_file_of_variables_is_part_of_it() {
    let stage = Stage::new();
    stage.write("project/a.env", "A=1\n");
    let file =
        stage.write("project/contexture.json", r#"{"servers": {"a": {"command": "x", "envFile": "a.env"}}}"#);
    stage.agree(&file);
    assert_eq!(held(&stage, "a"), None);
    stage.write("project/a.env", "A=1\nLD_PRELOAD=/tmp/evil.so\n");
    assert!(held(&stage, "a").is_some());
}

#[cfg(unix)]
#[test]
fn a_link_to_a_project_is_that_project() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", ENTRY);
    stage.agree(&file);
    let link = stage.path("link");
    std::os::unix::fs::symlink(stage.project(), &link).expect("a link can be made");
    let through = |stage: &Stage| {
        let sources = Sources::new(stage.home(), &link, Platform::Linux, stage.sources().environment);
        let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
        server(&config, "a").enabled()
    };
    assert!(through(&stage));
    // The same definition elsewhere is not the one that was trusted.
    stage.write("other/contexture.json", ENTRY);
    fs::remove_file(&link).expect("it is a link");
    std::os::unix::fs::symlink(stage.path("other"), &link).expect("a link can be made");
    assert!(!through(&stage));
}

#[cfg(unix)]
#[test]
fn a_record_that_others_could_have_written_counts_for_nothing() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", ENTRY);
    stage.agree(&file);
    let folder = stage.trust().folder().to_owned();
    let record = fs::read_dir(&folder)
        .expect("there is a folder")
        .next()
        .expect("there is a record")
        .expect("it can be read")
        .path();
    let mode = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode(&record), mode(&folder)), (0o600, 0o700));
    for (path, bad, good) in [(&record, 0o666, 0o600), (&record, 0o620, 0o600), (&folder, 0o777, 0o700)] {
        restrict(path, bad);
        assert!(held(&stage, "a").is_some(), "{} with {bad:o}", path.display());
        restrict(path, good);
        assert_eq!(held(&stage, "a"), None);
    }
}

#[test]
fn a_record_that_is_broken_counts_for_nothing_and_is_mended() {
    let stage = Stage::new();
    let file = stage.write("project/contexture.json", ENTRY);
    stage.agree(&file);
    let record = fs::read_dir(stage.trust().folder())
        .expect("there is a folder")
        .next()
        .expect("there is a record")
        .expect("it can be read")
        .path();
    for text in ["", "{", "[]", "{\"file\": \"/other\", \"definitions\": {}}"] {
        fs::write(&record, text).expect("it can be written");
        assert!(held(&stage, "a").is_some(), "{text}");
        stage.agree(&file);
        assert_eq!(held(&stage, "a"), None, "{text}");
    }
}

#[test]
fn what_is_proposed_is_what_was_written() {
    let stage = Stage::new().variable("SECRET", "s3cret");
    let file = stage.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${SECRET}"}}, "off": {"command": "y", "disabled": true}}}"#,
    );
    stage.write("project/contexture.json", r#"{"policy": {"default": "allow"}, "servers": {}}"#);
    let all = proposals(&stage.sources(), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.len(), 2);
    let [own, claude] = &all[..] else { panic!("{all:?}") };
    assert_eq!(own.items[0].server, None, "settings are something to agree to, too");
    assert_eq!(own.items[0].written.to_string(), r#"{"policy":{"default":"allow"}}"#);
    assert_eq!(claude.items[0].written.pointer("/env/K").and_then(|text| text.as_str()), Some("${SECRET}"));
    assert_eq!((claude.items.len(), claude.items[0].trusted), (2, Trusted::No));
    stage.agree(&file);
    let all = proposals(&stage.sources(), Some(&file)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((all[0].file.host, all[0].items[0].trusted), (HostKind::ClaudeCode, Trusted::Yes));
}
