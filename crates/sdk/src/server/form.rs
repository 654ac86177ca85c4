//! Forms from Rust types: the flat part of JSON Schema that a person can be asked to fill in.
//!
//! A type with nested structures is refused where it is used, with the name of the field.

use serde_json::Value;

use crate::model::{ElicitSchema, JsonObject};
use crate::{Error, Result};

/// The form with one field for each field of `T`.
pub(super) fn form_of<T: schemars::JsonSchema>() -> Result<ElicitSchema> {
    let mut schema = crate::schema::schema_of::<T>();
    for unwanted in ["title", "description", "additionalProperties"] {
        schema.remove(unwanted);
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            simplify(field);
        }
    }
    ElicitSchema::try_from(schema).map_err(|error| {
        Error::Misuse(format!("{} is no form to fill in: {error}", std::any::type_name::<T>()))
    })
}

/// Says in the words of a form what a derived schema says about optional fields and Rust's number types.
fn simplify(field: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            field.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = field.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            field.remove("anyOf");
            field.extend(only);
        }
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = field.get_mut("oneOf") {
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.remove("type");
            if let Some(title) = choice.remove("description").or_else(|| choice.get("const").cloned()) {
                choice.entry("title").or_insert(title);
            }
        }
        field.entry("type").or_insert_with(|| "string".into());
    }
    if field.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
        field.remove("format");
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.remove("default");
    }
}
