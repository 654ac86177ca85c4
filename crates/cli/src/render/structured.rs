//! Structured content: a table if it is rows of plain values, and otherwise JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::indented;
use super::table;
use crate::terminal::style::Style;
use crate::terminal::text::{safe_json, safe_line};

/// More columns are no table any more.
const MOST_COLUMNS: usize = 16;

pub(super) fn shown(structured: &RawValue, width: usize, style: Style) -> String {
    match rows(structured.get()) {
        Some((head, rows)) => table::set(&head, &rows, width, style),
        None => safe_json(&indented(structured.get())) + "\n",
    }
}

/// Whether a text says the same, as servers repeat it for clients of old; a value alone may be wrapped as `result`.
pub(super) fn is_mirror(text: &str, structured: &RawValue) -> bool {
    let (Ok(text), Ok(value)) =
        (serde_json::from_str::<Value>(text), serde_json::from_str::<Value>(structured.get()))
    else {
        return false;
    };
    text == value || sole(&value).is_some_and(|inner| *inner == text)
}

/// Whether it is a single value, which needs no setting.
pub(super) fn is_plain(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| !value.is_array() && !value.is_object())
}

fn sole(value: &Value) -> Option<&Value> {
    value.as_object().filter(|members| members.len() == 1)?.values().next()
}

/// The head and the rows, if there are any: of an array of flat objects, or of the only member of an object.
fn rows(json: &str) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let rows: Vec<Row> = match serde_json::from_str(json) {
        Ok(rows) => rows,
        Err(_) => {
            let wrapped: std::collections::BTreeMap<String, Vec<Row>> = serde_json::from_str(json).ok()?;
            (wrapped.len() == 1).then(|| wrapped.into_values().next()).flatten()?
        }
    };
    let mut head: Vec<&str> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| &row.0) {
        if value.is_array() || value.is_object() {
            return None;
        }
        if !head.contains(&name.as_str()) {
            head.push(name);
        }
        if head.len() > MOST_COLUMNS {
            return None;
        }
    }
    if head.is_empty() {
        return None;
    }
    let cell =
        |row: &Row, name: &str| row.0.iter().find(|(known, _)| known == name).map(|(_, value)| plain(value));
    let cells = rows.iter().map(|row| head.iter().map(|name| cell(row, name).unwrap_or_default()).collect());
    Some((head.iter().map(|name| safe_line(name)).collect(), cells.collect()))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => safe_line(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// An object with its members in the order in which they came.
struct Row(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Row(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(json: &str) -> String {
        shown(serde_json::from_str::<&RawValue>(json).expect("JSON"), 80, Style::plain())
    }

    #[test]
    fn rows_of_plain_values_are_a_table_and_the_rest_is_json() {
        let wanted = "name  age  note\nAda   36\nBob        \\u{1b}[2J\n";
        assert_eq!(set(r#"[{"name":"Ada","age":36},{"name":"Bob","note":"\u001b[2J"}]"#), wanted);
        assert_eq!(set(r#"{"people":[{"name":"Ada","age":36},{"name":"Bob","note":"\u001b[2J"}]}"#), wanted);
        for json in [r#"{"a":[{"b":[1]}]}"#, "[]", "[1]", "[{}]", r#"{"a":[{"b":1}],"c":2}"#, "3"] {
            assert_eq!(set(json), format!("{}\n", indented(json)), "{json}");
        }
    }

    #[test]
    fn a_text_that_says_the_same_is_known() {
        let raw = |json: &'static str| serde_json::from_str::<&RawValue>(json).expect("JSON");
        assert!(is_mirror("{ \"a\": 1 }", raw(r#"{"a":1}"#)) && is_mirror("3", raw(r#"{"result":3}"#)));
        assert!(!is_mirror("three", raw(r#"{"result":3}"#)) && !is_mirror("4", raw(r#"{"result":3}"#)));
    }
}
