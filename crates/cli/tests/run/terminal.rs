//! At a terminal: what whoever types the commands sees, and what they are asked. `script` makes the terminal.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::stage::{BINARY, Gateway, Home, ended, until};

/// The binary, with a terminal of its own and somebody at it.
struct Terminal {
    child: Child,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(home: &Home, arguments: &str) -> Self {
        // A home of our own: nothing of whoever runs the tests is read.
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &format!("exec '{BINARY}' {arguments}"), "/dev/null"]);
        command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
        command.current_dir(home.path().join("project"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script is there");
        let shown: Arc<Mutex<String>> = Arc::default();
        let (mut output, kept) = (child.stdout.take().expect("a pipe"), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                kept.lock().expect("no panic").push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, shown }
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("no panic").clone()
    }

    async fn shows(&self, what: &str) {
        until(&format!("it shows {what:?}"), async || self.shown().contains(what)).await;
    }

    fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().expect("a keyboard").write_all(keys.as_bytes()).expect("it is read");
    }

    async fn ends(&mut self) -> Option<i32> {
        ended(&mut self.child).await.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nobody has to guess what this waits for, and how a host would start it.
#[tokio::test]
async fn over_standard_input_and_output_it_says_how_hosts_start_it() {
    let home = Home::new();
    home.write("project/team/mcp_config.json", &json!({ "mcpServers": { "one": home.demo() } }));
    let mut terminal = Terminal::start(&home, "run --config team/mcp_config.json");
    terminal.shows("Waiting for a client").await;
    let file = home.path().join("project/team/mcp_config.json");
    let shown = terminal.shown();
    assert!(shown.contains(&format!(r#""args":["run","--config","{}"]"#, file.display())), "{shown}");
    assert!(shown.contains("1 server served as one") && shown.contains("--listen 127.0.0.1:8000"), "{shown}");
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().await, Some(0), "{}", terminal.shown());
    until("no server is left", async || home.running() == 0).await;
}

/// What is served is counted, and what is not is named, with the reason.
#[tokio::test]
async fn only_what_is_served_is_counted() {
    let home = Home::new();
    let mut off = home.demo();
    off["enabled"] = json!(false);
    let servers = json!({ "one": home.demo(), "two": home.demo(), "off": off, "bad": { "command": 7 } });
    home.write("project/.vscode/mcp.json", &json!({ "servers": { "held": home.demo() } }));
    home.write(".config/contexture/contexture.json", &json!({ "servers": servers }));
    let mut terminal = Terminal::start(&home, "run --from vscode --listen 127.0.0.1:0");
    terminal.shows("docs/gateway.md").await;
    let shown = terminal.shown();
    assert!(shown.contains("2 servers served as one"), "{shown}");
    assert!(!shown.contains("mcp.json:\r\n"), "nothing of that file is served: {shown}");
    for (name, why) in [("off", "switched off"), ("held", "contexture trust"), ("bad", "command")] {
        let said: Vec<&str> =
            shown.lines().filter(|line| line.contains(name) && line.contains(why)).collect();
        assert_eq!(said.len(), 1, "{name}: {shown}");
    }
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().await, Some(0), "{}", terminal.shown());
}

/// The ordinary case of consent: one question, one key.
// covers: TOOLS-HUMAN-LOOP, ELIC-UI-DECLINE
#[tokio::test]
async fn a_call_through_ones_own_client_takes_one_question() {
    let home = Home::new();
    let servers = json!({ "servers": { "one": home.demo() } });
    let config = home.write("config.json", &servers);
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    for (key, wanted, code) in [("1\n", "42", 0), ("n\n", "denied by a person", 5)] {
        let mut terminal = Terminal::start(&home, &format!("call one__add a=40 b=2 -- {}", gateway.url));
        terminal.shows("[c]ancel: ").await;
        terminal.types(key);
        assert_eq!(terminal.ends().await, Some(code), "{}", terminal.shown());
        terminal.shows(wanted).await;
        let shown = terminal.shown();
        assert_eq!(shown.matches("[c]ancel").count(), 1, "{shown}");
    }
}
