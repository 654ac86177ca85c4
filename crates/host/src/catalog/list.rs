//! Lists as they go over the wire: in pages, in the words of the client's revision, encoded once.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use contexture::json_rpc::{Members, string_text, write_string};
use contexture::model::{CacheScope, ErrorObject, Method};
use contexture::revision::Revision;

use super::cursor::{Position, name_of};
use super::offer::{Listed, value_of};
use super::shelf::{Shelf, Shelved};
use super::text::{self, Edits};
use super::{Catalog, Served};
use crate::names;

/// A page that has so many bytes has no further item: not every client takes long messages.
const PAGE_BYTES: usize = 2 * 1024 * 1024;

/// Pages that were encoded. Only those that one comes to from the first are kept, so nobody can make it grow by
/// beginning everywhere.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    pages: HashMap<Key, Arc<[u8]>>,
    /// Where pages that are kept end.
    ends: HashSet<Key>,
}

/// A list, the revision, the size of its pages, and where a page begins.
type Key = (Method, Revision, usize, usize);

impl Pages {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pages.get(key).cloned()
    }

    fn keep(&self, key: Key, end: usize, page: &Arc<[u8]>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (list, revision, size, start) = key;
        if start == 0 || kept.ends.contains(&key) {
            kept.pages.insert(key, Arc::clone(page));
            kept.ends.insert((list, revision, size, end));
        }
    }
}

impl Catalog {
    pub(super) fn page_of<T: Shelved>(
        &self,
        list: Method,
        shelf: &Shelf<T>,
        revision: Revision,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<Arc<[u8]>, ErrorObject> {
        let start = match cursor {
            None => 0,
            Some(cursor) => Position::read(list.as_str(), cursor)
                .map(|position| self.start(shelf, position))
                .ok_or_else(|| ErrorObject::invalid_params("this is no cursor of this list"))?,
        };
        let key = (list, revision, size.max(1), start);
        if let Some(page) = self.pages.get(&key) {
            return Ok(page);
        }
        let (end, page) = self.encode(list, shelf, revision, start, size.max(1));
        let page: Arc<[u8]> = page.into();
        self.pages.keep(key, end, &page);
        Ok(page)
    }

    /// Where the page of a position begins now.
    fn start<T>(&self, shelf: &Shelf<T>, position: Position) -> usize {
        let is_it = |served: &Served| name_of(&served.entry.name) == position.name;
        let place = usize::try_from(position.server).unwrap_or(usize::MAX);
        let seen = usize::try_from(position.seen).unwrap_or(usize::MAX);
        if self.served.get(place).is_some_and(is_it) {
            let (start, end) = shelf.of_server(place);
            return start.saturating_add(seen).min(end);
        }
        match self.served.iter().position(is_it) {
            Some(moved) => {
                let (start, end) = shelf.of_server(moved);
                start.saturating_add(seen).min(end)
            }
            // It is gone, and others stand where it stood.
            None => shelf.of_server(place).0,
        }
    }

    fn encode<T: Shelved>(
        &self,
        list: Method,
        shelf: &Shelf<T>,
        revision: Revision,
        start: usize,
        size: usize,
    ) -> (usize, Vec<u8>) {
        let mut out = Vec::new();
        out.push(b'{');
        write_string(T::MEMBER, &mut out);
        out.extend_from_slice(b":[");
        let end = self.write_items(shelf, revision, start..start.saturating_add(size), &mut out);
        out.push(b']');
        if end < shelf.routes().len() {
            out.extend_from_slice(br#","nextCursor":"#);
            write_string(&self.cursor(list, shelf, end), &mut out);
        }
        let rules = revision.rules();
        if rules.has_cache_hints {
            let scope = if self.scope == CacheScope::Public { "public" } else { "private" };
            out.extend_from_slice(br#","ttlMs":0,"cacheScope":"#);
            write_string(scope, &mut out);
        }
        if rules.has_result_type {
            out.extend_from_slice(br#","resultType":"complete""#);
        }
        out.push(b'}');
        (end, out)
    }

    /// Writes items until the range or the page is full; says where it ended.
    fn write_items<T: Shelved>(
        &self,
        shelf: &Shelf<T>,
        revision: Revision,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> usize {
        let end = range.end.min(shelf.routes().len());
        let routes = shelf.routes().get(range.start..end).unwrap_or_default();
        let mut first = true;
        for (nth, route) in routes.iter().enumerate().filter(|(_, route)| !route.concealed) {
            if out.len() > PAGE_BYTES {
                return range.start + nth;
            }
            // A route was made from an item of an offer, and both are still the same.
            let Some(served) = self.served.get(route.server) else { break };
            let Ok(offer) = &served.offer else { break };
            let Some(listed) = T::items(offer).get(route.item) else { break };
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            write_item(listed, &route.shown, served.scheme.as_deref(), (offer.revision, revision), out);
        }
        end
    }

    /// The cursor of what follows the item before `end`.
    fn cursor<T>(&self, list: Method, shelf: &Shelf<T>, end: usize) -> String {
        let server =
            end.checked_sub(1).and_then(|last| shelf.routes().get(last)).map_or(0, |last| last.server);
        let seen = end - shelf.of_server(server).0;
        let name = self.served.get(server).map_or(0, |served| name_of(&served.entry.name));
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position { server: number(server), name, seen: number(seen) }.write(list.as_str())
    }
}

/// Writes one definition under its name here. Between revisions it is put into other words, as far as they are ours to put.
fn write_item<T: Shelved>(
    listed: &Listed<T>,
    shown: &str,
    scheme: Option<&str>,
    (from, to): (Revision, Revision),
    out: &mut Vec<u8>,
) {
    let mut reworded = Vec::new();
    let item = if from == to {
        &*listed.text
    } else {
        let mut said = T::clone(&listed.definition);
        said.lower(to.rules());
        text::reword(&listed.text, &value_of(&*listed.definition), &value_of(&said), &mut reworded);
        // What was text stays text; if ever not, the definition as it came is better than none.
        std::str::from_utf8(&reworded).unwrap_or(&listed.text)
    };
    let mut edits = Edits::of(item);
    for member in Members::of(item) {
        match (&*member.name, scheme) {
            (name, _) if name == T::KEY => edits.put_string(member.value, shown),
            ("_meta", Some(scheme)) if T::NAMED => put_pages(member.value, scheme, &mut edits),
            _ => {}
        }
    }
    out.extend_from_slice(&edits.finish());
}

/// The page that shows a tool's results (MCP Apps): `ui.resourceUri`, or `ui/resourceUri` as it was first.
fn put_pages(meta: &str, scheme: &str, edits: &mut Edits<'_>) {
    let nested = text::member(meta, "ui").and_then(|ui| text::member(ui, "resourceUri"));
    let flat = text::member(meta, "ui/resourceUri");
    for value in nested.into_iter().chain(flat) {
        if let Some(uri) = string_text(value) {
            edits.put_string(value, &names::under(&uri, scheme));
        }
    }
}
