//! What a change of a JSON Schema means to those who use it: whoever sends what fits the old one, or reads what fits the new one.
//!
//! What is not understood is called a change that may break something: to be wrong that way costs a look, the other way a client.

use serde_json::{Map, Value};

/// Whose schema it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Of what clients send: it must not become narrower.
    In,
    /// Of what clients get: it must not become wider.
    Out,
}

/// Words about a schema that constrain nothing.
const WORDS: &[&str] =
    &["title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated"];
/// Bounds from below: larger is narrower.
const LEAST: &[&str] = &["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/// Bounds from above: smaller is narrower.
const MOST: &[&str] = &["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/// How deep is looked.
const DEPTH: usize = 32;

/// What changed, in words, and whether it may break something.
pub(super) fn changes(old: &Value, new: &Value, way: Way) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    Walk { way, found: &mut found }.both(old, new, "", DEPTH);
    found
}

struct Walk<'a> {
    way: Way,
    found: &'a mut Vec<(String, bool)>,
}

impl Walk<'_> {
    fn narrower(&mut self, what: String) {
        self.found.push((what, self.way == Way::In));
    }

    fn wider(&mut self, what: String) {
        self.found.push((what, self.way == Way::Out));
    }

    fn both(&mut self, old: &Value, new: &Value, at: &str, depth: usize) {
        let (Value::Object(then), Value::Object(now)) = (old, new) else {
            if old != new {
                self.found.push((format!("{}: the schema changed", place(at)), true));
            }
            return;
        };
        if depth == 0 || then == now {
            return;
        }
        self.types(then, now, at);
        self.values(then, now, at);
        self.properties(then, now, at, depth);
        self.required(then, now, at);
        if let (Some(then), Some(now)) = (then.get("items"), now.get("items")) {
            self.both(then, now, &format!("{at}[]"), depth - 1);
        }
        self.others(then, now, at);
    }

    fn types(&mut self, then: &Map<String, Value>, now: &Map<String, Value>, at: &str) {
        let (old, new) = (kinds(then), kinds(now));
        if old == new {
            return;
        }
        let covers = |wide: &[String], narrow: &[String]| {
            let has = |kind: &String| {
                wide.contains(kind) || (kind == "integer" && wide.contains(&"number".to_owned()))
            };
            wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(has))
        };
        let what = format!("{}: {} became {}", place(at), shown(&old), shown(&new));
        match (covers(&new, &old), covers(&old, &new)) {
            (true, _) => self.wider(what),
            (false, true) => self.narrower(what),
            (false, false) => self.found.push((what, true)),
        }
    }

    fn values(&mut self, then: &Map<String, Value>, now: &Map<String, Value>, at: &str) {
        let list = |schema: &Map<String, Value>| schema.get("enum").and_then(Value::as_array).cloned();
        match (list(then), list(now)) {
            (None, Some(_)) => self.narrower(format!("{}: only certain values from now on", place(at))),
            (Some(_), None) => self.wider(format!("{}: any value from now on", place(at))),
            (Some(old), Some(new)) => {
                for gone in old.iter().filter(|value| !new.contains(value)) {
                    self.narrower(format!("{}: {gone} is no value any more", place(at)));
                }
                for added in new.iter().filter(|value| !old.contains(value)) {
                    self.wider(format!("{}: {added} is a value, too", place(at)));
                }
            }
            (None, None) => {}
        }
    }

    fn properties(&mut self, then: &Map<String, Value>, now: &Map<String, Value>, at: &str, depth: usize) {
        let of = |schema: &Map<String, Value>| schema.get("properties").and_then(Value::as_object).cloned();
        let (old, new) = (of(then).unwrap_or_default(), of(now).unwrap_or_default());
        for (name, schema) in &old {
            let inner = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            match new.get(name) {
                Some(now) => self.both(schema, now, &inner, depth - 1),
                // Nobody reads what is gone, and nobody understands it either.
                None => self.found.push((format!("{inner} is gone"), true)),
            }
        }
        let required = required(now);
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            let inner = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            // Those that must be there are told of once.
            if !required.contains(name) {
                self.found.push((format!("{inner} is new"), false));
            }
        }
    }

    fn required(&mut self, then: &Map<String, Value>, now: &Map<String, Value>, at: &str) {
        let (old, new) = (required(then), required(now));
        let inner = |name: &String| if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        for name in new.iter().filter(|name| !old.contains(name)) {
            self.narrower(format!("{} is required from now on", inner(name)));
        }
        let properties = now.get("properties").and_then(Value::as_object);
        for name in old.iter().filter(|name| !new.contains(name)) {
            if properties.is_some_and(|properties| properties.contains_key(name)) {
                self.wider(format!("{} need not be there any more", inner(name)));
            }
        }
    }

    fn others(&mut self, then: &Map<String, Value>, now: &Map<String, Value>, at: &str) {
        let handled = ["type", "enum", "properties", "required"];
        let names = then.keys().chain(now.keys().filter(|name| !then.contains_key(*name)));
        for name in names.filter(|name| !handled.contains(&name.as_str())) {
            let (old, new) = (then.get(name), now.get(name));
            if old == new || (name == "items" && old.is_some() && new.is_some()) {
                continue;
            }
            let what = format!("{}: {name} was {} and is {}", place(at), text(old), text(new));
            let numbers = (old.and_then(Value::as_f64), new.and_then(Value::as_f64));
            match (name.as_str(), numbers) {
                (word, _) if WORDS.contains(&word) => {
                    self.found.push((format!("{}: another {name}", place(at)), false))
                }
                (bound, (Some(old), Some(new))) if LEAST.contains(&bound) && new < old => self.wider(what),
                (bound, (Some(old), Some(new))) if MOST.contains(&bound) && new > old => self.wider(what),
                (bound, (Some(_), None)) if LEAST.contains(&bound) || MOST.contains(&bound) => {
                    self.wider(what)
                }
                (bound, _) if LEAST.contains(&bound) || MOST.contains(&bound) => self.narrower(what),
                ("additionalProperties", _) if new == Some(&Value::Bool(false)) => self.narrower(what),
                ("additionalProperties", _) if old == Some(&Value::Bool(false)) => self.wider(what),
                _ => self.found.push((what, true)),
            }
        }
    }
}

fn place(at: &str) -> &str {
    if at.is_empty() { "the whole" } else { at }
}

/// The types that a schema allows, in order; all of them if there are none.
fn kinds(schema: &Map<String, Value>) -> Vec<String> {
    let mut kinds: Vec<String> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.clone()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    kinds.sort();
    kinds
}

fn shown(kinds: &[String]) -> String {
    if kinds.is_empty() { "anything".to_owned() } else { kinds.join(" or ") }
}

fn text(value: Option<&Value>) -> String {
    value.map_or_else(|| "not there".to_owned(), Value::to_string)
}

fn required(schema: &Map<String, Value>) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_breaks_depends_on_who_reads_it() {
        let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
        let cases = [
            // (old, new, breaks senders, breaks readers)
            (object(json!({}), json!([])), object(json!({ "a": {} }), json!([])), false, false),
            (object(json!({}), json!([])), object(json!({ "a": {} }), json!(["a"])), true, false),
            (object(json!({ "a": {} }), json!(["a"])), object(json!({ "a": {} }), json!([])), false, true),
            (object(json!({ "a": {} }), json!([])), object(json!({}), json!([])), true, true),
            (json!({ "type": "integer" }), json!({ "type": "number" }), false, true),
            (json!({ "type": ["string", "null"] }), json!({ "type": "string" }), true, false),
            (json!({ "type": "string" }), json!({ "type": "integer" }), true, true),
            (json!({ "enum": [1, 2] }), json!({ "enum": [1] }), true, false),
            (json!({ "maximum": 5 }), json!({ "maximum": 9 }), false, true),
            (json!({}), json!({ "minLength": 1 }), true, false),
            (json!({ "description": "a" }), json!({ "description": "b" }), false, false),
            (json!({ "pattern": "a" }), json!({ "pattern": "b" }), true, true),
            (json!({ "items": { "type": "string" } }), json!({ "items": { "type": "integer" } }), true, true),
        ];
        for (old, new, senders, readers) in cases {
            let breaks = |way| changes(&old, &new, way).iter().any(|(_, breaking)| *breaking);
            assert_eq!(breaks(Way::In), senders, "{old} {new}");
            assert_eq!(breaks(Way::Out), readers, "{old} {new}");
        }
        let tool = object(json!({ "a": { "type": "string" } }), json!(["a"]));
        assert_eq!(changes(&tool, &tool, Way::In), []);
    }
}
