//! The schemas that a form may have: flat, of primitives and choices.
//!
//! Parsing is strict: nested objects, arrays that are not choices, references, combinations, formats beyond
//! the four and the type `null` are refused, so that a client never shows a form that it cannot check.
//! Properties keep the order in which they were declared.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

use super::JsonObject;
use super::elicitation_wire::PropertyWire;

/// A schema is not one that a form may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElicitSchemaError(pub(super) String);

impl fmt::Display for ElicitSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ElicitSchemaError {}

/// The schema of a form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FormWire", into = "FormWire")]
pub struct ElicitSchema {
    /// The dialect, if the server names one.
    pub dialect: Option<String>,
    /// The fields, in the order in which to show them.
    pub properties: Vec<(String, PrimitiveSchema)>,
    /// The fields that must be filled in.
    pub required: Vec<String>,
}

impl ElicitSchema {
    /// A form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn required(mut self, name: impl Into<String>, schema: impl Into<PrimitiveSchema>) -> Self {
        let name = name.into();
        self.required.push(name.clone());
        self.optional(name, schema)
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn optional(mut self, name: impl Into<String>, schema: impl Into<PrimitiveSchema>) -> Self {
        self.properties.push((name.into(), schema.into()));
        self
    }

    /// The field with this name.
    pub fn property(&self, name: &str) -> Option<&PrimitiveSchema> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }
}

impl TryFrom<JsonObject> for ElicitSchema {
    type Error = ElicitSchemaError;

    fn try_from(schema: JsonObject) -> Result<Self, ElicitSchemaError> {
        serde_json::from_value(Value::Object(schema)).map_err(|error| ElicitSchemaError(error.to_string()))
    }
}

/// The schema of a form as it travels.
#[derive(Serialize, Deserialize)]
struct FormWire {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    properties: Properties,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    required: Vec<String>,
}

impl TryFrom<FormWire> for ElicitSchema {
    type Error = ElicitSchemaError;

    fn try_from(wire: FormWire) -> Result<Self, ElicitSchemaError> {
        if wire.kind != "object" {
            return Err(ElicitSchemaError(format!(
                "a form must have the type \"object\", not {:?}",
                wire.kind
            )));
        }
        Ok(Self { dialect: wire.dialect, properties: wire.properties.0, required: wire.required })
    }
}

impl From<ElicitSchema> for FormWire {
    fn from(schema: ElicitSchema) -> Self {
        Self {
            dialect: schema.dialect,
            kind: "object".to_owned(),
            properties: Properties(schema.properties),
            required: schema.required,
        }
    }
}

/// An object whose members keep their order.
struct Properties(Vec<(String, PrimitiveSchema)>);

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, schema) in &self.0 {
            map.serialize_entry(name, schema)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of property schemas")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
                use serde::de::Error;

                let mut properties: Vec<(String, PrimitiveSchema)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    let schema = map
                        .next_value()
                        .map_err(|error| A::Error::custom(format_args!("property {name:?}: {error}")))?;
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("property {name:?} stands there twice")));
                    }
                    properties.push((name, schema));
                }
                Ok(Properties(properties))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PropertyWire", into = "PropertyWire")]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// Text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One choice of several.
    Enum(EnumSchema),
    /// Any number of choices (from 2025-11-25).
    MultiSelect(MultiSelectSchema),
}

impl TryFrom<JsonObject> for PrimitiveSchema {
    type Error = ElicitSchemaError;

    fn try_from(schema: JsonObject) -> Result<Self, ElicitSchemaError> {
        serde_json::from_value(Value::Object(schema)).map_err(|error| ElicitSchemaError(error.to_string()))
    }
}

/// What a text must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StringFormat {
    /// An e-mail address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date and a time.
    DateTime,
}

/// Text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringSchema {
    /// The label.
    pub title: Option<String>,
    /// What to put there.
    pub description: Option<String>,
    /// The shortest text.
    pub min_length: Option<u64>,
    /// The longest text.
    pub max_length: Option<u64>,
    /// What it must look like.
    pub format: Option<StringFormat>,
    /// What stands there at first.
    pub default_value: Option<String>,
}

/// A number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberSchema {
    /// Only whole numbers.
    pub integer: bool,
    /// The label.
    pub title: Option<String>,
    /// What to put there.
    pub description: Option<String>,
    /// The smallest number.
    pub minimum: Option<Number>,
    /// The largest number.
    pub maximum: Option<Number>,
    /// What stands there at first.
    pub default_value: Option<Number>,
}

/// Yes or no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BooleanSchema {
    /// The label.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// What is set at first.
    pub default_value: Option<bool>,
}

/// A choice: its value, and the name that people read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumOption {
    /// The value.
    pub value: String,
    /// The name; the value if absent.
    pub title: Option<String>,
}

/// One choice of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnumSchema {
    /// The label.
    pub title: Option<String>,
    /// What to choose.
    pub description: Option<String>,
    /// The choices.
    pub options: Vec<EnumOption>,
    /// Names travel as `enumNames`, the only way before 2025-11-25.
    pub legacy_names: bool,
    /// What is chosen at first.
    pub default_value: Option<String>,
}

/// Any number of choices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MultiSelectSchema {
    /// The label.
    pub title: Option<String>,
    /// What to choose.
    pub description: Option<String>,
    /// The choices.
    pub options: Vec<EnumOption>,
    /// The least number of choices.
    pub min_items: Option<u64>,
    /// The greatest number of choices.
    pub max_items: Option<u64>,
    /// What is chosen at first.
    pub default_value: Option<Vec<String>>,
}
