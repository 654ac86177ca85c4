//! What came out of earlier lines: `$1`, `$2`, … in their order, `$_` the last, and those that got a name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::terminal::text::{cut, safe_line};

/// Of a value, so much is shown in an error.
const SHOWN: usize = 40;
/// So many results are kept; the oldest go first. Those with a name stay.
const MOST: usize = 200;
/// And so many bytes of JSON: results can be long.
const BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By number, with the length of each.
    results: BTreeMap<usize, (Value, usize)>,
    bytes: usize,
    count: usize,
    named: BTreeMap<String, Value>,
}

impl Memory {
    /// Keeps a result, and says under which name.
    pub(super) fn keep(&mut self, name: Option<String>, value: Value) -> String {
        if let Some(name) = name {
            self.named.insert(name.clone(), value.clone());
            self.push(value);
            return format!("${name}");
        }
        self.push(value);
        format!("${}", self.count)
    }

    fn push(&mut self, value: Value) {
        self.count += 1;
        let length = value.to_string().len();
        self.bytes += length;
        self.results.insert(self.count, (value, length));
        while self.results.len() > MOST || (self.bytes > BYTES && self.results.len() > 1) {
            let oldest = self.results.pop_first();
            self.bytes -= oldest.map_or(0, |(_, (_, length))| length);
        }
    }

    /// A result by its name, without the `$`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let numbered = |number| self.results.get(&number).map(|(value, _)| value);
        match name {
            "_" => numbered(self.count),
            _ => self.named.get(name).or_else(|| numbered(name.parse().ok()?)),
        }
    }

    /// What a reference stands for: a name, then `.key` and `[index]`.
    pub(super) fn look_up(&self, name: &str, path: &[Step]) -> Result<&Value, String> {
        let mut value =
            self.get(name).ok_or_else(|| format!("there is no ${name}; `vars` shows what there is"))?;
        let mut said = format!("${name}");
        for step in path {
            let inner = match step {
                Step::Key(key) => value.get(key),
                Step::Index(index) => value.get(index),
            };
            value = inner.ok_or_else(|| format!("there is no {step} in {said}{}", has(value)))?;
            said += &step.to_string();
        }
        Ok(value)
    }

    /// Where a path that is being typed has come to: what is there, and how it goes on.
    pub(super) fn members(&self, reference: &str) -> Vec<String> {
        let Some((path, _)) = reference.rsplit_once('.') else {
            let names = self.all().map(|(mut name, _)| name.split_off(1));
            return names.chain((self.count > 0).then(|| "_".to_owned())).collect();
        };
        let mut steps = path.split('.');
        let mut value = steps.next().and_then(|name| self.get(name));
        for step in steps {
            let (key, index) = step.trim_end_matches(']').split_once('[').unwrap_or((step, ""));
            value = value.and_then(|value| value.get(key));
            value = if index.is_empty() {
                value
            } else {
                value.and_then(|value| value.get(index.parse::<usize>().ok()?))
            };
        }
        let members = value.and_then(Value::as_object).into_iter().flat_map(|members| members.keys());
        members.map(|key| format!("{path}.{key}")).collect()
    }

    /// All that is kept, named ones first.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, &Value)> {
        let named = self.named.iter().map(|(name, value)| (format!("${name}"), value));
        named.chain(self.results.iter().map(|(number, (value, _))| (format!("${number}"), value)))
    }
}

/// One step into a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// What a value has, in words.
fn has(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().map(String::as_str).take(12).collect();
            format!(", which has {}", names.join(", "))
        }
        Value::Array(items) => format!(", which has {} entries", items.len()),
        other => format!(", which is {}", cut(&safe_line(&other.to_string()), SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_found_by_number_by_name_and_as_the_last() {
        let mut memory = Memory::default();
        assert_eq!(memory.keep(None, json!({"a": [1, 2]})), "$1");
        assert_eq!(memory.keep(Some("sum".into()), json!(3)), "$sum");
        assert_eq!(memory.get("1"), Some(&json!({"a": [1, 2]})));
        assert_eq!(memory.get("_"), Some(&json!(3)));
        assert_eq!(memory.get("sum"), Some(&json!(3)));
        let second = memory.look_up("1", &[Step::Key("a".into()), Step::Index(1)]);
        assert_eq!(second, Ok(&json!(2)));
        let missing = memory.look_up("1", &[Step::Key("b".into())]);
        assert_eq!(missing, Err("there is no .b in $1, which has a".to_owned()));
        assert!(memory.look_up("9", &[]).is_err());
        assert_eq!(memory.members("s"), ["sum", "1", "2", "_"]);
        assert_eq!(memory.members("1."), ["1.a"]);
        assert!(memory.members("1.a.").is_empty());
        memory.keep(None, json!({"list": [{"x": {"y": 1}}]}));
        assert_eq!(memory.members("_.list[0].x."), ["_.list[0].x.y"]);
    }

    #[test]
    fn the_oldest_are_forgotten_and_named_ones_stay() {
        let mut memory = Memory::default();
        memory.keep(Some("first".into()), json!(0));
        (0..MOST).for_each(|number| {
            memory.keep(None, json!(number));
        });
        assert_eq!(memory.get("1"), None);
        assert_eq!(memory.get("first"), Some(&json!(0)));
    }
}
