//! Whether a server has everything that its parts refer to, found out before it serves.
//!
//! It looks at what was registered when the server is built. What a registry adds later is not seen.

use std::any::TypeId;
use std::sync::Arc;

use super::registry::{CompletionTarget, Tables};
use crate::{Error, Result};

/// Types of state that a handler takes, with their names.
pub(super) type Needs = Arc<[(TypeId, &'static str)]>;

/// Fails for the first thing that is referred to and not there.
pub(super) fn check(tables: &Tables, has_state: impl Fn(TypeId) -> bool) -> Result<()> {
    let states = |kind: &str, name: &str, needs: &Needs| match needs.iter().find(|(id, _)| !has_state(*id)) {
        Some((_, state)) => Err(Error::Misuse(format!(
            "{kind} {name:?} takes State<{state}>, but the server was not given one with .state(…)"
        ))),
        None => Ok(()),
    };
    for tool in tables.tools.iter() {
        states("tool", &tool.definition.name, &tool.needs)?;
    }
    for prompt in tables.prompts.iter() {
        states("prompt", &prompt.definition.name, &prompt.needs)?;
    }
    for resource in tables.resources.iter().chain(tables.templates.iter()) {
        states("resource", resource.uri(), &resource.needs)?;
    }
    if tables.grows { Ok(()) } else { completers(tables) }
}

fn completers(tables: &Tables) -> Result<()> {
    for (target, argument) in tables.completers.keys() {
        let (exists, target) = match target {
            CompletionTarget::Prompt(name) => {
                (tables.prompts.get(name).is_some(), format!("prompt {name:?}"))
            }
            CompletionTarget::Template(uri) => {
                let exists = tables.templates.get(uri).is_some() || tables.resources.get(uri).is_some();
                (exists, format!("resource template {uri:?}"))
            }
        };
        if !exists {
            return Err(Error::Misuse(format!(
                "{argument:?} of {target} is completed, but it is not registered; servers that add it \
                 later say so with .empty_lists()"
            )));
        }
    }
    Ok(())
}
