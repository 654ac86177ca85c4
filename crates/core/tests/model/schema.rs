//! The published JSON Schemas as judges, made stricter: they are open where we want to be exact.

use std::path::{Path, PathBuf};

use contexture_core::revision::Revision;
use serde_json::{Value, json};

/// Definitions that others are composed of, or that are open by nature.
const OPEN: [&str; 6] =
    ["Result", "Task", "NotificationParams", "RequestParams", "JSONObject", "PaginatedRequestParams"];

/// The schemas' directory: `$MCP_SCHEMA_DIR`, or beside the workspace.
pub(super) fn directory() -> PathBuf {
    match std::env::var_os("MCP_SCHEMA_DIR") {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schema"),
    }
}

/// One revision's definitions, in which members that it does not have are errors.
pub(super) struct Judge {
    revision: Revision,
    document: Value,
    group: &'static str,
}

impl Judge {
    /// `None`, loudly, if the schema is not there.
    pub(super) fn of(revision: Revision) -> Option<Self> {
        let path = find(&directory(), revision.as_str())?;
        let text = std::fs::read_to_string(path).expect("readable schema");
        let mut document: Value = serde_json::from_str(&text).expect("schema is JSON");
        let group = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        for (name, definition) in document[group].as_object_mut().expect("definitions") {
            if !OPEN.contains(&name.as_str()) && !name.ends_with("MetaObject") {
                close(definition, name.ends_with("Params"));
            }
        }
        Some(Self { revision, document, group })
    }

    pub(super) fn has(&self, definition: &str) -> bool {
        self.document[self.group].get(definition).is_some()
    }

    /// Where the parameters of a message are defined: on their own, or inside it.
    pub(super) fn params_path(&self, message: &str) -> Option<String> {
        if self.has(&format!("{message}Params")) {
            return Some(format!("{message}Params"));
        }
        let params = &self.document[self.group].get(message)?["properties"]["params"];
        match params.get("$ref").and_then(Value::as_str) {
            Some(target) => target.rsplit('/').next().map(str::to_owned),
            None => Some(format!("{message}/properties/params")),
        }
    }

    /// Panics with every complaint.
    pub(super) fn check(&self, path: &str, value: &Value) {
        let mut document = self.document.clone();
        document["$ref"] = json!(format!("#/{}/{path}", self.group));
        let validator = jsonschema::validator_for(&document).expect("schema compiles");
        let complaints: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert!(complaints.is_empty(), "{} {path}: {complaints:#?}\n{value:#}", self.revision);
    }
}

fn find(directory: &Path, date: &str) -> Option<PathBuf> {
    let path = directory.join(format!("{date}.json"));
    if path.exists() {
        return Some(path);
    }
    super::tell(format_args!(
        "NOT VALIDATED: the schema of {date} is not in {}; set MCP_SCHEMA_DIR",
        directory.display()
    ));
    None
}

/// Refuses members that a schema does not name. JSON Schemas inside messages stay open.
fn close(schema: &mut Value, is_params: bool) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !["inputSchema", "outputSchema", "_meta"].contains(&name.as_str()) {
                close(property, name == "params");
            }
        }
        if is_params {
            properties.entry("_meta").or_insert_with(|| json!({}));
        }
        members.entry("additionalProperties").or_insert(json!(false));
        if members["additionalProperties"] == json!({}) && !is_params {
            members.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = members.get_mut(name) {
            close(inner, false);
        }
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(Value::Array(inner)) = members.get_mut(name) {
            inner.iter_mut().for_each(|inner| close(inner, false));
        }
    }
}
