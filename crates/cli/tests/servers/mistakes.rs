//! Broken files, full disks, folders that nobody may write to: a message that says what to do, and everything as it was.

use std::fs;
use std::path::Path;

use crate::stage::{OURS, Stage, finish};

#[test]
fn broken_files_are_named_with_their_line_and_left_alone() {
    let cases = [
        ("home/.cursor/mcp.json", "{\n  “mcpServers”: {}\n}", "mcp.json:2: ", "plain ones"),
        (
            "home/.cursor/mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"a\": {}\n  }\n}",
            "mcp.json:4: ",
            "twice",
        ),
        ("home/.cursor/mcp.json", "{\n  \"servers\": {}\n}", "mcp.json:2: ", "rename it"),
        ("home/.cursor/mcp.json", "{\n  \"mcpServers\": []\n}", "mcp.json:2: ", "is a list, not an object"),
        ("home/.cursor/mcp.json", "{\n  \"mcpServers\": {\n", "mcp.json:2: ", "closing bracket"),
        ("home/.cursor/mcp.json", "{\n  \"a\": 1\n  \"b\": 2\n}", "mcp.json:2: ", "comma"),
    ];
    for (file, text, place, what) in cases {
        let stage = Stage::new();
        stage.write(OURS, "{ \"servers\": { \"new\": { \"command\": \"x\" } } }");
        stage.write(file, text);
        stage.run(&["export", "--to", "cursor", "--yes"]).refused(&[place, what]);
        stage.run(&["import", "cursor", "--yes"]).refused(&[place, what]);
        assert_eq!(stage.read(file), text);
        stage.is_tidy();
    }
    for (text, place) in
        [("{\n  servers: {}\n}", "contexture.json:2: "), ("{\n  \"servers\": [1]\n}", "contexture.json:2: ")]
    {
        let stage = Stage::new();
        stage.write(OURS, text);
        stage.run(&["add", "a", "--", "x"]).refused(&[place]);
        stage.run(&["remove", "a"]).refused(&[place]);
        stage.run(&["list"]).refused(&[place]);
        assert_eq!(stage.read(OURS), text);
    }
    // One broken host does not hide the others.
    let stage = Stage::new();
    stage.write("home/.cursor/mcp.json", "{");
    stage.write("home/.claude.json", "{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let imported = stage.run(&["import", "--yes"]).well();
    assert!(
        imported.err.contains(".cursor/mcp.json:1: ") && stage.read(OURS).contains("\"a\""),
        "{imported:?}"
    );
}

/// Comments and commas that a host does not read stay, and its user is told.
#[test]
fn what_a_strict_host_does_not_read_is_named() {
    let stage = Stage::new();
    stage.write(OURS, "{ \"servers\": { \"new\": { \"command\": \"x\" } } }");
    stage.write("home/.config/Claude/claude_desktop_config.json", "{\n  // mine\n  \"mcpServers\": {},\n}\n");
    let given = stage.run(&["export", "--to", "claude-desktop", "--yes"]).well();
    assert!(
        given.err.contains("claude_desktop_config.json:2: ") && given.err.contains("take it out"),
        "{given:?}"
    );
    assert!(stage.read("home/.config/Claude/claude_desktop_config.json").contains("// mine"));
}

#[test]
fn what_cannot_be_written_is_as_it_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new();
    let text = "{ \"servers\": {} }";
    let path = stage.write(OURS, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("permissions can be set");
    stage.run(&["add", "a", "--", "x"]).refused(&["read-only", "chmod u+w"]);
    assert_eq!(stage.read(OURS), text);

    // A folder that is a file.
    let stage = Stage::new();
    stage.write("home/.config", "in the way");
    stage.run(&["add", "a", "--", "x"]).refused(&[".config", "in its place"]);

    // A link that leads nowhere.
    let stage = Stage::new();
    stage.write("home/.config/contexture/x", "");
    std::os::unix::fs::symlink("gone.json", stage.path(OURS)).expect("a link can be made");
    stage.run(&["add", "a", "--", "x"]).refused(&["remove the link"]);
    stage.is_tidy();
}

/// A bound on the size of files is the full disk that everybody can have.
#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let stage = Stage::new();
    let long = format!("{{ \"servers\": {{}}, \"name\": \"{}\" }}", "x".repeat(4000));
    stage.write(OURS, &long);
    let mut command = stage.command(Path::new("sh"));
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_contexture"),
        "add",
        "a",
        "--",
        "x",
    ]);
    finish(command, "").refused(&["make room there; the file is as it was"]);
    assert_eq!(stage.read(OURS), long);
    assert!(!stage.path(&format!("{OURS}.contexture-backup")).exists());
    stage.is_tidy();
}

/// Many at once: each is written or refused, and nothing is lost.
#[test]
fn two_at_once_lose_nothing() {
    let stage = Stage::new();
    stage.run(&["add", "first", "--", "x"]).well();
    let ended: Vec<(String, Option<i32>)> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|number| {
                let stage = &stage;
                let name = format!("s{number}");
                scope.spawn(move || (name.clone(), stage.run(&["add", &name, "--", "x"]).code))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("it ends")).collect()
    });
    let text = stage.read(OURS);
    for (name, code) in ended {
        assert_eq!(text.contains(&format!("\"{name}\"")), code == Some(0), "{name}: {code:?}\n{text}");
    }
    stage.is_tidy();
}

/// Names and texts of others do not move a terminal.
#[test]
fn what_others_wrote_is_harmless() {
    let stage = Stage::new();
    stage.write(
        "home/.cursor/mcp.json",
        "{ \"mcpServers\": { \"a\\u001b[2J\\u202e\": { \"command\": \"x\\u001b]0;t\\u0007\" } } }",
    );
    for words in [
        &["list"][..],
        &["import", "--dry-run"],
        &["list", "-o", "json"],
        &["import", "--dry-run", "-o", "json"],
    ] {
        let ended = stage.run(words);
        let all = format!("{}{}", ended.out, ended.err);
        assert!(!all.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{words:?}: {all:?}");
    }
}
