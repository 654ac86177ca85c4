//! What a server offers, while it serves: tools, prompts, resources, completers.
//!
//! Readers take a snapshot and never wait for writers. Every change tells the bus by itself. Names and
//! URIs are unique; a second registration is refused, never a replacement.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::Principal;
use super::bus::{Bus, Change};
use super::completion::Completer;
use super::pages::Encoded;
use super::prompt::{IntoPrompt, PromptEntry};
use super::resource::{Definition, IntoResource, ResourceEntry};
use super::tool::{IntoTool, ToolEntry};
use crate::{Error, Result};

/// A handle on what a server offers. Cheap to clone; changes take effect at once, for all connections.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    tables: RwLock<Arc<Tables>>,
    bus: Bus,
}

/// One state of the offer. Never changes; the next state is another value.
#[derive(Clone, Default)]
pub(super) struct Tables {
    pub(super) tools: Table<ToolEntry>,
    pub(super) prompts: Table<PromptEntry>,
    pub(super) resources: Table<ResourceEntry>,
    pub(super) templates: Table<ResourceEntry>,
    pub(super) completers: HashMap<(CompletionTarget, String), Arc<dyn Completer>>,
    pub(super) encoded: Encoded,
    /// Entries are added while serving, so what is not there yet may come.
    pub(super) grows: bool,
    last: u64,
}

impl Tables {
    /// Whether anything was registered or declared.
    pub(super) fn offers_anything(&self) -> bool {
        let resources = self.resources.is_offered() || self.templates.is_offered();
        self.tools.is_offered() || self.prompts.is_offered() || resources || !self.completers.is_empty()
    }
}

/// What an argument that is completed belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CompletionTarget {
    Prompt(String),
    Template(String),
}

/// Entries by name, and in the order in which they were registered.
#[derive(Clone)]
pub(super) struct Table<T> {
    /// Looked into for every call, by names of the server's own.
    by_name: HashMap<String, (u64, T), foldhash::fast::RandomState>,
    in_order: BTreeMap<u64, T>,
    /// Something was registered here once, so clients may have been told that there is a list.
    offered: bool,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { by_name: HashMap::default(), in_order: BTreeMap::new(), offered: false }
    }
}

impl<T: Clone> Table<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).map(|(_, entry)| entry)
    }

    /// Whether this list is part of the offer, be it empty by now.
    pub(super) fn is_offered(&self) -> bool {
        self.offered
    }

    /// Entries registered after the one with this number, with their numbers.
    pub(super) fn after(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        self.in_order.range(number + 1..).map(|(number, entry)| (*number, entry))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.in_order.values()
    }

    fn insert(&mut self, name: &str, number: u64, entry: T) -> Result<()> {
        if self.by_name.contains_key(name) {
            return Err(Error::Misuse(format!("{name:?} is registered already")));
        }
        self.by_name.insert(name.to_owned(), (number, entry.clone()));
        self.in_order.insert(number, entry);
        self.offered = true;
        Ok(())
    }

    fn remove(&mut self, name: &str) -> bool {
        match self.by_name.remove(name) {
            Some((number, _)) => self.in_order.remove(&number).is_some(),
            None => false,
        }
    }
}

impl Registry {
    pub(super) fn new() -> Self {
        Self { shared: Arc::new(Shared { tables: RwLock::default(), bus: Bus::default() }) }
    }

    pub(super) fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.shared.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn bus(&self) -> &Bus {
        &self.shared.bus
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// When its name or a schema is not valid, or the name is taken.
    pub fn add_tool(&self, tool: impl IntoTool) -> Result<()> {
        let tool = tool.into_tool();
        tool.validate()?;
        self.change(Change::Tools, |tables, number| {
            let name = tool.definition.name.clone();
            tables.tools.insert(&name, number, tool)
        })
    }

    /// Removes a tool; says whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(Change::Tools, |tables| tables.tools.remove(name))
    }

    /// Whether there is a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tables().tools.get(name).is_some()
    }

    /// Adds a prompt.
    ///
    /// # Errors
    /// When it is not valid, or its name is taken.
    pub fn add_prompt(&self, prompt: impl IntoPrompt) -> Result<()> {
        let prompt = prompt.into_prompt();
        prompt.validate()?;
        self.change(Change::Prompts, |tables, number| {
            let name = prompt.definition.name.clone();
            tables.prompts.insert(&name, number, prompt)
        })
    }

    /// Removes a prompt; says whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(Change::Prompts, |tables| tables.prompts.remove(name))
    }

    /// Adds a resource or a template.
    ///
    /// # Errors
    /// When its URI is not valid or taken.
    pub fn add_resource(&self, resource: impl IntoResource) -> Result<()> {
        let resource = resource.into_resource();
        resource.validate()?;
        self.change(Change::Resources, |tables, number| {
            let uri = resource.uri().to_owned();
            match resource.definition {
                Definition::Fixed(_) => tables.resources.insert(&uri, number, resource),
                Definition::Template(..) => tables.templates.insert(&uri, number, resource),
            }
        })
    }

    /// Removes a resource or a template; says whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(Change::Resources, |tables| tables.resources.remove(uri) || tables.templates.remove(uri))
    }

    /// Tells those who watch this resource that it changed.
    pub fn resource_updated(&self, uri: &str) {
        self.shared.bus.publish(&Change::Updated(uri.to_owned()));
    }

    /// Tells those who watch this resource, and are this principal, that it changed.
    pub fn resource_updated_for(&self, principal: &Principal, uri: &str) {
        self.shared.bus.publish_to(principal, &Change::Updated(uri.to_owned()));
    }

    /// Tells clients that the list of tools has changed, where a [provider](super::Provider) has it.
    pub fn tools_changed(&self) {
        self.shared.bus.publish(&Change::Tools);
    }

    /// Tells clients that the list of prompts has changed, where a [provider](super::Provider) has it.
    pub fn prompts_changed(&self) {
        self.shared.bus.publish(&Change::Prompts);
    }

    /// Tells clients that the lists of resources and templates have changed, where a [provider](super::Provider) has
    /// them.
    pub fn resources_changed(&self) {
        self.shared.bus.publish(&Change::Resources);
    }

    /// Declares lists that have nothing in them yet.
    pub(super) fn offer_all(&self) {
        self.edit(|tables| {
            tables.grows = true;
            tables.tools.offered = true;
            tables.prompts.offered = true;
            tables.resources.offered = true;
        });
    }

    pub(super) fn add_completer(
        &self,
        target: CompletionTarget,
        argument: String,
        completer: Arc<dyn Completer>,
    ) {
        self.edit(|tables| tables.completers.insert((target, argument), completer));
    }

    fn change(&self, change: Change, edit: impl FnOnce(&mut Tables, u64) -> Result<()>) -> Result<()> {
        self.edit(|tables| {
            tables.last += 1;
            edit(tables, tables.last)
        })?;
        self.shared.bus.publish(&change);
        Ok(())
    }

    fn remove(&self, change: Change, edit: impl FnOnce(&mut Tables) -> bool) -> bool {
        let removed = self.edit(edit);
        if removed {
            self.shared.bus.publish(&change);
        }
        removed
    }

    /// Whoever holds a snapshot keeps it; the next reader sees the new state.
    fn edit<T>(&self, edit: impl FnOnce(&mut Tables) -> T) -> T {
        let mut tables = self.shared.tables.write().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::make_mut(&mut tables);
        next.encoded = Encoded::default();
        edit(next)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.tables();
        f.debug_struct("Registry")
            .field("tools", &tables.tools.in_order.len())
            .field("prompts", &tables.prompts.in_order.len())
            .field("resources", &tables.resources.in_order.len())
            .finish_non_exhaustive()
    }
}
