//! Offers: what is taken up from pages, and what is left out.

use contexture::model::Method;
use contexture_host::catalog::{AlertKind, Catalog, DEFINITION_BYTES, OFFER_BYTES};
use serde_json::{Value, json};

use crate::support::{NEWEST, alerts, entry, names, offer, part, tool};

fn page(list: &Value, next: Option<&str>) -> Vec<u8> {
    let mut page = json!({ "tools": list });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page.to_string().into_bytes()
}

#[test]
fn pages_follow_one_another() {
    let mut offer = offer(NEWEST, &[]);
    assert_eq!(
        offer.take(Method::ToolsList, &page(&json!([tool("a")]), Some("2"))),
        Ok(Some("2".to_owned()))
    );
    assert_eq!(offer.take(Method::ToolsList, &page(&json!([tool("b")]), None)), Ok(None));
    let names: Vec<&str> = offer.tools().iter().map(|listed| listed.definition.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn what_is_no_page_is_refused() {
    let mut offer = offer(NEWEST, &[]);
    for bad in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"tools":null}"#,
        r#"{"tools":{}}"#,
        r#"{"prompts":[]}"#,
        "{\"tools\"",
        "\u{0}",
    ] {
        assert!(offer.take(Method::ToolsList, bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(offer.take(Method::ToolsList, b"{\"tools\":[\"\xff\"]}").is_err());
    assert!(offer.take(Method::ToolsCall, b"{}").is_err());
}

#[test]
fn pages_that_lead_nowhere_end() {
    let mut same = offer(NEWEST, &[]);
    let again = page(&json!([]), Some("x"));
    assert_eq!(same.take(Method::ToolsList, &again), Ok(Some("x".to_owned())));
    assert_eq!(same.take(Method::ToolsList, &again), Ok(None));
    // Always another cursor, and never an item.
    let mut endless = offer(NEWEST, &[]);
    let asked = (0..1_000_000).take_while(|n| {
        endless.take(Method::ToolsList, &page(&json!([]), Some(&n.to_string()))) == Ok(Some(n.to_string()))
    });
    assert!(asked.count() < 10_000);
    for offer in [same, endless] {
        let catalog = Catalog::build(vec![part(entry("x"), offer)]);
        assert_eq!(alerts(&catalog, "x", AlertKind::LeftOut), 1);
    }
}

// J14 of the security catalogue.
#[test]
fn beyond_the_bounds_things_are_left_out_with_an_alert() {
    let many: Vec<Value> = (0..10_001).map(|n| tool(&format!("t{n}"))).collect();
    let mut crowd = offer(NEWEST, &[]);
    assert_eq!(
        crowd.take(Method::ToolsList, &page(&json!(many), Some("next"))),
        Ok(None),
        "nobody asks for more"
    );
    let catalog = Catalog::build(vec![part(entry("x"), crowd)]);
    assert_eq!(names(&catalog).len(), 10_000);
    assert_eq!(alerts(&catalog, "x", AlertKind::LeftOut), 1);

    let large = |name: &str, bytes: usize| {
        let mut tool = tool(name);
        tool["description"] = json!("d".repeat(bytes));
        tool
    };
    let mut big = offer(NEWEST, &[]);
    let list = json!([tool("a"), large("b", DEFINITION_BYTES), tool("c")]);
    assert_eq!(big.take(Method::ToolsList, &page(&list, Some("2"))), Ok(Some("2".to_owned())));
    let heavy: Vec<Value> = (0..40).map(|n| large(&format!("h{n}"), DEFINITION_BYTES - 200)).collect();
    assert_eq!(big.take(Method::ToolsList, &page(&json!(heavy), Some("3"))), Ok(None));
    let catalog = Catalog::build(vec![part(entry("x"), big)]);
    let shown = names(&catalog);
    assert_eq!(shown[..2], ["x__a", "x__c"]);
    assert_eq!(shown.len() - 2, OFFER_BYTES / DEFINITION_BYTES);
    assert_eq!(alerts(&catalog, "x", AlertKind::LeftOut), 2);
}

#[test]
fn what_cannot_be_read_is_left_out_alone() {
    let list = json!([
        tool("good"),
        7,
        {"name": "no schema"},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "wrong type", "inputSchema": {"type": "string"}},
        {"name": "wrong hint", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
        tool("also good"),
    ]);
    let mut offer = offer(NEWEST, &[]);
    offer.take(Method::ToolsList, &page(&list, None)).expect("a page");
    let deep = format!(
        r#"{{"tools":[{{"name":"deep","inputSchema":{}1{}}}]}}"#,
        "{\"a\":".repeat(300),
        "}".repeat(300)
    );
    offer.take(Method::ToolsList, deep.as_bytes()).expect("a page");
    let catalog = Catalog::build(vec![part(entry("x"), offer)]);
    assert_eq!(names(&catalog).len(), 2);
    assert_eq!(alerts(&catalog, "x", AlertKind::Unreadable), 6);
}
