//! Arrays: batches in 2025-03-26, nothing at all anywhere else.

use serde_json::Value;

use crate::child::{Demo, Line};
use crate::stage::Want::Refused;
use crate::stage::{META, STAGES, Stage, initialize, play, row};

const BATCHES: Stage = Stage::Session("2025-03-26");

#[test]
fn arrays_where_there_are_no_batches() {
    let stages: Vec<Stage> = STAGES.into_iter().filter(|stage| !stage.has_batches()).collect();
    let rows = [
        row("A16", r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P}]"#, Refused(&[-32600])),
        row("A16", r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#, Refused(&[-32600])),
        row("A16", "[]", Refused(&[-32600])),
        row("A16", " [1]", Refused(&[-32600])),
    ];
    play(&stages, &rows);
}

/// Modern requests travel alone, also where a session of another revision has batches.
#[test]
fn modern_requests_in_a_batch() {
    let mut demo = BATCHES.start();
    let params = format!(r#"{{"name":"toggle","arguments":{{}},"_meta":{{{META}}}}}"#);
    demo.send(format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}]"#));
    let seen = BATCHES.settle(&mut demo, 1, "A16");
    let answers = flatten(&seen);
    assert_eq!(answers.len(), 1, "A16: {seen:?}");
    assert!(answers[0].get("error").is_some(), "A16: {seen:?}");
}

/// The answers of a batch, in however many arrays and lines they came.
fn flatten(lines: &[Line]) -> Vec<Value> {
    lines
        .iter()
        .flat_map(|line| line.json.as_array().cloned().unwrap_or_else(|| vec![line.json.clone()]))
        .collect()
}

fn play_batch(demo: &mut Demo, batch: &str, row: &str) -> Vec<Value> {
    demo.send(batch);
    flatten(&BATCHES.settle(demo, 1, row))
}

fn code_for(answers: &[Value], id: &Value) -> Vec<Option<i64>> {
    answers
        .iter()
        .filter(|answer| answer["id"] == *id)
        .map(|answer| answer["error"]["code"].as_i64())
        .collect()
}

#[test]
fn good_and_bad_side_by_side() {
    let mut demo = BATCHES.start();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}},
        7, [],
        {"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"toggle","arguments":{}}},
        {"jsonrpc":"2.0","method":"notifications/no/such"},
        {"jsonrpc":"2.0","id":"two","method":"no/such"},
        {"jsonrpc":"2.0","id":3,"method":"ping"}]"#
        .replace('\n', " ");
    let answers = play_batch(&mut demo, &batch, "A17");
    assert_eq!(answers.len(), 6, "A17: {answers:?}");
    assert_eq!(code_for(&answers, &1.into()), [None]);
    assert_eq!(code_for(&answers, &"two".into()), [Some(-32601)]);
    assert_eq!(code_for(&answers, &3.into()), [None]);
    assert_eq!(code_for(&answers, &Value::Null), [Some(-32600); 3]);
    demo.finish();
}

#[test]
fn batches_that_are_refused_whole() {
    let one = |id: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"toggle","arguments":{{}}}}}}"#
        )
    };
    let many: Vec<String> = (1..=101).map(one).collect();
    let mut demo = BATCHES.start();
    for batch in ["[]".to_owned(), "[ ]".to_owned(), format!("[{}]", many.join(","))] {
        let answers = play_batch(&mut demo, &batch, "A17");
        assert_eq!(answers.len(), 1, "A17: {answers:?}");
        assert_eq!(answers[0]["error"]["code"], -32600, "A17");
        assert_eq!(answers[0].get("id"), Some(&Value::Null), "A17");
    }
    demo.finish();
}

#[test]
fn a_hundred_are_not_too_many() {
    let many: Vec<String> =
        (1..=100).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect();
    let mut demo = BATCHES.start();
    let answers = play_batch(&mut demo, &format!("[{}]", many.join(",")), "A17");
    assert_eq!(answers.len(), 100, "A17");
    assert!(answers.iter().all(|answer| answer.get("result").is_some()), "A17: {answers:?}");
    demo.finish();
}

#[test]
fn an_id_twice_in_one_batch() {
    let mut demo = BATCHES.start();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"toggle","arguments":{}}}]"#;
    let answers = play_batch(&mut demo, batch, "A17");
    assert_eq!(answers.len(), 2, "A17: {answers:?}");
    let refused: Vec<_> = answers.iter().filter(|answer| answer["error"]["code"] == -32600).collect();
    assert_eq!(refused.len(), 1, "A17: {answers:?}");
    demo.finish();
}

#[test]
fn initialize_in_a_batch() {
    let mut demo = Demo::start();
    demo.send(format!("[{}]", initialize("2025-03-26")));
    let seen = flatten(&Stage::Modern.settle(&mut demo, 1, "A17"));
    assert_eq!(seen[0]["error"]["code"], -32600, "A17 before any session: {seen:?}");

    let mut demo = BATCHES.start();
    let ping = r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#;
    let answers = play_batch(&mut demo, &format!("[{ping},{}]", initialize("2025-03-26")), "A17");
    assert!(
        answers.iter().all(|answer| answer["result"].get("protocolVersion").is_none()),
        "A17: {answers:?}"
    );
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600), "A17: {answers:?}");
    demo.finish();
}

/// A batch does not wait for an answer that will never come.
#[test]
fn a_cancelled_request_in_a_batch() {
    let mut demo = BATCHES.start();
    let sleep = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":60000}}}"#;
    demo.send(format!(r#"[{sleep},{{"jsonrpc":"2.0","id":2,"method":"ping"}}]"#));
    demo.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let answers = flatten(&BATCHES.settle(&mut demo, 1, "G03"));
    assert_eq!(answers.len(), 1, "G03: {answers:?}");
    assert_eq!(answers[0]["id"], 2, "G03: {answers:?}");
    demo.finish();
}
