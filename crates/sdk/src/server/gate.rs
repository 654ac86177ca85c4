//! What a caller must have been granted, decided before a handler runs.
//!
//! Tools, prompts and resources name scopes. HTTP asks for them before it begins anything of a request, so that it can
//! refuse all of it by status; an entry asks again when it is reached, so that no layer and no transport leads
//! around it. Who was not limited by anybody may pass everywhere.

use super::Principal;
use super::registry::Tables;
use crate::model::{ErrorObject, Reference};
use crate::{Error, Result, Scopes};

/// The code of "you were not granted this". Outside the range that JSON-RPC and MCP reserve.
const NOT_GRANTED: i64 = -31403;

/// The scopes that one entry needs, all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    scopes: Scopes,
    /// What was given as a scope and is none. It must not be forgotten: the entry would stand open.
    wrong: Option<Box<str>>,
}

impl Gate {
    pub(super) fn add(&mut self, scope: String) {
        self.scopes.extend([scope.as_str()]);
        if !self.scopes.contains(&scope) {
            self.wrong.get_or_insert(scope.into());
        }
    }

    /// What is needed.
    #[cfg(feature = "http-server")]
    pub(super) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Refuses scopes that no token could name.
    pub(super) fn validate(&self, what: &str) -> Result<()> {
        match &self.wrong {
            None => Ok(()),
            Some(wrong) => Err(Error::Misuse(format!(
                "{what}: {wrong:?} is not a scope: one word each, without quotes and backslashes, 100 at most"
            ))),
        }
    }

    /// Whether whoever asks may pass.
    pub(super) fn check(&self, principal: &Principal) -> std::result::Result<(), ErrorObject> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        match principal.scopes().map(|granted| granted.missing(&self.scopes)) {
            Some(missing) if !missing.is_empty() => {
                Err(ErrorObject::new(NOT_GRANTED, format!("this needs more scopes: {missing}")))
            }
            _ => Ok(()),
        }
    }
}

/// The gate of what an argument that is completed belongs to.
pub(super) fn gate_of<'a>(tables: &'a Tables, reference: &Reference) -> Option<&'a Gate> {
    match reference {
        Reference::Prompt { name, .. } => tables.prompts.get(name).map(|prompt| &prompt.gate),
        Reference::Resource { uri } => {
            tables.templates.get(uri).or_else(|| tables.resources.get(uri)).map(|resource| &resource.gate)
        }
        _ => None,
    }
}
