//! From what somebody has to a gateway: the two commands of the README.

use contexture::Client;
use contexture::client::{ElicitAnswer, Elicitation};
use serde_json::{Value, json};

use crate::stage::{Gateway, Home};

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

async fn serves_both(gateway: &Gateway) {
    let tools = gateway.tools().await;
    for tool in ["one__add", "two__add"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} in {tools:?}");
        let reply =
            agreeable(&gateway.url).await.call(tool, json!({ "a": 1, "b": 2 })).await.expect("an answer");
        assert_eq!(reply.structured::<i64>().expect("a number"), 3);
    }
    let said = gateway.said();
    let entry = said.iter().find_map(|line| serde_json::from_str::<Value>(line).ok()).expect("the entry");
    assert_eq!(entry["mcpServers"]["contexture"]["url"], gateway.url.as_str(), "{said:?}");
}

#[tokio::test]
async fn from_a_configuration_of_claude_desktop() {
    let home = Home::new();
    let servers = json!({ "one": home.demo(), "two": home.demo() });
    home.write(".config/Claude/claude_desktop_config.json", &json!({ "mcpServers": servers }));
    let second = proposed(&home);
    assert_eq!(second, "contexture run --from claude-desktop --listen 127.0.0.1:8000");
    assert_eq!(home.running(), 0, "the first command starts nothing");
    serves_both(&started(&home, &second)).await;
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
    serves_both(&started(&home, &second)).await;
}

#[test]
fn without_anything_it_says_what_to_write() {
    let home = Home::new();
    let run = home.command(&["run"]).output().expect("the binary runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!(run.status.code(), Some(1));
    assert!(said.contains("contexture.json") && said.contains("--config"), "{said}");
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
    let ourselves = json!({ "command": crate::stage::BINARY, "args": ["run", "--from", "claude-desktop"] });
    let servers = json!({ "contexture": ourselves, "one": home.demo() });
    home.write(".config/Claude/claude_desktop_config.json", &json!({ "mcpServers": servers }));
    let gateway = Gateway::start(&home, &["run", "--from", "claude", "--listen", "127.0.0.1:0"]);
    assert!(gateway.tools().await.iter().all(|tool| tool.starts_with("one__")));
    assert!(gateway.said().iter().any(|line| line.contains("is this gateway")), "{:?}", gateway.said());
}
