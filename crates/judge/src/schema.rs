//! Closing open schemas: members that a definition does not name become errors.

use serde_json::{Map, Value, json};

/// Definitions that others are composed of, or that are open by nature.
const OPEN: [&str; 6] =
    ["Result", "Task", "NotificationParams", "RequestParams", "JSONObject", "PaginatedRequestParams"];

/// Closes all definitions that are not meant to be open.
pub(crate) fn close_all(definitions: &mut Map<String, Value>) {
    for (name, definition) in definitions {
        if !OPEN.contains(&name.as_str()) && !name.ends_with("MetaObject") {
            close(definition, name.ends_with("Params"));
        }
    }
}

/// Refuses members that a schema does not name. JSON Schemas inside messages stay open.
fn close(schema: &mut Value, is_params: bool) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !["inputSchema", "outputSchema", "_meta"].contains(&name.as_str()) {
                close(property, name == "params");
            }
        }
        if is_params {
            properties.entry("_meta").or_insert_with(|| json!({}));
        }
        members.entry("additionalProperties").or_insert(json!(false));
        if members["additionalProperties"] == json!({}) && !is_params {
            members.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = members.get_mut(name) {
            close(inner, false);
        }
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(Value::Array(inner)) = members.get_mut(name) {
            inner.iter_mut().for_each(|inner| close(inner, false));
        }
    }
}
