//! Arguments from the command line: `name=text`, read as a schema says, and `name:=json`.
//!
//! What does not fit is refused here, before the server sees it: a missing, unknown or mistyped argument.
//! Ranges and patterns are the server's to check.

use contexture::model::JsonObject;
use serde_json::{Number, Value};

use crate::nearest;
use crate::terminal::text::safe_line;

/// The arguments of a tool. `schema` is its input schema, if it is known.
pub(crate) fn of_tool(
    base: JsonObject,
    words: &[String],
    schema: Option<&JsonObject>,
) -> Result<JsonObject, String> {
    let mut arguments = base;
    let mut named = Vec::new();
    for word in words {
        let (name, value) = match split(word)? {
            (name, Given::Json(json)) => {
                let value =
                    serde_json::from_str(json).map_err(|error| format!("{name}: no JSON: {error}"))?;
                (name, value)
            }
            (name, Given::Text(text)) => (name, read(name, text, kind_of(schema, name))?),
        };
        if named.contains(&name) {
            return Err(format!("{name} is given twice"));
        }
        named.push(name);
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

/// Finds the first argument that is missing, not known, or of another type than the schema says.
pub(crate) fn check(arguments: &JsonObject, schema: &JsonObject) -> Result<(), String> {
    let no_properties = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&no_properties);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(missing) = required.filter_map(Value::as_str).find(|name| !arguments.contains_key(*name)) {
        return Err(format!("the argument {} is missing", safe_line(missing)));
    }
    for (name, value) in arguments {
        match properties.get(name) {
            None if is_open(schema) => {}
            None => {
                let proposal = nearest::proposal(name, properties.keys().map(String::as_str));
                let proposal = proposal.map(|words| format!("; {words}")).unwrap_or_default();
                return Err(format!("there is no argument {name}{proposal}"));
            }
            Some(property) => {
                let kinds = kinds(property);
                if !kinds.is_empty() && !kinds.iter().any(|kind| is_a(value, kind)) {
                    return Err(format!("{name}: {value} is not of type {}", kinds.join(" or ")));
                }
            }
        }
    }
    Ok(())
}

/// Whether the schema may know of arguments that it does not list as properties.
fn is_open(schema: &JsonObject) -> bool {
    const ELSEWHERE: [&str; 8] =
        ["patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
    let more = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    more || ELSEWHERE.iter().any(|keyword| schema.contains_key(*keyword))
}

fn kinds(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
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

/// The arguments of a prompt, which are all text.
pub(crate) fn of_prompt(words: &[String]) -> Result<JsonObject, String> {
    let mut arguments = JsonObject::new();
    for word in words {
        let (name, Given::Text(text)) = split(word)? else {
            return Err(format!("{word}: arguments of prompts are text, NAME=TEXT"));
        };
        if arguments.insert(name.to_owned(), text.into()).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(arguments)
}

/// What stands behind the name.
enum Given<'a> {
    Text(&'a str),
    Json(&'a str),
}

fn split(word: &str) -> Result<(&str, Given<'_>), String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word}: arguments are NAME=VALUE"))?;
    let (name, given) = match name.strip_suffix(':') {
        Some(name) => (name, Given::Json(value)),
        None => (name, Given::Text(value)),
    };
    if name.is_empty() { Err(format!("{word}: arguments have a name")) } else { Ok((name, given)) }
}

/// The type that the schema wants, apart from `null`.
fn kind_of<'a>(schema: Option<&'a JsonObject>, name: &str) -> Option<&'a str> {
    let kinds = kinds(schema?.get("properties")?.get(name)?);
    let mut kinds = kinds.into_iter().filter(|kind| *kind != "null");
    // If text will do, it is text.
    let first = kinds.next()?;
    Some(if kinds.any(|kind| kind == "string") { "string" } else { first })
}

fn read(name: &str, text: &str, kind: Option<&str>) -> Result<Value, String> {
    let wrong = |what: &str| format!("{name}: {text:?} is not {what}");
    match kind {
        Some("integer") => {
            let number: Number = text.parse().map_err(|_| wrong("an integer"))?;
            if is_whole(&number) { Ok(Value::Number(number)) } else { Err(wrong("an integer")) }
        }
        Some("number") => text.parse().map(Value::Number).map_err(|_| wrong("a number")),
        Some("boolean") => text.parse().map(Value::Bool).map_err(|_| wrong("true or false")),
        Some(kind @ ("array" | "object")) => match (kind, serde_json::from_str(text)) {
            ("array", Ok(value @ Value::Array(_))) | ("object", Ok(value @ Value::Object(_))) => Ok(value),
            _ => Err(wrong(&format!("a JSON {kind}"))),
        },
        _ => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(words: &[&str]) -> Result<Value, String> {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "x": {"type": "number"}, "yes": {"type": "boolean"},
            "s": {"type": "string"}, "list": {"type": "array"}, "maybe": {"type": ["null", "integer"]},
            "either": {"type": ["integer", "string"]},
        }});
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        of_tool(JsonObject::new(), &words, schema.as_object()).map(Value::Object)
    }

    #[test]
    fn text_is_read_as_the_schema_says() {
        let read = tool(&["n=3", "x=1.5", "yes=true", "s=4", "list=[1]", "maybe=7", "either=8", "free=a=b"]);
        let wanted = json!({"n": 3, "x": 1.5, "yes": true, "s": "4", "list": [1], "maybe": 7, "either": "8", "free": "a=b"});
        assert_eq!(read, Ok(wanted));
        assert_eq!(tool(&["s:={\"a\":[1]}", "n:=\"x\""]), Ok(json!({"s": {"a": [1]}, "n": "x"})));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for word in ["n=x", "n=1.5", "x=", "yes=maybe", "list=1", "s:=nothing", "alone", "=3", ":=3"] {
            assert!(tool(&[word]).is_err(), "{word}");
        }
        assert!(tool(&["s=a", "s=b"]).is_err());
    }

    #[test]
    fn the_schema_tells_what_is_missing_unknown_or_of_another_type() {
        let closed = json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer"}, "limit": {"type": ["null", "string"]}, "any": {},
        }});
        let open = json!({"properties": {}, "additionalProperties": {"type": "string"}});
        let combined = json!({"properties": {}, "anyOf": [{"required": ["x"]}]});
        let cases = [
            (&closed, json!({"n": 1.0, "limit": null, "any": [1]}), Ok(())),
            (&closed, json!({"limit": "a"}), Err("the argument n is missing")),
            (&closed, json!({"n": 1, "limti": "a"}), Err("there is no argument limti; did you mean limit?")),
            (&closed, json!({"n": 1.5}), Err("n: 1.5 is not of type integer")),
            (&closed, json!({"n": 1, "limit": 3}), Err("limit: 3 is not of type null or string")),
            (&open, json!({"x": 1}), Ok(())),
            (&combined, json!({"x": 1}), Ok(())),
        ];
        for (schema, arguments, wanted) in cases {
            let schema = schema.as_object().expect("an object");
            let found = check(arguments.as_object().expect("an object"), schema);
            assert_eq!(found, wanted.map_err(str::to_owned), "{arguments}");
        }
    }
}
