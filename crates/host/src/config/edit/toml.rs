//! TOML, changed by its own library; what that did not mean to change is taken from the text as it was, line by line.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::Words;
use super::lines::{Step, compare};

/// The text with this value at this path. `None` if something on the way is no table, or the text is written in a way that the
/// library does not keep.
pub(super) fn set(text: &str, path: &[String], words: &Words<'_>) -> Option<String> {
    let mut document = parse(text)?;
    let (last, way) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in way {
        let item = table.entry(key).or_insert_with(|| {
            let mut missing = Table::new();
            missing.set_implicit(true);
            Item::Table(missing)
        });
        table = item.as_table_like_mut()?;
    }
    let mut new = item(words);
    // What stands behind a value, a comment above all, stays there.
    if let (Some(Item::Value(old)), Item::Value(new)) = (table.get(last), &mut new) {
        *new.decor_mut() = old.decor().clone();
    }
    table.insert(last, new);
    Some(reconcile(text, &document.to_string()))
}

/// The text without what is at this path.
pub(super) fn unset(text: &str, path: &[String]) -> Option<String> {
    let mut document = parse(text)?;
    let (last, way) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in way {
        table = table.get_mut(key)?.as_table_like_mut()?;
    }
    table.remove(last)?;
    Some(reconcile(text, &document.to_string()))
}

fn parse(text: &str) -> Option<DocumentMut> {
    let document: DocumentMut = text.parse().ok()?;
    let same = document.to_string().lines().eq(text.lines());
    same.then_some(document)
}

fn item(words: &Words<'_>) -> Item {
    match words {
        Words::Entry(members) => {
            let mut table = Table::new();
            for (key, value) in *members {
                if let Some(value) = value_of(value) {
                    table.insert(key, Item::Value(value));
                }
            }
            Item::Table(table)
        }
        Words::One(value) => value_of(value).map_or(Item::None, Item::Value),
    }
}

fn value_of(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().filter_map(value_of).collect::<Array>().into(),
        Value::Object(members) => {
            let members = members.iter().filter_map(|(key, value)| Some((key.as_str(), value_of(value)?)));
            members.collect::<InlineTable>().into()
        }
    })
}

/// The new text in which every line that is the same has the bytes, the end of the line too, that it had. Comments above
/// something that is gone stay: the library takes them for a part of it.
fn reconcile(old: &str, new: &str) -> String {
    let newline = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let (whole, old_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), old.lines().collect());
    let new_lines: Vec<&str> = new.lines().collect();
    let steps = compare(&old_lines, &new_lines);
    let mut out = String::with_capacity(new.len());
    let mut is_leading = true;
    for step in &steps {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(newline);
        }
        match step {
            Step::Same(at, _) => out.push_str(whole[*at]),
            Step::Gone(at) => {
                is_leading &=
                    old_lines[*at].trim_start().starts_with('#') || old_lines[*at].trim().is_empty();
                if is_leading && old_lines[*at].trim_start().starts_with('#') {
                    out.push_str(whole[*at]);
                }
                continue;
            }
            Step::New(at) => {
                out.push_str(new_lines[*at]);
                out.push_str(newline);
            }
        }
        is_leading = true;
    }
    out
}
