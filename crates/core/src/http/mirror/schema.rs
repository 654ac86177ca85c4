//! Annotations found in a tool's input schema.
//!
//! A tool with one bad annotation has none that can be trusted: the walk ends with the first fault. It looks
//! into every part of the schema that can hold one, follows no reference, and goes no deeper than a bound.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Annotation, Fault, Kind, quoted};

const KEYWORD: &str = "x-mcp-header";

/// Schemas within schemas.
const DEPTH: usize = 64;

/// Every annotated argument of a tool, in the schema's order.
pub fn annotations(input_schema: &Map<String, Value>) -> Result<Vec<Annotation>, Fault> {
    let mut walk = Walk::default();
    walk.reachable(input_schema, 0)?;
    Ok(walk.found)
}

#[derive(Default)]
struct Walk {
    path: Vec<String>,
    found: Vec<Annotation>,
    /// Headers so far, in lower case.
    taken: HashSet<String>,
}

impl Walk {
    /// A schema that is reached from the root through `properties` alone.
    fn reachable(&mut self, schema: &Map<String, Value>, depth: usize) -> Result<(), Fault> {
        shallow(depth)?;
        if let Some(annotation) = schema.get(KEYWORD) {
            self.take(annotation, schema)?;
        }
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        let Value::Object(property) = property else { continue };
                        self.path.push(name.clone());
                        self.reachable(property, depth + 1)?;
                        self.path.pop();
                    }
                }
                _ => unreachable_below(keyword, value, depth)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, annotation: &Value, schema: &Map<String, Value>) -> Result<(), Fault> {
        let place = self.place();
        let Value::String(header) = annotation else {
            return Err(Fault::new(format!("{KEYWORD} of {place} must be a string")));
        };
        let fault = |what: &str| Err(Fault::new(format!("{KEYWORD} {} of {place} {what}", quoted(header))));
        if self.path.is_empty() {
            return fault("is not on a property");
        }
        if header.is_empty() || !header.bytes().all(is_token_byte) {
            return fault("must be a name that a header can have: letters, digits and !#$%&'*+-.^_`|~");
        }
        let kind = match schema.get("type").and_then(Value::as_str) {
            Some("string") => Kind::String,
            Some("integer") => Kind::Integer,
            Some("boolean") => Kind::Boolean,
            _ => return fault("must be on exactly one of the types string, integer and boolean"),
        };
        if !self.taken.insert(header.to_ascii_lowercase()) {
            return fault("is there twice; headers do not tell upper from lower case");
        }
        self.found.push(Annotation { header: header.clone(), path: self.path.clone(), kind });
        Ok(())
    }

    fn place(&self) -> String {
        quoted(&self.path.join("."))
    }
}

/// Refuses annotations below a keyword that is not a way to a property of its own.
fn unreachable_below(keyword: &str, value: &Value, depth: usize) -> Result<(), Fault> {
    match keyword {
        KEYWORD => Ok(()),
        // Values, not schemas: what looks like an annotation there is somebody's data.
        "const" | "default" | "enum" | "examples" => Ok(()),
        // Their keys are names, so one that looks like an annotation is none.
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => match value {
            Value::Object(schemas) => {
                schemas.values().try_for_each(|schema| bare(keyword, schema, depth + 1))
            }
            other => bare(keyword, other, depth + 1),
        },
        // Also what we do not know: a peer may know it as a place for schemas.
        _ => bare(keyword, value, depth + 1),
    }
}

/// A value in which no schema may be annotated.
fn bare(keyword: &str, value: &Value, depth: usize) -> Result<(), Fault> {
    match value {
        Value::Object(schema) => {
            shallow(depth)?;
            if schema.contains_key(KEYWORD) {
                let keyword = quoted(keyword);
                let message =
                    format!("{KEYWORD} below {keyword}: only what properties alone lead to is mirrored");
                return Err(Fault::new(message));
            }
            schema.iter().try_for_each(|(keyword, value)| unreachable_below(keyword, value, depth))
        }
        Value::Array(values) => {
            shallow(depth)?;
            values.iter().try_for_each(|value| bare(keyword, value, depth + 1))
        }
        _ => Ok(()),
    }
}

fn shallow(depth: usize) -> Result<(), Fault> {
    if depth <= DEPTH { Ok(()) } else { Err(Fault::new(format!("the schema is nested deeper than {DEPTH}"))) }
}

/// What a header's name is made of (RFC 9110, token).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
