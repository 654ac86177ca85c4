//! Lists, pages and what is kept of them.

use std::collections::BTreeMap;
use std::time::Duration;

use contexture::model::Reference;
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, full_pair};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn page(field: &str, items: Vec<Value>, next: Option<&str>) -> Value {
    let mut page = json!({ field: items, "ttlMs": 0, "cacheScope": "private" });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

/// Serves pages of tools by hand until the client has enough.
async fn serve_pages(server: &mut Played, pages: Vec<(Vec<Value>, Option<&str>)>) {
    let mut cursor: Option<String> = None;
    for (items, next) in pages {
        let asked = server.asked("tools/list").await;
        assert_eq!(asked["params"]["cursor"].as_str(), cursor.as_deref(), "byte for byte");
        server.complete(&asked, page("tools", items, next)).await;
        cursor = next.map(str::to_owned);
    }
}

// covers: PAGE-SIZE-NOT-ASSUMED, PAGE-END, PAGE-BOTH-FLOWS, PAGE-CURSOR-NO-ASSUMPTIONS
// covers: PAGE-CURSOR-NO-MODIFY, SCHEMA-LIST-RESULTS, SCHEMA-CURSOR-STRING, TOOLS-UI-EXPOSED
#[tokio::test(start_paused = true)]
async fn a_list_is_collected_whatever_its_pages_look_like() {
    let long = "z".repeat(10_000);
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let numbered = |from: usize, to: usize| (from..to).map(|n| tool(&n.to_string())).collect::<Vec<_>>();
        let pages = vec![
            (numbered(0, 1), Some("")),
            (numbered(1, 51), Some(long.as_str())),
            (Vec::new(), Some("ünïcode \u{0} {not json")),
            (numbered(51, 58), None),
        ];
        let (tools, ()) = tokio::join!(client.tools(), serve_pages(&mut server, pages));
        let names: Vec<String> = tools.expect("complete").into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, (0..58).map(|n| n.to_string()).collect::<Vec<_>>());
        let one_shot = vec![(numbered(0, 3), None)];
        let (tools, ()) = tokio::join!(client.tools(), serve_pages(&mut server, one_shot));
        assert_eq!(tools.expect("complete").len(), 3);
    }
}

// covers: PROMPT-ARG-REQUIRED
#[tokio::test(start_paused = true)]
async fn arguments_that_a_listed_prompt_requires_are_not_left_out() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let arguments = json!([{ "name": "who", "required": true }, { "name": "how" }]);
    let serve = async {
        let asked = server.asked("prompts/list").await;
        server
            .complete(&asked, page("prompts", vec![json!({ "name": "p", "arguments": arguments })], None))
            .await;
        let asked = server.asked("prompts/get").await;
        assert_eq!(asked["params"]["arguments"], json!({ "who": "x" }), "optional ones may be");
        server.complete(&asked, json!({ "messages": [] })).await;
        let unlisted = server.asked("prompts/get").await;
        server.refuse(&unlisted, -32602).await;
    };
    let calls = async {
        client.prompts().await.expect("a list");
        assert!(matches!(client.prompt("p", json!({ "how": "y" })).await, Err(Error::Invalid(_))));
        assert!(matches!(client.prompt("p", ()).await, Err(Error::Invalid(_))));
        client.prompt("p", json!({ "who": "x" })).await.expect("messages");
        assert!(matches!(client.prompt("other", ()).await, Err(Error::Remote(_))), "the server decides");
    };
    tokio::join!(serve, calls);
}

// covers: PROMPT-CLIENT-PAGINATION
#[tokio::test(start_paused = true)]
async fn every_kind_of_list_has_pages() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let kinds = [
        ("prompts/list", "prompts", json!({ "name": "p" })),
        ("resources/list", "resources", json!({ "uri": "a:b", "name": "r" })),
        ("resources/templates/list", "resourceTemplates", json!({ "uriTemplate": "a:{b}", "name": "t" })),
    ];
    let serve = async {
        for (method, field, item) in kinds {
            for next in [Some("1"), Some("2"), None] {
                let asked = server.asked(method).await;
                server.complete(&asked, page(field, vec![item.clone()], next)).await;
            }
        }
    };
    let calls = async {
        assert_eq!(client.prompts().await.expect("complete").len(), 3);
        assert_eq!(client.resources().await.expect("complete").len(), 3);
        assert_eq!(client.resource_templates().await.expect("complete").len(), 3);
    };
    tokio::join!(serve, calls);
}

/// Security row I01.
#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_stopped_and_what_came_is_kept() {
    let mut policy = Policy::default();
    (policy.list_pages, policy.list_items) = (20, 100);
    policy.list_time = Duration::from_secs(10);
    let (client, mut server) = full_pair(Client::builder().policy(policy), MODERN).await;
    for cycle in [vec!["A"], vec!["A", "B"]] {
        let serve = async {
            for turn in 0..20 {
                let asked = server.asked("tools/list").await;
                let next = Some(cycle[turn % cycle.len()]);
                server.complete(&asked, page("tools", vec![tool("t")], next)).await;
            }
        };
        let (partial, ()) = tokio::join!(client.tools(), serve);
        let partial = partial.expect_err("a circle");
        assert!(matches!(partial.reason, Error::TooMuch(_)) && partial.items.len() == 20);
    }
    let serve = async {
        for turn in 0..20 {
            let asked = server.asked("tools/list").await;
            server.complete(&asked, page("tools", vec![tool("t")], Some(&turn.to_string()))).await;
        }
        let asked = server.asked("tools/list").await;
        server.complete(&asked, page("tools", vec![tool("t"); 500], None)).await;
        for turn in 0..2 {
            let asked = server.asked("tools/list").await;
            server.complete(&asked, page("tools", vec![tool("t")], Some(&turn.to_string()))).await;
            tokio::time::sleep(Duration::from_secs(6)).await;
        }
    };
    let calls = async {
        let partial = client.tools().await.expect_err("too many pages");
        assert!(matches!(partial.reason, Error::TooMuch(_)) && partial.items.len() == 20);
        let partial = client.tools().await.expect_err("too many items");
        assert!(matches!(partial.reason, Error::TooMuch(_)) && partial.items.len() == 100);
        let partial = client.tools().await.expect_err("too slow");
        assert!(matches!(partial.reason, Error::Timeout(_)) && partial.items.len() == 2);
    };
    tokio::join!(serve, calls);
}

/// Security row I04.
#[tokio::test(start_paused = true)]
async fn bad_items_are_dropped_and_good_ones_kept() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let serve = async {
        let asked = server.asked("tools/list").await;
        let items =
            vec![Value::Null, tool("good"), json!({ "inputSchema": {} }), json!(7), tool("good"), tool("")];
        server.complete(&asked, page("tools", items, None)).await;
        for tools in [Value::Null, json!({}), json!("x")] {
            let asked = server.asked("tools/list").await;
            server.complete(&asked, json!({ "tools": tools })).await;
        }
        let asked = server.asked("tools/list").await;
        let mut huge = tool("huge");
        huge["description"] = json!("x".repeat(10 * 1024 * 1024));
        server.complete(&asked, page("tools", vec![huge], None)).await;
        let asked = server.asked("tools/list").await;
        server.complete(&asked, json!({ "tools": [], "nextCursor": 7 })).await;
    };
    let calls = async {
        assert_eq!(client.tools().await.expect("the good ones").len(), 3);
        for _ in 0..3 {
            assert!(matches!(client.tools().await.expect_err("no list").reason, Error::PeerMisbehaved(_)));
        }
        assert_eq!(client.tools().await.expect("within the line").len(), 1);
        assert!(client.tools().await.is_err(), "a cursor is a string");
    };
    tokio::join!(serve, calls);
}

/// Security row I21.
#[tokio::test(start_paused = true)]
async fn pages_are_kept_for_as_long_as_the_server_says() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    client.tools_page(None).timeout(Duration::from_millis(1)).await.expect_err("nothing is kept yet");
    server.asked("tools/list").await;
    for ttl in [json!(60_000), json!(0), json!(-1), json!(1e18), Value::Null, json!("x")] {
        let (kept, fails) = (ttl == json!(60_000) || ttl == json!(1e18), ttl == json!("x"));
        let serve = async {
            let asked = server.asked("tools/list").await;
            let mut page = page("tools", vec![tool("t")], None);
            page["ttlMs"] = ttl.clone();
            server.complete(&asked, page).await;
        };
        let (tools, ()) = tokio::join!(client.tools(), serve);
        assert_eq!(tools.is_err(), fails, "{ttl}");
        let again = client.tools_page(None).timeout(Duration::from_secs(1)).await;
        assert_eq!(again.is_ok(), kept, "{ttl}");
        if !kept {
            server.asked("tools/list").await;
            server.asked("notifications/cancelled").await;
        }
        tokio::time::sleep(Duration::from_secs(2 * 24 * 60 * 60)).await;
        let later = client.tools_page(None).timeout(Duration::from_secs(1)).await;
        assert!(later.is_err(), "a day at most");
        server.asked("tools/list").await;
        server.asked("notifications/cancelled").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_empties_what_is_kept() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    for (changed, empties) in
        [("notifications/prompts/list_changed", false), ("notifications/tools/list_changed", true)]
    {
        let serve = async {
            let asked = server.asked("tools/list").await;
            let mut page = page("tools", vec![tool("t")], None);
            page["ttlMs"] = json!(60_000);
            server.complete(&asked, page).await;
        };
        let (tools, ()) = tokio::join!(client.tools(), serve);
        tools.expect("a list");
        let mut events = client.events();
        server.notify(changed, json!({})).await.expect("sent");
        events.next().await.expect("the change");
        let again = client.tools_page(None).timeout(Duration::from_secs(1)).await;
        assert_eq!(again.is_err(), empties, "{changed}");
        server.notify("notifications/tools/list_changed", json!({})).await.expect("sent");
        events.next().await.expect("the change");
    }
    let other = client.tools_page(Some("c")).timeout(Duration::from_secs(1)).await;
    assert!(other.is_err(), "other parameters, another page");
}

#[tokio::test(start_paused = true)]
async fn legacy_lists_are_not_kept() {
    for revision in LEGACY {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        for _ in 0..2 {
            let serve = async {
                let asked = server.asked("tools/list").await;
                server.complete(&asked, json!({ "tools": [], "ttlMs": 60_000 })).await;
            };
            let (tools, ()) = tokio::join!(client.tools(), serve);
            tools.expect("asked each time");
        }
    }
}

// covers: COMPL-CACHE, COMPL-DEBOUNCE
#[tokio::test(start_paused = true)]
async fn completions_wait_for_a_pause_and_are_remembered() {
    let builder = Client::builder().cache_completions(Duration::from_secs(60));
    let (client, mut server) = full_pair(builder, "2025-06-18").await;
    let reference = || Reference::prompt("p");
    let completer = client.completer(reference(), "city", Duration::from_millis(300));
    let typing = async {
        let keystrokes = ["P", "Pa", "Par", "Pari", "Paris"].map(|typed| {
            let completer = &completer;
            async move { completer.typed(typed, BTreeMap::new()).await.expect("no failure").is_some() }
        });
        futures_util::future::join_all(keystrokes).await
    };
    let serve = async {
        let asked = server.asked("completion/complete").await;
        assert_eq!(asked["params"]["argument"]["value"], "Paris");
        server.complete(&asked, json!({ "completion": { "values": ["Paris"] } })).await;
    };
    let (answered, ()) = tokio::join!(typing, serve);
    assert_eq!(answered, [false, false, false, false, true]);
    client.complete(reference(), "city", "Paris", BTreeMap::new()).await.expect("remembered");
    server.hears_nothing().await;
    let other = client.complete(reference(), "city", "Par", BTreeMap::new()).timeout(Duration::from_secs(1));
    assert!(other.await.is_err(), "another question");
    server.asked("completion/complete").await;
    server.asked("notifications/cancelled").await;
    // An overtaken question that was asked already is withdrawn.
    let slow = completer.typed("L", BTreeMap::new());
    let next = async {
        let asked = server.asked("completion/complete").await;
        let next = completer.typed("Lo", BTreeMap::new());
        let serve = async {
            let withdrawn = server.asked("notifications/cancelled").await;
            assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
            let asked = server.asked("completion/complete").await;
            server.complete(&asked, json!({ "completion": { "values": [] } })).await;
        };
        tokio::join!(next, serve).0
    };
    let (slow, next) = tokio::join!(slow, next);
    assert!(slow.expect("no failure").is_none() && next.expect("no failure").is_some());
}

#[tokio::test(start_paused = true)]
async fn all_the_time_in_the_world_is_a_time_that_can_be_set() {
    let mut policy = Policy::default();
    policy.list_time = Duration::MAX;
    policy.patience.idle = Duration::MAX;
    policy.patience.total = Duration::MAX;
    let builder = Client::builder().policy(policy).cache_completions(Duration::MAX);
    let (client, mut server) = full_pair(builder, "2025-06-18").await;
    let serve = async {
        serve_pages(&mut server, vec![(vec![tool("a")], None)]).await;
        let asked = server.asked("completion/complete").await;
        server.complete(&asked, json!({ "completion": { "values": ["x"] } })).await;
    };
    let calls = async {
        assert_eq!(client.tools().await.expect("a list").len(), 1);
        for _ in 0..2 {
            let reference = Reference::Prompt { name: "p".into(), title: None };
            let found = client.complete(reference, "a", "", Default::default()).await.expect("proposals");
            assert_eq!(found.values, ["x"]);
        }
    };
    tokio::join!(serve, calls);
}
