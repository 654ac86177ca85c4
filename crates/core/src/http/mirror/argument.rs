//! One argument out of JSON text, without building the rest.
//!
//! It finds and decodes; it does not validate. A path through something that is no object leads nowhere.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, quoted};

/// The JSON text of the value that a path leads to; none if it is absent or null.
pub(super) fn find<'a>(path: &[String], arguments: Option<&'a str>) -> Result<Option<&'a str>, Fault> {
    let Some(mut value) = arguments.map(str::trim_ascii) else { return Ok(None) };
    for name in path {
        if !value.starts_with('{') {
            return Ok(None);
        }
        match member(value, name).map_err(|error| unreadable(name, &error))? {
            Some(raw) => value = raw.get(),
            None => return Ok(None),
        }
    }
    Ok(Some(value).filter(|value| *value != "null"))
}

/// The text of a JSON string.
pub(super) fn text(raw: &str) -> Result<String, Fault> {
    serde_json::from_str(raw)
        .map_err(|error| Fault::new(format!("an argument is not a JSON string: {error}")))
}

fn unreadable(name: &str, error: &serde_json::Error) -> Fault {
    Fault::new(format!("the arguments cannot be read for {}: {error}", quoted(name)))
}

fn member<'a>(object: &'a str, name: &str) -> serde_json::Result<Option<&'a RawValue>> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let found = deserializer.deserialize_map(Member(name))?;
    deserializer.end()?;
    Ok(found)
}

/// Finds one member of an object.
struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(same) = map.next_key_seed(Same(self.0))? {
            if !same {
                map.next_value::<IgnoredAny>()?;
            } else if found.replace(map.next_value()?).is_some() {
                // Which of two is meant is read differently by different peers.
                return Err(A::Error::custom("the argument is there twice"));
            }
        }
        Ok(found)
    }
}

/// Whether a key is the one that is sought; it is compared in place.
struct Same<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Same<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Same<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(path: &[&str], arguments: &'a str) -> Result<Option<&'a str>, Fault> {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        find(&path, Some(arguments))
    }

    #[test]
    fn values_are_found_as_they_stand() {
        let arguments = r#" {"a": {"b": [1, {"a": 2}], "c" :"x" }, "d": 4.20, "é": true, "n": null} "#;
        assert_eq!(found(&["a", "c"], arguments), Ok(Some(r#""x""#)));
        assert_eq!(found(&["a", "b"], arguments), Ok(Some(r#"[1, {"a": 2}]"#)));
        assert_eq!(found(&["d"], arguments), Ok(Some("4.20")));
        assert_eq!(found(&["é"], arguments), Ok(Some("true")));
        assert_eq!(found(&["é"], r#"{"\u00e9": 1}"#), Ok(Some("1")));
    }

    #[test]
    fn absent_null_and_astray_are_nothing() {
        for arguments in
            ["{}", r#"{"a":null}"#, r#"{"a":{}}"#, r#"{"a":{"b":null}}"#, r#"{"a":5}"#, "null", "[]", "7"]
        {
            assert_eq!(found(&["a", "b"], arguments), Ok(None), "{arguments}");
        }
        assert_eq!(find(&["a".to_owned()], None), Ok(None));
    }

    #[test]
    fn broken_or_doubtful_text_is_a_fault() {
        for arguments in ["{", r#"{"a":}"#, r#"{"a":1,}"#, r#"{"a":1} x"#, r#"{"a":1,"a":2}"#] {
            assert!(found(&["a"], arguments).is_err(), "{arguments}");
        }
        assert!(text(r#""\ud800""#).is_err());
    }
}
