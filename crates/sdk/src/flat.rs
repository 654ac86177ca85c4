//! A quick check for the schemas that most tools have: an object of strings, numbers and booleans.
//!
//! It decides exactly what JSON Schema decides for the few keywords that it knows, straight from the text
//! and without building a value; a schema with any other keyword is not flat. It never explains: whoever
//! wants to know what is wrong asks the full validator.

use serde_json::Value;

use crate::json_rpc::{Member, Members};
use crate::model::JsonObject;

const STRING: u8 = 1;
const NUMBER: u8 = 2;
const INTEGER: u8 = 4;
const BOOLEAN: u8 = 8;
const NULL: u8 = 16;
/// One bit for each field says whether it was seen.
const MAX_FIELDS: usize = 64;

/// A schema of nothing but scalar fields.
#[derive(Debug)]
pub(crate) struct Flat {
    fields: Vec<Field>,
    required: u64,
    closed: bool,
}

#[derive(Debug)]
struct Field {
    name: String,
    kinds: u8,
    minimum: f64,
    maximum: f64,
}

impl Flat {
    /// The quick form of a schema, if it has one.
    pub(crate) fn of(schema: &JsonObject) -> Option<Self> {
        let known = ["type", "properties", "required", "additionalProperties", "title", "description"];
        if schema.get("type")? != "object" || schema.keys().any(|key| !known.contains(&key.as_str())) {
            return None;
        }
        let closed = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Bool(false)) => true,
            Some(_) => return None,
        };
        let properties = schema.get("properties").map_or(Some(Vec::new()), |all| {
            all.as_object()?.iter().map(|(name, field)| Field::of(name, field)).collect()
        })?;
        let mut flat = Self { fields: properties, required: 0, closed };
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let at = flat.fields.iter().position(|field| *name == field.name)?;
            flat.required |= 1 << at;
        }
        (flat.fields.len() <= MAX_FIELDS).then_some(flat)
    }

    /// Whether the text of an object fits.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let mut seen = 0;
        for Member { name, value } in Members::of(text) {
            match self.fields.iter().position(|field| field.name == name) {
                Some(at) if self.fields[at].fits(value) => seen |= 1 << at,
                None if !self.closed => {}
                _ => return false,
            }
        }
        seen & self.required == self.required
    }
}

impl Field {
    fn of(name: &str, schema: &Value) -> Option<Self> {
        let schema = schema.as_object()?;
        let mut field =
            Self { name: name.to_owned(), kinds: 0, minimum: f64::NEG_INFINITY, maximum: f64::INFINITY };
        for (key, value) in schema {
            match key.as_str() {
                "type" => field.kinds = kinds(value)?,
                "minimum" => field.minimum = value.as_f64()?,
                "maximum" => field.maximum = value.as_f64()?,
                "title" | "description" | "default" | "examples" => {}
                // Rust's number types; formats of text are for the full validator.
                "format" if value.as_str().is_some_and(is_number_format) => {}
                _ => return None,
            }
        }
        (field.kinds != 0).then_some(field)
    }

    fn fits(&self, value: &str) -> bool {
        let has = |kind: u8| self.kinds & kind != 0;
        match value.as_bytes().first() {
            Some(b'"') => has(STRING),
            Some(b't' | b'f') => has(BOOLEAN),
            Some(b'n') => has(NULL),
            Some(b'-' | b'0'..=b'9') => has(NUMBER | INTEGER) && self.fits_number(value),
            _ => false,
        }
    }

    fn fits_number(&self, text: &str) -> bool {
        let Ok(number) = text.parse::<f64>() else { return false };
        let whole = self.kinds & NUMBER != 0 || number.fract() == 0.0;
        whole && number.is_finite() && number >= self.minimum && number <= self.maximum
    }
}

fn is_number_format(format: &str) -> bool {
    format.starts_with("int") || format.starts_with("uint") || format == "float" || format == "double"
}

fn kinds(value: &Value) -> Option<u8> {
    match value {
        Value::String(kind) => match kind.as_str() {
            "string" => Some(STRING),
            "number" => Some(NUMBER),
            "integer" => Some(INTEGER),
            "boolean" => Some(BOOLEAN),
            "null" => Some(NULL),
            _ => None,
        },
        Value::Array(several) => several.iter().map(kinds).try_fold(0, |all, kind| Some(all | kind?)),
        _ => None,
    }
}

#[cfg(all(test, feature = "validation"))]
mod tests {
    use super::*;
    use serde_json::json;

    /// Agrees with the full validator on every text.
    #[test]
    fn decides_as_the_full_validator_does() {
        let schemas = [
            json!({"type":"object"}),
            json!({"type":"object","properties":{"s":{"type":"string","description":"x"},"i":{"type":"integer","format":"int64"}},"required":["s"]}),
            json!({"type":"object","properties":{"u":{"type":"integer","format":"uint8","minimum":0,"maximum":255},"n":{"type":["number","null"]},"b":{"type":"boolean","default":true}},"required":["b"],"additionalProperties":false}),
        ];
        let values = [
            "{}",
            r#"{"s":"a"}"#,
            r#"{"s":1}"#,
            r#"{"\u0073":"a","i":1}"#,
            r#"{"s":"a","i":1.0}"#,
            r#"{"s":"a","i":1.5}"#,
            r#"{"s":"a","i":1e2}"#,
            r#"{"s":"a","i":"1"}"#,
            r#"{"s":null}"#,
            r#"{"s":"a","x":[1]}"#,
            r#"{"s":"a","i":-0}"#,
            r#"{"b":true,"u":255}"#,
            r#"{"b":true,"u":256}"#,
            r#"{"b":true,"u":-1}"#,
            r#"{"b":true,"n":null}"#,
            r#"{"b":true,"n":1.5}"#,
            r#"{"b":true,"x":1}"#,
            r#"{"b":"true"}"#,
            r#"{"b":true,"n":[]}"#,
            r#"{"b":true,"n":{}}"#,
        ];
        for schema in schemas {
            let schema = schema.as_object().expect("an object");
            let flat = Flat::of(schema).expect("flat");
            let full = crate::schema::Checker::compile(schema).expect("compiles");
            for text in values {
                let value = serde_json::from_str(text).expect("json");
                assert_eq!(flat.fits(text), full.check(&value).is_ok(), "{text} against {schema:?}");
            }
        }
    }

    #[test]
    fn other_keywords_are_not_flat() {
        for schema in [
            json!({"type":"object","properties":{"a":{"type":"array"}}}),
            json!({"type":"object","properties":{"a":{"type":"string","minLength":1}}}),
            json!({"type":"object","properties":{"a":{"type":"string","format":"email"}}}),
            json!({"type":"object","properties":{"a":{"enum":["x"]}}}),
            json!({"type":"object","required":["a"]}),
            json!({"type":"object","minProperties":1}),
            json!({"properties":{}}),
        ] {
            assert!(Flat::of(schema.as_object().expect("an object")).is_none(), "{schema}");
        }
    }
}
