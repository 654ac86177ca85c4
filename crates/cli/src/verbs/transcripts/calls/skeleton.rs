//! From a transcript to a file of tests: what was called, and that it comes to the same.

use std::path::Path;

use contexture::transport::Side;
use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::terminal;
use crate::terminal::text::safe_json;
use crate::transcript::{Kind, Transcript};

/// Prints the file.
pub(in super::super) fn skeleton(path: &Path) -> Result<(), Failure> {
    let transcript = Transcript::load(path)?;
    let said: Vec<(Side, Value)> = transcript.said().collect();
    let mut steps = Vec::new();
    for (at, (from, message)) in said.iter().enumerate() {
        let Kind::Request { id, method } = Kind::of(message) else { continue };
        if *from != Side::Client {
            continue;
        }
        let answer = said[at..].iter().find(|(from, answer)| {
            *from == Side::Server && matches!(Kind::of(answer), Kind::Answer { id: of } if of == id)
        });
        // Rounds of questions are one step, whose answer is the last one's.
        let asks = answer.is_some_and(|(_, answer)| {
            answer.pointer("/result/resultType") == Some(&json!("input_required"))
        });
        if let Some((_, answer)) = answer.filter(|_| !asks)
            && let Some(step) = step(&method, message, answer)
        {
            steps.push(step);
        }
    }
    let target = transcript.header.map(|header| header.target).unwrap_or_default();
    let file = json!({ "steps": steps });
    let text = serde_json::to_string_pretty(&file).map_err(|error| Failure::usage(error.to_string()))?;
    let head = format!("// Made of a session with {}.\n", crate::terminal::text::safe_line(&target));
    terminal::print((head + &safe_json(&text) + "\n").as_bytes())?;
    Ok(())
}

fn step(method: &str, request: &Value, answer: &Value) -> Option<Value> {
    let params = request.get("params").cloned().unwrap_or_default();
    let (verb, what) = match method {
        "tools/call" => ("call", params.get("name")?.clone()),
        "prompts/get" => ("prompt", params.get("name")?.clone()),
        "resources/read" => ("read", params.get("uri")?.clone()),
        _ => return None,
    };
    let mut step = Map::new();
    step.insert(verb.to_owned(), what);
    if let Some(arguments) = params.get("arguments").filter(|_| verb != "read") {
        step.insert("with".to_owned(), arguments.clone());
    }
    step.insert("expect".to_owned(), expectation(verb, answer));
    Some(step.into())
}

fn expectation(verb: &str, answer: &Value) -> Value {
    if let Some(code) = answer.pointer("/error/code") {
        return json!({ "error": code });
    }
    let result = answer.get("result").cloned().unwrap_or_default();
    let part = match verb {
        "call" if result.get("structuredContent").is_some() => "/structuredContent",
        "call" => "/content",
        "read" => "/contents",
        _ => "/messages",
    };
    let mut expected = json!({ "pointer": part, "equals": result.pointer(part) });
    if result.get("isError") == Some(&Value::Bool(true)) {
        expected["isError"] = true.into();
    }
    expected
}
