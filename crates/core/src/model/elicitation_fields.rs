//! Setters for building the fields of a form by hand.

use serde_json::Number;

use super::elicitation_schema::{
    BooleanSchema, EnumOption, EnumSchema, MultiSelectSchema, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema,
};

impl StringSchema {
    /// Any text.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The label.
        title: String,
        /// What to put there.
        description: String,
        /// The shortest text.
        min_length: u64,
        /// The longest text.
        max_length: u64,
        /// What it must look like.
        format: StringFormat,
        /// What stands there at first.
        default_value: String,
    }
}

impl NumberSchema {
    /// Any number.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any whole number.
    pub fn integer() -> Self {
        Self { integer: true, ..Self::default() }
    }

    setters! {
        /// The label.
        title: String,
        /// What to put there.
        description: String,
        /// The smallest number.
        minimum: Number,
        /// The largest number.
        maximum: Number,
        /// What stands there at first.
        default_value: Number,
    }
}

impl BooleanSchema {
    /// Yes or no.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The label.
        title: String,
        /// What it means.
        description: String,
        /// What is set at first.
        default_value: bool,
    }
}

impl EnumSchema {
    /// One of these values.
    pub fn new(values: impl IntoIterator<Item = impl Into<EnumOption>>) -> Self {
        Self { options: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    setters! {
        /// The label.
        title: String,
        /// What to choose.
        description: String,
        /// What is chosen at first.
        default_value: String,
    }
}

impl MultiSelectSchema {
    /// Any of these values.
    pub fn new(values: impl IntoIterator<Item = impl Into<EnumOption>>) -> Self {
        Self { options: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    setters! {
        /// The label.
        title: String,
        /// What to choose.
        description: String,
        /// The least number of choices.
        min_items: u64,
        /// The greatest number of choices.
        max_items: u64,
        /// What is chosen at first.
        default_value: Vec<String>,
    }
}

impl From<&str> for EnumOption {
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), title: None }
    }
}

impl From<(&str, &str)> for EnumOption {
    fn from((value, title): (&str, &str)) -> Self {
        Self { value: value.to_owned(), title: Some(title.to_owned()) }
    }
}

impl From<StringSchema> for PrimitiveSchema {
    fn from(schema: StringSchema) -> Self {
        Self::String(schema)
    }
}

impl From<NumberSchema> for PrimitiveSchema {
    fn from(schema: NumberSchema) -> Self {
        Self::Number(schema)
    }
}

impl From<BooleanSchema> for PrimitiveSchema {
    fn from(schema: BooleanSchema) -> Self {
        Self::Boolean(schema)
    }
}

impl From<EnumSchema> for PrimitiveSchema {
    fn from(schema: EnumSchema) -> Self {
        Self::Enum(schema)
    }
}

impl From<MultiSelectSchema> for PrimitiveSchema {
    fn from(schema: MultiSelectSchema) -> Self {
        Self::MultiSelect(schema)
    }
}
