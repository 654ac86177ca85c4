//! From the text of arguments to the type that a handler takes.
//!
//! serde_json does it, but for two things that it would look at byte by byte: which members there are, and
//! text without escapes. The text must be that of an object out of a message.

use serde::Deserialize;
use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::{Error, Result};

use crate::json_rpc::{Member, Members, plain_text};

/// Decodes the text of an object.
pub(super) fn decode<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T> {
    T::deserialize(Part(text))
}

/// The text of a value.
struct Part<'de>(&'de str);

impl<'de> Part<'de> {
    fn json(&self) -> serde_json::Deserializer<serde_json::de::StrRead<'de>> {
        serde_json::Deserializer::from_str(self.0)
    }
}

/// These have nothing to gain.
macro_rules! left_to_serde_json {
    ($($method:ident($($argument:ident: $kind:ty),*)),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value> {
            self.json().$method($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.0.starts_with('{') {
            return visitor.visit_map(Remaining { members: Members::of(self.0), value: None });
        }
        self.json().deserialize_struct(name, fields, visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match plain_text(self.0) {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.json().deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0 == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    left_to_serde_json! {
        deserialize_any(), deserialize_map(), deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(),
        deserialize_i64(), deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(),
        deserialize_u64(), deserialize_u128(), deserialize_f32(), deserialize_f64(), deserialize_char(),
        deserialize_bytes(), deserialize_byte_buf(), deserialize_unit(), deserialize_seq(),
        deserialize_identifier(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_tuple(length: usize),
        deserialize_tuple_struct(name: &'static str, length: usize),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }
}

/// Members that are still to be read.
struct Remaining<'de> {
    members: Members<'de>,
    value: Option<&'de str>,
}

impl<'de> MapAccess<'de> for Remaining<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(Member { name, value }) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(CowStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(Part(self.value.take().unwrap_or("null")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Order {
        plain: String,
        maybe: Option<String>,
        #[serde(default)]
        count: u8,
        kind: Kind,
        inner: Option<Box<Inner>>,
        #[serde(default)]
        letters: Vec<char>,
        wrapped: Wrapped,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        text: String,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapped(Option<String>);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Small,
        Other(String),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Flattened {
        plain: String,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "do", rename_all = "lowercase")]
    enum Tagged {
        Go { to: String },
        Stop,
    }

    #[derive(Debug, Deserialize)]
    struct Kept {
        raw: Box<RawValue>,
    }

    fn same<T: DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) {
        let ours = decode::<T>(text).ok();
        assert_eq!(ours, serde_json::from_str::<T>(text).ok(), "{text}");
    }

    #[test]
    fn decodes_what_serde_json_decodes_and_refuses_what_it_refuses() {
        let texts = [
            "{}",
            r#"{"plain":"a","kind":"small","wrapped":null}"#,
            r#"{"plain":"a\nb","maybe":"\u00e9","kind":{"other":"x"},"wrapped":"y","count":255,"letters":["a"]}"#,
            r#"{"pl\u0061in":"a","maybe":null,"kind":"small","inner":{"text":"t"},"wrapped":"","unknown":[{}]}"#,
            r#"{"plain":"a","kind":"large","wrapped":""}"#,
            r#"{"plain":"a","kind":"small","wrapped":"","count":256}"#,
            r#"{"plain":1,"kind":"small","wrapped":""}"#,
            r#"{"plain":null,"kind":"small","wrapped":""}"#,
            r#"{"plain":"a","kind":"small","wrapped":"","inner":{"text":"t","more":1}}"#,
            r#"{"do":"go","to":"x"}"#,
            r#"{"do":"stop"}"#,
            r#"{"do":"go"}"#,
            r#"{"1":"a","2":"b"}"#,
            r#"{"other":"x"}"#,
        ];
        for text in texts {
            same::<Order>(text);
            same::<Flattened>(text);
            same::<Tagged>(text);
            same::<Kind>(text);
            same::<Value>(text);
            same::<HashMap<u32, String>>(text);
            same::<Option<Inner>>(text);
        }
    }

    #[test]
    fn raw_values_stay_as_they_are() {
        for value in [r#""x""#, "1.0", r#"{"a": 1}"#] {
            let kept: Kept = decode(&format!(r#"{{"raw":{value}}}"#)).expect("decodes");
            assert_eq!(kept.raw.get(), value);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let error = decode::<Inner>("{}").expect_err("nothing is there").to_string();
        assert!(error.contains("missing field `text`"), "{error}");
    }
}
