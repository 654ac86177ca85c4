//! `test`: saved calls, what is expected of them, and who is told.

use super::stage::{Folder, run};

const STEPS: &str = r##"
// Comments are fine, and so are trailing commas.
{
  "server": "demo",
  "servers": { "other": "demo" },
  "steps": [
    { "name": "adds", "call": "add", "with": { "a": 1, "b": 2 },
      "expect": { "contains": "3", "matches": "^[0-9]+$" }, "save": { "sum": "/content/0/text" } },
    { "call": "echo", "on": "other", "with": { "message": "${sum} and more" },
      "expect": [{ "pointer": "/content/0/text", "equals": "3 and more" }, { "schema": { "required": ["content"] } }] },
    { "call": "fail", "with": { "message": "no" }, "expect": { "isError": true, "contains": "no" } },
    { "call": "no_such", "expect": { "error": -32602 } },
    { "read": "demo://readme", "expect": { "contains": ["#"] } },
    { "prompt": "greeting", "with": { "name": "Ada" }, "expect": { "contains": "Ada" } },
    { "list": "tools", "expect": { "pointer": "/tools/0/name", "equals": "echo" } },
    { "raw": "resources/read", "with": { "uri": "demo://readme" }, "expect": { "pointer": "/contents/0/uri", "equals": "demo://readme" } },
  ]
}"##;

#[test]
fn what_holds_passes_in_every_revision() {
    let folder = Folder::new();
    let file = folder.write("saved.jsonc", STEPS);
    for revision in super::REVISIONS {
        let told = run(&["test", &file, "--revision", revision]).succeeds();
        assert!(told.stdout.contains("8 passed, 0 failed"), "{}", told.stdout);
        assert!(told.stdout.contains("adds"), "{}", told.stdout);
    }
}

#[test]
fn what_does_not_hold_fails_and_says_why() {
    let folder = Folder::new();
    let steps = r#"{ "steps": [
        { "name": "right", "call": "add", "with": { "a": 1, "b": 1 } },
        { "name": "<wrong> & \"odd\"", "call": "add", "with": { "a": 1, "b": 1 }, "expect": { "contains": "3" } },
        { "call": "echo", "with": { "message": "${nothing}" } },
        { "call": "fail", "with": { "message": "oh" } },
        { "call": "echo", "with": { "message": "x" }, "expect": { "isError": true } },
        { "call": "echo", "with": { "message": "x" }, "expect": { "schema": { "required": ["missing"] } } },
        { "call": "echo", "with": { "message": "x" }, "expect": { "matches": "^y" } },
        { "call": "echo", "with": { "message": "x" }, "save": { "y": "/nowhere" } },
        { "list": "planets" }
    ] }"#;
    let (file, report) = (folder.write("wrong.json", steps), folder.name("report.xml"));
    let told = run(&["test", &file, "demo", "--junit", &report]).fails(5, "8 steps failed");
    for part in [
        "has no \"3\" in it: 2",
        "no step has saved \"nothing\"",
        "the tool failed: oh",
        "the tool did not fail",
        "does not fit its schema",
        "does not match",
        "nothing to save as y",
        "there is no list of \"planets\"",
    ] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    let xml = folder.read("report.xml");
    assert!(xml.contains("tests=\"9\" failures=\"8\""), "{xml}");
    assert!(xml.contains("&lt;wrong&gt; &amp; &quot;odd&quot;"), "{xml}");
    let json = run(&["test", &file, "demo", "-o", "json"]).json();
    assert_eq!((json["passed"].as_u64(), json["failed"].as_u64()), (Some(1), Some(8)));
    assert_eq!(run(&["test", &file, "demo", "-o", "ndjson"]).stdout.lines().count(), 9);
}

#[test]
fn a_session_becomes_tests_that_it_passes() {
    let folder = Folder::new();
    let recorded = folder.name("session.jsonl");
    for revision in super::REVISIONS {
        run(&["call", "demo", "weather", "city=Oslo", "--revision", revision, "--record", &recorded])
            .succeeds();
        let made = run(&["test", "--from", &recorded]).succeeds().stdout;
        let file = folder.write("made.jsonc", &made);
        for server in ["demo", &recorded] {
            run(&["test", &file, server, "--revision", revision]).succeeds();
        }
        let wrong = folder.write("wrong.jsonc", &made.replace("Oslo", "Rome"));
        run(&["test", &wrong, &recorded, "--revision", revision]).fails(5, "nobody asked");
    }
}

#[test]
fn a_bad_file_is_named_with_its_step() {
    let folder = Folder::new();
    let cases = [
        ("{", "line 1"),
        ("", "empty"),
        ("{\"steps\":[]}", "no steps"),
        ("{\"steps\":[{}]}", "step 1: it does exactly one of call, read"),
        ("{\"steps\":[{\"call\":\"a\",\"read\":\"b\"}]}", "step 1: it does exactly one of"),
        ("{\"steps\":[{\"call\":\"a\",\"expects\":{}}]}", "step 1: \"expects\" means nothing here"),
        ("{\"steps\":[{\"call\":\"a\",\"expect\":{\"contain\":1}}]}", "contain"),
        ("{\"steps\":[{\"call\":\"a\",\"on\":\"b\"}]}", "there is no server \"b\""),
        ("{\"tests\":[]}", "tests"),
    ];
    for (text, what) in cases {
        let file = folder.write("bad.json", text);
        let said = run(&["test", &file, "demo"]).fails(1, what);
        assert!(said.stderr.contains("bad.json"), "{}", said.stderr);
    }
    let file = folder.write("good.json", "{\"steps\":[{\"list\":\"tools\"}]}");
    run(&["test", &file]).fails(1, "which server?");
    run(&["test", &file, "--", "/no/such/program"]).fails(4, "/no/such/program");
}
