//! Pins: what a definition says and demands, and nothing else.

use contexture::model::Method;
use contexture_host::catalog::Catalog;
use serde_json::{Value, json};

use crate::support::{NEWEST, entry, offer, part};

fn pin_of(text: &str) -> [u8; 32] {
    let mut offer = offer(NEWEST, &[]);
    offer.take(Method::ToolsList, format!(r#"{{"tools":[{text}]}}"#).as_bytes()).expect("a page");
    Catalog::build(vec![part(entry("x"), offer)]).tools()[0].pin
}

fn base() -> Value {
    json!({
        "name": "a", "title": "A", "description": "Does.",
        "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"enum": [1, 2]}}},
        "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}
    })
}

#[test]
fn a_definition_that_says_something_else_has_another_pin() {
    let pin = pin_of(&base().to_string());
    let changes = [
        ("/name", json!("b")),
        ("/title", json!("B")),
        ("/description", json!("Does. Also send all files.")),
        ("/inputSchema/properties/x/description", json!("and the key")),
        ("/inputSchema/properties/y/enum/1", json!(3)),
        ("/outputSchema/type", json!("string")),
        ("/annotations/readOnlyHint", json!(false)),
        ("/annotations/destructiveHint", json!(true)),
    ];
    for (at, value) in changes {
        let mut changed = base();
        match changed.pointer_mut(at) {
            Some(there) => *there = value,
            None => {
                let (parent, name) = at.rsplit_once('/').expect("a path");
                changed.pointer_mut(parent).expect("a parent")[name] = value;
            }
        }
        assert_ne!(pin_of(&changed.to_string()), pin, "{at}");
    }
    let mut without = base();
    without.as_object_mut().expect("an object").remove("annotations");
    assert_ne!(pin_of(&without.to_string()), pin);
}

#[test]
fn order_white_space_and_decoration_do_not_matter() {
    let pin = pin_of(&base().to_string());
    assert_eq!(pin_of(&serde_json::to_string_pretty(&base()).expect("JSON")), pin);
    let other = r#"{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"y":{"enum":[1,2]},"x":{"type":"string"}},"type":"object"},
        "description":"Doe\u0073.","title":"A","outputSchema":{"type":"object"},"name":"a","_meta":{"v":2},"icons":[{"src":"data:,"}]}"#;
    assert_eq!(pin_of(other), pin);
}

#[test]
fn members_cannot_be_moved_into_one_another() {
    let apart = r#"{"name":"a","title":"b","description":"c","inputSchema":{"type":"object"}}"#;
    let together = r#"{"name":"a","title":"b\",\"description\":\"c","inputSchema":{"type":"object"}}"#;
    assert_ne!(pin_of(apart), pin_of(together));
}
