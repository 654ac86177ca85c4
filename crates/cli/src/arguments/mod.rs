//! Arguments from the command line: `name=text`, read as a schema says, and `name:=json`.
//!
//! What does not fit is refused here, before the server sees it: a missing, unknown or mistyped argument, and whatever else
//! the schema says about it, as far as it is understood here.

mod schema;

use contexture::model::JsonObject;
use serde_json::Value;

use crate::nearest;
use crate::terminal::text::{cut, safe_line};

pub(crate) use schema::Wanted;

/// How much of a value is shown.
const SHOWN: usize = 100;

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
            (name, Given::Text(text)) => {
                let value = match wanted(schema, name) {
                    Some(wanted) => wanted.read(text).map_err(|fault| format!("{name}: {fault}"))?,
                    None => text.into(),
                };
                (name, value)
            }
        };
        if named.contains(&name) {
            return Err(format!("{name} is given twice"));
        }
        named.push(name);
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

/// Finds the first argument that is missing, not known, or other than the schema says.
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
                let wanted = Wanted::of(schema, property);
                if !wanted.fits(value) {
                    let value = cut(&value.to_string(), SHOWN);
                    return Err(format!("{name}: {value} is not {}", wanted.expected()));
                }
            }
        }
    }
    schema::fault(arguments, schema).map_or(Ok(()), Err)
}

/// What the schema says about an argument, if it does.
fn wanted<'a>(schema: Option<&'a JsonObject>, name: &str) -> Option<Wanted<'a>> {
    let schema = schema?;
    Some(Wanted::of(schema, schema.get("properties")?.get(name)?))
}

/// Whether the schema may know of arguments that it does not list as properties.
fn is_open(schema: &JsonObject) -> bool {
    const ELSEWHERE: [&str; 8] =
        ["patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
    let more = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    more || ELSEWHERE.iter().any(|keyword| schema.contains_key(*keyword))
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
            (&open, json!({"x": "1"}), Ok(())),
            (&open, json!({"x": 1}), Err("x: 1 is not of type \"string\"")),
            (&combined, json!({"x": 1}), Ok(())),
        ];
        for (schema, arguments, wanted) in cases {
            let schema = schema.as_object().expect("an object");
            let found = check(arguments.as_object().expect("an object"), schema);
            assert_eq!(found, wanted.map_err(str::to_owned), "{arguments}");
        }
    }
}
