//! What `docs/configuration.md` says is what there is.

use contexture_host::config::{HostKind, schema};
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn every_key_is_in_the_document() {
    let schema: Value = serde_json::from_str(schema()).expect("the schema is JSON");
    for pointer in [
        "/properties",
        "/$defs/server/properties",
        "/$defs/limits/properties",
        "/$defs/login/oneOf/1/properties",
    ] {
        let keys = schema.pointer(pointer).and_then(Value::as_object).expect("an object");
        for key in keys.keys() {
            assert!(DOCUMENT.contains(&format!("`{key}`")), "{key} of {pointer}");
        }
    }
    for host in &HostKind::ALL[1..] {
        assert!(DOCUMENT.contains(&format!("| `{host}` |")), "{host}");
    }
}
