//! Structured output, where only objects can be.
//!
//! A value that is no object travels as `{"result": value}`, and its schema says so. References inside the
//! schema keep pointing at what they pointed at.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::model::JsonObject;

/// Definitions stay at the root, where references look for them.
const AT_ROOT: [&str; 3] = ["$schema", "$defs", "definitions"];

/// Whether a schema says at its root that the value is an object.
pub(super) fn is_object_schema(schema: &JsonObject) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// The schema of `{"result": value}`.
pub(super) fn wrap_schema(mut schema: JsonObject) -> JsonObject {
    let mut wrapped = JsonObject::new();
    for name in AT_ROOT {
        if let Some(mut value) = schema.remove(name) {
            redirect(&mut value);
            wrapped.insert(name.to_owned(), value);
        }
    }
    let mut inner = Value::Object(schema);
    redirect(&mut inner);
    wrapped.insert("type".to_owned(), json!("object"));
    wrapped.insert("properties".to_owned(), json!({ "result": inner }));
    wrapped.insert("required".to_owned(), json!(["result"]));
    wrapped
}

/// Mends references that started at the root: the root is one level further down now.
fn redirect(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(path) = target.strip_prefix('#')
                && (path.is_empty() || path.starts_with('/'))
                && !AT_ROOT.iter().any(|name| path[1.min(path.len())..].starts_with(name))
            {
                *target = format!("#/properties/result{path}");
            }
            members.values_mut().for_each(redirect);
        }
        Value::Array(items) => items.iter_mut().for_each(redirect),
        _ => {}
    }
}

/// The value as `{"result": value}`.
pub(super) fn wrap_raw(raw: &RawValue) -> Option<Box<RawValue>> {
    RawValue::from_string(format!("{{\"result\":{}}}", raw.get())).ok()
}

/// Whether a raw value is an object.
pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// Boolean schemas of properties as objects: older revisions have only those.
pub(super) fn spell_out_booleans(schema: &mut JsonObject) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({ "not": {} }),
            _ => {}
        }
    }
}
