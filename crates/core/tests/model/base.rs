//! `_meta`, tokens, annotations, levels, capabilities, cache hints and lists.

use contexture_core::model::*;
use serde_json::{Value, json};

use super::{decode, refused, round_trip};

// covers: BASE-META-PREFIX-FORMAT
#[test]
fn a_prefix_is_labels_joined_by_dots() {
    assert_eq!(Meta::validate_key("com.example/x"), Ok(()));
    for key in ["com..example/x", ".com/x", "com./x", "/x"] {
        assert!(matches!(Meta::validate_key(key), Err(MetaKeyError::Prefix(_))), "{key}");
    }
    assert!(matches!(Meta::validate_key("com.example//x"), Err(MetaKeyError::Name(_))));
}

// covers: BASE-META-LABEL-FORMAT
#[test]
fn a_label_starts_with_a_letter_and_ends_with_a_letter_or_digit() {
    for label in ["a", "a1", "a-b"] {
        assert_eq!(Meta::validate_key(&format!("{label}/x")), Ok(()), "{label}");
    }
    for label in ["1a", "a-", "-a", "a_b", "ä"] {
        assert!(Meta::validate_key(&format!("{label}/x")).is_err(), "{label}");
    }
}

// covers: BASE-META-NAME-FORMAT, BASE-META-NAME-INTERIOR
#[test]
fn a_name_starts_and_ends_with_a_letter_or_digit() {
    for key in ["a", "progressToken", "com.example/", "a-b_c.d9"] {
        assert_eq!(Meta::validate_key(key), Ok(()), "{key}");
    }
    for key in ["-a", "a.", "_x", "a b", "com.example/a/b", ""] {
        assert!(matches!(Meta::validate_key(key), Err(MetaKeyError::Name(_))), "{key}");
    }
}

// covers: BASE-META-RESERVED-PREFIX
#[test]
fn nobody_mints_keys_of_the_protocol() {
    let mut meta = Meta::new();
    let reserved = [
        "mcp.dev/a",
        "modelcontextprotocol.io/a",
        "tools.mcp.com/a",
        "io.modelcontextprotocol/a",
        "dev.mcp/a",
    ];
    for key in reserved.into_iter().chain(key::ALL) {
        assert!(matches!(meta.insert_custom(key, 1), Err(MetaKeyError::Reserved(_))), "{key}");
    }
    assert!(meta.is_empty());
    for key in ["com.example.mcpx/a", "com.example.mcp/a", "note"] {
        assert_eq!(meta.insert_custom(key, 1), Ok(None), "{key}");
    }
}

// covers: BASE-META-NO-ASSUMPTIONS
#[test]
fn odd_values_under_reserved_keys_pass_through() {
    let odd: serde_json::Map<String, Value> =
        key::ALL.iter().map(|key| ((*key).to_owned(), json!([{ "odd": null }]))).collect();
    let params: EmptyParams = decode(json!({ "_meta": odd })).expect("decodes");
    let meta = params.meta.clone().expect("has metadata");
    assert_eq!(meta.progress_token(), None);
    assert_eq!(meta.traceparent(), None);
    assert_eq!(meta.tracestate(), None);
    assert_eq!(meta.baggage(), None);
    assert_eq!(meta.protocol_version(), None);
    assert_eq!(meta.client_capabilities(), None);
    assert_eq!(meta.client_info(), None);
    assert_eq!(meta.log_level(), None);
    assert_eq!(meta.server_info(), None);
    assert_eq!(meta.subscription_id(), None);
    assert_eq!(meta.related_task(), None);
    assert_eq!(serde_json::to_value(&params).expect("encodes"), json!({ "_meta": odd }));
}

#[test]
fn expected_values_under_reserved_keys_are_read() {
    let mut meta = Meta::new();
    meta.set(key::PROGRESS_TOKEN, 7);
    meta.set(key::LOG_LEVEL, LoggingLevel::Alert);
    meta.set(key::CLIENT_INFO, Implementation::new("c", "1"));
    meta.set(key::TRACEPARENT, "00-1-2-03");
    assert_eq!(meta.progress_token(), Some(7.into()));
    assert_eq!(meta.log_level(), Some(LoggingLevel::Alert));
    assert_eq!(meta.client_info().map(|info| info.name), Some("c".to_owned()));
    assert_eq!(meta.traceparent(), Some("00-1-2-03"));
}

// covers: PROG-TOKEN-TYPE
#[test]
fn a_progress_token_is_a_string_or_an_integer() {
    round_trip::<ProgressToken>(json!("a"));
    round_trip::<ProgressToken>(json!(-5));
    assert_ne!(decode::<ProgressToken>(json!(1)).ok(), decode::<ProgressToken>(json!("1")).ok());
    for odd in [json!(1.5), json!(null), json!({}), json!([]), json!(true)] {
        refused::<ProgressToken>(odd.clone());
        refused::<ProgressParams>(json!({ "progressToken": odd, "progress": 1 }));
    }
}

// covers: PROG-FLOAT, PROG-OMIT-TOTAL, SCHEMA-NOTIFICATION-PARAMS
#[test]
fn progress_keeps_its_numbers() {
    round_trip::<ProgressParams>(json!({ "progressToken": 1, "progress": 0.2, "total": 1 }));
    round_trip::<ProgressParams>(json!({ "progressToken": 1, "progress": 50, "total": 100 }));
    round_trip::<ProgressParams>(json!({ "progressToken": 1, "progress": 50 }));
    refused::<ProgressParams>(json!({ "progressToken": 1 }));
    refused::<ProgressParams>(json!({ "progress": 1 }));
    let cancelled: CancelledParams = decode(json!({ "reason": "?" })).expect("says nothing");
    assert_eq!(cancelled.request_id, None);
}

// covers: LOG-LEVELS
#[test]
fn levels_are_eight_and_ordered() {
    let names = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    for (level, name) in LoggingLevel::ALL.into_iter().zip(names) {
        round_trip::<LoggingLevel>(json!(name));
        assert_eq!(level.as_str(), name);
        assert_eq!(json!(level), json!(name));
    }
    assert!(LoggingLevel::ALL.is_sorted());
    for odd in ["warn", "WARNING", "trace", ""] {
        refused::<SetLevelParams>(json!({ "level": odd }));
    }
}

// covers: SCHEMA-LOG-MESSAGE
#[test]
fn log_data_is_any_value() {
    for data in [json!("s"), json!(1), json!(null), json!([1]), json!({ "a": null })] {
        round_trip::<LoggingMessageParams>(json!({ "level": "info", "data": data }));
    }
    refused::<LoggingMessageParams>(json!({ "level": "info" }));
}

// covers: SCHEMA-ANNOTATIONS
#[test]
fn annotations_have_their_ranges() {
    round_trip::<Annotations>(json!({}));
    round_trip::<Annotations>(json!({ "audience": ["user", "assistant"], "priority": 0.5 }));
    refused::<Annotations>(json!({ "audience": ["system"] }));
    for priority in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(Annotations::new().priority(priority).is_err(), "{priority}");
    }
    assert!(Annotations::new().priority(0.0).is_ok() && Annotations::new().priority(1.0).is_ok());
}

// covers: RES-ANNOT-LASTMODIFIED
#[test]
fn an_odd_timestamp_does_not_cost_the_message() {
    round_trip::<Annotations>(json!({ "lastModified": "yesterday" }));
}

// covers: SCHEMA-ROLE
#[test]
fn roles_are_two() {
    round_trip::<Role>(json!("user"));
    round_trip::<Role>(json!("assistant"));
    let text = json!({ "type": "text", "text": "" });
    refused::<PromptMessage>(json!({ "role": "system", "content": text }));
    refused::<SamplingMessage>(json!({ "role": "system", "content": text }));
}

// covers: SCHEMA-CAPS-OPEN-SET
#[test]
fn unknown_capabilities_survive() {
    let odd = json!({
        "experimental": { "x": { "y": 1 } },
        "extensions": { "com.example/z": {} },
        "telepathy": { "range": 3 },
    });
    round_trip::<ClientCapabilities>(odd.clone());
    round_trip::<ServerCapabilities>(odd);
    round_trip::<ServerCapabilities>(json!({ "tools": { "listChanged": true, "new": 1 } }));
}

// covers: SCHEMA-IMPLEMENTATION, SCHEMA-INIT-RESULT
#[test]
fn introductions_need_their_members() {
    round_trip::<Implementation>(json!({ "name": "n", "version": "1" }));
    round_trip::<Implementation>(json!({ "name": "n", "version": "1", "title": "N" }));
    refused::<Implementation>(json!({ "name": "n" }));
    refused::<Implementation>(json!({ "version": "1" }));
    let whole = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "serverInfo": { "name": "n", "version": "1" },
    });
    round_trip::<InitializeResult>(whole.clone());
    for member in ["protocolVersion", "capabilities", "serverInfo"] {
        let mut less = whole.clone();
        less.as_object_mut().expect("an object").remove(member);
        refused::<InitializeResult>(less);
    }
}

#[test]
fn a_capability_without_modes_means_forms() {
    let capability: ElicitationCapability = decode(json!({})).expect("decodes");
    assert!(capability.has_form() && !capability.has_url());
    let capability: ElicitationCapability = decode(json!({ "url": {} })).expect("decodes");
    assert!(!capability.has_form() && capability.has_url());
    let tasks: TasksCapability = decode(json!({ "requests": { "tools": { "call": {} } } })).expect("decodes");
    assert!(tasks.accepts(Method::ToolsCall) && !tasks.accepts(Method::ElicitationCreate));
}

#[test]
fn lifetimes_are_tolerated_and_cut() {
    for (odd, read) in [(json!(-1), 0), (json!(1e18), MAX_TTL_MS), (json!(1.9), 1), (json!(5), 5)] {
        let result: ListToolsResult = decode(json!({ "tools": [], "ttlMs": odd })).expect("decodes");
        assert_eq!(result.ttl_ms, Some(read));
    }
    let result: ListToolsResult = decode(json!({ "tools": [], "cacheScope": "everyone" })).expect("decodes");
    assert_eq!(result.cache_scope, Some(CacheScope::Private));
    let result: ListToolsResult = decode(json!({ "tools": [], "resultType": "task" })).expect("decodes");
    assert_eq!(result.result_type, Some(ResultType::Other("task".to_owned())));
}

// covers: SCHEMA-LIST-RESULTS
#[test]
fn bad_items_are_dropped_and_counted() {
    let good = json!({ "name": "good", "inputSchema": { "type": "object" } });
    let nameless = json!({ "inputSchema": {} });
    let tools = json!([null, good, nameless, 1, 2, 3, 4]);
    let result: ListToolsResult = decode(json!({ "tools": tools })).expect("decodes");
    assert_eq!(result.tools.len(), 1);
    assert_eq!(result.tools.dropped(), 6);
    assert_eq!(result.tools.reasons().len(), 4);
    assert!(
        result.tools.reasons()[1].starts_with("item 2: missing field `name`"),
        "{:?}",
        result.tools.reasons()
    );
    refused::<ListToolsResult>(json!({ "tools": null }));
    refused::<ListToolsResult>(json!({}));
    assert_eq!(json!(ListToolsResult::default()), json!({ "tools": [] }));
}

// covers: SCHEMA-CURSOR-STRING
#[test]
fn cursors_are_strings() {
    round_trip::<PaginatedParams>(json!({ "cursor": "" }));
    refused::<PaginatedParams>(json!({ "cursor": 1 }));
    refused::<PaginatedParams>(json!({ "cursor": {} }));
    refused::<ListToolsResult>(json!({ "tools": [], "nextCursor": 1 }));
}

// covers: SCHEMA-OPEN-OBJECTS
#[test]
fn unknown_members_are_accepted() {
    decode::<PaginatedParams>(json!({ "new": 1 })).expect("decodes");
    decode::<CallToolResult>(json!({ "content": [], "new": 1 })).expect("decodes");
    decode::<ProgressParams>(json!({ "progressToken": 1, "progress": 1, "new": {} })).expect("decodes");
    decode::<EmptyResult>(json!({ "new": [] })).expect("decodes");
}

#[test]
fn an_empty_result_is_an_empty_object() {
    assert_eq!(json!(EmptyResult::default()), json!({}));
}

#[test]
fn members_that_stand_there_twice_are_refused() {
    assert!(serde_json::from_str::<ReadResourceParams>(r#"{"uri":"a:b","uri":"a:c"}"#).is_err());
    assert!(serde_json::from_str::<CallToolParams<'_>>(r#"{"name":"a","name":"b"}"#).is_err());
    assert!(serde_json::from_str::<Content>(r#"{"type":"text","text":"a","text":"b"}"#).is_err());
}
