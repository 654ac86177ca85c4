//! From what somebody has to a gateway: the two commands of the README.

use std::time::{Duration, Instant};

use contexture::Client;
use contexture::client::{ElicitAnswer, Elicitation};
use serde_json::{Value, json};

use crate::stage::{BINARY, Gateway, Home, PATIENCE};

const README: &str = include_str!("../../../../README.md");

/// Runs the first command; gives the second, as it was proposed.
fn proposed(home: &Home) -> String {
    let first = home.command(&["run"]).output().expect("the binary runs");
    let said = String::from_utf8(first.stderr).expect("text");
    assert_eq!(first.status.code(), Some(1), "{said}");
    let second = said.lines().map(str::trim).find(|line| line.contains("--listen"));
    second.unwrap_or_else(|| panic!("no second command: {said}")).to_owned()
}

fn started(home: &Home, command: &str) -> Gateway {
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], "contexture");
    // Whoever else runs on this machine may have that port.
    let words: Vec<&str> =
        words[1..].iter().map(|word| if *word == "127.0.0.1:8000" { "127.0.0.1:0" } else { word }).collect();
    Gateway::start(home, &words)
}

/// A client whose person allows what is asked about, once.
async fn agreeable(url: &str) -> Client {
    let person = Elicitation::new(|_| async { ElicitAnswer::accept([("decision", "once")]) });
    Client::builder().elicitation(person).connect(url).await.expect("a client")
}

/// What a host's configuration is to say from now on, as it was printed.
fn printed(gateway: &Gateway) -> String {
    let begun = Instant::now();
    // The last word comes after the entry.
    let is_told = |line: &String| line.contains("docs/gateway.md") || line.contains("is taken out there");
    while !gateway.said().iter().any(is_told) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", gateway.said());
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = gateway.said();
    let entry: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(!entry.is_empty(), "{said:?}");
    entry.join("\n")
}

async fn serves_both(gateway: &Gateway) -> Value {
    let tools = gateway.tools().await;
    for tool in ["one__add", "two__add"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} in {tools:?}");
        let reply =
            agreeable(&gateway.url).await.call(tool, json!({ "a": 1, "b": 2 })).await.expect("an answer");
        assert_eq!(reply.structured::<i64>().expect("a number"), 3);
    }
    serde_json::from_str(&printed(gateway)).expect("JSON")
}

#[tokio::test]
async fn from_a_configuration_of_claude_desktop() {
    let home = Home::new();
    let servers = json!({ "one": home.demo(), "two": home.demo() });
    home.write(".config/Claude/claude_desktop_config.json", &json!({ "mcpServers": servers }));
    let second = proposed(&home);
    assert_eq!(second, "contexture run --from claude-desktop --listen 127.0.0.1:8000");
    assert_eq!(home.running(), 0, "the first command starts nothing");
    let gateway = started(&home, &second);
    let entry = serves_both(&gateway).await;
    // That host takes only commands.
    assert_eq!(entry["mcpServers"]["contexture"]["args"], json!(["bridge", gateway.url]));
}

#[tokio::test]
async fn from_a_configuration_of_vs_code_as_the_readme_says() {
    let home = Home::new();
    let servers = json!({ "one": home.demo(), "two": home.demo() });
    home.write(".config/Code/User/mcp.json", &json!({ "servers": servers }));
    let second = proposed(&home);
    let written: Vec<&str> = README.lines().filter(|line| line.starts_with("contexture run")).collect();
    let commands: Vec<&str> =
        written.iter().map(|line| line.split(" #").next().unwrap_or_default().trim()).collect();
    assert_eq!(commands, ["contexture run", second.as_str()], "the README says what the test does");
    let gateway = started(&home, &second);
    let entry = serves_both(&gateway).await;
    assert_eq!(entry["servers"]["contexture"]["url"], gateway.url.as_str());
}

/// What is printed for a host is what is read from its file: its words, not ours.
#[test]
fn every_host_is_told_in_its_own_words() {
    let json = |root: &str, home: &Home| json!({ root: { "one": home.demo() } }).to_string();
    let toml = |home: &Home| format!("[mcp_servers.one]\ncommand = {:?}\nargs = [\"demo\"]\n", home.server());
    for (host, file, root, words) in [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", "\"bridge\""),
        ("claude-code", ".claude.json", "mcpServers", "\"type\":\"http\""),
        ("vscode", ".config/Code/User/mcp.json", "servers", "\"type\":\"http\""),
        ("cursor", ".cursor/mcp.json", "mcpServers", "\"url\":"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", "\"serverUrl\":"),
        ("gemini", ".gemini/settings.json", "mcpServers", "\"httpUrl\":"),
        ("codex", ".codex/config.toml", "", "[mcp_servers.contexture]\nurl ="),
    ] {
        let home = Home::new();
        home.write_text(file, &if root.is_empty() { toml(&home) } else { json(root, &home) });
        let gateway = Gateway::start(&home, &["run", "--from", host, "--listen", "127.0.0.1:0"]);
        let entry = printed(&gateway);
        assert!(entry.contains(words), "{host}: {entry}");
        let said = gateway.said().join("\n");
        assert!(said.contains(home.path().join(file).to_str().expect("text")), "{host}: where? {said}");
        home.write_text(file, &entry);
        let show = home.command(&["config", "show", "--from", host, "-o", "json"]).output().expect("it runs");
        let read: Value = serde_json::from_slice(&show.stdout).expect("JSON");
        assert_eq!(read["faults"], json!([]), "{host}: {entry}");
        let place = if host == "claude-desktop" { BINARY } else { gateway.url.as_str() };
        assert_eq!(read["servers"][0]["place"], place, "{host}: {entry}");
    }
}

/// Where no other host's file was read, it is said where all the words are.
#[test]
fn without_a_host_the_common_form_and_where_to_look_are_shown() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    let entry: Value = serde_json::from_str(&printed(&gateway)).expect("JSON");
    assert_eq!(entry["mcpServers"]["contexture"], json!({ "type": "http", "url": gateway.url }));
    let page = include_str!("../../../../docs/gateway.md");
    assert!(gateway.said().join("\n").contains("docs/gateway.md"));
    for word in ["serverUrl", "httpUrl", "\"servers\"", "[mcp_servers.", "\"bridge\""] {
        assert!(page.contains(word), "{word} in docs/gateway.md");
    }
}

#[test]
fn without_anything_it_says_what_to_write() {
    let home = Home::new();
    let run = home.command(&["run"]).output().expect("the binary runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!(run.status.code(), Some(1));
    assert!(said.contains("contexture.json") && said.contains("--config"), "{said}");
}

/// Whoever begins sees which file is of no use yet, and why.
#[test]
fn files_are_counted_before_anything_is_started() {
    let home = Home::new();
    let mut off = home.demo();
    off["disabled"] = json!(true);
    let servers = json!({ "one": home.demo(), "two": off, "three": { "args": [] } });
    home.write(".cursor/mcp.json", &json!({ "mcpServers": servers }));
    home.write_text(".codeium/windsurf/mcp_config.json", "{ \"mcpServers\": ");
    let run = home.command(&["run"]).output().expect("the binary runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert!(said.contains("(2 servers, 1 switched off, 1 with a mistake)"), "{said}");
    assert!(said.contains("(cannot be read: this is no JSON"), "{said}");
}

/// What people type first, and what they should type instead.
#[test]
fn an_address_that_is_none_or_is_taken_is_explained() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address").to_string();
    for (address, hint) in [("8000", "127.0.0.1:8000"), (taken.as_str(), "port 0")] {
        let run = home.command(&["run", "--config", &config, "--listen", address]).output();
        let said = String::from_utf8(run.expect("the binary runs").stderr).expect("text");
        assert!(said.contains("cannot listen") && said.contains(hint), "{address}: {said}");
    }
}

#[test]
fn a_host_that_nobody_knows_is_a_mistake_on_the_command_line() {
    let home = Home::new();
    let run = home.command(&["run", "--from", "emacs"]).output().expect("the binary runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!(run.status.code(), Some(1));
    assert!(said.contains("vscode"), "{said}");
}

/// A host whose entries were replaced by ours would have us start us, and so on.
#[tokio::test]
async fn a_gateway_does_not_start_itself() {
    let home = Home::new();
    let ourselves = json!({ "command": BINARY, "args": ["run", "--from", "claude-desktop"] });
    let servers = json!({ "contexture": ourselves, "one": home.demo() });
    home.write(".config/Claude/claude_desktop_config.json", &json!({ "mcpServers": servers }));
    let gateway = Gateway::start(&home, &["run", "--from", "claude", "--listen", "127.0.0.1:0"]);
    assert!(gateway.tools().await.iter().all(|tool| tool.starts_with("one__")));
    assert!(gateway.said().iter().any(|line| line.contains("is this gateway")), "{:?}", gateway.said());
}
