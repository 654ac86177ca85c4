//! Fields of forms as they travel.
//!
//! One shape with every keyword that a field may have; what has keywords beyond its type's, or those that
//! make a schema more than flat, is refused here.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::elicitation_schema::{
    BooleanSchema, ElicitSchemaError, EnumOption, EnumSchema, MultiSelectSchema, NumberSchema,
    PrimitiveSchema, StringFormat, StringSchema,
};

/// Every keyword that a field may have.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PropertyWire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<StringFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<Number>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enum_names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<TitledWire>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<ItemsWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items: Option<u64>,
    #[serde(flatten, skip_serializing)]
    refused: Refused,
}

/// Keywords that no field may have.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refused {
    #[serde(rename = "$ref")]
    reference: Option<IgnoredAny>,
    properties: Option<IgnoredAny>,
    all_of: Option<IgnoredAny>,
    any_of: Option<IgnoredAny>,
    not: Option<IgnoredAny>,
}

#[derive(Serialize, Deserialize)]
struct TitledWire {
    #[serde(rename = "const")]
    value: String,
    title: String,
}

#[derive(Serialize, Deserialize)]
struct ItemsWire {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(rename = "anyOf", alias = "oneOf", skip_serializing_if = "Option::is_none")]
    titled: Option<Vec<TitledWire>>,
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, ElicitSchemaError> {
    Err(ElicitSchemaError(reason.into()))
}

impl TryFrom<PropertyWire> for PrimitiveSchema {
    type Error = ElicitSchemaError;

    fn try_from(mut wire: PropertyWire) -> Result<Self, ElicitSchemaError> {
        let Refused { reference, properties, all_of, any_of, not } = &wire.refused;
        if [reference, properties, all_of, any_of, not].into_iter().any(Option::is_some) {
            return refuse("only flat schemas can be asked for: no references, combinations or properties");
        }
        match wire.kind.as_str() {
            "string" if wire.values.is_some() || wire.one_of.is_some() => one_choice(wire).map(Self::Enum),
            "string" => Ok(Self::String(StringSchema {
                default_value: typed_default(&mut wire)?,
                title: wire.title,
                description: wire.description,
                min_length: wire.min_length,
                max_length: wire.max_length,
                format: wire.format,
            })),
            "number" | "integer" => Ok(Self::Number(NumberSchema {
                default_value: typed_default(&mut wire)?,
                integer: wire.kind == "integer",
                title: wire.title,
                description: wire.description,
                minimum: wire.minimum,
                maximum: wire.maximum,
            })),
            "boolean" => Ok(Self::Boolean(BooleanSchema {
                default_value: typed_default(&mut wire)?,
                title: wire.title,
                description: wire.description,
            })),
            "array" => many_choices(wire).map(Self::MultiSelect),
            other => refuse(format!("the type {other:?} cannot be asked for")),
        }
    }
}

fn typed_default<T: for<'de> Deserialize<'de>>(
    wire: &mut PropertyWire,
) -> Result<Option<T>, ElicitSchemaError> {
    let Some(default) = wire.default.take() else { return Ok(None) };
    match T::deserialize(default) {
        Ok(default) => Ok(Some(default)),
        Err(error) => refuse(format!("the default does not fit the type: {error}")),
    }
}

fn titled(options: Vec<TitledWire>) -> Vec<EnumOption> {
    options.into_iter().map(|option| EnumOption { value: option.value, title: Some(option.title) }).collect()
}

fn untitled(values: Vec<String>) -> Vec<EnumOption> {
    values.into_iter().map(|value| EnumOption { value, title: None }).collect()
}

fn one_choice(mut wire: PropertyWire) -> Result<EnumSchema, ElicitSchemaError> {
    let default_value = typed_default(&mut wire)?;
    let legacy_names = wire.enum_names.is_some();
    let options = match (wire.values, wire.one_of, wire.enum_names) {
        (Some(values), None, None) => untitled(values),
        (Some(values), None, Some(names)) if values.len() == names.len() => {
            let named = values.into_iter().zip(names);
            named.map(|(value, name)| EnumOption { value, title: Some(name) }).collect()
        }
        (Some(_), None, Some(_)) => return refuse("`enum` and `enumNames` differ in length"),
        (None, Some(options), None) => titled(options),
        _ => return refuse("choices are given in two ways at once"),
    };
    Ok(EnumSchema { title: wire.title, description: wire.description, options, legacy_names, default_value })
}

fn many_choices(mut wire: PropertyWire) -> Result<MultiSelectSchema, ElicitSchemaError> {
    let default_value = typed_default(&mut wire)?;
    let options = match wire.items {
        Some(ItemsWire { kind: Some(kind), values: Some(values), titled: None }) if kind == "string" => {
            untitled(values)
        }
        Some(ItemsWire { kind: _, values: None, titled: Some(options) }) => titled(options),
        _ => return refuse("an array can only be asked for as a choice among strings"),
    };
    Ok(MultiSelectSchema {
        title: wire.title,
        description: wire.description,
        options,
        min_items: wire.min_items,
        max_items: wire.max_items,
        default_value,
    })
}

impl From<PrimitiveSchema> for PropertyWire {
    fn from(schema: PrimitiveSchema) -> Self {
        match schema {
            PrimitiveSchema::String(schema) => Self {
                kind: "string".to_owned(),
                title: schema.title,
                description: schema.description,
                default: schema.default_value.map(Value::from),
                min_length: schema.min_length,
                max_length: schema.max_length,
                format: schema.format,
                ..Self::default()
            },
            PrimitiveSchema::Number(schema) => Self {
                kind: if schema.integer { "integer" } else { "number" }.to_owned(),
                title: schema.title,
                description: schema.description,
                default: schema.default_value.map(Value::from),
                minimum: schema.minimum,
                maximum: schema.maximum,
                ..Self::default()
            },
            PrimitiveSchema::Boolean(schema) => Self {
                kind: "boolean".to_owned(),
                title: schema.title,
                description: schema.description,
                default: schema.default_value.map(Value::from),
                ..Self::default()
            },
            PrimitiveSchema::Enum(schema) => one_choice_wire(schema),
            PrimitiveSchema::MultiSelect(schema) => many_choices_wire(schema),
        }
    }
}

fn titled_wire(options: Vec<EnumOption>) -> Vec<TitledWire> {
    let named =
        |EnumOption { value, title }| TitledWire { title: title.unwrap_or_else(|| value.clone()), value };
    options.into_iter().map(named).collect()
}

fn values(options: Vec<EnumOption>) -> Vec<String> {
    options.into_iter().map(|option| option.value).collect()
}

fn one_choice_wire(schema: EnumSchema) -> PropertyWire {
    let wire = PropertyWire {
        kind: "string".to_owned(),
        title: schema.title,
        description: schema.description,
        default: schema.default_value.map(Value::from),
        ..PropertyWire::default()
    };
    if !schema.options.iter().any(|option| option.title.is_some()) {
        PropertyWire { values: Some(values(schema.options)), ..wire }
    } else if schema.legacy_names {
        let titled = titled_wire(schema.options);
        let (values, names) = titled.into_iter().map(|option| (option.value, option.title)).unzip();
        PropertyWire { values: Some(values), enum_names: Some(names), ..wire }
    } else {
        PropertyWire { one_of: Some(titled_wire(schema.options)), ..wire }
    }
}

fn many_choices_wire(schema: MultiSelectSchema) -> PropertyWire {
    let items = if schema.options.iter().any(|option| option.title.is_some()) {
        ItemsWire { kind: None, values: None, titled: Some(titled_wire(schema.options)) }
    } else {
        ItemsWire { kind: Some("string".to_owned()), values: Some(values(schema.options)), titled: None }
    };
    PropertyWire {
        kind: "array".to_owned(),
        title: schema.title,
        description: schema.description,
        default: schema.default_value.map(Value::from),
        items: Some(items),
        min_items: schema.min_items,
        max_items: schema.max_items,
        ..PropertyWire::default()
    }
}
