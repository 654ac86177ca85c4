//! Responses, cancellations and progress: what a peer says about requests that are under way, and what it
//! says about others.
//!
//! `greet` is the call that waits for us: it ends when its elicitation is answered, and not before.

use serde_json::{Value, json};

use crate::child::{Demo, Line};
use crate::stage::Want::Silence;
use crate::stage::{NEWEST, Row, STAGES, Stage, play, row};

const SESSION: Stage = Stage::Session("2025-11-25");

/// Starts `greet` under this id and returns the id of the question that it asks.
fn waiting(demo: &mut Demo, id: &str) -> Value {
    demo.send(SESSION.call(id, "greet", r#"{"greeting":"Hello"}"#));
    demo.until(|line| line.method() == Some("elicitation/create")).json["id"].clone()
}

fn reply(id: &Value, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": name}}}).to_string()
}

fn text(line: &Line) -> &str {
    line.json["result"]["content"][0]["text"].as_str().unwrap_or(&line.text)
}

/// Another way to write the same id that is not the same id.
fn lookalike(id: &Value) -> Value {
    id.as_str().map_or_else(
        || Value::String(id.to_string()),
        |text| text.parse::<i64>().map_or_else(|_| Value::String(format!("{text} ")), Value::from),
    )
}

#[test]
fn responses_nobody_waits_for() {
    let rows: Vec<Row> = [
        r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"nobody","error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"x"}}}"#,
    ]
    .map(|line| row("A34", line, Silence))
    .into();
    let sessions: Vec<Stage> = STAGES.into_iter().filter(|stage| *stage != Stage::Modern).collect();
    play(&sessions, &rows);
}

/// In the modern era nobody asks the client anything, so no response can be right.
#[test]
fn responses_outside_any_session() {
    let mut demo = Demo::start();
    demo.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let seen = Stage::Modern.settle(&mut demo, 0, "A37");
    assert!(seen.len() <= 1, "A37: {seen:?}");
    assert!(seen.iter().all(|line| line.code() == Some(-32600)), "A37: {seen:?}");
    demo.finish();
}

#[test]
fn the_first_response_stands() {
    let mut demo = SESSION.start();
    let question = waiting(&mut demo, "5");
    demo.send(reply(&lookalike(&question), "Mallory"));
    demo.send(reply(&question, "Alice"));
    demo.send(reply(&question, "Bob"));
    assert_eq!(text(&demo.answer("5")), "Hello, Alice!", "A34");
    assert!(SESSION.settle(&mut demo, 0, "A34").is_empty(), "A34");
    demo.finish();
}

#[test]
fn a_response_that_is_two() {
    let mut demo = SESSION.start();
    let question = waiting(&mut demo, "5");
    let both = json!({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"name": "M"}},
        "error": {"code": 1, "message": "m"}});
    demo.send(both.to_string());
    // Whether the call fails at once or still waits: the answer must not have been taken from it.
    demo.send(reply(&question, "Alice"));
    let answer = demo.answer("5");
    assert_ne!(text(&answer), "Hello, M!", "A13");
    SESSION.settle(&mut demo, 0, "A13");
    demo.finish();
}

#[test]
fn an_id_in_use() {
    let mut demo = SESSION.start();
    let question = waiting(&mut demo, "5");
    let again = demo.ask(SESSION.call("5", "toggle", "{}"), "5");
    assert_eq!(again.code(), Some(-32600), "A35: {}", again.text);
    demo.send(reply(&question, "Alice"));
    assert_eq!(text(&demo.answer("5")), "Hello, Alice!", "A35");
    // And free again afterwards.
    assert_eq!(text(&demo.ask(SESSION.call("5", "echo", r#"{"message":"x"}"#), "5")), "x", "A36");
    SESSION.settle(&mut demo, 0, "A35");
    demo.finish();
}

#[test]
fn an_id_in_use_without_session() {
    let stage = Stage::Modern;
    let mut demo = stage.start();
    demo.send(stage.call("5", "sleep", r#"{"ms":60000}"#));
    let again = demo.ask(stage.call("5", "toggle", "{}"), "5");
    assert_eq!(again.code(), Some(-32600), "A35: {}", again.text);
    demo.send(cancel("5"));
    assert_eq!(text(&demo.ask(stage.call("5", "echo", r#"{"message":"x"}"#), "5")), "x", "A36");
    stage.settle(&mut demo, 0, "A35");
    demo.finish();
}

/// `5` and `"5"` are two requests.
#[test]
fn ids_of_two_types() {
    for stage in NEWEST {
        let mut demo = stage.start();
        demo.send(stage.call("5", "sleep", r#"{"ms":60000}"#));
        assert_eq!(text(&demo.ask(stage.call(r#""5""#, "echo", r#"{"message":"x"}"#), r#""5""#)), "x");
        demo.send(cancel("5"));
        stage.settle(&mut demo, 0, "A34");
        demo.finish();
    }
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"x"}}}}"#
    )
}

#[test]
fn cancellations_of_nothing() {
    let notification = |params: &str| {
        row(
            "G03",
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#),
            Silence,
        )
    };
    let mut rows: Vec<Row> = ["7", r#""nobody""#, "null", "{}", "1.5", "[]", "1e400x"]
        .into_iter()
        .take(6)
        .map(|id| row("G03", cancel(id), Silence))
        .collect();
    rows.extend(["{}", "[]", "null", "7", r#"{"requestId":7,"reason":{}}"#].map(notification));
    rows.push(row("G03", r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, Silence));
    rows.push(row("G06", cancel("0"), Silence));
    play(&STAGES, &rows);
}

#[test]
fn cancellations_before_during_and_after() {
    for stage in STAGES {
        let mut demo = stage.start();
        demo.send(cancel("5"));
        assert_eq!(text(&demo.ask(stage.call("5", "echo", r#"{"message":"x"}"#), "5")), "x", "G03 {stage:?}");
        demo.send(cancel("5"));
        demo.send(stage.call("6", "sleep", r#"{"ms":60000}"#));
        demo.send(cancel("6"));
        demo.send(cancel("6"));
        let seen = stage.settle(&mut demo, 0, "G03");
        assert!(seen.is_empty(), "G03 {stage:?}: a cancelled call was answered: {seen:?}");
        // The cancelled call is gone: its id is free.
        assert_eq!(text(&demo.ask(stage.call("6", "echo", r#"{"message":"y"}"#), "6")), "y", "G03 {stage:?}");
        demo.finish();
    }
}

#[test]
fn cancellation_of_a_lookalike() {
    let mut demo = SESSION.start();
    let question = waiting(&mut demo, "5");
    demo.send(cancel(r#""5""#));
    demo.send(reply(&question, "Alice"));
    assert_eq!(text(&demo.answer("5")), "Hello, Alice!", "G03");
    demo.finish();
}

/// The answer to a question whose call was cancelled finds nobody.
#[test]
fn an_answer_after_the_cancellation() {
    let mut demo = SESSION.start();
    let question = waiting(&mut demo, "5");
    demo.send(cancel("5"));
    demo.send(reply(&question, "Alice"));
    let seen = SESSION.settle(&mut demo, 0, "G03");
    assert!(seen.is_empty(), "G03: {seen:?}");
    demo.finish();
}

#[test]
fn progress_about_nothing() {
    let progress = |params: &str| {
        row(
            "G07",
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#),
            Silence,
        )
    };
    let rows = [
        progress(r#"{"progressToken":"nobody","progress":1}"#),
        progress(r#"{"progressToken":1,"progress":-1}"#),
        progress(r#"{"progressToken":"1","progress":1e308}"#),
        progress(r#"{"progressToken":1,"progress":"NaN"}"#),
        progress(r#"{"progressToken":{},"progress":1}"#),
        progress("{}"),
        progress("[]"),
    ];
    play(&STAGES, &rows);
    let mut demo = SESSION.start();
    let one = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n";
    demo.write(one.repeat(10_000).as_bytes());
    assert!(SESSION.settle(&mut demo, 0, "G07").is_empty(), "G07");
    demo.finish();
}

/// Two calls under one progress token: a client could not tell their progress apart.
#[test]
fn a_progress_token_in_use() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let meta = if stage == Stage::Modern { format!(",{}", crate::stage::META) } else { String::new() };
        let call = |id: u8, steps: u8, delay: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"countdown","arguments":{{"steps":{steps},"delay_ms":{delay}}},"_meta":{{"progressToken":"t"{meta}}}}}}}"#
            )
        };
        demo.send(call(1, 2, 60_000));
        demo.until(|line| line.method() == Some("notifications/progress"));
        demo.send(call(2, 3, 0));
        let mut foreign = 0;
        let answer = loop {
            let line = demo.next();
            if line.raw_id().as_deref() == Some("2") {
                break line;
            }
            foreign += usize::from(line.method() == Some("notifications/progress"));
        };
        assert!(
            answer.code().is_some() || foreign == 0,
            "G08 {stage:?}: progress of two calls under one token"
        );
        demo.send(cancel("1"));
        stage.settle(&mut demo, 0, "G08");
        demo.finish();
    }
}
