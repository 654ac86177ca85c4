//! Pages and cursors of lists that change meanwhile.

use contexture::model::{Method, code};
use contexture::revision::Revision;
use contexture_host::catalog::{Catalog, Part};
use serde_json::Value;

use crate::support::{NEWEST, dead, entry, names, part, text, tool, tools};

fn numbered(server: &str, count: usize) -> Part {
    let own: Vec<String> = (0..count).map(|n| format!("t{n}")).collect();
    part(entry(server), tools(own.iter().map(String::as_str)))
}

/// One page: the names, and the cursor of the next.
fn page(catalog: &Catalog, cursor: Option<&str>, size: usize) -> (Vec<String>, Option<String>) {
    let page = catalog.list(Method::ToolsList, NEWEST, cursor, size).expect("a page");
    let page: Value = serde_json::from_slice(&page).expect("JSON");
    let tools = page["tools"].as_array().expect("a list").iter();
    let names = tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect();
    (names, page["nextCursor"].as_str().map(str::to_owned))
}

/// All names that follow a cursor.
fn rest(catalog: &Catalog, mut cursor: Option<String>, size: usize) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(at) = cursor {
        let (names, next) = page(catalog, Some(&at), size);
        assert!(!names.is_empty() || next.is_none(), "it does not get on");
        all.extend(names);
        cursor = next;
    }
    all
}

#[test]
fn pages_make_up_the_list() {
    let catalog = Catalog::build(vec![numbered("a", 5), dead(entry("b"), "gone"), numbered("c", 7)]);
    for size in [1, 2, 3, 5, 11, 12, 13, 1000] {
        let (mut all, next) = page(&catalog, None, size);
        assert!(all.len() <= size);
        all.extend(rest(&catalog, next, size));
        assert_eq!(all, names(&catalog), "pages of {size}");
    }
    // Again, from what was kept.
    assert_eq!(text(&catalog, Method::ToolsList, NEWEST), text(&catalog, Method::ToolsList, NEWEST));
    assert_eq!(page(&catalog, None, 0).0.len(), 1);
}

#[test]
fn pages_do_not_become_too_long() {
    let mut large = tool("x");
    large["description"] = Value::from("d".repeat(100_000));
    let list: Vec<Value> = (0..100)
        .map(|n| {
            large["name"] = format!("t{n}").into();
            large.clone()
        })
        .collect();
    let offer = crate::support::offer(NEWEST, &[(Method::ToolsList, Value::from(list))]);
    let catalog = Catalog::build(vec![part(entry("a"), offer)]);
    let bytes = catalog.list(Method::ToolsList, NEWEST, None, 1000).expect("a page").len();
    assert!(bytes < 3 * 1024 * 1024, "{bytes}");
    let (mut all, next) = page(&catalog, None, 1000);
    all.extend(rest(&catalog, next, 1000));
    assert_eq!(all, names(&catalog));
}

#[test]
fn what_is_no_cursor_is_refused() {
    let catalog = Catalog::build(vec![numbered("a", 5)]);
    let good = page(&catalog, None, 2).1.expect("a cursor");
    let mut bad = vec![
        String::new(),
        "0".to_owned(),
        "x".repeat(32),
        "é".repeat(16),
        "x".repeat(100_000),
        good.to_uppercase(),
    ];
    for at in 0..good.len() {
        let mut changed = good.clone().into_bytes();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        bad.push(String::from_utf8(changed).expect("text"));
    }
    for cursor in bad {
        let refused = catalog.list(Method::ToolsList, NEWEST, Some(&cursor), 2).expect_err("no cursor");
        assert_eq!(refused.code, code::INVALID_PARAMS);
    }
    // A cursor is one of its own list.
    assert!(catalog.list(Method::PromptsList, NEWEST, Some(&good), 2).is_err());
    assert!(catalog.list(Method::ToolsList, Revision::NEWEST_MODERN, Some(&good), 2).is_ok());
    assert!(catalog.list(Method::ToolsCall, NEWEST, None, 2).is_err());
}

#[test]
fn a_cursor_outlives_what_other_servers_do() {
    let all = || vec![numbered("a", 4), numbered("b", 4), numbered("c", 4)];
    let before = Catalog::build(all());
    let cursor = page(&before, None, 6).1;
    let expected = names(&before)[6..].to_vec();
    // The server before it dies, is taken out, or one more is put in.
    let mut died = all();
    died[0] = dead(entry("a"), "gone");
    let mut more = all();
    more.insert(0, numbered("new", 9));
    for parts in [died, all().split_off(1), more] {
        assert_eq!(rest(&Catalog::build(parts), cursor.clone(), 3), expected);
    }
    // The server that it was in dies: the next one is listed whole.
    let mut own = all();
    own[1] = dead(entry("b"), "gone");
    assert_eq!(rest(&Catalog::build(own), cursor.clone(), 3), ["c__t0", "c__t1", "c__t2", "c__t3"]);
    // It has fewer tools now: the rest follows.
    let mut fewer = all();
    fewer[1] = numbered("b", 1);
    assert_eq!(rest(&Catalog::build(fewer), cursor.clone(), 3), ["c__t0", "c__t1", "c__t2", "c__t3"]);
    assert_eq!(rest(&Catalog::build(Vec::new()), cursor, 3), [] as [String; 0]);
}
