//! JSON Schemas, compiled once and checked often.
//!
//! References are never fetched. A schema that is too large (also by what it refers to), too deep or has
//! patterns that could take long is refused when it is compiled, so that checking a value takes time in proportion to the value.
//! Without the feature `validation`, schemas are only bounded, and every value passes.

#[cfg(feature = "validation")]
mod effort;
mod expansion;

#[cfg(feature = "server")]
use std::sync::OnceLock;

use serde_json::Value;

#[cfg(feature = "server")]
use crate::flat::Flat;
use crate::model::JsonObject;
use crate::{Error, Result};

const MAX_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_SUBSCHEMAS: usize = 10_000;
/// How many faults one message lists.
const MAX_FAULTS: usize = 5;
#[cfg(feature = "validation")]
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// Members and items of a schema up to which checking costs little, unless it refers to itself.
#[cfg(feature = "validation")]
const SMALL: usize = 256;

/// The schema of a tool's arguments.
///
/// Most are flat, and then the full validator is only needed to say what is wrong; it is compiled when
/// that happens for the first time, because compiling the first schema of a process costs more than
/// starting it.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) struct ArgumentChecker {
    flat: Option<Flat>,
    full: OnceLock<Option<Checker>>,
}

#[cfg(feature = "server")]
impl ArgumentChecker {
    /// Prepares to check against a schema.
    pub(crate) fn new(schema: &JsonObject) -> Result<Self> {
        let flat = Flat::of(schema);
        let full = OnceLock::new();
        if flat.is_none() {
            return Ok(Self { flat, full: OnceLock::from(Some(Checker::compile(schema)?)) });
        }
        Ok(Self { flat, full })
    }

    /// What is wrong with the text of an object.
    pub(crate) fn check(&self, text: &str, schema: &JsonObject) -> std::result::Result<(), String> {
        if self.flat.as_ref().is_some_and(|flat| flat.fits(text)) {
            return Ok(());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match self.full.get_or_init(|| Checker::compile(schema).ok()) {
            Some(checker) => checker.check(&value),
            None => Err("the tool's schema does not compile".to_owned()),
        }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Checker {
    #[cfg(feature = "validation")]
    validator: jsonschema::Validator,
    /// The schema, where a small value could take long to check.
    #[cfg(feature = "validation")]
    laborious: Option<Value>,
}

impl Checker {
    /// Compiles a schema.
    pub(crate) fn compile(schema: &JsonObject) -> Result<Self> {
        let mut nodes = 0;
        let bounded = schema.values().all(|member| is_bounded(member, MAX_DEPTH, &mut nodes));
        if !bounded {
            return Err(Error::Invalid("the schema is too large or nested too deeply".into()));
        }
        let schema = Value::Object(schema.clone());
        if schema.to_string().len() > MAX_BYTES {
            return Err(Error::Invalid("the schema is too large".into()));
        }
        if !expansion::is_within_reason(&schema) {
            return Err(Error::Invalid("the references of the schema lead too far, or elsewhere".into()));
        }
        Self::build(schema, nodes)
    }

    #[cfg(feature = "validation")]
    fn build(schema: Value, nodes: usize) -> Result<Self> {
        let patterns = jsonschema::PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(&schema)
            .map_err(|error| Error::Invalid(format!("the schema does not compile: {error}")))?;
        let laborious = nodes > SMALL || expansion::Names::of(&schema).references;
        Ok(Self { validator, laborious: laborious.then_some(schema) })
    }

    #[cfg(not(feature = "validation"))]
    fn build(_schema: Value, _nodes: usize) -> Result<Self> {
        Ok(Self {})
    }

    /// What is wrong with a value, in words for whoever sent it.
    #[cfg(feature = "validation")]
    pub(crate) fn check(&self, value: &Value) -> std::result::Result<(), String> {
        if self.laborious.as_ref().is_some_and(|schema| !effort::is_within_reason(schema, value)) {
            return Err("it would take too long to check".to_owned());
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let faults: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_FAULTS)
            .map(|error| {
                let place = error.instance_path().to_string();
                let fault = error.masked().to_string();
                if place.is_empty() { fault } else { format!("{place}: {fault}") }
            })
            .collect();
        Err(faults.join("; "))
    }

    #[cfg(not(feature = "validation"))]
    pub(crate) fn check(&self, _value: &Value) -> std::result::Result<(), String> {
        let _ = MAX_FAULTS;
        Ok(())
    }
}

fn is_bounded(value: &Value, depth: usize, nodes: &mut usize) -> bool {
    *nodes += 1;
    if depth == 0 || *nodes > MAX_SUBSCHEMAS {
        return false;
    }
    match value {
        Value::Object(members) => members.values().all(|member| is_bounded(member, depth - 1, nodes)),
        Value::Array(items) => items.iter().all(|item| is_bounded(item, depth - 1, nodes)),
        _ => true,
    }
}

/// The schema of a Rust type, with everything in place: many clients do not follow references.
#[cfg(feature = "server")]
pub(crate) fn schema_of<T: schemars::JsonSchema>() -> JsonObject {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    match schema.to_value() {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

#[cfg(all(test, feature = "validation"))]
mod tests {
    use super::*;

    fn compile(schema: Value) -> Result<Checker> {
        Checker::compile(schema.as_object().expect("an object"))
    }

    #[test]
    fn faults_are_named_without_the_value() {
        let checker = compile(
            serde_json::json!({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}),
        )
        .expect("compiles");
        assert_eq!(checker.check(&serde_json::json!({"a": 1})), Ok(()));
        let fault = checker.check(&serde_json::json!({"a": "secret"})).expect_err("wrong type");
        assert!(fault.contains("/a") && !fault.contains("secret"), "{fault}");
    }

    #[test]
    fn hostile_schemas_are_refused_or_harmless() {
        assert!(compile(serde_json::json!({"$ref": "http://127.0.0.1:1/never"})).is_err());
        assert!(
            compile(serde_json::json!({"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}))
                .is_err()
        );
        let mut deep = serde_json::json!({});
        for _ in 0..1_000 {
            deep = serde_json::json!({ "not": deep });
        }
        assert!(compile(deep).is_err());
        let wide: Vec<Value> = (0..20_000).map(|_| serde_json::json!({})).collect();
        assert!(compile(serde_json::json!({ "anyOf": wide })).is_err());
        let slow = compile(serde_json::json!({"pattern": "^(a+)+$"})).expect("a linear engine takes it");
        assert!(slow.check(&Value::from("a".repeat(5_000) + "b")).is_err());
    }
}
