//! Forms: what may be asked, and what may be answered.

use contexture_core::model::*;
use serde_json::{Value, json};

use super::samples::{form, object};
use super::{decode, refused, round_trip};

fn with(property: Value) -> Value {
    json!({ "type": "object", "properties": { "p": property } })
}

// covers: ELIC-SCHEMA-TYPES
#[test]
fn fields_keep_their_keywords() {
    for property in [
        json!({ "type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 2, "default": "x" }),
        json!({ "type": "number", "minimum": 0.5, "maximum": 1, "default": 0.75 }),
        json!({ "type": "integer", "minimum": 0, "maximum": 10, "default": 3 }),
        json!({ "type": "boolean", "default": false }),
        json!({ "type": "string", "enum": ["a", "b"], "default": "a" }),
        json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }),
        json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }] }),
        json!({ "type": "array", "items": { "type": "string", "enum": ["a"] }, "minItems": 1, "maxItems": 2 }),
        json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] }, "default": ["a"] }),
    ] {
        round_trip::<PrimitiveSchema>(property.clone());
        round_trip::<ElicitSchema>(with(property));
    }
    for odd in [json!({ "type": "null" }), json!({}), json!({ "type": ["string", "null"] }), json!(true)] {
        refused::<ElicitSchema>(with(odd));
    }
}

// covers: ELIC-SCHEMA-FLAT
#[test]
fn forms_are_flat() {
    for nested in [
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object" }),
        json!({ "type": "array", "items": { "type": "object" } }),
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "array" }),
        json!({ "$ref": "#/$defs/x" }),
        json!({ "type": "string", "$ref": "#/$defs/x" }),
        json!({ "type": "string", "anyOf": [{ "type": "string" }] }),
        json!({ "type": "string", "allOf": [] }),
        json!({ "type": "string", "oneOf": [{ "type": "string" }] }),
        json!({ "type": "string", "enum": ["a"], "enumNames": ["A", "B"] }),
        json!({ "type": "string", "default": 1 }),
    ] {
        let error = ElicitSchema::try_from(object(with(nested.clone())));
        assert!(error.is_err(), "{nested}");
        assert!(error.is_err_and(|error| error.to_string().contains("\"p\"")), "{nested}");
    }
    refused::<ElicitSchema>(json!({ "type": "string", "properties": {} }));
    refused::<ElicitSchema>(json!({ "type": "object" }));
}

// covers: ELIC-SCHEMA-FORMATS
#[test]
fn formats_are_four() {
    for format in ["email", "uri", "date", "date-time"] {
        round_trip::<ElicitSchema>(with(json!({ "type": "string", "format": format })));
    }
    for format in ["password", "regex", "Email", ""] {
        refused::<ElicitSchema>(with(json!({ "type": "string", "format": format })));
    }
}

#[test]
fn fields_keep_their_order() {
    let text = serde_json::to_string(&form()).expect("encodes");
    let names: Vec<String> = serde_json::from_str::<ElicitSchema>(&text)
        .expect("decodes")
        .properties
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["mail", "age", "sure", "plain", "named", "many", "named_many"]);
    assert!(form().property("age").is_some() && form().property("nothing").is_none());
}

// covers: SCHEMA-ELICIT
#[test]
fn a_form_needs_its_schema_and_answers_are_flat() {
    let asked = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
    round_trip::<ElicitParams>(asked);
    refused::<ElicitParams>(json!({ "message": "m" }));
    refused::<ElicitParams>(json!({ "requestedSchema": { "type": "object", "properties": {} } }));
    refused::<ElicitParams>(json!({ "mode": "url", "message": "m" }));
    refused::<ElicitParams>(json!({ "mode": "telepathy", "message": "m" }));
    round_trip::<ElicitParams>(json!({ "mode": "url", "message": "m", "url": "https://example.com" }));
    for answer in [json!("s"), json!(1), json!(0.5), json!(true), json!(["a"])] {
        round_trip::<ElicitResult>(json!({ "action": "accept", "content": { "p": answer } }));
    }
    for odd in [json!(null), json!({}), json!([1]), json!([["a"]])] {
        refused::<ElicitResult>(json!({ "action": "accept", "content": { "p": odd } }));
    }
}

// covers: ELIC-ACTIONS, ELIC-CONTENT-ON-ACCEPT
#[test]
fn actions_are_three() {
    for action in ["accept", "decline", "cancel"] {
        round_trip::<ElicitResult>(json!({ "action": action }));
    }
    refused::<ElicitResult>(json!({ "action": "reject" }));
    refused::<ElicitResult>(json!({ "content": {} }));
    assert_eq!(json!(ElicitResult::decline()), json!({ "action": "decline" }));
    assert_eq!(json!(ElicitResult::cancel()), json!({ "action": "cancel" }));
    let odd: ElicitResult = decode(json!({ "action": "decline", "content": { "a": "b" } })).expect("decodes");
    assert_eq!(odd.accepted(), None);
}
