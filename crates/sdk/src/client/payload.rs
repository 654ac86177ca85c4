//! Parameters on their way out: members in order, and metadata last.
//!
//! Members are encoded once and then only copied, so that what was approved is what is sent, and every
//! input round repeats the original bytes.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::model::Meta;
use crate::{Error, Result};

/// The members of `params`, without `_meta`.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload {
    members: Vec<(String, Box<RawValue>)>,
}

impl Payload {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a member.
    pub(super) fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<Self> {
        self.push(name, encode(value)?);
        Ok(self)
    }

    /// Adds a member if there is a value for it.
    pub(super) fn with_some(self, name: &str, value: Option<&impl Serialize>) -> Result<Self> {
        match value {
            Some(value) => self.with(name, value),
            None => Ok(self),
        }
    }

    /// The text of a member.
    pub(super) fn member(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    pub(super) fn push(&mut self, name: &str, value: Box<RawValue>) {
        self.members.push((name.to_owned(), value));
    }

    /// The members of an object of the caller's; `null` is none at all.
    pub(super) fn from_value(value: &impl Serialize) -> Result<(Self, Meta)> {
        let value = serde_json::to_value(value).map_err(not_json)?;
        let members = match value {
            serde_json::Value::Null => return Ok((Self::new(), Meta::new())),
            serde_json::Value::Object(members) => members,
            _ => return Err(Error::Misuse("parameters must be an object".into())),
        };
        let (mut payload, mut meta) = (Self::new(), Meta::new());
        for (name, value) in members {
            match value {
                serde_json::Value::Object(members) if name == "_meta" => meta = Meta(members),
                value => payload.push(&name, encode(&value)?),
            }
        }
        Ok((payload, meta))
    }

    pub(super) fn params<'a>(&'a self, meta: &'a Meta) -> Params<'a> {
        Params { payload: self, meta }
    }
}

/// As JSON, kept as text.
pub(super) fn encode(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> Error {
    Error::Misuse(format!("a value cannot be written as JSON: {error}"))
}

/// The whole of `params`.
pub(super) struct Params<'a> {
    payload: &'a Payload,
    meta: &'a Meta,
}

impl Params<'_> {
    /// Requests without parameters leave them out.
    pub(super) fn is_empty(&self) -> bool {
        self.payload.members.is_empty() && self.meta.is_empty()
    }
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.payload.members {
            map.serialize_entry(name, value)?;
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", self.meta)?;
        }
        map.end()
    }
}
