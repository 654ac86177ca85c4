//! Two messages, one recorded and one of now: what differs.
//!
//! Only what belongs to a single conversation is left out: what the server calls its questions, and what it gives to be brought
//! back (`requestState`, `nextCursor`), which nobody but itself understands. Placeholders of secrets stand for any text. Times
//! and random numbers of a server's own are differences.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use crate::transcript::is_placeholder;

/// What is given to be brought back, and what it is called when it comes back.
const FRESH: &[(&str, &str)] = &[("requestState", "requestState"), ("nextCursor", "cursor")];
/// Differences of one message; more say no more.
const MOST: usize = 20;

/// Where two messages differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Difference {
    /// A JSON pointer into the message.
    pub(super) pointer: String,
    /// `None` where it is new.
    pub(super) recorded: Option<Value>,
    /// `None` where it is missing.
    pub(super) now: Option<Value>,
}

/// What a server gave to be brought back: then, and now.
#[derive(Debug, Default)]
pub(super) struct Fresh(HashMap<String, String>);

impl Fresh {
    /// Puts what was given now into what was brought back then.
    pub(super) fn renew(&self, message: &mut Value) -> bool {
        let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return false };
        let mut changed = false;
        for (_, back) in FRESH {
            if let Some(Value::String(text)) = params.get_mut(*back)
                && let Some(now) = self.0.get(text.as_str())
            {
                now.clone_into(text);
                changed = true;
            }
        }
        changed
    }

    /// Remembers what was given.
    pub(super) fn learn(&mut self, recorded: &Value, now: &Value) {
        for (given, _) in FRESH {
            let text = |message: &Value| {
                message.pointer(&format!("/result/{given}")).and_then(Value::as_str).map(str::to_owned)
            };
            if let (Some(then), Some(now)) = (text(recorded), text(now)) {
                self.0.insert(then, now);
            }
        }
    }
}

/// All differences, at most so many, without those at pointers that are ignored.
pub(super) fn compare(recorded: &Value, now: &Value, ignored: &[String]) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(recorded, now, &mut String::new(), ignored, &mut found);
    found
}

fn walk(recorded: &Value, now: &Value, at: &mut String, ignored: &[String], found: &mut Vec<Difference>) {
    if found.len() >= MOST || ignored.iter().any(|pointer| pointer == at) {
        return;
    }
    match (recorded, now) {
        (Value::Object(then), Value::Object(members)) => {
            let names = then.keys().chain(members.keys().filter(|name| !then.contains_key(*name)));
            for name in names {
                let length = at.len();
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                member(name, (then.get(name), members.get(name)), at, ignored, found);
                at.truncate(length);
            }
        }
        (Value::Array(then), Value::Array(items)) => {
            for index in 0..then.len().max(items.len()) {
                let length = at.len();
                at.push_str(&format!("/{index}"));
                member("", (then.get(index), items.get(index)), at, ignored, found);
                at.truncate(length);
            }
        }
        (Value::String(placeholder), Value::String(_)) if is_placeholder(placeholder) => {}
        (Value::String(text), Value::String(other)) if is_same_but_for_secrets(text, other) => {}
        (then, now) if is_same(then, now) => {}
        (then, now) => {
            found.push(Difference {
                pointer: at.clone(),
                recorded: Some(then.clone()),
                now: Some(now.clone()),
            });
        }
    }
}

fn member(
    name: &str,
    pair: (Option<&Value>, Option<&Value>),
    at: &mut String,
    ignored: &[String],
    found: &mut Vec<Difference>,
) {
    match pair {
        (Some(Value::String(_)), Some(Value::String(_))) if FRESH.iter().any(|(given, _)| *given == name) => {
        }
        (Some(recorded), Some(now)) => walk(recorded, now, at, ignored, found),
        _ if found.len() >= MOST || ignored.iter().any(|pointer| pointer == at) => {}
        (recorded, now) => {
            found.push(Difference { pointer: at.clone(), recorded: recorded.cloned(), now: now.cloned() })
        }
    }
}

/// Numbers are the same if they mean the same.
fn is_same(recorded: &Value, now: &Value) -> bool {
    match (recorded, now) {
        (Value::Number(then), Value::Number(number)) => then == number || then.as_f64() == number.as_f64(),
        _ => recorded == now,
    }
}

/// A text that had a secret in it: what stands around the placeholders must be there, in this order.
fn is_same_but_for_secrets(recorded: &str, now: &str) -> bool {
    const BEGIN: &str = "[redacted ";
    if !recorded.contains(BEGIN) {
        return recorded == now;
    }
    let mut rest = now;
    for (index, piece) in recorded.split(BEGIN).enumerate() {
        let piece = if index == 0 { piece } else { piece.split_once(']').map_or(piece, |(_, after)| after) };
        match (index, rest.find(piece)) {
            (0, Some(0)) | (1.., Some(_)) => rest = &rest[rest.find(piece).unwrap_or(0) + piece.len()..],
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_found() {
        let then = json!({ "a": 1.0, "b": [1, 2], "s": "[redacted 1]", "t": "x [redacted 2] y", "requestState": "p" });
        let now = json!({ "a": 1, "b": [1, 3, 4], "s": "other", "t": "x hunter2 y", "requestState": "q", "c/d": true });
        let found = compare(&then, &now, &[]);
        let pointers: Vec<&str> = found.iter().map(|difference| difference.pointer.as_str()).collect();
        assert_eq!(pointers, ["/b/1", "/b/2", "/c~1d"]);
        assert_eq!(compare(&then, &now, &["/b".to_owned(), "/c~1d".to_owned()]), []);
        assert_eq!(compare(&json!("x [redacted 2] y"), &json!("z hunter2 y"), &[]).len(), 1);
    }
}
