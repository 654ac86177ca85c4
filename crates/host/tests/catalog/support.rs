//! Servers with their offers, and lists read back.

use std::collections::BTreeMap;
use std::sync::Arc;

use contexture::model::{Method, ServerCapabilities};
use contexture::revision::Revision;
use contexture_host::catalog::{AlertKind, Catalog, Offer, PAGE_ITEMS, Part};
use contexture_host::config::{Origin, ServerEntry, TransportSpec};
use serde_json::{Value, json};

pub(crate) const NEWEST: Revision = Revision::NEWEST_LEGACY;

/// A server of this name. Nothing starts it.
pub(crate) fn entry(name: &str) -> ServerEntry {
    let transport = TransportSpec::Stdio {
        command: "true".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerEntry::new(name, transport, Origin::command_line())
}

/// A server that leaves its names alone.
pub(crate) fn unprefixed(name: &str) -> ServerEntry {
    let mut entry = entry(name);
    entry.prefix = false;
    entry
}

/// An offer of these lists, in this revision.
pub(crate) fn offer(revision: Revision, lists: &[(Method, Value)]) -> Offer {
    let capabilities: ServerCapabilities =
        serde_json::from_value(json!({"tools": {}, "resources": {}, "prompts": {}})).expect("capabilities");
    let mut offer = Offer::new(revision, capabilities, None);
    for (list, items) in lists {
        let result = json!({ (member_of(*list)): items }).to_string();
        assert_eq!(offer.take(*list, result.as_bytes()), Ok(None));
    }
    offer
}

/// An offer of tools of these names.
pub(crate) fn tools<'a>(names: impl IntoIterator<Item = &'a str>) -> Offer {
    let tools: Vec<Value> = names.into_iter().map(tool).collect();
    offer(NEWEST, &[(Method::ToolsList, json!(tools))])
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

pub(crate) fn part(entry: ServerEntry, offer: Offer) -> Part {
    Part { entry: Arc::new(entry), offer: Ok(Arc::new(offer)), personal: false }
}

/// A server that is not there.
pub(crate) fn dead(entry: ServerEntry, why: &str) -> Part {
    Part { entry: Arc::new(entry), offer: Err(why.to_owned()), personal: false }
}

pub(crate) fn member_of(list: Method) -> &'static str {
    match list {
        Method::ToolsList => "tools",
        Method::PromptsList => "prompts",
        Method::ResourcesList => "resources",
        _ => "resourceTemplates",
    }
}

/// The text of the first page of a list.
pub(crate) fn text(catalog: &Catalog, list: Method, revision: Revision) -> String {
    let page = catalog.list(list, revision, None, PAGE_ITEMS).expect("a list");
    String::from_utf8(page.to_vec()).expect("text")
}

/// The items of the first page of a list.
pub(crate) fn items(catalog: &Catalog, list: Method, revision: Revision) -> Vec<Value> {
    let page: Value = serde_json::from_str(&text(catalog, list, revision)).expect("JSON");
    page[member_of(list)].as_array().expect("a list").clone()
}

/// The names of all tools, in their order.
pub(crate) fn names(catalog: &Catalog) -> Vec<String> {
    catalog.tools().iter().map(|route| route.shown.to_string()).collect()
}

/// How many alerts of a kind there are about a server.
pub(crate) fn alerts(catalog: &Catalog, server: &str, kind: AlertKind) -> usize {
    catalog.alerts().iter().filter(|alert| alert.server == server && alert.kind == kind).count()
}
