//! As much as there may be: a hundred servers, and ten thousand tools and more.

use contexture::model::Method;
use contexture::revision::Revision;
use contexture_host::catalog::{Catalog, PAGE_ITEMS, Part};
use serde_json::Value;

use crate::support::{entry, part, tools};

fn servers(count: usize, tools_each: usize) -> Vec<Part> {
    let own: Vec<String> = (0..tools_each).map(|n| format!("tool-{n}")).collect();
    let offer = tools(own.iter().map(String::as_str));
    (0..count).map(|n| part(entry(&format!("server-{n}")), offer.clone())).collect()
}

#[test]
fn ten_thousand_tools_of_a_hundred_servers_are_all_found_and_listed() {
    let catalog = Catalog::build(servers(100, 100));
    assert_eq!(catalog.alerts(), []);
    for server in [0, 57, 99] {
        for tool in [0, 1, 99] {
            let route = catalog.tool(&format!("server-{server}__tool-{tool}")).expect("a route");
            assert_eq!((route.server, route.original()), (server, format!("tool-{tool}").as_str()));
        }
    }
    for revision in Revision::ALL {
        let (mut listed, mut pages, mut cursor) = (0, 0, None);
        loop {
            let page =
                catalog.list(Method::ToolsList, revision, cursor.as_deref(), PAGE_ITEMS).expect("a page");
            let page: Value = serde_json::from_slice(&page).expect("JSON");
            listed += page["tools"].as_array().expect("a list").len();
            pages += 1;
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((listed, pages), (10_000, 10));
    }
}

#[test]
fn a_page_is_encoded_once() {
    let catalog = Catalog::build(servers(3, 1000));
    let page = |cursor: Option<&str>| {
        catalog.list(Method::ToolsList, Revision::NEWEST_MODERN, cursor, 500).expect("a page")
    };
    let first = page(None);
    let next = serde_json::from_slice::<Value>(&first).expect("JSON")["nextCursor"]
        .as_str()
        .expect("more")
        .to_owned();
    for cursor in [None, Some(next.as_str())] {
        assert!(std::sync::Arc::ptr_eq(&page(cursor), &page(cursor)));
    }
}

#[test]
fn ten_thousand_tools_of_each_of_several_servers_are_built_and_found() {
    let catalog = Catalog::build(servers(10, 10_000));
    assert_eq!(catalog.tools().len(), 100_000);
    assert_eq!(catalog.tool("server-9__tool-9999").expect("a route").server, 9);
}
