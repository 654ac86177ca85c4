//! Files that are no transcripts, half of one, or too much of one.

use std::fs::File;

use super::stage::{Folder, command, run};

fn recorded(folder: &Folder) -> String {
    let file = folder.name("session.jsonl");
    run(&["call", "demo", "echo", "message=hi", "--record", &file]).succeeds();
    folder.read("session.jsonl")
}

#[test]
fn every_bad_file_is_named_with_its_line() {
    let folder = Folder::new();
    let text = recorded(&folder);
    let cases = [
        ("empty.jsonl", String::new(), "empty"),
        ("foreign.jsonl", "{\"name\":\"a package\"}\n".to_owned(), "line 1: this is no transcript"),
        ("words.jsonl", "not JSON\n".to_owned(), "line 1"),
        ("newer.jsonl", text.replacen("\"version\":1", "\"version\":2", 1), "version 2"),
        ("edited.jsonl", text.replacen("\"from\":\"server\"", "\"from\":\"nobody\"", 1), "line 3"),
        ("broken.jsonl", text.replacen("{\"at\"", "{at", 1), "line 2"),
        ("nothing.jsonl", text.lines().next().expect("a header").to_owned() + "\n", "nothing was said"),
    ];
    for (name, text, what) in cases {
        let file = folder.write(name, &text);
        for verb in [
            &["replay", &file, "demo"][..],
            &["mock", &file],
            &["tools", "list", &file],
            &["test", "--from", &file],
        ] {
            let said = run(verb).fails(1, what);
            assert!(said.stderr.contains(name), "{verb:?}: {}", said.stderr);
        }
    }
    run(&["mock", &folder.name("missing.jsonl")]).fails(1, "missing.jsonl");
}

#[test]
fn a_file_that_was_cut_off_is_used_as_far_as_it_goes() {
    let folder = Folder::new();
    let text = recorded(&folder);
    let at = text.rfind("\"end\"").expect("an end");
    let file = folder.write("cut.jsonl", &text[..at]);
    let said = run(&["replay", &file, "demo"]).succeeds();
    assert!(said.stderr.contains("cut off"), "{}", said.stderr);
}

#[test]
fn a_huge_file_is_not_read() {
    let folder = Folder::new();
    File::create(folder.path("huge.jsonl"))
        .and_then(|file| file.set_len(1 << 30))
        .expect("a file with holes");
    run(&["replay", &folder.name("huge.jsonl"), "demo"]).fails(1, "too large");
}

#[test]
fn a_file_of_somebody_else_is_not_written_over() {
    let folder = Folder::new();
    let file = folder.write("notes.jsonl", "my notes\n");
    run(&["tools", "list", "demo", "--record", &file]).fails(1, "no transcript");
    assert_eq!(folder.read("notes.jsonl"), "my notes\n");
    run(&["tools", "list", "demo", "--record", &folder.name("no/such/folder.jsonl")])
        .fails(1, "folder.jsonl");
}

#[test]
fn a_program_that_is_killed_leaves_what_was_said() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let mut child =
        command(&["call", "demo", "sleep", "ms=3000000", "--record", &file]).spawn().expect("it runs");
    while !std::fs::read_to_string(&file).unwrap_or_default().contains("\"sleep\",\"arguments\"") {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too soon");
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(run(&["tools", "list", &file]).succeeds().stdout.contains("echo"));
}

#[test]
fn a_mock_that_is_asked_nonsense_answers_and_goes_on() {
    let folder = Folder::new();
    recorded(&folder);
    let mut talk = super::stage::Talk::with(&["mock", &folder.name("session.jsonl")]);
    for line in
        ["{", "[]", "null", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":7}", "{\"id\":1,\"result\":{}}"]
    {
        talk.line(line);
    }
    let pong = talk.ask(77, "ping", &serde_json::json!({}));
    assert_eq!(pong["result"], serde_json::json!({}));
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_record_goes_on_with_every_connection_and_is_not_what_is_played() {
    let folder = Folder::new();
    let file = folder.name("many.jsonl");
    run(&[
        "bench",
        "demo",
        "echo",
        "message=hi",
        "-n",
        "6",
        "--connections",
        "3",
        "--concurrency",
        "3",
        "--record",
        &file,
    ])
    .succeeds();
    run(&["replay", &file, "demo"]).succeeds();
    let before = folder.read("many.jsonl");
    let ended = run(&["call", &file, "echo", "message=hi", "--record", &file]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(folder.read("many.jsonl"), before, "it is left as it was");
}
