//! Arguments from the command line: `name=text`, read as a schema says, and `name:=json`.
//!
//! What does not fit is refused here, before the server sees it; what the schema does not mention is text.

use contexture::model::JsonObject;
use serde_json::{Number, Value};

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
    match schema?.get("properties")?.get(name)?.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            // If text will do, it is text.
            let first = kinds.next()?;
            Some(if kinds.any(|kind| kind == "string") { "string" } else { first })
        }
        _ => None,
    }
}

fn read(name: &str, text: &str, kind: Option<&str>) -> Result<Value, String> {
    let wrong = |what: &str| format!("{name}: {text:?} is not {what}");
    match kind {
        Some("integer") => {
            let number: Number = text.parse().map_err(|_| wrong("an integer"))?;
            let whole =
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() == 0.0);
            if whole { Ok(Value::Number(number)) } else { Err(wrong("an integer")) }
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
}
