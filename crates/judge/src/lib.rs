//! The published JSON Schemas as judges of what we send. For the tests of this project only.
//!
//! Schemas are found at `$MCP_SCHEMA_DIR` or beside the checkout; they are not part of it. Where one is
//! missing, that is said loudly and nothing is claimed. The judges are stricter than the schemas: a member
//! that a revision does not have is an error.

mod events;
mod schema;
mod watch;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Arguments;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

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

/// The revisions whose schemas are not there.
pub fn missing() -> Vec<&'static str> {
    let directory = directory();
    let is_missing = |date: &&str| !directory.join(format!("{date}.json")).is_file();
    REVISIONS.into_iter().filter(is_missing).collect()
}

/// Says, once in a process, what cannot be validated.
fn tell_what_is_missing() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        let missing = missing();
        if !missing.is_empty() {
            tell(format_args!("NOT VALIDATED: no schema of {}; set MCP_SCHEMA_DIR", missing.join(", ")));
        }
    });
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
    ///
    /// # Panics
    /// If the schema is there and cannot be used.
    pub fn of(revision: &str) -> Option<Arc<Self>> {
        static KNOWN: OnceLock<Mutex<HashMap<String, Option<Arc<Judge>>>>> = OnceLock::new();
        tell_what_is_missing();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(revision.to_owned()).or_insert_with(|| Self::load(revision).map(Arc::new)).clone()
    }

    fn load(revision: &str) -> Option<Self> {
        let text = std::fs::read_to_string(directory().join(format!("{revision}.json"))).ok()?;
        let Ok(mut document) = serde_json::from_str::<Value>(&text) else {
            panic!("the schema of {revision} is not JSON")
        };
        let group = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        let Some(definitions) = document[group].as_object_mut() else {
            panic!("the schema of {revision} defines nothing")
        };
        schema::close_all(definitions);
        Some(Self { revision: revision.to_owned(), document, group, compiled: Mutex::default() })
    }

    /// The methods of all requests and notifications.
    pub fn methods(&self) -> BTreeSet<&str> {
        let definitions = self.document[self.group].as_object().into_iter().flat_map(|all| all.values());
        definitions.filter_map(|definition| definition["properties"]["method"]["const"].as_str()).collect()
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
pub fn tell(text: Arguments<'_>) {
    // Nobody may be there to read it; that is no reason to fail.
    writeln!(std::io::stderr(), "{text}").ok();
}
