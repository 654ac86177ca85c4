//! Sessions with everything in them, in every revision and over every transport: recorded, replayed, served as mocks.

use serde_json::{Value, json};

use super::REVISIONS;
use super::stage::{BINARY, Folder, Listening, Talk, replays_everywhere, run};

const MODERN: &str = "2026-07-28";

/// Lists by pages, progress, questions, changes, a cancelled call: what older revisions have.
fn legacy(talk: &mut Talk, revision: &str) {
    let capabilities = json!({ "sampling": {}, "roots": {} });
    let hello = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
    let welcome = talk.ask(1, "initialize", &hello);
    assert_eq!(welcome["result"]["protocolVersion"], revision);
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let page = talk.ask(2, "tools/list", &json!({}));
    let cursor = page["result"]["nextCursor"].clone();
    assert!(cursor.is_string(), "{page}");
    talk.ask(3, "tools/list", &json!({ "cursor": cursor }));
    let counting =
        json!({ "name": "countdown", "arguments": { "steps": 3 }, "_meta": { "progressToken": "tick" } });
    talk.ask(4, "tools/call", &counting);
    assert_eq!(talk.heard("notifications/progress")["params"]["progressToken"], "tick");
    let question = json!({ "name": "ask_model", "arguments": { "question": "why" } });
    talk.say(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": question }));
    let asked = talk.heard("sampling/createMessage");
    let answer =
        json!({ "role": "assistant", "content": { "type": "text", "text": "because" }, "model": "m" });
    talk.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
    assert_eq!(talk.answer(5)["result"]["content"][0]["text"], "because");
    talk.ask(6, "resources/subscribe", &json!({ "uri": "demo://clock" }));
    talk.ask(7, "tools/call", &json!({ "name": "touch" }));
    talk.heard("notifications/resources/updated");
    talk.ask(8, "tools/call", &json!({ "name": "toggle" }));
    talk.heard("notifications/tools/list_changed");
    talk.ask(9, "tools/call", &json!({ "name": "toggle" }));
    talk.heard("notifications/tools/list_changed");
    talk.ask(10, "logging/setLevel", &json!({ "level": "error" }));
    talk.ask(11, "tools/call", &json!({ "name": "log_lines" }));
    talk.heard("notifications/message");
    talk.say(&json!({ "jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": { "name": "sleep", "arguments": { "ms": 3_000_000 } } }));
    talk.say(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 12 } }),
    );
    talk.ask(13, "no/such", &json!({}));
    talk.ask(14, "prompts/get", &json!({ "name": "greeting", "arguments": { "name": "Ada" } }));
    talk.ask(15, "ping", &json!({}));
}

/// Rounds of questions and a stream of changes: what the modern era has.
fn modern(talk: &mut Talk) {
    let meta = |token: Option<&str>| {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "sampling": {}, "elicitation": { "form": {} } },
        });
        if let Some(token) = token {
            meta["progressToken"] = token.into();
        }
        meta
    };
    let with = |mut params: Value| {
        params["_meta"] = meta(None);
        params
    };
    let welcome = talk.ask(1, "server/discover", &with(json!({})));
    assert!(welcome["result"].is_object(), "{welcome}");
    let page = talk.ask(2, "tools/list", &with(json!({})));
    talk.ask(3, "tools/list", &with(json!({ "cursor": page["result"]["nextCursor"] })));
    let counting = json!({ "name": "countdown", "arguments": { "steps": 3 }, "_meta": meta(Some("tick")) });
    talk.ask(4, "tools/call", &counting);
    let question = json!({ "name": "ask_model", "arguments": { "question": "why" } });
    let asked = talk.ask(5, "tools/call", &with(question.clone()));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let answer =
        json!({ "role": "assistant", "content": { "type": "text", "text": "because" }, "model": "m" });
    let mut round = with(question);
    round["requestState"] = asked["result"]["requestState"].clone();
    round["inputResponses"] = json!({ "model": answer });
    let done = talk.ask(6, "tools/call", &round);
    assert_eq!(done["result"]["content"][0]["text"], "because", "{done}");
    let wanted = with(json!({ "notifications": { "toolsListChanged": true } }));
    talk.say(&json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wanted }));
    talk.heard("notifications/subscriptions/acknowledged");
    talk.ask(8, "tools/call", &with(json!({ "name": "toggle" })));
    talk.heard("notifications/tools/list_changed");
    talk.ask(9, "tools/call", &with(json!({ "name": "fail", "arguments": { "message": "no" } })));
    talk.ask(10, "no/such", &with(json!({})));
}

fn talk_to(arguments: &[&str], revision: &str) {
    let mut talk = Talk::with(arguments);
    if revision == MODERN {
        modern(&mut talk)
    } else {
        legacy(&mut talk, revision)
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_whole_session_over_a_pipe_replays_and_serves_as_a_mock() {
    for revision in REVISIONS {
        let folder = Folder::new();
        let file = folder.name("session.jsonl");
        talk_to(&["record", "--to", &file, "--", BINARY, "demo", "--page-size", "8"], revision);
        let lines = folder.lines("session.jsonl");
        assert_eq!(lines[0]["transport"], "stdio");
        assert!(lines.iter().any(|line| line["agreed"] == revision), "{revision}");
        assert_eq!(lines.iter().filter(|line| line["end"] == "client").count(), 1);
        replays_everywhere(&folder.path("session.jsonl"), &[&["--", BINARY, "demo", "--page-size", "8"]]);
    }
}

#[test]
fn what_is_recorded_is_what_was_said() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let mut talk = Talk::with(&["record", "demo", "--to", &file]);
    // Odd spaces, members in no order, a number as others write it.
    let odd = r#"{"params" : {"protocolVersion":"2025-06-18","clientInfo":{"version":"1.50","name":"t"},"capabilities":{ } }, "id":1e0,"method":"initialize","jsonrpc":"2.0"}"#;
    talk.line("no message at all");
    talk.line(odd);
    talk.until(|message| message.get("result").is_some() || message.get("error").is_some());
    talk.end();
    let text = folder.read("session.jsonl");
    assert!(text.contains(odd), "{text}");
    assert!(text.contains(r#""text":"no message at all""#), "{text}");
}

#[test]
fn sessions_of_our_own_client_are_kept_and_replay() {
    for revision in REVISIONS {
        let folder = Folder::new();
        let demo = Listening::start(&["demo", "--listen", "127.0.0.1:0"]);
        for (name, server) in [("memory.jsonl", "demo"), ("http.jsonl", demo.url.as_str())] {
            let file = folder.name(name);
            let call = ["call", server, "ask_model", "question=why", "--sample", "because"];
            run(&[&call[..], &["--revision", revision, "--record", &file]].concat()).succeeds();
            replays_everywhere(&folder.path(name), &[&["demo"], &[&demo.url], &["--", BINARY, "demo"]]);
            // A transcript is a server like any other.
            let again = run(&["call", &file, "ask_model", "question=why", "--sample", "because"]);
            assert_eq!(again.succeeds().stdout.trim(), "because");
        }
    }
}

#[test]
fn a_record_between_clients_and_a_url_keeps_all_of_them() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let demo = Listening::start(&["demo", "--listen", "127.0.0.1:0"]);
    let record = Listening::start(&["record", &demo.url, "--to", &file]);
    for revision in REVISIONS {
        let question = ["call", &record.url, "ask_model", "question=why", "--sample", "because"];
        run(&[&question[..], &["--revision", revision]].concat()).succeeds();
        run(&["call", &record.url, "countdown", "steps=2", "--revision", revision]).succeeds();
        run(&["resources", "list", &record.url, "--revision", revision]).succeeds();
    }
    record.end();
    let lines = folder.lines("session.jsonl");
    assert_eq!(lines[0]["transport"], "http");
    assert!(lines.iter().any(|line| line["connection"] == 5), "a connection for each session");
    replays_everywhere(&folder.path("session.jsonl"), &[&["demo"], &[&demo.url]]);
}

#[test]
fn a_record_of_a_command_is_not_listened_to() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let refused = run(&["record", "--to", &file, "--listen", "127.0.0.1:0", "--", BINARY, "demo"]);
    refused.fails(1, "contexture bridge --listen");
    run(&["mock", &file, "--listen", "0.0.0.0:0"]).fails(1, "session.jsonl");
}
