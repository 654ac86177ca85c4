//! What lists have told about tools: what people see before they approve, and schemas to check results with.
//!
//! A schema is compiled once, when the first result needs it. One that cannot be compiled (too large,
//! remote references) affects only its own tool: its results are marked as unchecked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use contexture_core::http::mirror::{Annotation, annotations};

use super::config::Config;
use crate::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use crate::schema::Checker;
use crate::{Error, Result};

pub(super) struct KnownTools {
    limit: usize,
    /// Whether hooks want to see tools as they were listed.
    shown: bool,
    trusted: bool,
    known: Mutex<Known>,
    /// Held by whoever asks for the whole list on behalf of a result.
    pub(super) listing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    tools: HashMap<String, Arc<KnownTool>>,
    /// How often the list changed.
    changes: u64,
    /// Whether the whole list was asked for since.
    listed: bool,
}

/// A tool that was listed.
pub(super) struct KnownTool {
    pub(super) annotations: Option<ToolAnnotations>,
    /// For hooks, where there are any.
    pub(super) shown: Option<Arc<Tool>>,
    output_schema: Option<JsonObject>,
    /// Arguments that are said again in headers.
    mirrored: Vec<Annotation>,
    checker: OnceLock<Option<Checker>>,
}

impl KnownTools {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limit: config.policy.list_items,
            shown: config.approve.is_some() || config.filter.is_some(),
            trusted: config.trusted,
            known: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
        }
    }

    /// A tool as hooks see it. Hints of a server that is not trusted must not even be seen where decisions
    /// are made.
    fn shown(&self, tool: &Tool) -> Option<Arc<Tool>> {
        self.shown.then(|| {
            let mut tool = tool.clone();
            tool.annotations = tool.annotations.filter(|_| self.trusted);
            Arc::new(tool)
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out of a page what must not be called over HTTP: tools that describe their headers wrongly.
    pub(super) fn drop_unfit(page: &mut Vec<Tool>) {
        page.retain(|tool| match annotations(&tool.input_schema) {
            Ok(_) => true,
            Err(fault) => {
                tracing::warn!(tool = tool.name, %fault, "left out a tool that describes its headers wrongly");
                false
            }
        });
    }

    /// Learns from a page. The first of two tools with one name stands, as it does for the model.
    pub(super) fn learn(&self, page: &[Tool]) {
        let known = &mut self.known().tools;
        let mut seen = std::collections::HashSet::new();
        for tool in page {
            let room = known.len() < self.limit || known.contains_key(&tool.name);
            if !seen.insert(&tool.name) || !room {
                continue;
            }
            let mirrored = annotations(&tool.input_schema).unwrap_or_default();
            let shown = self.shown(tool);
            // An unchanged schema keeps its compiled form.
            let same = |it: &Arc<KnownTool>| {
                it.output_schema == tool.output_schema
                    && it.annotations == tool.annotations
                    && it.mirrored == mirrored
                    && it.shown == shown
            };
            if known.get(&tool.name).is_some_and(same) {
                continue;
            }
            let learned = KnownTool {
                annotations: tool.annotations.clone(),
                shown,
                output_schema: tool.output_schema.clone(),
                mirrored,
                checker: OnceLock::new(),
            };
            known.insert(tool.name.clone(), Arc::new(learned));
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<KnownTool>> {
        self.known().tools.get(name).cloned()
    }

    /// Whether the list could tell more about this tool. Inside: how often it has changed so far.
    pub(super) fn is_strange(&self, name: &str) -> Option<u64> {
        let known = self.known();
        (!known.listed && !known.tools.contains_key(name)).then_some(known.changes)
    }

    /// The whole list was asked for, whatever came of it. Counts until the list changes.
    pub(super) fn listed(&self, changes: u64) {
        let mut known = self.known();
        known.listed = known.changes == changes;
    }

    /// The list changed: what was learned may be wrong now.
    pub(super) fn forget(&self) {
        let mut known = self.known();
        let changes = known.changes + 1;
        *known = Known { changes, ..Known::default() };
    }
}

impl KnownTool {
    /// Headers for these arguments.
    pub(super) fn mirrored(&self, arguments: Option<&str>) -> Result<Vec<(String, String)>> {
        let mut headers = Vec::new();
        for annotation in &self.mirrored {
            let value = annotation.value(arguments);
            let value = value.map_err(|fault| Error::Invalid(format!("arguments: {fault}")))?;
            headers.extend(value.map(|value| (annotation.header_name(), value)));
        }
        Ok(headers)
    }

    /// Checks a result against the output schema. Says whether there was something to check with.
    pub(super) fn check(&self, name: &str, result: &CallToolResult) -> Result<bool> {
        let Some(schema) = &self.output_schema else { return Ok(false) };
        if result.is_error {
            return Ok(false);
        }
        let checker = self.checker.get_or_init(|| {
            Checker::compile(schema)
                .inspect_err(|error| tracing::warn!(tool = name, %error, "results are not checked"))
                .ok()
        });
        let Some(checker) = checker else { return Ok(false) };
        let Some(raw) = &result.structured_content else {
            return Err(Error::Invalid(format!(
                "tool {name:?} has an output schema but gave no structured result"
            )));
        };
        let value = serde_json::from_str(raw.get())
            .map_err(|error| Error::PeerMisbehaved(format!("structured content: {error}")))?;
        checker.check(&value).map_err(|fault| {
            Error::Invalid(format!("the result of tool {name:?} does not fit its schema: {fault}"))
        })?;
        Ok(true)
    }
}
