//! The published JSON Schemas as judges of what we send. For the tests of this project only.
//!
//! Schemas are found at `$MCP_SCHEMA_DIR` or beside the checkout; they are not part of it. Where one is
//! missing, that is said loudly and nothing is claimed. The judges are stricter than the schemas: a member
//! that a revision does not have is an error.

mod events;
mod schema;
mod watch;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

pub use events::Events;
pub use watch::{From, Watch};

/// The dates of all revisions, oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The directory of the schemas: `$MCP_SCHEMA_DIR`, or `shared/schema` beside the checkout.
pub fn directory() -> PathBuf {
    match std::env::var_os("MCP_SCHEMA_DIR") {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schema"),
    }
}

/// One revision's definitions.
#[derive(Debug)]
pub struct Judge {
    revision: String,
    document: Value,
    group: &'static str,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Judge {
    /// The judge of a revision; `None`, loudly, if its schema is not there.
    pub fn of(revision: &str) -> Option<Arc<Self>> {
        static KNOWN: OnceLock<Mutex<HashMap<String, Option<Arc<Judge>>>>> = OnceLock::new();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(revision.to_owned()).or_insert_with(|| Self::load(revision).map(Arc::new)).clone()
    }

    fn load(revision: &str) -> Option<Self> {
        let path = directory().join(format!("{revision}.json"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            tell(&format!("NOT VALIDATED: no schema of {revision}; set MCP_SCHEMA_DIR"));
            return None;
        };
        let mut document: Value = serde_json::from_str(&text).ok()?;
        let group = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        schema::close_all(document[group].as_object_mut()?);
        Some(Self { revision: revision.to_owned(), document, group, compiled: Mutex::default() })
    }

    /// Whether the revision defines this.
    pub fn has(&self, definition: &str) -> bool {
        self.document[self.group].get(definition).is_some()
    }

    /// Where the parameters of a message are defined: on their own, or inside it.
    pub fn params_path(&self, message: &str) -> Option<String> {
        if self.has(&format!("{message}Params")) {
            return Some(format!("{message}Params"));
        }
        let params = &self.document[self.group].get(message)?["properties"]["params"];
        match params.get("$ref").and_then(Value::as_str) {
            Some(target) => target.rsplit('/').next().map(str::to_owned),
            None => Some(format!("{message}/properties/params")),
        }
    }

    /// Whether a message of this definition must have parameters.
    pub fn requires_params(&self, definition: &str) -> bool {
        let required = self.document[self.group][definition]["required"].as_array();
        required.is_some_and(|names| names.iter().any(|name| name == "params"))
    }

    /// The definition of the request or notification with this method.
    pub fn definition_of(&self, method: &str) -> Option<&str> {
        let definitions = self.document[self.group].as_object()?;
        let is_it = |definition: &Value| definition["properties"]["method"]["const"] == method;
        definitions.iter().find(|(_, definition)| is_it(definition)).map(|(name, _)| name.as_str())
    }

    /// The definition of the result of this method.
    pub fn result_of(&self, method: &str) -> Option<String> {
        let request = self.definition_of(method)?;
        let result = format!("{}Result", request.strip_suffix("Request")?);
        Some(if self.has(&result) { result } else { "EmptyResult".to_owned() })
    }

    /// Everything that is wrong with a value.
    pub fn complaints(&self, path: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(path);
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect()
    }

    /// Panics with every complaint.
    #[track_caller]
    pub fn check(&self, path: &str, value: &Value) {
        let complaints = self.complaints(path, value);
        assert!(complaints.is_empty(), "{} {path}: {complaints:#?}\n{value:#}", self.revision);
    }

    fn validator(&self, path: &str) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = compiled.entry(path.to_owned()).or_insert_with(|| {
            let mut document = self.document.clone();
            document["$ref"] = json!(format!("#/{}/{path}", self.group));
            // ok: only tests run this, and a schema that does not compile is their failure
            Arc::new(jsonschema::validator_for(&document).expect("the published schemas compile"))
        });
        Arc::clone(validator)
    }
}

/// Says it even where the test harness captures output.
pub(crate) fn tell(text: &str) {
    writeln!(std::io::stderr(), "{text}").ok();
}
