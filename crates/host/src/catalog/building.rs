//! How a catalog is made of its parts: who keeps which name.
//!
//! Names under a server's slug are that server's alone: what a server without prefix calls `files__read` is left out where
//! there is a server `files`, wherever they stand in the configuration. Names that are left alone are those of the server that
//! had them first, as long as it is configured and has not given them up: a server that comes to like another's name does not
//! get that one's calls.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use contexture::Principal;
use contexture::model::{CacheScope, ResourceTemplate, Tool};
use contexture::uri_template::UriTemplate;

use super::alert::{Alert, AlertKind, Remarks, escaped};
use super::list::Pages;
use super::shelf::{Route, Shelf, Shelved};
use super::{Catalog, Part, Served, twins};
use crate::config::ServerEntry;
use crate::consent::{Case, Consent, Kind, hints};
use crate::names;

/// The longest name that passes as it is, where names are left alone.
const NAME_BYTES: usize = 256;
/// The longest URI in a list.
const URI_BYTES: usize = 8 * 1024;

struct Building {
    served: Vec<Served>,
    slugs: HashMap<String, usize>,
    schemes: HashMap<String, usize>,
    /// Remarks on each server.
    remarks: Vec<Remarks>,
    /// What names look like: the list, the server (if names are its own), the looks; and the first that looks so.
    looks: HashMap<(&'static str, Option<usize>, String), String>,
}

impl Catalog {
    /// Puts the parts together, in their order.
    pub fn build(parts: Vec<Part>) -> Self {
        Self::build_after(parts, None)
    }

    /// The same after another catalog: who had a name that is left alone keeps it.
    pub fn build_after(parts: Vec<Part>, previous: Option<&Self>) -> Self {
        let personal = parts.iter().any(|part| part.personal);
        let mut building = Building::of(parts);
        let tools = building.shelve(previous.map(|previous| &previous.tools));
        let prompts = building.shelve(previous.map(|previous| &previous.prompts));
        let resources = building.shelve(previous.map(|previous| &previous.resources));
        let templates = building.shelve(previous.map(|previous| &previous.templates));
        let matchers = building.matchers(&templates);
        let lone = building.lone();
        Self {
            tools,
            prompts,
            resources,
            templates,
            matchers,
            lone,
            alerts: building.alerts(),
            scope: if personal { CacheScope::Private } else { CacheScope::Public },
            pages: Pages::default(),
            served: building.served,
            slugs: building.slugs,
            schemes: building.schemes,
        }
    }
}

impl Catalog {
    /// Leaves out of its lists what consent would deny this principal whatever they did with it. The ways to it stay: whoever
    /// goes there is told why not.
    #[must_use]
    pub fn as_seen_by(mut self, principal: &Principal, consent: &Consent) -> Self {
        let case = |kind, entry: &'_ ServerEntry, name: &'_ str, tool: Option<&'_ Tool>, exact| {
            let (server, trusted, annotations) = (entry.name.as_str(), entry.trusted, tool.map(hints));
            consent.conceals(
                &Case { kind, server, trusted, name, principal, annotations, arguments: None },
                exact,
            )
        };
        let (tool, prompt, resource) = (Kind::Tool, Kind::Prompt, Kind::Resource);
        self.tools.conceal(|it| case(tool, &it.entry, it.original(), Some(&it.definition), true));
        self.prompts.conceal(|it| case(prompt, &it.entry, it.original(), None, true));
        self.resources.conceal(|it| case(resource, &it.entry, it.original(), None, true));
        self.templates.conceal(|it| case(resource, &it.entry, it.original(), None, false));
        if consent.tells_callers_apart() {
            self.scope = CacheScope::Private;
        }
        self
    }
}

impl Building {
    fn of(parts: Vec<Part>) -> Self {
        let mut building = Self {
            served: Vec::new(),
            slugs: HashMap::new(),
            schemes: HashMap::new(),
            remarks: Vec::new(),
            looks: HashMap::new(),
        };
        for part in parts {
            building.admit(part);
        }
        building
    }

    /// Gives a server its slug, unless another has it.
    fn admit(&mut self, part: Part) {
        let (name, at) = (part.entry.name.clone(), self.served.len());
        let mut remarks = Remarks::default();
        let mut served = Served { entry: part.entry, slug: None, scheme: None, offer: part.offer };
        if served.entry.prefix {
            let slug = names::slug(&name);
            let scheme = names::scheme(&slug);
            let taken = self.slugs.get(&slug).or_else(|| self.schemes.get(&scheme));
            if let Some(owner) = taken.and_then(|owner| self.served.get(*owner)) {
                let why =
                    format!("its names would be those of server {}: rename one", escaped(&owner.entry.name));
                remarks.add(AlertKind::Collision, &name, format!("left out: {why}"));
                served.offer = Err(why);
            } else {
                self.slugs.insert(slug.clone(), at);
                self.schemes.insert(scheme.clone(), at);
            }
            (served.slug, served.scheme) = (Some(slug), Some(scheme));
        }
        if let Ok(offer) = &served.offer {
            remarks.extend(&offer.remarks);
        }
        self.remarks.push(remarks);
        self.served.push(served);
        self.look(at, "servers", None, &name);
    }

    /// One list out of the offers of all.
    fn shelve<T: Shelved>(&mut self, previous: Option<&Shelf<T>>) -> Shelf<T> {
        let mut shelf = Shelf::new();
        if let Some(previous) = previous {
            self.keep_owners(previous, &mut shelf);
        }
        for server in 0..self.served.len() {
            shelf.begin_server();
            let Ok(offer) = &self.served[server].offer else { continue };
            let offer = Arc::clone(offer);
            let entry = Arc::clone(&self.served[server].entry);
            let name: Arc<str> = entry.name.as_str().into();
            for (item, listed) in T::items(&offer).iter().enumerate() {
                let own = listed.definition.key();
                if !T::filter(&entry).allows(own) {
                    continue;
                }
                let Some(shown) = self.name::<T>(server, own) else { continue };
                let first = shelf.get(&shown).map(|first| first.entry.name.as_str());
                let owner = shelf.owner(&shown).filter(|owner| *owner != entry.name);
                if let Some(owner) = first.or(owner) {
                    let detail = format!("left out: server {} has it already", escaped(owner));
                    self.remarks[server].add(AlertKind::Collision, own, detail);
                    continue;
                }
                let shown: Arc<str> = shown.into();
                if !entry.prefix {
                    shelf.own(&shown, &name);
                }
                if T::NAMED {
                    self.look(server, T::MEMBER, entry.prefix.then_some(server), own);
                }
                shelf.push(Route {
                    server,
                    entry: Arc::clone(&entry),
                    shown,
                    definition: Arc::clone(&listed.definition),
                    pin: listed.pin,
                    item,
                    concealed: false,
                    mirrors: OnceLock::new(),
                });
            }
        }
        shelf
    }

    /// Takes over whose names are whose: of servers that are not there now, and of those that still have them.
    fn keep_owners<T: Shelved>(&self, previous: &Shelf<T>, shelf: &mut Shelf<T>) {
        let mut offered: HashMap<&str, Option<HashSet<&str>>> = HashMap::new();
        for served in self.served.iter().filter(|served| served.slug.is_none()) {
            // A server that is not there cannot say that it has given a name up.
            let has = served.offer.as_ref().ok().map(|offer| {
                let keys = T::items(offer).iter().map(|listed| listed.definition.key());
                keys.filter(|key| T::filter(&served.entry).allows(key)).collect()
            });
            offered.insert(&served.entry.name, has);
        }
        for (name, owner) in previous.owners() {
            if offered.get(&**owner).is_some_and(|has| has.as_ref().is_none_or(|has| has.contains(&**name))) {
                shelf.own(name, owner);
            }
        }
    }

    /// What something is called here, if it can be called anything.
    fn name<T: Shelved>(&mut self, server: usize, own: &str) -> Option<String> {
        let result = if T::NAMED { self.named(server, own) } else { self.addressed(server, own) };
        match result {
            Ok((shown, remark)) => {
                if let Some((kind, detail)) = remark {
                    self.remarks[server].add(kind, own, detail);
                }
                Some(shown)
            }
            Err((kind, why)) => {
                self.remarks[server].add(kind, own, format!("left out: {why}"));
                None
            }
        }
    }

    fn named(&self, server: usize, own: &str) -> Result<(String, Option<Remark>), Remark> {
        let served = &self.served[server];
        if let Some(slug) = &served.slug {
            let shown = names::prefixed(slug, &served.entry.name, own);
            let remark = (!names::is_legal(own)).then(|| {
                (
                    AlertKind::HostileName,
                    format!("not a name as the specification wants it: shown as {shown}"),
                )
            });
            return Ok((shown, remark));
        }
        if own.is_empty() || own.len() > NAME_BYTES || own.chars().any(twins::is_invisible) {
            return Err((
                AlertKind::HostileName,
                "empty, too long, or with characters that nobody sees".to_owned(),
            ));
        }
        if names::slug_of(own).is_some_and(|slug| self.slugs.contains_key(slug)) {
            return Err((AlertKind::Collision, "names that begin like this are another server's".to_owned()));
        }
        let remark = (!names::is_legal(own))
            .then(|| (AlertKind::HostileName, "not a name as the specification wants it".to_owned()));
        Ok((own.to_owned(), remark))
    }

    fn addressed(&self, server: usize, own: &str) -> Result<(String, Option<Remark>), Remark> {
        if own.is_empty() || own.len() > URI_BYTES || own.chars().any(twins::is_invisible) {
            return Err((
                AlertKind::HostileName,
                "empty, too long, or with characters that nobody sees".to_owned(),
            ));
        }
        if let Some(scheme) = &self.served[server].scheme {
            return Ok((names::under(own, scheme), None));
        }
        if names::taken_apart(own).is_some_and(|(scheme, _)| self.schemes.contains_key(&scheme)) {
            return Err((AlertKind::Collision, "URIs that begin like this are another server's".to_owned()));
        }
        Ok((own.to_owned(), None))
    }

    /// Remarks on a name that looks like another one.
    fn look(&mut self, server: usize, list: &'static str, own: Option<usize>, name: &str) {
        let first = self.looks.entry((list, own, twins::skeleton(name))).or_insert_with(|| name.to_owned());
        if first != name {
            let detail = format!("can be taken for {}", escaped(first));
            self.remarks[server].add(AlertKind::Twin, name, detail);
        }
    }

    /// Templates of servers whose URIs are left alone. Those that cannot be matched can still be listed.
    fn matchers(
        &self,
        templates: &Shelf<ResourceTemplate>,
    ) -> Vec<(usize, contexture::uri_template::Matcher)> {
        let alone = templates.routes().iter().filter(|route| !route.entry.prefix);
        let matcher = |route: &Route<ResourceTemplate>| {
            let template = UriTemplate::parse(route.original()).ok()?;
            Some((route.server, template.matcher().ok()?))
        };
        alone.filter_map(matcher).collect()
    }

    /// The one server that a URI without a prefix can only belong to.
    fn lone(&self) -> Option<usize> {
        let has_resources = |served: &Served| {
            served.slug.is_none()
                && served.offer.as_ref().is_ok_and(|offer| offer.capabilities.resources.is_some())
        };
        let mut some = self.served.iter().enumerate().filter(|(_, served)| has_resources(served));
        let (first, second) = (some.next(), some.next());
        first.filter(|_| second.is_none()).map(|(at, _)| at)
    }

    fn alerts(&mut self) -> Vec<Alert> {
        let remarks = std::mem::take(&mut self.remarks);
        let pairs = remarks.into_iter().zip(&self.served);
        pairs.flat_map(|(remarks, served)| remarks.into_alerts(&served.entry.name)).collect()
    }
}

/// What is to be remarked.
type Remark = (AlertKind, String);
