//! What lists say: order, filters, everything that a server wrote, in the words of the client's revision.

use contexture::model::Method;
use contexture::revision::Revision;
use contexture_host::catalog::Catalog;
use contexture_host::config::Filter;
use contexture_judge::Judge;
use serde_json::{Value, json};

use crate::support::{NEWEST, dead, entry, items, names, offer, part, text, tools, unprefixed};

const LISTS: [Method; 4] =
    [Method::ToolsList, Method::PromptsList, Method::ResourcesList, Method::ResourcesTemplatesList];

/// Everything that the newest legacy revision can say.
fn rich() -> Vec<(Method, Value)> {
    let icons = json!([{"src": "https://example.com/i.png", "sizes": ["48x48"]}]);
    let hints = json!({"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"});
    let tool = json!({
        "name": "do", "title": "Do", "description": "Does.", "icons": icons,
        "inputSchema": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}},
        "outputSchema": {"type": "object", "properties": {"r": {"type": "string"}}},
        "annotations": {"title": "Doer", "readOnlyHint": true}, "_meta": {"example.com/k": 1}
    });
    let prompt = json!({
        "name": "ask", "title": "Ask", "description": "Asks.", "icons": icons,
        "arguments": [{"name": "x", "title": "X", "required": true}], "_meta": {"example.com/k": 1}
    });
    let resource = json!({
        "uri": "file:///x", "name": "x", "title": "X", "mimeType": "text/plain", "size": 7, "icons": icons,
        "annotations": hints, "_meta": {"example.com/k": 1}
    });
    let template = json!({
        "uriTemplate": "file:///{+path}", "name": "t", "title": "T", "annotations": hints, "_meta": {"example.com/k": 1}
    });
    vec![
        (LISTS[0], json!([tool])),
        (LISTS[1], json!([prompt])),
        (LISTS[2], json!([resource])),
        (LISTS[3], json!([template])),
    ]
}

#[test]
fn every_list_is_right_in_every_revision() {
    for from in [Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN] {
        let catalog = Catalog::build(vec![part(entry("x"), offer(from, &rich()))]);
        for to in Revision::ALL {
            let Some(judge) = Judge::of(to.as_str()) else { continue };
            for list in LISTS {
                let result: Value = serde_json::from_str(&text(&catalog, list, to)).expect("JSON");
                judge.check(&judge.result_of(list.as_str()).expect("a result"), &result);
            }
        }
    }
}

#[test]
fn names_and_uris_are_changed_and_nothing_else() {
    let catalog = Catalog::build(vec![part(entry("x"), offer(NEWEST, &rich()))]);
    for (list, expected) in rich() {
        let mut expected = expected[0].clone();
        match list {
            Method::ToolsList => expected["name"] = json!("x__do"),
            Method::PromptsList => expected["name"] = json!("x__ask"),
            Method::ResourcesList => expected["uri"] = json!("x+file:///x"),
            _ => expected["uriTemplate"] = json!("x+file:///{+path}"),
        }
        assert_eq!(items(&catalog, list, NEWEST), [expected]);
    }
    let alone = Catalog::build(vec![part(unprefixed("x"), offer(NEWEST, &rich()))]);
    for (list, expected) in rich() {
        assert_eq!(json!(items(&alone, list, NEWEST)), expected);
    }
}

const WRITTEN: &str = r#"{"futureMember":{"b":1,"a":[1.50,null]},"inputSchema":{"type":"object","properties":{"z":{},"a":{"const":1e2}}},"annotations":{"x-hint":"yes","readOnlyHint":true},"title":"T","name":"do","_meta":{"z":1,"a":null}}"#;

#[test]
fn what_a_server_wrote_stays_as_it_was_written() {
    let mut offer = offer(NEWEST, &[]);
    offer.take(Method::ToolsList, format!(r#"{{"tools":[{WRITTEN}]}}"#).as_bytes()).expect("a page");
    let catalog = Catalog::build(vec![part(entry("x"), offer)]);
    let expected = WRITTEN.replace(r#""name":"do""#, r#""name":"x__do""#);
    assert_eq!(text(&catalog, Method::ToolsList, NEWEST), format!(r#"{{"tools":[{expected}]}}"#));
    // Another revision takes away what it lacks, and keeps what nobody here knows.
    let older = Revision::HEADERLESS;
    let expected = expected
        .replace(r#""title":"T","#, "")
        .replace(r#","_meta":{"z":1,"a":null}"#, "")
        .replace(r#""readOnlyHint":true}"#, r#""readOnlyHint":true,"title":"T"}"#);
    assert_eq!(text(&catalog, Method::ToolsList, older), format!(r#"{{"tools":[{expected}]}}"#));
}

#[test]
fn line_breaks_between_members_go() {
    let pretty =
        serde_json::to_string_pretty(&json!({"tools": rich()[0].1})).expect("JSON").replace('\n', "\r\n");
    let mut offer = offer(NEWEST, &[]);
    offer.take(Method::ToolsList, pretty.as_bytes()).expect("a page");
    let catalog = Catalog::build(vec![part(unprefixed("x"), offer)]);
    assert!(!text(&catalog, Method::ToolsList, NEWEST).contains(['\n', '\r']));
    assert_eq!(json!(items(&catalog, Method::ToolsList, NEWEST)), rich()[0].1);
}

#[test]
fn what_is_null_is_absent_and_a_schema_without_a_type_is_an_objects() {
    let list = json!([{"name": "a", "title": null, "annotations": {"title": null}, "icons": null, "inputSchema": {}, "other": null}]);
    let catalog = Catalog::build(vec![part(entry("x"), offer(NEWEST, &[(Method::ToolsList, list)]))]);
    let expected = json!({"name": "x__a", "annotations": {}, "inputSchema": {"type": "object"}});
    assert_eq!(items(&catalog, Method::ToolsList, NEWEST), [expected]);
}

#[test]
fn pages_of_apps_lead_through_us() {
    let ui = |uri: &str| json!({"ui": {"resourceUri": uri, "visibility": ["model"]}, "ui/resourceUri": uri, "other": "ui://x"});
    let list = json!([{"name": "a", "inputSchema": {"type": "object"}, "_meta": ui("ui://card")}]);
    let offer = offer(NEWEST, &[(Method::ToolsList, list)]);
    let catalog = Catalog::build(vec![part(entry("x"), offer)]);
    assert_eq!(items(&catalog, Method::ToolsList, NEWEST)[0]["_meta"], ui("ui://x+card"));
    assert_eq!(catalog.resource("ui://x+card").expect("a route").original, "ui://card");
}

#[test]
fn order_is_that_of_the_configuration_and_of_each_server() {
    let parts = || vec![part(entry("z"), tools(["b", "a"])), part(entry("a"), tools(["z", "y"]))];
    let catalog = Catalog::build(parts());
    assert_eq!(names(&catalog), ["z__b", "z__a", "a__z", "a__y"]);
    assert_eq!(
        text(&catalog, Method::ToolsList, NEWEST),
        text(&Catalog::build(parts()), Method::ToolsList, NEWEST)
    );
}

#[test]
fn filters_go_by_the_servers_own_names() {
    let mut filtered = entry("x");
    filtered.tools =
        Filter { include: Some(vec!["read*".into(), "x".into()]), exclude: vec!["*secret*".into()] };
    filtered.resources = Filter { include: None, exclude: vec!["file:///secret*".into()] };
    filtered.prompts = Filter { include: Some(Vec::new()), exclude: Vec::new() };
    let resources = json!([{"uri": "file:///secret/x", "name": "a"}, {"uri": "file:///open", "name": "b"}]);
    let mut offered = tools(["read", "read_secret", "write", "x", "x__read"]);
    for (list, items) in [(Method::ResourcesList, resources), (Method::PromptsList, json!([{"name": "p"}]))] {
        let page = json!({ (crate::support::member_of(list)): items }).to_string();
        offered.take(list, page.as_bytes()).expect("a page");
    }
    let catalog = Catalog::build(vec![part(filtered, offered)]);
    assert_eq!(names(&catalog), ["x__read", "x__x"]);
    assert!(catalog.tool("x__write").is_none() && catalog.prompt("x__p").is_none());
    assert_eq!(items(&catalog, Method::ResourcesList, NEWEST).len(), 1);
    assert_eq!(catalog.alerts(), []);
}

#[test]
fn names_stay_when_a_server_joins_or_leaves() {
    let (a, b, c) = (entry("alpha"), entry("al pha"), entry("gamma"));
    let odd = crate::names::odd_names();
    let full = |entry: &contexture_host::config::ServerEntry| {
        part(entry.clone(), tools(odd.iter().map(String::as_str)))
    };
    let of = |catalog: &Catalog, server: &str| -> Vec<(String, String)> {
        let routes = catalog.tools().iter().filter(|route| route.entry.name == server);
        routes.map(|route| (route.shown.to_string(), route.original().to_owned())).collect()
    };
    let all = Catalog::build(vec![full(&a), full(&b), full(&c)]);
    let states = [
        vec![full(&c)],
        vec![full(&a), full(&c)],
        vec![full(&c), full(&b), full(&a)],
        vec![dead(a.clone(), "gone"), full(&b), full(&c)],
    ];
    for state in states {
        let catalog = Catalog::build(state);
        assert_eq!(of(&catalog, "gamma"), of(&all, "gamma"));
    }
}

#[test]
fn a_dead_server_is_not_listed_and_said_to_be_absent() {
    let catalog =
        Catalog::build(vec![dead(entry("My Server"), "it does not start"), part(entry("b"), tools(["t"]))]);
    assert_eq!(names(&catalog), ["b__t"]);
    let gone = contexture_host::names::tool_name("My Server", "t", true);
    let (entry, why) = catalog.absent(&gone).expect("a server");
    assert_eq!((entry.name.as_str(), why), ("My Server", "it does not start"));
    let uri = contexture_host::names::outward_uri("file:///x", &contexture_host::names::slug("My Server"));
    assert_eq!(catalog.absent(&uri).expect("a server").1, "it does not start");
    assert!(catalog.resource(&uri).is_none());
    for there in ["b__t", "b__other", "b+file:///x", "nobody__t", "plain"] {
        assert!(catalog.absent(there).is_none(), "{there}");
    }
}

#[test]
fn lists_that_depend_on_who_asks_are_private() {
    let scope = |personal: bool| -> Value {
        let mut part = part(entry("x"), tools(["t"]));
        part.personal = personal;
        let page = text(&Catalog::build(vec![part]), Method::ToolsList, Revision::NEWEST_MODERN);
        serde_json::from_str::<Value>(&page).expect("JSON")["cacheScope"].clone()
    };
    assert_eq!((scope(false), scope(true)), (json!("public"), json!("private")));
}

#[test]
fn instructions_say_whose_they_are() {
    let said = |entry, text: &str| {
        let mut offer = tools([]);
        offer.instructions = Some(text.to_owned());
        part(entry, offer)
    };
    assert_eq!(Catalog::build(vec![part(entry("a"), tools([]))]).instructions(), None);
    assert_eq!(Catalog::build(vec![said(unprefixed("a"), "Do.")]).instructions().as_deref(), Some("Do."));
    let both = Catalog::build(vec![said(entry("a"), "Do."), said(entry("b"), &"x".repeat(100_000))]);
    let both = both.instructions().expect("instructions");
    assert!(
        both.starts_with("# Server a (its tools begin with a__)\n\nDo.\n\n# Server b"),
        "{}",
        &both[..80]
    );
    assert!(both.len() < 10_000);
}
