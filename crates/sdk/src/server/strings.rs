//! Typed values from named strings: arguments of prompts and variables of URI templates.
//!
//! The protocol has only text there; handlers may ask for numbers and booleans all the same.

use std::collections::BTreeMap;

use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Decodes named strings into a struct of text, numbers, booleans and options of these.
pub(super) fn from_strings<T: DeserializeOwned>(strings: &BTreeMap<String, String>) -> Result<T, String> {
    let entries = strings.iter().map(|(name, text)| (name.as_str(), Text(text)));
    T::deserialize(MapDeserializer::new(entries)).map_err(|error: Error| error.to_string())
}

struct Text<'a>(&'a str);

impl<'a> IntoDeserializer<'a> for Text<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                // Let the visitor say what it expected.
                Err(_) => visitor.visit_str(self.0),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    parsed! {
        deserialize_bool visit_bool, deserialize_i8 visit_i8, deserialize_i16 visit_i16,
        deserialize_i32 visit_i32, deserialize_i64 visit_i64, deserialize_u8 visit_u8,
        deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64,
        deserialize_f32 visit_f32, deserialize_f64 visit_f64
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Page {
        book: String,
        number: u32,
        wide: Option<bool>,
    }

    fn page(pairs: &[(&str, &str)]) -> Result<Page, String> {
        from_strings(&pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn text_becomes_what_the_handler_asks_for() {
        let expected = Page { book: "1".into(), number: 7, wide: Some(true) };
        assert_eq!(page(&[("book", "1"), ("number", "7"), ("wide", "true")]), Ok(expected));
        assert!(page(&[("book", "1")]).expect_err("a number is missing").contains("number"));
        assert!(page(&[("book", "1"), ("number", "many")]).is_err());
    }
}
