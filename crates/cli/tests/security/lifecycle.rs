//! Requests at the wrong time, in the wrong era, or answered in a way that was not asked for.

use serde_json::{Value, json};

use crate::child::{Demo, Line};
use crate::stage::Want::{RefusedFor, Served};
use crate::stage::{META, STAGES, Stage, initialize, play, row};

#[test]
fn before_the_session() {
    let mut demo = Demo::start();
    for (line, served) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, false),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"toggle","arguments":{}}}"#,
            false,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, false),
    ] {
        let answer = demo.ask(line, "1");
        assert_eq!(answer.json.get("result").is_some(), served, "G09 {line}: {}", answer.text);
    }
    demo.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = demo.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, "2");
    assert!(answer.code().is_some(), "G09: initialized without initialize opened a session: {}", answer.text);
    Stage::Modern.settle(&mut demo, 0, "G09");
    demo.finish();
}

#[test]
fn before_the_session_is_ready() {
    for stage in STAGES {
        let Stage::Session(revision) = stage else { continue };
        let mut demo = Demo::start();
        demo.ask(initialize(revision), "0");
        let ping = demo.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "1");
        assert!(ping.json.get("result").is_some(), "G09 {revision}: {}", ping.text);
        demo.ask(stage.request("2", "tools/list", ""), "2");
        demo.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        stage.settle(&mut demo, 0, "G09");
        demo.finish();
    }
}

#[test]
fn initialize_that_is_not_one() {
    let mut demo = Demo::start();
    for params in [
        "null",
        "[]",
        "{}",
        r#"{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{"name":"a","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":null}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
        let answer = demo.ask(line, "1");
        assert!(matches!(answer.code(), Some(-32600 | -32602)), "G09 {params}: {}", answer.text);
    }
    // None of these opened a session; a right one still does.
    let answer = demo.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, "2");
    assert!(answer.code().is_some(), "G09: {}", answer.text);
    assert!(demo.ask(initialize("2025-11-25"), "0").json.get("result").is_some(), "G09");
    demo.finish();
}

/// A version nobody knows gets a counter-offer from the legacy era, never an error and never 2026-07-28.
#[test]
fn initialize_with_an_unknown_version() {
    for version in ["1999-01-01", "2026-07-28", "", "2025-11-25 ", "9999-99-99"] {
        let mut demo = Demo::start();
        let answer = demo.ask(initialize(version), "0");
        assert_eq!(answer.json["result"]["protocolVersion"], "2025-11-25", "G10 {version}: {}", answer.text);
        demo.finish();
    }
}

#[test]
fn initialize_twice() {
    for stage in STAGES {
        let Stage::Session(revision) = stage else { continue };
        let mut demo = stage.start();
        let other = if revision == "2024-11-05" { "2025-11-25" } else { "2024-11-05" };
        let answer = demo.ask(initialize(other), "0");
        assert!(answer.code().is_some(), "G09 {revision}: {}", answer.text);
        // Still the revision of the first: unreadable ids look as they did.
        demo.send("garbage");
        let seen = stage.settle(&mut demo, 1, "G09");
        assert_eq!(seen[0].raw_id().as_deref(), stage.unreadable_id(), "G09 {revision}");
        demo.finish();
    }
}

#[test]
fn the_eras_on_one_pipe() {
    let modern =
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{{"_meta":{{{META}}}}}}}"#);
    let old = modern.replace("2026-07-28", "2025-11-25");
    let odd = modern.replace("2026-07-28", "2099-01-01");
    let initialize = modern.replace("server/discover", "initialize");
    let ping = modern.replace("server/discover", "ping");
    let rows = [
        row("G10", modern, Served("9")),
        row("G10", old, RefusedFor("9", &[-32022])),
        row("G10", odd, RefusedFor("9", &[-32022])),
        row("G10", initialize, RefusedFor("9", &[-32601])),
        row("G10", ping, RefusedFor("9", &[-32601])),
    ];
    play(&STAGES, &rows);
}

#[test]
fn unsupported_versions_name_the_supported_ones() {
    let mut demo = Demo::start();
    let meta = META.replace("2026-07-28", "2099-01-01");
    let line = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
    let answer = demo.ask(line, "9");
    assert_eq!(answer.json["error"]["data"]["requested"], "2099-01-01", "G10: {}", answer.text);
    assert_eq!(answer.json["error"]["data"]["supported"], json!(["2026-07-28"]), "G10: {}", answer.text);
}

/// Asks a question of the client and hands back what it is, in the words of either era.
fn question(demo: &mut Demo, stage: Stage) -> Line {
    demo.send(stage.call("5", "greet", r#"{"greeting":"Hello"}"#));
    demo.until(|line| line.method() == Some("elicitation/create") || line.raw_id().as_deref() == Some("5"))
}

/// Answers the question; returns the final result, or the next question.
fn answered(demo: &mut Demo, stage: Stage, asked: &Line, answer: &Value) -> Line {
    if stage == Stage::Modern {
        let state = &asked.json["result"]["requestState"];
        let state = if state.is_null() { String::new() } else { format!(r#","requestState":{state}"#) };
        let members = format!(
            r#""name":"greet","arguments":{{"greeting":"Hello"}},"inputResponses":{{"who":{answer}}}{state}"#
        );
        demo.send(stage.request("6", "tools/call", &members));
    } else {
        demo.send(json!({"jsonrpc": "2.0", "id": asked.json["id"], "result": answer}).to_string());
    }
    demo.until(|line| line.method() == Some("elicitation/create") || line.is_response())
}

#[test]
fn answers_that_were_not_asked_for() {
    for stage in [Stage::Session("2025-06-18"), Stage::Session("2025-11-25"), Stage::Modern] {
        for answer in [
            json!({"action": "accept", "content": {"name": 5}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept", "content": []}),
            json!({"action": "accept", "content": {"name": null}}),
            json!({"action": "accept", "content": {"name": {"$ref": "x"}}}),
            json!({"action": "accept"}),
            json!({"action": "perhaps", "content": {"name": "x"}}),
            json!({"content": {"name": "x"}}),
            json!({}),
        ] {
            let mut demo = stage.start();
            let asked = question(&mut demo, stage);
            let end = answered(&mut demo, stage, &asked, &answer);
            let taken = end.json["result"]["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.starts_with("Hello,"));
            assert!(!taken || end.json["result"]["isError"] == true, "G23 {stage:?} {answer}: {}", end.text);
            stage.settle(&mut demo, 0, "G23");
            demo.finish();
        }
    }
}

#[test]
fn answers_with_more_than_was_asked_for() {
    for stage in [Stage::Session("2025-06-18"), Stage::Session("2025-11-25"), Stage::Modern] {
        let mut demo = stage.start();
        let asked = question(&mut demo, stage);
        let answer =
            json!({"action": "accept", "content": {"name": "Alice", "__proto__": "x", "admin": true}});
        let end = answered(&mut demo, stage, &asked, &answer);
        assert_eq!(end.json["result"]["content"][0]["text"], "Hello, Alice!", "G23 {stage:?}: {}", end.text);
        demo.finish();
    }
}

/// State that we did not seal, or sealed for another call, is refused; nothing runs.
#[test]
fn states_that_are_not_ours() {
    let stage = Stage::Modern;
    let mut demo = stage.start();
    let asked = question(&mut demo, stage);
    let sealed = asked.json["result"]["requestState"].as_str().map(ToOwned::to_owned);
    let sealed = sealed.expect("the demo keeps state between rounds");
    let (head, tail) = sealed.split_at(sealed.len() / 2);
    let flipped = if tail.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{head}{flipped}{}", &tail[1..]);
    let answer = r#""inputResponses":{"who":{"action":"accept","content":{"name":"Mallory"}}}"#;
    let greet = |greeting: &str, state: &str| {
        format!(r#""name":"greet","arguments":{{"greeting":"{greeting}"}},{answer},"requestState":{state}"#)
    };
    let huge = format!("\"{}\"", "A".repeat((64 << 10) + 1));
    for members in [
        greet("Hello", &format!("\"{tampered}\"")),
        greet("Hello", &format!("\"{head}\"")),
        greet("Hello", &format!("\"{sealed}{sealed}\"")),
        greet("Goodbye", &format!("\"{sealed}\"")),
        format!(r#""name":"toggle","arguments":{{}},{answer},"requestState":"{sealed}""#),
        greet("Hello", r#""garbage""#),
        greet("Hello", r#""\u0000""#),
        greet("Hello", &huge),
        greet("Hello", "7"),
        greet("Hello", "{}"),
    ] {
        let answer = demo.ask(stage.request("7", "tools/call", &members), "7");
        let what: String = members.chars().take(200).collect();
        assert_eq!(answer.code(), Some(-32602), "G19 {what}: {}", answer.text);
    }
    stage.settle(&mut demo, 0, "G19");
    // The state of another server is as foreign as any.
    let mut other = stage.start();
    let answer = other.ask(stage.request("7", "tools/call", &greet("Hello", &format!("\"{sealed}\""))), "7");
    assert_eq!(answer.code(), Some(-32602), "G19: {}", answer.text);
    // And the untouched state still works where it belongs.
    let answer = demo.ask(stage.request("8", "tools/call", &greet("Hello", &format!("\"{sealed}\""))), "8");
    assert_eq!(answer.json["result"]["content"][0]["text"], "Hello, Mallory!", "G19: {}", answer.text);
}

/// Answers that nobody asked for are ignored, or refused; they do not confuse a call that asks nothing.
#[test]
fn input_responses_of_odd_shapes() {
    let stage = Stage::Modern;
    let mut demo = stage.start();
    for (responses, codes) in [
        (r#"{"nobody":{"action":"accept"}}"#, None),
        ("[]", Some(-32602)),
        ("7", Some(-32602)),
        (r#""who""#, Some(-32602)),
    ] {
        let members = format!(r#""name":"echo","arguments":{{"message":"x"}},"inputResponses":{responses}"#);
        let answer = demo.ask(stage.request("7", "tools/call", &members), "7");
        assert_eq!(answer.code(), codes, "G18 {responses}: {}", answer.text);
    }
    stage.settle(&mut demo, 0, "G18");
    demo.finish();
}

/// A tool that needs what the client did not declare does not get to ask.
#[test]
fn asks_without_the_capability() {
    let mut demo = Demo::start();
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    for (tool, arguments) in
        [("greet", r#"{"greeting":"x"}"#), ("ask_model", r#"{"question":"x"}"#), ("list_roots", "{}")]
    {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let answer = demo.ask(line, "1");
        assert_ne!(answer.json["result"]["resultType"], "input_required", "G18 {tool}: {}", answer.text);
        assert!(
            answer.code() == Some(-32021) || answer.json["result"]["isError"] == true,
            "G18 {tool}: {}",
            answer.text
        );
    }
    let mut demo = Demo::start();
    demo.ask(initialize("2025-11-25").replace(r#""elicitation":{},"#, ""), "0");
    demo.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    demo.send(Stage::Session("2025-11-25").call("1", "greet", r#"{"greeting":"x"}"#));
    let line = demo.next();
    assert_eq!(line.raw_id().as_deref(), Some("1"), "G18: asked all the same: {}", line.text);
}
