//! Whether an answer is as expected, and in words what is not.

use serde_json::{Value, json};

use super::file::{Expectation, Texts};
use super::step::Answer;
use crate::terminal::text::cut;

/// How much of a value is shown.
const SHOWN: usize = 300;

/// What is not as expected.
pub(super) fn check(expectations: &[Expectation], answer: &Answer) -> Vec<String> {
    let wants_error = expectations.iter().find_map(|expectation| expectation.error);
    let result = match (answer, wants_error) {
        (Answer::None(why), _) => return vec![format!("there is no answer: {why}")],
        (Answer::Refused { code, .. }, Some(wanted)) if *code == wanted => return Vec::new(),
        (Answer::Refused { code, message }, Some(wanted)) => {
            return vec![format!("error {code} instead of {wanted}: {message}")];
        }
        (Answer::Refused { code, message }, None) => return vec![format!("error {code}: {message}")],
        (Answer::Result(result), Some(wanted)) => {
            return vec![format!("no error, instead of {wanted}: {}", shown(result))];
        }
        (Answer::Result(result), None) => result,
    };
    let mut faults = Vec::new();
    let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let may_fail = expectations.iter().find_map(|expectation| expectation.is_error);
    if failed != may_fail.unwrap_or(false) {
        faults.push(match failed {
            true => format!("the tool failed: {}", text_of(result)),
            false => "the tool did not fail".to_owned(),
        });
    }
    for expectation in expectations {
        one(expectation, result, &mut faults);
    }
    faults
}

fn one(expectation: &Expectation, result: &Value, faults: &mut Vec<String>) {
    let part = match &expectation.pointer {
        None => result,
        Some(pointer) => match result.pointer(pointer) {
            Some(part) => part,
            None => return faults.push(format!("there is no {pointer} in {}", shown(result))),
        },
    };
    let place = expectation.pointer.as_deref().unwrap_or("the result");
    if let Some(wanted) = expectation.equals.as_ref().filter(|wanted| *wanted != part) {
        faults.push(format!("{place} is {}\nand not {}", shown(part), shown(wanted)));
    }
    let text = text_of(part);
    let texts = match &expectation.contains {
        None => &[],
        Some(Texts::One(text)) => std::slice::from_ref(text),
        Some(Texts::All(texts)) => texts.as_slice(),
    };
    for wanted in texts.iter().filter(|wanted| !text.contains(wanted.as_str())) {
        faults.push(format!("{place} has no {wanted:?} in it: {}", cut(&text, SHOWN)));
    }
    if let Some(pattern) = &expectation.matches
        && let Err(why) =
            satisfies(&json!({ "type": "string", "pattern": pattern }), &Value::from(text.as_str()))
    {
        faults.push(format!("{place} does not match: {why}"));
    }
    if let Some(schema) = &expectation.schema
        && let Err(why) = satisfies(schema, part)
    {
        faults.push(format!("{place} does not fit its schema: {why}"));
    }
}

fn satisfies(schema: &Value, value: &Value) -> Result<(), String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is none: {error}"))?;
    validator.validate(value).map_err(|error| cut(&error.to_string(), SHOWN))
}

/// The text of a result: what it says to people, or else all of it.
fn text_of(value: &Value) -> String {
    let texts = |items: &Value, at: &str| -> Option<String> {
        let items = items.as_array()?;
        let texts: Vec<&str> = items.iter().filter_map(|item| item.pointer(at)?.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    match value {
        Value::String(text) => text.clone(),
        _ => [("content", "/text"), ("contents", "/text"), ("messages", "/content/text")]
            .iter()
            .find_map(|(member, at)| texts(value.get(member)?, at))
            .unwrap_or_else(|| value.to_string()),
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_string(), SHOWN)
}
