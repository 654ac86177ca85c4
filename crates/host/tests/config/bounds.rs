//! Nothing that is read grows without a bound.

use contexture_host::config::load;

use crate::stage::{Stage, faults};

fn refused(text: &str) -> String {
    let stage = Stage::new();
    stage.load_file(&stage.write("contexture.json", text)).expect_err("this is too much").to_string()
}

#[test]
fn a_file_has_a_longest_length() {
    let error = refused(&format!("{{}}{}", " ".repeat((4 << 20) - 1)));
    assert!(error.contains("more than 4194304 bytes"), "{error}");
    let stage = Stage::new();
    let file = stage.write("contexture.json", &format!("{{}}{}", " ".repeat((4 << 20) - 2)));
    stage.load_file(&file).expect("this is just short enough");
}

#[test]
fn deep_trees_are_refused() {
    for depth in [600, 100_000] {
        let error = refused(&format!("{{\"policy\": {}{}}}", "[".repeat(depth), "]".repeat(depth)));
        assert!(error.contains("nesting depth"), "{error}");
        let stage = Stage::new();
        let toml = format!("x = {}{}\n", "[".repeat(depth), "]".repeat(depth));
        let error = stage.load_file(&stage.write("x.toml", &toml)).expect_err("this is too deep");
        assert!(error.to_string().contains("no TOML"), "{error}");
    }
    // As deep as it goes, on the small stack of a test.
    let stage = Stage::new();
    let text = format!("{{\"mcpServers\": {{\"a\": {{\"x\": {}{}}}}}}}", "[".repeat(500), "]".repeat(500));
    stage.load_file(&stage.write(".mcp.json", &text)).expect("this is not");
}

#[test]
fn there_are_a_thousand_servers_at_most() {
    let servers = |count: usize, mark: &str| {
        let servers: Vec<String> =
            (0..count).map(|at| format!(r#""{mark}{at}": {{"command": "x"}}"#)).collect();
        format!("{{\"mcpServers\": {{{}}}}}", servers.join(","))
    };
    assert!(refused(&servers(1001, "s")).contains("more than 1000 servers"));

    let stage = Stage::new();
    stage.user(&servers(1000, "s"));
    stage.write("home/.cursor/mcp.json", &servers(5, "more"));
    let mut sources = stage.sources();
    sources.import = vec![contexture_host::config::HostKind::Cursor];
    let config = load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.servers.len(), 1000);
    assert!(faults(&config).contains("more than 1000 servers in all files"));
}

#[test]
fn mistakes_are_not_told_without_end() {
    let stage = Stage::new();
    let servers: Vec<String> = (0..900).map(|at| format!(r#""s{at}": {{"x": 1, "y": 2}}"#)).collect();
    stage.user(&format!("{{\"servers\": {{{}}}}}", servers.join(",")));
    let config = stage.load();
    assert!(config.servers.is_empty());
    assert_eq!(config.faults.len(), 500);
}

#[test]
fn variables_do_not_become_more_than_the_memory() {
    let stage = Stage::new().variable("BIG", &"x".repeat(100_000));
    let text = "${BIG}".repeat(200);
    let file = stage.write("contexture.json", &format!(r#"{{"servers": {{"a": {{"command": "{text}"}}}}}}"#));
    let config = stage.load_file(&file).unwrap_or_else(|error| panic!("{error}"));
    assert!(config.servers.is_empty());
    assert!(faults(&config).contains("more than 16777216 bytes"));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let stage = Stage::new();
    let error = stage.load_file(std::path::Path::new("/dev/zero")).expect_err("it never ends");
    assert!(error.to_string().contains("no file"), "{error}");
    stage.user(r#"{"servers": {"a": {"command": "x", "envFile": "/dev/zero"}}}"#);
    assert!(faults(&stage.load()).contains("no file"));
}

#[test]
fn marks_and_trailing_commas_are_fine() {
    let stage = Stage::new();
    stage.user("\u{feff}{\r\n // comment\r\n\"servers\": {\"a\": {\"command\": \"x\", \"args\": [\"y\",],},},\r\n}\r\n");
    let config = stage.load();
    assert_eq!(faults(&config), "");
    assert_eq!(config.server("a").and_then(|server| server.origin.line), Some(3));
}

/// A file that is cut off anywhere, or in the wrong format, is refused or read, and that is all.
#[test]
fn whatever_a_file_says_it_is_only_read() {
    let stage = Stage::new();
    let files = [
        "contexture.json",
        ".mcp.json",
        ".vscode/mcp.json",
        ".gemini/settings.json",
        "mcp_config.json",
        "x.toml",
    ];
    let toml = "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"\u{e4}\"]\n[mcp_servers.b]\nurl = 'https://x'\nhttp_headers = { a = 1 }\n";
    for text in [crate::own::EVERYTHING, toml] {
        for end in (0..=text.len()).step_by(11).filter(|end| text.is_char_boundary(*end)) {
            for file in files {
                let path = stage.write(file, &text[..end]);
                if let Ok(config) = stage.load_file(&path) {
                    assert!(config.servers.iter().all(|server| !server.name.is_empty()));
                }
            }
        }
    }
}
