//! Tools, their hints, calls and results.

use contexture_core::model::*;
use serde_json::json;

use super::samples::object;
use super::{refused, round_trip};

// covers: TOOLS-ANNOTATION-DEFAULTS
#[test]
fn hints_have_their_defaults() {
    let hints = ToolAnnotations::new();
    assert!(
        !hints.is_read_only() && hints.is_destructive() && !hints.is_idempotent() && hints.is_open_world()
    );
}

// covers: TOOLS-ANNOTATION-RELEVANCE
#[test]
fn a_read_only_tool_destroys_nothing() {
    for hint in [false, true] {
        let hints = ToolAnnotations::new().read_only_hint(true).destructive_hint(hint).idempotent_hint(hint);
        assert!(!hints.is_destructive());
        assert!(hints.is_idempotent());
    }
    let hints = ToolAnnotations::new().destructive_hint(false).idempotent_hint(true).open_world_hint(false);
    assert!(!hints.is_destructive() && hints.is_idempotent() && !hints.is_open_world());
}

// covers: TOOLS-DISPLAY-NAME
#[test]
fn a_tool_is_shown_by_title_then_hint_then_name() {
    let bare = || Tool::new("name", JsonObject::new());
    let hints = || ToolAnnotations::new().title("hint");
    assert_eq!(bare().display_name(), "name");
    assert_eq!(bare().annotations(ToolAnnotations::new()).display_name(), "name");
    assert_eq!(bare().annotations(hints()).display_name(), "hint");
    assert_eq!(bare().title("title").display_name(), "title");
    assert_eq!(bare().title("title").annotations(hints()).display_name(), "title");
}

// covers: SCHEMA-TITLE-FALLBACK
#[test]
fn everything_else_is_shown_by_title_or_name() {
    assert_eq!(Prompt::new("n").display_name(), "n");
    assert_eq!(Prompt::new("n").title("t").display_name(), "t");
    assert_eq!(PromptArgument::new("n").display_name(), "n");
    assert_eq!(PromptArgument::new("n").title("t").display_name(), "t");
    assert_eq!(Resource::new("a:b", "n").display_name(), "n");
    assert_eq!(Resource::new("a:b", "n").title("t").display_name(), "t");
    assert_eq!(ResourceTemplate::new("a:b", "n").display_name(), "n");
    assert_eq!(ResourceTemplate::new("a:b", "n").title("t").display_name(), "t");
    assert_eq!(Implementation::new("n", "1").display_name(), "n");
    assert_eq!(Implementation::new("n", "1").title("t").display_name(), "t");
}

// covers: SCHEMA-TOOL
#[test]
fn an_input_schema_describes_an_object() {
    let bare = Tool::new("bare", JsonObject::new());
    assert_eq!(json!(bare), json!({ "name": "bare", "inputSchema": { "type": "object" } }));
    assert!(bare.validate().is_ok());
    assert!(Tool::new("array", object(json!({ "type": "array" }))).validate().is_err());
    refused::<Tool>(json!({ "name": "a", "inputSchema": [] }));
    refused::<Tool>(json!({ "name": "a" }));
}

// covers: SCHEMA-TOOL-CALL
#[test]
fn arguments_are_borrowed_objects() {
    let text = r#"{"name":"add","arguments":{ "a" : 1 },"_meta":{"progressToken":1}}"#;
    let call: CallToolParams<'_> = serde_json::from_str(text).expect("decodes");
    assert!(matches!(call.name, std::borrow::Cow::Borrowed("add")));
    assert_eq!(call.arguments.map(|raw| raw.get()), Some(r#"{ "a" : 1 }"#));
    for odd in ["[1]", "\"{}\"", "1", "true"] {
        let text = format!(r#"{{"name":"add","arguments":{odd}}}"#);
        assert!(serde_json::from_str::<CallToolParams<'_>>(&text).is_err(), "{odd}");
    }
    assert!(serde_json::from_str::<CallToolParams<'_>>(r#"{"arguments":{}}"#).is_err());
    assert_eq!(json!(CallToolParams::new("add")), json!({ "name": "add" }));
    let escaped: CallToolParams<'_> = serde_json::from_str(r#"{"name":"\u0061dd"}"#).expect("decodes");
    assert_eq!(escaped.name, "add");
}

// covers: SCHEMA-TOOL-RESULT-CONTENT, TOOLS-STRUCTURED-TEXT-MIRROR
#[test]
fn a_result_always_has_content() {
    assert_eq!(json!(CallToolResult::default()), json!({ "content": [] }));
    let structured = CallToolResult::structured(&json!({ "a": 1 })).expect("encodes");
    let mirror: serde_json::Value = serde_json::from_str(&structured.joined_text()).expect("JSON");
    assert_eq!(json!(structured)["structuredContent"], mirror);
    assert_eq!(json!(CallToolResult::error("no"))["isError"], json!(true));
    assert!(json!(CallToolResult::text("yes")).get("isError").is_none());
}

#[test]
fn structured_null_is_a_value() {
    round_trip::<CallToolResult>(json!({ "content": [], "structuredContent": null }));
    round_trip::<CallToolResult>(json!({ "content": [], "structuredContent": [1, "a"] }));
}
