//! What a tool's schema wants of one argument, as far as a command line has to know: types, and choices.
//!
//! References within the schema are followed, never others, and alternatives are taken together. Where a schema says it in a
//! way that is not understood here, everything is let through: the server decides.

use contexture::model::JsonObject;
use serde_json::{Number, Value};

use crate::terminal::text::{cut, safe_line};

/// How many references, one leading to the next, are followed.
const DEEPEST: usize = 16;
/// How many choices are worth naming.
const SHOWN: usize = 12;
/// Schemas that are larger are checked by their servers alone.
const MOST_BYTES: usize = 256 * 1024;
/// Of a schema that refers to itself many times, so much is looked at.
const MOST_STEPS: usize = 1_000;
/// How long a fault may be.
const LONGEST: usize = 300;

/// What is wanted of a value.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'a> {
    /// Types that it may have.
    kinds: Vec<&'a str>,
    /// Values that it may be, beside those.
    choices: Vec<&'a Value>,
    /// It may be something that is not known here.
    is_open: bool,
    /// How much of the schema was looked at.
    steps: usize,
}

impl<'a> Wanted<'a> {
    /// Of a property, in the schema that it is part of.
    pub(crate) fn of(root: &'a JsonObject, property: &'a Value) -> Self {
        let mut wanted = Self::default();
        wanted.gather(root, property, DEEPEST);
        wanted
    }

    fn gather(&mut self, root: &'a JsonObject, schema: &'a Value, depth: usize) {
        self.steps += 1;
        let Some(depth) = depth.checked_sub(1).filter(|_| self.steps <= MOST_STEPS) else {
            self.is_open = true;
            return;
        };
        if let Some(reference) = schema.get("$ref") {
            match reference.as_str().and_then(|reference| at(root, reference)) {
                Some(schema) => self.gather(root, schema, depth),
                None => self.is_open = true,
            }
            return;
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(name)?.as_array());
        let all = schema.get("allOf").and_then(Value::as_array);
        match (schema.get("enum"), schema.get("const"), schema.get("type"), branches, all.map(Vec::as_slice))
        {
            (Some(Value::Array(choices)), ..) => self.choices.extend(choices),
            (_, Some(only), ..) => self.choices.push(only),
            (_, _, Some(Value::String(kind)), ..) => self.kinds.push(kind),
            (_, _, Some(Value::Array(kinds)), ..) => {
                self.kinds.extend(kinds.iter().filter_map(Value::as_str))
            }
            (.., Some(branches), _) => branches.iter().for_each(|branch| self.gather(root, branch, depth)),
            (.., Some([only])) => self.gather(root, only, depth),
            _ => self.is_open = true,
        }
    }

    /// A text as the value that is meant; or what it should be.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        if let Some(choice) = self.choices.iter().find(|choice| is_written(choice, text)) {
            return Ok((*choice).clone());
        }
        // If text will do, it is text.
        if self.is_open
            || self.kinds.contains(&"string")
            || (self.kinds.is_empty() && self.choices.is_empty())
        {
            return Ok(text.into());
        }
        let read = self.kinds.iter().find_map(|kind| read_as(text, kind));
        read.ok_or_else(|| format!("{text:?} is not {}", self.in_words()))
    }

    pub(super) fn fits(&self, value: &Value) -> bool {
        let nothing_said = self.kinds.is_empty() && self.choices.is_empty();
        self.is_open
            || nothing_said
            || self.kinds.iter().any(|kind| is_a(value, kind))
            || self.choices.contains(&value)
    }

    /// As a type, for signatures: `integer`, `"a" | "b"`.
    pub(crate) fn kind(&self) -> String {
        let kinds = self.kinds.iter().map(|kind| safe_line(kind));
        let choices =
            self.choices.iter().take(SHOWN).map(|choice| cut(&safe_line(&choice.to_string()), LONGEST));
        let more = (self.choices.len() > SHOWN).then(|| "…".to_owned());
        let all: Vec<String> = kinds.chain(choices).chain(more).collect();
        if all.is_empty() || self.is_open { "any".to_owned() } else { all.join(" | ") }
    }

    /// As the end of a sentence that begins with what was typed.
    fn in_words(&self) -> String {
        let choices = self.choices();
        let kinds = self.kinds.iter().filter(|kind| **kind != "null").map(|kind| match *kind {
            "integer" => "an integer".to_owned(),
            "number" => "a number".to_owned(),
            "boolean" => "true or false".to_owned(),
            kind => format!("a JSON {}", safe_line(kind)),
        });
        let all: Vec<String> = choices.into_iter().chain(kinds).collect();
        if all.is_empty() { "null".to_owned() } else { all.join(" or ") }
    }

    /// What a value of another kind should have been.
    pub(super) fn expected(&self) -> String {
        match self.choices() {
            Some(choices) if self.kinds.is_empty() => choices,
            Some(choices) => format!("{choices} or of type {}", self.kinds.join(" or ")),
            None => format!("of type {}", self.kinds.join(" or ")),
        }
    }

    fn choices(&self) -> Option<String> {
        let written = |choice: &&Value| match choice {
            Value::String(text) => safe_line(text),
            other => safe_line(&other.to_string()),
        };
        let more = if self.choices.len() > SHOWN { ", …" } else { "" };
        let names: Vec<String> = self.choices.iter().take(SHOWN).map(written).collect();
        (!names.is_empty()).then(|| format!("one of {}{more}", cut(&names.join(", "), LONGEST)))
    }
}

/// What a reference within the schema leads to.
fn at<'a>(root: &'a JsonObject, reference: &str) -> Option<&'a Value> {
    let mut steps =
        reference.strip_prefix("#/")?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut found = root.get(&steps.next()?)?;
    for step in steps {
        found = match found {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(&step)?,
        };
    }
    Some(found)
}

fn is_written(choice: &Value, text: &str) -> bool {
    match choice {
        Value::String(choice) => choice == text,
        other => serde_json::to_string(other).is_ok_and(|written| written == text),
    }
}

fn read_as(text: &str, kind: &str) -> Option<Value> {
    match kind {
        "integer" => text.parse().ok().filter(is_whole).map(Value::Number),
        "number" => text.parse().ok().map(Value::Number),
        "boolean" => text.parse().ok().map(Value::Bool),
        "null" => (text == "null").then_some(Value::Null),
        "array" => serde_json::from_str(text).ok().filter(Value::is_array),
        "object" => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => Some(text.into()),
    }
}

/// A type that does not exist forbids nothing.
fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(is_whole),
        _ => true,
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
}

/// The first fault that the whole schema finds: lengths, ranges, patterns, what is inside of lists. Schemas that refer to
/// themselves are left to the server: a small value can take long there.
pub(super) fn fault(arguments: &JsonObject, schema: &JsonObject) -> Option<String> {
    let text = serde_json::to_string(schema).ok()?;
    if text.len() > MOST_BYTES || text.contains("\"$ref\"") || text.contains("\"$dynamicRef\"") {
        return None;
    }
    let patterns = jsonschema::PatternOptions::regex().size_limit(MOST_BYTES);
    let options =
        jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns);
    // A schema that makes no sense to us may to its server.
    let validator = options.build(&Value::Object(schema.clone())).ok()?;
    let arguments = Value::Object(arguments.clone());
    let error = validator.iter_errors(&arguments).next()?;
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/');
    let what = cut(&safe_line(&error.to_string()), LONGEST);
    Some(if place.is_empty() { what } else { format!("{}: {what}", safe_line(place)) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> JsonObject {
        let schema = json!({
            "$defs": { "size": { "enum": ["s", "m"] }, "loop": { "$ref": "#/$defs/loop" }, "a/b": { "type": "integer" } },
            "properties": {
                "size": { "$ref": "#/$defs/size" },
                "maybe": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "deep": { "oneOf": [{ "type": "null" }, { "$ref": "#/$defs/a~1b" }] },
                "level": { "enum": [1, 2, "max"] },
                "loop": { "$ref": "#/$defs/loop" },
                "away": { "$ref": "https://example.org/schema" },
                "mixed": { "type": ["boolean", "number"] },
                "fixed": { "const": "x" },
                "wrapped": { "allOf": [{ "type": "boolean" }] },
            },
        });
        schema.as_object().expect("an object").clone()
    }

    #[test]
    fn references_alternatives_and_choices_are_understood() {
        let schema = schema();
        let wanted = |name: &str| Wanted::of(&schema, &schema["properties"][name]);
        let cases = [
            ("size", "m", Ok(json!("m"))),
            ("size", "xl", Err("\"xl\" is not one of s, m")),
            ("maybe", "7", Ok(json!(7))),
            ("maybe", "null", Ok(json!(null))),
            ("maybe", "x", Err("\"x\" is not an integer")),
            ("deep", "7", Ok(json!(7))),
            ("level", "2", Ok(json!(2))),
            ("level", "max", Ok(json!("max"))),
            ("level", "3", Err("\"3\" is not one of 1, 2, max")),
            ("loop", "anything", Ok(json!("anything"))),
            ("away", "anything", Ok(json!("anything"))),
            ("mixed", "1.5", Ok(json!(1.5))),
            ("mixed", "true", Ok(json!(true))),
            ("mixed", "x", Err("\"x\" is not true or false or a number")),
            ("fixed", "y", Err("\"y\" is not one of x")),
            ("wrapped", "yes", Err("\"yes\" is not true or false")),
        ];
        for (name, text, expected) in cases {
            let read = wanted(name).read(text);
            assert_eq!(read, expected.map_err(str::to_owned), "{name}={text}");
            if let Ok(value) = read {
                assert!(wanted(name).fits(&value), "{name}={text}");
            }
        }
        assert!(!wanted("size").fits(&json!("xl")) && !wanted("maybe").fits(&json!("7")));
        let kinds = [("size", "\"s\" | \"m\""), ("maybe", "integer | null"), ("away", "any")];
        for (name, kind) in kinds {
            assert_eq!(wanted(name).kind(), kind);
        }
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let again = vec![json!({"$ref": "#/$defs/a"}); 20];
        let schema = json!({"$defs": {"a": {"anyOf": again}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
        let root = schema.as_object().expect("an object");
        assert_eq!(Wanted::of(root, &schema["properties"]["x"]).kind(), "any");
    }

    #[test]
    fn the_whole_schema_finds_what_types_do_not() {
        let schema = json!({"properties": {
            "n": {"type": "integer", "maximum": 3}, "tags": {"type": "array", "items": {"type": "string"}},
        }});
        let fault = |arguments: Value| {
            fault(arguments.as_object().expect("an object"), schema.as_object().expect("an object"))
        };
        assert_eq!(fault(json!({"n": 3, "tags": ["a"]})), None);
        assert_eq!(fault(json!({"n": 4})).as_deref(), Some("n: 4 is greater than the maximum of 3"));
        assert!(
            fault(json!({"tags": ["a", 1]}))
                .is_some_and(|fault| fault.starts_with("tags/1: 1 is not of type"))
        );
    }
}
