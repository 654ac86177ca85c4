//! `policy`, and that a gateway does what it says.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::{BINARY, Run, command};

/// A person with a configuration, and with nothing else.
struct Home(PathBuf);

impl Home {
    fn new(policy: Value) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-policy-{}-{count}", std::process::id()));
        fs::create_dir(&path).expect("a new folder");
        let home = Self(path);
        let servers = json!({
            "demo": { "command": BINARY, "args": ["demo"] },
            "believed": { "command": BINARY, "args": ["demo"], "trusted": true },
        });
        let audit = home.0.join("audit.jsonl");
        home.write("gateway.json", &json!({ "servers": servers, "policy": policy, "audit": audit }));
        home
    }

    fn write(&self, name: &str, content: &Value) -> String {
        let path = self.0.join(name);
        fs::write(&path, content.to_string()).expect("a file");
        path.to_str().expect("text").to_owned()
    }

    fn config(&self) -> String {
        self.0.join("gateway.json").to_str().expect("text").to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = command(arguments);
        command.current_dir(&self.0).env("HOME", &self.0);
        for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, self.0.join(variable));
        }
        command.output().expect("the binary runs").into()
    }

    fn policy(&self, arguments: &[&str]) -> Run {
        self.run(&[&["policy"], arguments, &["--config", &self.config()]].concat())
    }

    fn explained(&self, arguments: &[&str]) -> Value {
        let run = self.policy(&[&["explain", "-o", "json"], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()
    }

    /// Calls a tool through a gateway, with nobody at a terminal who could be asked.
    fn call(&self, arguments: &[&str]) -> Run {
        let config = self.config();
        let gateway = ["--", BINARY, "run", "--config", &config];
        self.run(&[&["call"], arguments, &gateway].concat())
    }

    fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.0.join("audit.jsonl")).expect("a log");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn explain_says_what_decides_and_what_each_rule_says_to_it() {
    let home = Home::new(json!({ "rules": [
        { "server": "other", "decision": "allow" },
        { "annotations": { "readOnlyHint": true }, "decision": "allow" },
        { "tool": "ec*", "arguments": { "message": "rm *" }, "decision": "deny", "reason": "too dangerous" },
    ] }));
    let told = home.policy(&["explain", "demo", "echo", "message=rm -rf"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    for part in [
        "deny: the tool echo of server demo, for local",
        "rule 3: too dangerous",
        "about another server",
        "not trusted",
        "decides",
    ] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    let asked = home.explained(&["demo", "echo", "message=hello"]);
    assert_eq!((&asked["decision"], &asked["configured"]), (&json!("ask"), &json!(true)));
    assert_eq!(asked["rules"][2]["why"], "wants another argument \"message\"");
    let hints = ["--annotations", r#"{"readOnlyHint": true}"#];
    assert_eq!(home.explained(&[&["demo", "echo"], &hints[..]].concat())["decision"], "ask");
    assert_eq!(home.explained(&[&["believed", "echo"], &hints[..]].concat())["decision"], "allow");
    assert_eq!(home.explained(&["nobody", "x", "--principal", "anonymous"])["configured"], false);
    assert_eq!(home.explained(&["demo", "--kind", "sampling"])["decision"], "ask");
    assert_eq!(home.explained(&["demo", "demo://logo", "--kind", "resource"])["decision"], "allow");
}

/// What a trusted server says about a tool is not known offline: where it would decide, that is said.
#[test]
fn what_a_trusted_server_may_say_is_part_of_the_answer() {
    let home = Home::new(json!({ "rules": [{ "tool": "fail", "decision": "deny" }] }));
    let reads = "ask; allowed if the tool says that it only reads (--annotations '{\"readOnlyHint\": true}'): the tool echo";
    let told = home.policy(&["explain", "believed", "echo"]);
    assert!(told.stdout.starts_with(reads), "{}", told.stdout);
    assert_eq!(home.explained(&["believed", "echo"])["ifReadOnly"], "allow");
    let known = ["believed", "echo", "--annotations", r#"{"readOnlyHint": false}"#];
    for arguments in [&known[..], &["believed", "fail"], &["demo", "echo"]] {
        let explained = home.explained(arguments);
        assert_eq!(explained["ifReadOnly"], Value::Null, "{arguments:?}: {explained}");
    }
}

/// Rules that match nothing are pointed out wherever they are read.
#[test]
fn a_rule_that_matches_nothing_is_pointed_out() {
    let home = Home::new(json!({ "rules": [
        { "tool": "demo__fail", "decision": "deny" },
        { "server": "deno", "decision": "deny" },
        { "server": "de*", "tool": "fail", "decision": "deny" },
    ] }));
    let config = home.config();
    let explained = home.policy(&["explain", "demo", "demo__fail"]);
    let shown = home.run(&["config", "show", "--config", &config]);
    // Nobody says anything to it, so it ends.
    let ran = home.run(&["run", "--config", &config]);
    for said in [&explained.stderr, &shown.stdout, &ran.stderr] {
        assert!(
            said.contains(r#"rule 1 of the policy has the tool "demo__fail" as clients see it"#),
            "{said}"
        );
        assert!(said.contains(r#""server": "demo", "tool": "fail""#), "{said}");
        assert!(said.contains(r#"rule 2 of the policy matches nothing: no server "deno""#), "{said}");
        assert!(said.contains(r#"did you mean "demo"?"#), "{said}");
        assert!(!said.contains("rule 3"), "{said}");
    }
    assert!(explained.stdout.contains("would call it fail"), "{}", explained.stdout);
    assert_eq!(home.explained(&["demo", "demo__fail"])["own"], "fail");
    assert_eq!(home.explained(&["demo", "fail"])["own"], Value::Null);
    assert_eq!(home.explained(&["demo", "fail"])["decision"], "deny");
}

#[test]
fn what_cannot_be_explained_is_said() {
    let home = Home::new(json!({}));
    for (arguments, fault) in [
        (&["explain", "demo"][..], "which tool?"),
        (&["explain", "demo", "echo", "alone"], "NAME=VALUE"),
        (&["explain", "demo", "echo", "--annotations", "[]"], "--annotations"),
    ] {
        let failed = home.policy(arguments);
        assert_eq!(failed.code, Some(1), "{arguments:?}: {}", failed.stderr);
        assert!(failed.stderr.contains(fault), "{arguments:?}: {}", failed.stderr);
    }
    let broken = Home::new(json!({ "rules": [{ "tol": "x", "decision": "allow" }] }));
    let failed = broken.policy(&["explain", "demo", "echo"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    assert!(failed.stderr.contains("tol"), "{}", failed.stderr);
}

#[test]
fn a_table_of_expectations_holds_or_fails() {
    let home = Home::new(json!({ "default": "deny", "rules": [
        { "server": "demo", "tool": "echo", "decision": "allow" },
        { "tool": "*", "principal": "https://id.example ada", "decision": "ask" },
        { "annotations": { "readOnlyHint": true }, "decision": "allow" },
    ] }));
    let right = json!([
        { "server": "demo", "tool": "echo", "expect": "allow" },
        { "server": "demo", "tool": "add", "arguments": { "a": 1 }, "expect": "deny" },
        { "server": "demo", "tool": "add", "principal": "https://id.example ada", "expect": "ask" },
        { "server": "demo", "tool": "add", "annotations": { "readOnlyHint": true }, "expect": "deny" },
        { "server": "demo", "tool": "add", "annotations": { "readOnlyHint": true }, "trusted": true, "expect": "allow" },
        { "server": "believed", "tool": "add", "annotations": { "readOnlyHint": true }, "expect": "allow" },
        { "server": "demo", "prompt": "greeting", "expect": "deny" },
        { "server": "demo", "kind": "sampling", "expect": "deny" },
    ]);
    let file = home.write("right.json", &right);
    let held = home.policy(&["test", &file]);
    assert_eq!((held.code, held.stdout.lines().count()), (Some(0), 8), "{}{}", held.stdout, held.stderr);
    let mut wrong = right.clone();
    wrong[1]["expect"] = "allow".into();
    let file = home.write("wrong.json", &wrong);
    let failed = home.policy(&["test", &file]);
    assert_eq!(failed.code, Some(5), "{}", failed.stderr);
    assert!(failed.stdout.contains("FAILED 2   demo add: deny, not allow"), "{}", failed.stdout);
    assert!(failed.stderr.contains("1 of 8 expectations do not hold"), "{}", failed.stderr);
    let failed = home.policy(&["test", "-o", "json", &file]);
    assert_eq!((failed.code, failed.error()["exit"].as_u64()), (Some(5), Some(5)));
    let report = failed.json();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(7), &json!(1)));
    assert_eq!(report["cases"][1]["holds"], false);
}

#[test]
fn a_table_with_a_mistake_is_one_of_usage() {
    let home = Home::new(json!({}));
    for (number, table) in [
        json!([]),
        json!({}),
        json!([{ "server": "demo", "tool": "echo" }]),
        json!([{ "server": "demo", "expect": "allow" }]),
        json!([{ "server": "demo", "tool": "a", "prompt": "b", "expect": "allow" }]),
        json!([{ "server": "demo", "tool": "a", "expects": "allow", "expect": "allow" }]),
    ]
    .iter()
    .enumerate()
    {
        let file = home.write(&format!("{number}.json"), table);
        let failed = home.policy(&["test", &file]);
        assert_eq!(failed.code, Some(1), "{table}: {}", failed.stderr);
    }
    assert_eq!(home.policy(&["test", "/nowhere"]).code, Some(1));
}

// covers: TOOLS-HUMAN-LOOP, SEC-TOOL-CONSENT, SEC-USER-CONTROL, TOOLS-UI-INVOKED
#[test]
fn a_gateway_does_what_explain_says_and_writes_it_down() {
    let cases = [
        (json!({}), "ask", Some(5)),
        (json!({ "rules": [{ "tool": "echo", "decision": "allow" }] }), "allow", Some(0)),
        (
            json!({ "rules": [{ "tool": "echo", "decision": "deny", "reason": "not today" }] }),
            "deny",
            Some(5),
        ),
    ];
    for (policy, decision, code) in cases {
        let home = Home::new(policy);
        assert_eq!(home.explained(&["demo", "echo", "message=hello"])["decision"], decision);
        let called = home.call(&["demo__echo", "message=hello"]);
        assert_eq!(called.code, code, "{decision}: {}", called.stderr);
        let audit = home.audit();
        assert_eq!(
            (&audit[0]["decision"], &audit[0]["subject"]),
            (&json!(decision), &json!("local")),
            "{audit:?}"
        );
        assert_eq!((&audit[0]["name"], &audit[0]["catalogName"]), (&json!("echo"), &json!("demo__echo")));
        let calls = audit.iter().filter(|line| line["event"] == "call").count();
        match decision {
            "allow" => assert_eq!((called.stdout.as_str(), calls), ("hello\n", 1), "{audit:?}"),
            // Why, once, and no other tool in its place.
            "deny" => {
                assert_eq!((called.stderr.matches("not today").count(), calls), (1, 0), "{}", called.stderr);
                assert!(!called.stderr.contains("did you mean"), "{}", called.stderr);
            }
            // The question was shown, with everything that it has to say, and nobody answered.
            _ => {
                for part in ["\"echo\"", "\"demo\"", "\"message\": \"hello\"", "was not allowed"] {
                    assert!(called.stderr.contains(part), "{part}: {}", called.stderr);
                }
                assert_eq!(calls, 0);
            }
        }
    }
}

#[test]
fn what_people_have_answered_can_be_seen_and_forgotten() {
    let home = Home::new(json!({}));
    assert!(home.policy(&["answers"]).stdout.contains("nobody has answered"));
    let state = home.0.join("XDG_STATE_HOME").join("contexture");
    fs::create_dir_all(&state).expect("a folder");
    let said = |name: &str, allowed: bool| {
        json!({ "issuer": "", "subject": "local", "server": "demo", "kind": "tool", "name": name, "allowed": allowed,
            "pin": "", "entry": "", "since": 1 })
    };
    let page = json!({ "version": 1, "decisions": [said("echo", true), said("add", false)] });
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.write(true).create_new(true).open(state.join("decisions.json")).expect("a file");
    serde_json::to_writer(file, &page).expect("a file");
    let all = home.policy(&["answers"]).stdout;
    assert_eq!(all, "never  demo add for local\nalways demo echo for local\n");
    assert_eq!(home.explained(&["demo", "add"])["decision"], "deny");
    assert!(home.policy(&["forget", "demo", "add"]).stdout.contains("1 answer is forgotten"));
    assert_eq!(home.explained(&["demo", "add"])["decision"], "ask");
    assert_eq!(home.explained(&["demo", "echo"])["decision"], "allow");
    assert!(home.policy(&["forget", "demo"]).stdout.contains("1 answer is forgotten"));
    assert!(home.policy(&["forget", "demo"]).stdout.contains("nothing to forget"));
}

/// What `docs/policy.md` shows works as it is shown.
#[test]
fn the_document_is_right() {
    let text = include_str!("../../../../docs/policy.md");
    let blocks: Vec<Value> = text
        .split("```json\n")
        .skip(1)
        .map(|block| serde_json::from_str(block.split("```").next().unwrap_or_default()).expect("JSON"))
        .collect();
    let [policy, sampling, table] = blocks.as_slice() else { panic!("{} blocks", blocks.len()) };
    let home = Home::new(policy["policy"].clone());
    let held = home.policy(&["test", &home.write("table.json", table)]);
    assert_eq!(held.code, Some(0), "{}{}", held.stdout, held.stderr);
    let config: contexture_host::sampling::SamplingConfig =
        serde_json::from_value(sampling["sampling"].clone()).expect("a section");
    let models = contexture_host::sampling::Models::new(&config).expect("models");
    assert!(models.is_configured());
}
