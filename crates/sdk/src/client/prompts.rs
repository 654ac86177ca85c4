//! What lists have told about prompts: which arguments they cannot do without.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::model::{Prompt, PromptArgument};
use crate::{Error, Result};

pub(super) struct KnownPrompts {
    limit: usize,
    required: Mutex<HashMap<String, Vec<String>>>,
}

impl KnownPrompts {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, required: Mutex::default() }
    }

    fn required(&self) -> MutexGuard<'_, HashMap<String, Vec<String>>> {
        self.required.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from a page.
    pub(super) fn learn(&self, page: &[Prompt]) {
        let mut known = self.required();
        for prompt in page {
            if known.len() < self.limit || known.contains_key(&prompt.name) {
                let arguments = prompt.arguments.iter().flatten();
                let required =
                    arguments.filter(|it| PromptArgument::is_required(it)).map(|it| it.name.clone());
                known.insert(prompt.name.clone(), required.collect());
            }
        }
    }

    /// The list changed: what was learned may be wrong now.
    pub(super) fn forget(&self) {
        self.required().clear();
    }

    /// Refuses arguments that lack what a listed prompt requires. Of others the server decides.
    pub(super) fn check(&self, name: &str, arguments: &Value) -> Result<()> {
        let known = self.required();
        let mut required = known.get(name).into_iter().flatten();
        match required.find(|argument| arguments.get(argument).is_none()) {
            Some(missing) => Err(Error::Invalid(format!("prompt {name:?} needs the argument {missing:?}"))),
            None => Ok(()),
        }
    }
}
