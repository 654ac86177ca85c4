//! `contexture trust` and `contexture config`: what would be started is shown, agreed to, taken back.

use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{Gateway, Home};

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

fn run(home: &Home, arguments: &[&str]) -> Said {
    said(home.command(arguments).output().expect("the binary runs"))
}

/// How the server `theirs` stands, as `config show` has it.
fn standing(home: &Home) -> String {
    let shown = run(home, &["config", "show", "-o", "json"]);
    let shown: Value =
        serde_json::from_str(&shown.out).unwrap_or_else(|error| panic!("{error}: {}", shown.err));
    let servers = shown["servers"].as_array().expect("a list");
    let server = servers.iter().find(|server| server["name"] == "theirs").expect("it is configured");
    server["state"].as_str().expect("a word").to_owned()
}

#[test]
fn nobody_agrees_by_accident() {
    let home = Home::new();
    home.write("project/contexture.json", &json!({ "servers": { "theirs": home.demo() } }));
    let asked = run(&home, &["trust"]);
    assert_eq!(asked.code, Some(1), "{}", asked.err);
    assert!(asked.err.contains("server theirs") && asked.err.contains("--yes"), "{}", asked.err);
    assert!(asked.err.contains(&format!("runs: {} demo", home.server())), "{}", asked.err);
    assert_eq!((standing(&home).as_str(), home.running()), ("held", 0));
}

#[test]
fn what_was_agreed_to_can_be_listed_and_taken_back() {
    let home = Home::new();
    let entry =
        |word: &str| json!({ "servers": { "theirs": { "command": home.server(), "args": ["demo", word] } } });
    let file = home.write("project/contexture.json", &entry("one"));
    let agreed = run(&home, &["trust", "--yes", "-o", "json"]);
    assert_eq!(agreed.code, Some(0), "{}", agreed.err);
    let agreed: Value = serde_json::from_str(&agreed.out).expect("JSON");
    assert_eq!(agreed["trusted"][0]["server"], "theirs");
    assert_eq!(standing(&home), "enabled");
    assert!(run(&home, &["trust"]).out.contains("nothing here is waiting"));
    assert!(run(&home, &["trust", "--list"]).out.contains("contexture.json: theirs"));

    home.write("project/contexture.json", &entry("two"));
    assert_eq!(standing(&home), "held");
    let again = run(&home, &["trust", &file]);
    assert!(again.err.contains("changed since it was trusted"), "{}", again.err);
    assert_eq!(run(&home, &["trust", "--yes", &file]).code, Some(0));
    assert_eq!(standing(&home), "enabled");

    assert!(run(&home, &["trust", "--withdraw"]).out.contains("no longer trusted"));
    assert_eq!(standing(&home), "held");
    assert_eq!(run(&home, &["trust", "--list"]).out, "");
}

/// Settings of a project are agreed to as its servers are, and that is said before and after.
#[test]
fn settings_are_part_of_what_is_agreed_to() {
    let home = Home::new();
    let rules = json!({ "rules": [{ "server": "theirs", "decision": "allow" }] });
    let both = json!({ "servers": { "theirs": home.demo() }, "policy": rules });
    home.write("project/contexture.json", &both);
    let asked = run(&home, &["trust"]);
    assert!(asked.err.contains("settings beside the servers, which take effect"), "{}", asked.err);
    assert_eq!(run(&home, &["trust", "--yes"]).code, Some(0));
    let listed = run(&home, &["trust", "--list"]).out;
    assert!(listed.contains("contexture.json: theirs, (settings beside the servers)"), "{listed}");
    let listed = run(&home, &["trust", "--list", "-o", "json"]).out;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((&listed[0]["servers"], &listed[0]["settings"]), (&json!(["theirs"]), &json!(true)));
}

/// What a project says is shown to a person whose terminal does not obey it.
#[test]
fn what_is_shown_is_harmless() {
    let home = Home::new();
    let hostile = "x\u{1b}[2K\u{1b}[1A\u{202e}safe\r";
    home.write(
        "project/.mcp.json",
        &json!({ "mcpServers": { "theirs": { "command": "sh", "args": ["-c", hostile] } } }),
    );
    let shown = run(&home, &["trust"]);
    assert!(shown.err.contains("server theirs"), "{}", shown.err);
    assert!(!shown.err.contains(['\u{1b}', '\u{202e}', '\r']), "{:?}", shown.err);
}

#[tokio::test]
async fn a_gateway_that_watches_starts_what_is_agreed_to() {
    let home = Home::new();
    home.write("project/contexture.json", &json!({ "servers": { "theirs": home.demo() } }));
    let gateway = Gateway::start(&home, &["run", "--watch", "--listen", "127.0.0.1:0"]);
    assert_eq!(gateway.tools().await, Vec::<String>::new());
    assert_eq!(run(&home, &["trust", "--yes"]).code, Some(0));
    let begun = Instant::now();
    while !gateway.tools().await.iter().any(|tool| tool == "theirs__echo") {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not started: {:?}", gateway.said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn what_is_wrong_is_shown_with_its_line() {
    let home = Home::new();
    let file = home.path().join("project/mine.json");
    let text = "{\n  // mine\n  \"servers\": {\n    \"good\": { \"command\": \"x\" },\n    \"bad\": { \"comand\": \"x\" }\n  }\n}\n";
    std::fs::write(&file, text).expect("it can be written");
    let shown = run(&home, &["config", "show", "--config", "mine.json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("enabled   good"), "{}", shown.out);
    assert!(
        shown.out.contains(
            "mine.json:5: server \"bad\": \"comand\" is no key of a server; did you mean \"command\"?"
        ),
        "{}",
        shown.out
    );
    assert!(run(&home, &["config", "show", "--config", "nowhere.json"]).err.contains("no such file"));
}

#[test]
fn the_schema_is_printed() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&run(&home, &["config", "schema"]).out).expect("JSON");
    assert!(schema["$defs"]["server"]["properties"]["command"].is_object());
}

#[test]
fn nobody_logs_in_to_what_is_not_trusted() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/${{HOME}}/mcp", listener.local_addr().expect("an address"));
    home.write("project/contexture.json", &json!({ "servers": { "theirs": { "url": url } } }));
    let asked = run(&home, &["login", "theirs", "--headless"]);
    assert_eq!(asked.code, Some(1), "{}", asked.err);
    assert!(asked.err.contains("contexture trust"), "{}", asked.err);
    assert!(listener.accept().is_err(), "it was asked");
}

#[test]
fn no_verb_starts_what_is_not_trusted() {
    let home = Home::new();
    let marker = home.path().join("was-run");
    let script = format!("touch '{}'; exec '{}' demo", marker.display(), home.server());
    let server = json!({ "command": "/bin/sh", "args": ["-c", script] });
    home.write("project/contexture.json", &json!({ "servers": { "theirs": server } }));
    for verb in
        [&["tools", "list", "theirs"][..], &["ping", "theirs"], &["doctor", "theirs"], &["bridge", "theirs"]]
    {
        let asked = run(&home, verb);
        assert!(asked.code != Some(0), "{verb:?}");
        let words = asked.out + &asked.err;
        assert!(words.contains("contexture trust"), "{verb:?}: {words}");
        assert!(!marker.exists(), "{verb:?} started it");
    }
}

#[test]
fn names_that_a_shell_would_run_are_not_proposed() {
    let home = Home::new();
    let servers = json!({ "plain": home.demo(), "x;touch y": home.demo(), "$(id)": home.demo() });
    home.write("project/contexture.json", &json!({ "servers": servers }));
    let mut command = home.command(&["--", "contexture", "ping", ""]);
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", "2");
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    let proposed = said(command.output().expect("the binary runs"));
    assert!(proposed.out.lines().any(|line| line.trim() == "plain"), "{} {}", proposed.out, proposed.err);
    assert!(!proposed.out.contains("touch") && !proposed.out.contains("id)"), "{}", proposed.out);
}
