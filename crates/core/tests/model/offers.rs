//! Prompts, completions, resources by URI, errors.

use contexture_core::model::*;
use serde_json::json;

use super::{refused, round_trip};

// covers: SCHEMA-PROMPT
#[test]
fn an_argument_is_optional_unless_it_says_so() {
    assert!(!PromptArgument::new("a").is_required());
    assert!(PromptArgument::new("a").required(true).is_required());
    round_trip::<Prompt>(json!({ "name": "p", "arguments": [{ "name": "a" }] }));
    refused::<PromptArgument>(json!({ "description": "nameless" }));
}

// covers: SCHEMA-PROMPT-GET
#[test]
fn prompt_arguments_are_strings_and_messages_hold_one_block() {
    round_trip::<GetPromptParams>(json!({ "name": "p", "arguments": { "a": "1" } }));
    refused::<GetPromptParams>(json!({ "name": "p", "arguments": { "a": 1 } }));
    refused::<GetPromptParams>(json!({ "arguments": {} }));
    let block = json!({ "type": "text", "text": "" });
    round_trip::<GetPromptResult>(json!({ "messages": [{ "role": "user", "content": block }] }));
    refused::<GetPromptResult>(json!({ "messages": [{ "role": "user", "content": [block] }] }));
}

// covers: COMPL-REF-TYPES, SCHEMA-COMPLETE
#[test]
fn references_are_two() {
    let complete = |reference| json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    round_trip::<CompleteParams>(complete(json!({ "type": "ref/prompt", "name": "p" })));
    round_trip::<CompleteParams>(complete(json!({ "type": "ref/resource", "uri": "a:{b}" })));
    for odd in
        [json!(null), json!({ "type": "ref/tool", "name": "t" }), json!({ "type": "ref/prompt" }), json!({})]
    {
        refused::<CompleteParams>(complete(odd));
    }
    refused::<CompleteParams>(json!({ "ref": { "type": "ref/prompt", "name": "p" } }));
    refused::<CompleteParams>(json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": null }));
}

// covers: COMPL-TOTAL
#[test]
fn completions_are_cut_at_a_hundred() {
    let few = Completion::new(["a"]);
    assert_eq!((few.values.len(), few.total, few.has_more), (1, Some(1), Some(false)));
    let many = Completion::new((0..250).map(|n| n.to_string()));
    assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(250), Some(true)));
    round_trip::<CompleteResult>(json!({ "completion": { "values": [] } }));
    round_trip::<CompleteResult>(json!({ "completion": { "values": ["a"], "total": 9 } }));
    refused::<CompleteResult>(json!({ "completion": { "values": [1] } }));
}

// covers: SCHEMA-RESOURCE-URI-PARAM
#[test]
fn a_resource_is_named_by_its_uri() {
    for value in [json!({}), json!({ "uri": 1 }), json!({ "uri": null })] {
        refused::<ReadResourceParams>(value.clone());
        refused::<SubscribeParams>(value.clone());
        refused::<ResourceUpdatedParams>(value);
    }
}

#[test]
fn errors_carry_their_data() {
    round_trip::<ErrorObject>(json!({ "code": -32000, "message": "m" }));
    refused::<ErrorObject>(json!({ "message": "m" }));
    let error = ErrorObject::unsupported_version("1999-01-01", &["2026-07-28"]);
    assert_eq!(json!(error)["data"], json!({ "requested": "1999-01-01", "supported": ["2026-07-28"] }));
    let needs =
        ClientCapabilities { elicitation: Some(ElicitationCapability::default()), ..Default::default() };
    let error = ErrorObject::missing_client_capability(&needs);
    assert_eq!(json!(error)["data"], json!({ "requiredCapabilities": { "elicitation": {} } }));
}

#[test]
fn only_three_things_can_be_asked_in_a_round() {
    round_trip::<InputRequest>(json!({ "method": "roots/list" }));
    refused::<InputRequest>(json!({ "method": "ping" }));
    refused::<InputRequest>(json!({ "method": "elicitation/create" }));
    let mut answers = InputResponses::default();
    answers.insert("a", &ElicitResult::decline()).expect("encodes");
    let answer = answers.get::<ElicitResult>("a").expect("is there").expect("decodes");
    assert_eq!(answer, ElicitResult::decline());
    assert!(answers.get::<ListRootsResult>("a").expect("is there").is_err());
    assert!(answers.get::<ElicitResult>("b").is_none());
}
