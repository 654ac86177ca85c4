//! Request ids: a string or an integer, echoed byte for byte.
//!
//! Fractions, exponents, `-0`, null and everything else are refused: an id that we could not repeat
//! exactly is an id that we would falsify.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The id of a request. Two ids are equal when they denote the same JSON value; `1` and `"1"` do not.
#[derive(Clone)]
pub struct RequestId(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    /// `raw` is kept only where it differs from how we would write the string ourselves.
    Text {
        decoded: Box<str>,
        raw: Option<Box<str>>,
    },
}

impl RequestId {
    /// Reads an id from its JSON text, which must already be valid JSON.
    pub fn from_json(raw: &str) -> Option<Self> {
        if raw.starts_with('"') {
            let decoded: Box<str> = serde_json::from_str(raw).ok()?;
            let plain = raw.len() == decoded.len() + 2;
            let raw = if plain { None } else { Some(raw.into()) };
            return Some(Self(Repr::Text { decoded, raw }));
        }
        // Of what JSON permits, only this would be read as a number and written as another.
        if raw == "-0" {
            return None;
        }
        raw.parse().ok().map(|value| Self(Repr::Int(value)))
    }

    /// Appends the id exactly as it was received.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Int(value) => super::encode::write_integer(*value, out),
            Repr::Text { raw: Some(raw), .. } => out.extend_from_slice(raw.as_bytes()),
            Repr::Text { decoded, raw: None } => super::text::write_string(decoded, out),
        }
    }

    /// The integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(value) => Some(value),
            Repr::Text { .. } => None,
        }
    }
}

impl From<i64> for RequestId {
    fn from(value: i64) -> Self {
        Self(Repr::Int(value))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(Repr::Text { decoded: text.into(), raw: None })
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a == b,
            (Repr::Text { decoded: a, .. }, Repr::Text { decoded: b, .. }) => a == b,
            _ => false,
        }
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Int(value) => value.hash(state),
            Repr::Text { decoded, .. } => decoded.hash(state),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Int(value) => serializer.serialize_i64(*value),
            Repr::Text { decoded, raw: None } => serializer.serialize_str(decoded),
            Repr::Text { raw: Some(raw), decoded } => match RawValue::from_string(raw.to_string()) {
                Ok(raw) => raw.serialize(serializer),
                Err(_) => serializer.serialize_str(decoded),
            },
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| D::Error::custom("an id is a string or an integer"))
    }
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    fn echoed(raw: &str) -> Option<String> {
        RequestId::from_json(raw).map(|id| id.to_string())
    }

    // covers: BASE-RESP-ID-ECHO, BASE-REQ-ID-TYPE
    #[test]
    fn ids_are_echoed_byte_for_byte() {
        for raw in ["0", "1", "-7", "9223372036854775807", "-9223372036854775808", "9007199254740993"] {
            assert_eq!(echoed(raw).as_deref(), Some(raw));
        }
        for raw in [r#""""#, r#""1""#, r#""\u0061\/""#, r#""\u0000""#, r#""é\n""#] {
            assert_eq!(echoed(raw).as_deref(), Some(raw));
        }
    }

    // covers: BASE-REQ-ID-NOT-NULL, BASE-REQ-ID-TYPE
    #[test]
    fn what_could_not_be_repeated_is_refused() {
        for raw in ["null", "true", "1.5", "1.0", "1e0", "-0", "18446744073709551616", "[]", "{}"] {
            assert_eq!(echoed(raw), None, "{raw}");
        }
    }

    #[test]
    fn equal_when_they_denote_the_same_value() {
        assert_eq!(RequestId::from_json(r#""a""#), RequestId::from_json(r#""\u0061""#));
        assert_ne!(RequestId::from_json("1"), RequestId::from_json(r#""1""#));
    }
}
