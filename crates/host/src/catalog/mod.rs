//! What all servers offer together, under the names of [`names`].
//!
//! A [`Catalog`] never changes: after a change there is another one, and whoever holds the old one goes on with it. It is made
//! of the [offers](Offer) of servers, in the order of the configuration, each in its own order. Definitions go out as
//! their servers wrote them but for names and URIs, in the words of the client's revision. It asks nobody and decides nothing
//! about consent; looking something up costs the same however much there is.

mod alert;
mod building;
mod cursor;
mod list;
mod offer;
mod outward;
mod pin;
mod shelf;
mod text;
mod twins;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use contexture::model::{
    CacheScope, ErrorObject, Method, Prompt, Reference, Resource, ResourceTemplate, Tool,
};
use contexture::revision::Revision;
use contexture::uri_template::Matcher;

pub use alert::{Alert, AlertKind};
pub use offer::{DEFINITION_BYTES, Listed, OFFER_BYTES, Offer};
pub use outward::outward;
pub use shelf::Route;
pub use text::compact;

use crate::config::{Filter, ServerEntry};
use crate::names;
use list::Pages;
use shelf::Shelf;

/// How many items a page has, if nothing else is wanted: most clients see one page.
pub const PAGE_ITEMS: usize = 1000;
/// So much of a server's instructions is passed on.
const INSTRUCTION_CHARS: usize = 8 * 1024;

/// One server's part of a catalog.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its entry in the configuration.
    pub entry: Arc<ServerEntry>,
    /// What it offers, or why that is not known.
    pub offer: Result<Arc<Offer>, String>,
    /// Whether what it offers depends on who asks: then lists are nobody else's business.
    pub personal: bool,
}

/// The way to a prompt.
pub type PromptRoute = Route<Prompt>;

/// The way to a resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourceRoute {
    /// The server, by its place among the parts.
    pub server: usize,
    /// The server's entry.
    pub entry: Arc<ServerEntry>,
    /// The server's own URI.
    pub original: String,
    /// Its definition, if it is in a list.
    pub definition: Option<Arc<Resource>>,
}

/// The way to who completes an argument.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompletionRoute {
    /// The server, by its place among the parts.
    pub server: usize,
    /// The server's entry.
    pub entry: Arc<ServerEntry>,
    /// What the argument belongs to, in the server's own words.
    pub reference: Reference,
}

/// A server as the catalog knows it.
#[derive(Debug)]
struct Served {
    entry: Arc<ServerEntry>,
    /// What its names begin with; nothing, if they are left alone.
    slug: Option<String>,
    /// What its URIs begin with; nothing, if they are left alone.
    scheme: Option<String>,
    offer: Result<Arc<Offer>, String>,
}

/// What all servers offer together.
#[derive(Debug)]
pub struct Catalog {
    served: Vec<Served>,
    tools: Shelf<Tool>,
    prompts: Shelf<Prompt>,
    resources: Shelf<Resource>,
    templates: Shelf<ResourceTemplate>,
    /// Servers by their slugs and by their schemes.
    slugs: HashMap<String, usize>,
    schemes: HashMap<String, usize>,
    /// Templates of servers whose URIs are left alone.
    matchers: Vec<(usize, Matcher)>,
    /// The one server whose URIs are left alone and that has resources, if it is one.
    lone: Option<usize>,
    alerts: Vec<Alert>,
    scope: CacheScope,
    pages: Pages,
}

impl Catalog {
    /// A tool by the name that it has here.
    pub fn tool(&self, name: &str) -> Option<&Route> {
        self.tools.get(name)
    }

    /// All tools, in their order.
    pub fn tools(&self) -> &[Route] {
        self.tools.routes()
    }

    /// A prompt by the name that it has here.
    pub fn prompt(&self, name: &str) -> Option<&PromptRoute> {
        self.prompts.get(name)
    }

    /// The way to a resource, by the URI that it has here: one that is listed, one that matches a template, or one that
    /// was only linked to.
    pub fn resource(&self, uri: &str) -> Option<ResourceRoute> {
        if let Some(route) = self.resources.get(uri) {
            return Some(ResourceRoute::from(route));
        }
        if let Some((scheme, own)) = names::taken_apart(uri)
            && let Some(&server) = self.schemes.get(&scheme)
        {
            // Written with another case, it may still be one that is listed.
            return match self.resources.get(&names::under(&own, &scheme)) {
                Some(route) => Some(ResourceRoute::from(route)),
                None => self.linked(server, own),
            };
        }
        let matching = self.matchers.iter().find(|(_, matcher)| matcher.matches(uri).is_some());
        let server = matching.map(|(server, _)| *server).or(self.lone)?;
        self.linked(server, Cow::Borrowed(uri))
    }

    /// Who completes an argument of this prompt, template or resource.
    pub fn completion(&self, reference: &Reference) -> Option<CompletionRoute> {
        match reference {
            Reference::Prompt { name, title } => self.prompts.get(name).map(|route| CompletionRoute {
                server: route.server,
                entry: Arc::clone(&route.entry),
                reference: Reference::Prompt { name: route.original().to_owned(), title: title.clone() },
            }),
            Reference::Resource { uri } => match self.templates.get(uri) {
                Some(route) => Some(CompletionRoute {
                    server: route.server,
                    entry: Arc::clone(&route.entry),
                    reference: Reference::resource(route.original()),
                }),
                None => self.resource(uri).map(|route| CompletionRoute {
                    server: route.server,
                    entry: route.entry,
                    reference: Reference::resource(route.original),
                }),
            },
            _ => None,
        }
    }

    /// The server whose name a name or URI begins with.
    pub(crate) fn owner(&self, name: &str) -> Option<usize> {
        let by_name = || names::slug_of(name).and_then(|slug| self.slugs.get(slug));
        let by_uri = || names::taken_apart(name).and_then(|(scheme, _)| self.schemes.get(&scheme));
        by_name().or_else(by_uri).copied()
    }

    /// The server that a name or URI would belong to but that is not there, and why not: for an error that helps.
    pub fn absent(&self, name: &str) -> Option<(&Arc<ServerEntry>, &str)> {
        let served = self.served.get(self.owner(name)?)?;
        served.offer.as_ref().err().map(|why| (&served.entry, why.as_str()))
    }

    /// One page of a list, encoded in the words of a revision. `page` is the most items that it may have.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or there is no such list.
    pub fn list(
        &self,
        list: Method,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
    ) -> Result<Arc<[u8]>, ErrorObject> {
        match list {
            Method::ToolsList => self.page_of(list, &self.tools, revision, cursor, page),
            Method::PromptsList => self.page_of(list, &self.prompts, revision, cursor, page),
            Method::ResourcesList => self.page_of(list, &self.resources, revision, cursor, page),
            Method::ResourcesTemplatesList => self.page_of(list, &self.templates, revision, cursor, page),
            other => Err(ErrorObject::method_not_found(other.as_str())),
        }
    }

    /// What a person should know: collisions, twins, hostile names, what was left out and why.
    pub fn alerts(&self) -> &[Alert] {
        &self.alerts
    }

    /// What the servers say about themselves to models, each under its name.
    pub fn instructions(&self) -> Option<String> {
        let known =
            self.served.iter().filter_map(|served| Some((&*served.entry, &**served.offer.as_ref().ok()?)));
        instructions(known)
    }

    /// The way to a resource of a server that no list has.
    fn linked(&self, server: usize, own: Cow<'_, str>) -> Option<ResourceRoute> {
        let served = self.served.get(server)?;
        let there = served.offer.is_ok() && lets_through(&served.entry.resources, &own);
        there.then(|| ResourceRoute {
            server,
            entry: Arc::clone(&served.entry),
            original: own.into_owned(),
            definition: None,
        })
    }
}

/// What servers say about themselves to models, each under its name.
pub(crate) fn instructions<'a>(
    servers: impl Iterator<Item = (&'a ServerEntry, &'a Offer)>,
) -> Option<String> {
    let said = servers.filter_map(|(entry, offer)| {
        let said: String = offer.instructions.as_deref()?.chars().take(INSTRUCTION_CHARS).collect();
        Some(match entry.prefix.then(|| names::slug(&entry.name)) {
            Some(slug) => format!("# Server {slug} (its tools begin with {slug}__)\n\n{said}"),
            None => said,
        })
    });
    let all: Vec<String> = said.collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

impl From<&Route<Resource>> for ResourceRoute {
    fn from(route: &Route<Resource>) -> Self {
        Self {
            server: route.server,
            entry: Arc::clone(&route.entry),
            original: route.original().to_owned(),
            definition: Some(Arc::clone(&route.definition)),
        }
    }
}

/// Whether a filter lets a URI through that somebody wrote down: also with its escapes undone and its scheme in lower case,
/// and not if it climbs. What a filter keeps back has no second spelling.
fn lets_through(filter: &Filter, uri: &str) -> bool {
    if filter.is_open() {
        return true;
    }
    let decoded = contexture::uri::percent_decode(uri);
    let Ok(decoded) = std::str::from_utf8(&decoded) else { return false };
    let plain = match decoded.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => decoded.to_owned(),
    };
    !contexture::uri::climbs(uri) && filter.allows(uri) && filter.allows(&plain)
}
