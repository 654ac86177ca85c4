//! What a replay finds, and what it leaves out.

use serde_json::Value;

use super::stage::{BINARY, Folder, Listening, run};

/// A transcript of one call, changed by hand.
fn edited(folder: &Folder, from: &str, to: &str) -> String {
    let file = folder.name("session.jsonl");
    run(&["call", "demo", "countdown", "steps=2", "--record", &file]).succeeds();
    let text = folder.read("session.jsonl");
    assert!(text.contains(from), "{from}: {text}");
    folder.write("edited.jsonl", &text.replace(from, to))
}

#[test]
fn an_answer_that_differs_is_shown_with_its_place() {
    let folder = Folder::new();
    let file = edited(&folder, "liftoff", "landing");
    let shown = run(&["replay", &file, "demo"]).fails(5, "1 difference");
    for part in ["the answer to tools/call countdown", "/result/content/0/text", "\"landing\"", "\"liftoff\""]
    {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.all());
    }
    let json = run(&["replay", &file, "demo", "-o", "json"]).json();
    assert_eq!(json["findings"][0]["kind"], "differs");
    assert_eq!(json["findings"][0]["differences"][0]["now"], "liftoff");
    run(&["replay", &file, "demo", "--ignore", "/result/content/0/text"]).succeeds();
}

#[test]
fn what_does_not_come_and_what_comes_besides_is_told() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    run(&["call", "demo", "countdown", "steps=2", "--record", &file]).succeeds();
    let text = folder.read("session.jsonl");
    let progress: Vec<&str> = text.lines().filter(|line| line.contains("notifications/progress")).collect();
    assert_eq!(progress.len(), 2);
    let less = text.replace(&format!("{}\n", progress[1]), "");
    let less = folder.write("less.jsonl", &less);
    let found = run(&["replay", &less, "demo", "-o", "json"]).json();
    assert_eq!(found["findings"][0]["kind"], "extra", "{found}");
    let third = progress[1].replace("2 of 2", "3 of 2");
    let more = text.replace(progress[1], &format!("{}\n{third}", progress[1]));
    let more = folder.write("more.jsonl", &more);
    let found = run(&["replay", &more, "demo", "-o", "json"]).json();
    assert_eq!(found["findings"][0]["kind"], "missing", "{found}");
}

#[test]
fn what_a_server_makes_up_anew_is_a_difference() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    run(&["read", "demo", "demo://clock", "--record", &file]).succeeds();
    let text = folder.read("session.jsonl");
    let seconds =
        text.split(" seconds since").next().and_then(|before| before.rsplit('"').next()).expect("a time");
    // As if it had been another day.
    let file = folder.write("older.jsonl", &text.replace(seconds, "86400"));
    run(&["replay", &file, "demo"]).fails(5, "resources/read demo://clock");
}

#[test]
fn a_server_that_dies_or_hangs_is_told_from_one_that_answers() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    run(&["call", "demo", "echo", "message=hi", "--record", &file]).succeeds();
    let dies = run(&["replay", &file, "-o", "json", "--", "sh", "-c", "read line; exit 3"]);
    assert_eq!(dies.code, Some(5), "{}", dies.all());
    assert!(dies.json()["findings"].as_array().is_some_and(|found| !found.is_empty()));
    let hangs = run(&["replay", &file, "--timeout", "1", "--", "sh", "-c", "while read line; do :; done"]);
    hangs.fails(5, "did not come");
    run(&["replay", &file, "--", "/no/such/program"]).fails(4, "/no/such/program");
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    run(&["replay", &file, &format!("http://{gone}/mcp")]).fails(4, "contexture: ");
}

#[test]
fn a_question_that_nobody_was_asked_then_is_refused_and_told() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let call = ["call", "demo", "list_roots", "--revision", "2025-06-18"];
    run(&[&call[..], &["--root", "/", "--record", &file]].concat()).succeeds();
    let lines: Vec<String> = folder.read("session.jsonl").lines().map(str::to_owned).collect();
    let asks = |line: &String| {
        serde_json::from_str::<Value>(line).is_ok_and(|line| line["message"]["method"] == "roots/list")
    };
    let at = lines.iter().position(asks).expect("a question");
    let without: Vec<String> = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != at && *index != at + 1)
        .map(|(_, line)| line.clone())
        .collect();
    let file = folder.write("without.jsonl", &(without.join("\n") + "\n"));
    let found = run(&["replay", &file, "--", BINARY, "demo"]);
    let found = found.fails(5, "the question roots/list came and was not there then");
    // It was refused, so the tool went on, and failed.
    assert!(found.stdout.contains("the answer to tools/call list_roots differs"), "{}", found.stdout);
}

#[test]
fn a_mock_says_what_it_does_not_know() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    run(&["call", "demo", "echo", "message=hi", "--record", &file]).succeeds();
    run(&["call", &file, "echo", "message=hi"]).succeeds();
    run(&["call", &file, "echo", "message=ho"]).fails(1, "nobody asked tools/call with");
    run(&["prompts", "list", &file]).fails(1, "nobody asked prompts/list in this transcript");
    let listening = Listening::start(&["mock", &file, "--listen", "127.0.0.1:0"]);
    run(&["call", &listening.url, "echo", "message=ho"]).fails(1, "nobody asked tools/call with");
    run(&["call", &listening.url, "echo", "message=hi"]).succeeds();
}
