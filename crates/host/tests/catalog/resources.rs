//! The way from a URI, a prompt or a template to its server.

use contexture::model::{Method, Reference};
use contexture_host::catalog::{Catalog, Part};
use contexture_host::config::{Filter, ServerEntry};
use serde_json::json;

use crate::support::{NEWEST, dead, entry, offer, part, unprefixed};

fn with_resources(entry: ServerEntry, uris: &[&str], templates: &[&str]) -> Part {
    let resources: Vec<_> = uris.iter().map(|uri| json!({"uri": uri, "name": "r"})).collect();
    let templates: Vec<_> = templates.iter().map(|uri| json!({"uriTemplate": uri, "name": "t"})).collect();
    let prompts = json!([{"name": "ask"}]);
    let lists = [
        (Method::ResourcesList, json!(resources)),
        (Method::ResourcesTemplatesList, json!(templates)),
        (Method::PromptsList, prompts),
    ];
    part(entry, offer(NEWEST, &lists))
}

/// Whose a URI is, and what it is called there.
fn way(catalog: &Catalog, uri: &str) -> Option<(String, String)> {
    catalog.resource(uri).map(|route| (route.entry.name.clone(), route.original))
}

fn is(server: &str, uri: &str) -> Option<(String, String)> {
    Some((server.to_owned(), uri.to_owned()))
}

#[test]
fn uris_under_a_prefix_lead_to_their_server() {
    let files = with_resources(entry("my_files"), &["file:///a", "FILE:///B"], &["db://{table}"]);
    let catalog = Catalog::build(vec![files, with_resources(entry("Other"), &["file:///a"], &[])]);
    assert_eq!(way(&catalog, "my.files+file:///a"), is("my_files", "file:///a"));
    assert!(catalog.resource("my.files+file:///a").expect("a route").definition.is_some());
    // Only linked to, or made from a template.
    assert_eq!(way(&catalog, "my.files+file:///linked"), is("my_files", "file:///linked"));
    assert_eq!(way(&catalog, "my.files+db://x"), is("my_files", "db://x"));
    assert_eq!(way(&catalog, "ui://my.files+card"), is("my_files", "ui://card"));
    // Schemes have no case; what follows has.
    let shouted = catalog.resource("MY.Files+file:///a").expect("a route");
    assert_eq!((shouted.original.as_str(), shouted.definition.is_some()), ("file:///a", true));
    assert_eq!(way(&catalog, "my.files+FILE:///B"), is("my_files", "FILE:///B"));
    let other = contexture_host::names::outward_uri("file:///a", "Other");
    assert_eq!(way(&catalog, &other), is("Other", "file:///a"));
    for nobody in ["file:///a", "nobody+file:///a", "my.files", "my.files:file:///a", "+x", "", "ui://card"] {
        assert_eq!(way(&catalog, nobody), None, "{nobody}");
    }
}

#[test]
fn uris_without_a_prefix_lead_to_who_lists_or_matches_them() {
    let one = with_resources(unprefixed("one"), &["a:1"], &["db://one/{x}"]);
    let two = with_resources(unprefixed("two"), &["a:2", "a:1"], &["db://{+any}", "{not a template"]);
    let catalog = Catalog::build(vec![one, two, with_resources(entry("p"), &[], &["db://p/{x}"])]);
    assert_eq!(way(&catalog, "a:1"), is("one", "a:1"));
    assert_eq!(way(&catalog, "a:2"), is("two", "a:2"));
    assert_eq!(way(&catalog, "db://one/x"), is("one", "db://one/x"));
    assert_eq!(way(&catalog, "db://p/x"), is("two", "db://p/x"));
    assert_eq!(way(&catalog, "a:3"), None, "it could be either's");
}

#[test]
fn the_only_server_without_a_prefix_gets_every_uri() {
    let alone = with_resources(unprefixed("one"), &["a:1"], &[]);
    let catalog =
        Catalog::build(vec![alone, with_resources(entry("p"), &[], &[]), dead(unprefixed("gone"), "gone")]);
    assert_eq!(way(&catalog, "what:ever"), is("one", "what:ever"));
    assert_eq!(way(&catalog, "p+what:ever"), is("p", "what:ever"));
}

#[test]
fn what_a_filter_keeps_back_has_no_second_spelling() {
    let mut filtered = entry("f");
    filtered.resources =
        Filter { include: Some(vec!["file:///*".into()]), exclude: vec!["file:///secret*".into()] };
    let catalog = Catalog::build(vec![with_resources(
        filtered,
        &["file:///secret/key", "file:///open"],
        &["file:///{+p}"],
    )]);
    assert_eq!(way(&catalog, "f+file:///open"), is("f", "file:///open"));
    assert_eq!(way(&catalog, "f+file:///other"), is("f", "file:///other"));
    let spellings = [
        "f+file:///secret/key",
        "F+file:///secret/key",
        "f+FILE:///secret/key",
        "f+file:///%73ecret/key",
        "f+file:///open/../secret/key",
        "f+file:///open/%2e%2e/secret/key",
        "f+file:///%ff",
        "f+http://example.com/",
    ];
    for spelling in spellings {
        assert_eq!(way(&catalog, spelling), None, "{spelling}");
    }
}

#[test]
fn completions_go_to_whose_prompt_or_template_it_is() {
    let catalog = Catalog::build(vec![
        with_resources(entry("a"), &["x:1"], &["db://{x}"]),
        with_resources(unprefixed("b"), &["y:1"], &["db://{x}"]),
    ]);
    let cases = [
        (Reference::prompt("a__ask"), Some(("a", Reference::prompt("ask")))),
        (Reference::prompt("ask"), Some(("b", Reference::prompt("ask")))),
        (Reference::prompt("c__ask"), None),
        (Reference::resource("a+db://{x}"), Some(("a", Reference::resource("db://{x}")))),
        (Reference::resource("db://{x}"), Some(("b", Reference::resource("db://{x}")))),
        (Reference::resource("a+x:1"), Some(("a", Reference::resource("x:1")))),
    ];
    for (asked, expected) in cases {
        let found = catalog.completion(&asked).map(|route| (route.entry.name.clone(), route.reference));
        assert_eq!(found, expected.map(|(server, reference)| (server.to_owned(), reference)), "{asked:?}");
    }
}
