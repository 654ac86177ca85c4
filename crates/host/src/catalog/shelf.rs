//! One list of the catalog: its items in order, and by name.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use contexture::model::{Prompt, Resource, ResourceTemplate, Tool};
use contexture::server::Mirrors;

use super::offer::{Item, Listed, Offer};
use crate::config::{Filter, ServerEntry};

/// The way from a name of the catalog to what a server has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Route<T = Tool> {
    /// The server, by its place among the parts.
    pub server: usize,
    /// The server's entry.
    pub entry: Arc<ServerEntry>,
    /// The name (or URI) here.
    pub shown: Arc<str>,
    /// The server's definition, with the server's own name.
    pub definition: Arc<T>,
    /// A digest of the definition as the server wrote it: name, title, description, schemas, annotations.
    pub pin: [u8; 32],
    /// Its place among what the server listed.
    pub(super) item: usize,
    /// Lists leave it out.
    pub(super) concealed: bool,
    /// Of a tool that was called, what headers repeat of its arguments.
    pub(super) mirrors: OnceLock<Mirrors>,
}

/// What can be a list of the catalog.
pub(super) trait Shelved: Item {
    /// Whether it goes by a name; otherwise by a URI.
    const NAMED: bool;

    /// What a server has of it.
    fn items(offer: &Offer) -> &[Listed<Self>];

    /// What of it is wanted.
    fn filter(entry: &ServerEntry) -> &Filter;
}

macro_rules! shelved {
    ($($item:ty: $named:literal, $items:ident, $filter:ident;)*) => {
        $(impl Shelved for $item {
            const NAMED: bool = $named;

            fn items(offer: &Offer) -> &[Listed<Self>] {
                offer.$items()
            }

            fn filter(entry: &ServerEntry) -> &Filter {
                &entry.$filter
            }
        }

        impl Route<$item> {
            /// The server's own name (or URI) for it.
            pub fn original(&self) -> &str {
                self.definition.key()
            }
        })*
    };
}

impl Route {
    /// The arguments that headers of modern HTTP requests repeat.
    pub fn mirrors(&self) -> &Mirrors {
        self.mirrors.get_or_init(|| Mirrors::of(&self.definition))
    }
}

shelved! {
    Tool: true, tools, tools;
    Prompt: true, prompts, prompts;
    Resource: false, resources, resources;
    ResourceTemplate: false, templates, resources;
}

/// One list.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    routes: Vec<Route<T>>,
    by_name: HashMap<Arc<str>, usize>,
    /// Where each server's items begin.
    starts: Vec<usize>,
    /// Whose a name is that is left alone, by the server's name: also while that one is not there.
    owners: HashMap<Arc<str>, Arc<str>>,
}

impl<T> Shelf<T> {
    pub(super) fn new() -> Self {
        Self { routes: Vec::new(), by_name: HashMap::new(), starts: Vec::new(), owners: HashMap::new() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Route<T>> {
        self.by_name.get(name).and_then(|at| self.routes.get(*at))
    }

    pub(super) fn routes(&self) -> &[Route<T>] {
        &self.routes
    }

    /// Leaves these out of lists.
    pub(super) fn conceal(&mut self, is: impl Fn(&Route<T>) -> bool) {
        for route in &mut self.routes {
            route.concealed = is(route);
        }
    }

    /// The items of the next server follow.
    pub(super) fn begin_server(&mut self) {
        self.starts.push(self.routes.len());
    }

    /// Names that are left alone, and whose they are.
    pub(super) fn owners(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.owners.iter()
    }

    /// Whose a name is.
    pub(super) fn owner(&self, name: &str) -> Option<&str> {
        self.owners.get(name).map(|owner| &**owner)
    }

    /// A name that is left alone is this server's from now on.
    pub(super) fn own(&mut self, name: &Arc<str>, server: &Arc<str>) {
        self.owners.insert(Arc::clone(name), Arc::clone(server));
    }

    /// Adds an item whose name is not taken.
    pub(super) fn push(&mut self, route: Route<T>) {
        self.by_name.insert(Arc::clone(&route.shown), self.routes.len());
        self.routes.push(route);
    }

    /// Where a server's items begin and end.
    pub(super) fn of_server(&self, server: usize) -> (usize, usize) {
        let end = self.routes.len();
        let start_of = |server: usize| self.starts.get(server).copied().unwrap_or(end);
        (start_of(server), start_of(server.saturating_add(1)))
    }
}
