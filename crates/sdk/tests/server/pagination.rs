//! Lists in pages: whole, without gaps, and with cursors that mean nothing elsewhere.

use contexture::server::Registry;
use contexture::{Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken};

/// The four lists, with the key of their array and of what names an entry.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "name"),
    ("resources/templates/list", "resourceTemplates", "name"),
];

fn add(registry: &Registry, name: &str) {
    registry.add_tool(tool(name).handler(|| async { "x" })).expect("a tool");
    registry.add_prompt(prompt(name).handler(|| async { "x" })).expect("a prompt");
    registry.add_resource(resource(format!("note://{name}")).name(name).text("x")).expect("a resource");
    let template = resource(format!("note://{name}/{{page}}")).name(name).handler(|| async { "x" });
    registry.add_resource(template).expect("a template");
}

fn server(entries: usize, page: usize) -> Server {
    let server = Server::new("test", "1.0.0").page_size(page);
    let registry = server.registry();
    for entry in 0..entries {
        add(&registry, &format!("e{entry}"));
    }
    server
}

fn names(response: &Value, list: (&str, &str, &str)) -> Vec<String> {
    let items = response["result"][list.1].as_array().unwrap_or_else(|| panic!("no list: {response}"));
    items.iter().map(|item| item[list.2].as_str().expect("a name").to_owned()).collect()
}

async fn page(peer: &mut Spoken, list: &str, cursor: Option<&Value>) -> Value {
    match cursor {
        Some(cursor) => peer.ask(list, json!({ "cursor": cursor })).await,
        None => peer.ask(list, json!({})).await,
    }
}

async fn everything(peer: &mut Spoken, list: (&str, &str, &str)) -> (Vec<String>, usize) {
    let (mut all, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let answer = page(peer, list.0, cursor.as_ref()).await;
        all.extend(names(&answer, list));
        pages += 1;
        let result = answer["result"].as_object().expect("a result");
        match result.get("nextCursor") {
            Some(next) => {
                assert!(next.is_string(), "{next}");
                cursor = Some(next.clone());
            }
            None => return (all, pages),
        }
    }
}

// covers: PAGE-OPERATIONS, PAGE-NEXT-CURSOR, PAGE-AFTER-CURSOR, PAGE-SIZE-VARIABLE-2024, SCHEMA-CURSOR-STRING
#[tokio::test]
async fn pages_make_up_the_whole_list() {
    for revision in ALL {
        for (entries, size, expected_pages) in [(7, 3, 3), (6, 3, 2), (1, 3, 1), (3, 1, 3)] {
            let mut peer = Spoken::to(server(entries, size), revision, json!({})).await;
            for list in LISTS {
                let (all, pages) = everything(&mut peer, list).await;
                let expected: Vec<_> = (0..entries).map(|entry| format!("e{entry}")).collect();
                assert_eq!(all, expected, "{}", list.0);
                assert_eq!(pages, expected_pages, "{}: the last page has no cursor", list.0);
            }
        }
    }
}

// covers: PAGE-OPERATIONS
#[tokio::test]
async fn lists_need_no_parameters() {
    let mut peer = Spoken::to(server(2, 10), "2024-11-05", json!({})).await;
    for list in LISTS {
        let answer = peer.request(list.0, Value::Null).await.expect("a response");
        assert_eq!(names(&answer, list), ["e0", "e1"]);
    }
}

// covers: PAGE-STABLE
#[tokio::test]
async fn a_cursor_survives_changes_of_the_list() {
    for revision in ALL {
        let server = server(6, 2);
        let registry = server.registry();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        for list in LISTS {
            let first = page(&mut peer, list.0, None).await;
            let cursor = &first["result"]["nextCursor"];
            let once = page(&mut peer, list.0, Some(cursor)).await;
            let twice = page(&mut peer, list.0, Some(cursor)).await;
            assert_eq!(names(&once, list), ["e2", "e3"]);
            assert_eq!(names(&once, list), names(&twice, list));
        }
        let first = page(&mut peer, "tools/list", None).await;
        let cursor = &first["result"]["nextCursor"];
        registry.remove_tool("e0");
        registry.remove_tool("e1");
        add(&registry, "new");
        let next = page(&mut peer, "tools/list", Some(cursor)).await;
        assert_eq!(names(&next, LISTS[0]), ["e2", "e3"], "neither repeated nor skipped");
        registry.remove_tool("e2");
        assert_eq!(names(&page(&mut peer, "tools/list", Some(cursor)).await, LISTS[0]), ["e3", "e4"]);
    }
}

// covers: PAGE-INVALID-GRACEFUL, PAGE-INVALID-CODE, SCHEMA-CURSOR-STRING
#[tokio::test]
async fn what_is_no_cursor_of_this_list_is_refused() {
    for revision in ALL {
        let mut peer = Spoken::to(server(4, 2), revision, json!({})).await;
        let mut elsewhere = Spoken::to(server(4, 2), revision, json!({})).await;
        for (at, list) in LISTS.into_iter().enumerate() {
            let own = page(&mut peer, list.0, None).await["result"]["nextCursor"].clone();
            let text = own.as_str().expect("a cursor");
            let of_another_list = page(&mut peer, LISTS[(at + 1) % 4].0, None).await;
            let of_another_server = page(&mut elsewhere, list.0, None).await;
            for wrong in [
                json!("bogus"),
                json!(""),
                json!(text[..text.len() - 1]),
                json!(format!("{text}A")),
                json!("A".repeat(100_000)),
                of_another_list["result"]["nextCursor"].clone(),
                of_another_server["result"]["nextCursor"].clone(),
                json!(7),
                json!({}),
            ] {
                assert_eq!(peer.refused(list.0, json!({ "cursor": wrong })).await, -32602, "{wrong}");
            }
            assert_eq!(names(&page(&mut peer, list.0, Some(&own)).await, list), ["e2", "e3"]);
        }
    }
}

// covers: SCHEMA-LIST-RESULTS
#[tokio::test]
async fn a_list_that_was_declared_and_became_empty_is_an_empty_list() {
    for revision in ALL {
        let server = server(1, 10);
        let registry = server.registry();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        assert!(registry.remove_tool("e0"));
        assert!(registry.remove_prompt("e0"));
        assert!(registry.remove_resource("note://e0"));
        assert!(registry.remove_resource("note://e0/{page}"));
        for list in LISTS {
            let answer = page(&mut peer, list.0, None).await;
            assert_eq!(answer["result"][list.1], json!([]), "{answer}");
        }
    }
}
