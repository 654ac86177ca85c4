//! What becomes of what a revision lacks. (That nothing else is left over is checked in `valid`.)

use contexture_core::model::*;
use contexture_core::revision::lower::unaskable_field;
use contexture_core::revision::{Lower, Revision};
use serde::Serialize;
use serde_json::{Value, json};

use super::samples::*;

fn lowered(mut value: impl Lower + Serialize, revision: Revision) -> Value {
    value.lower(revision.rules());
    serde_json::to_value(&value).expect("encodes")
}

// covers: SCHEMA-CONTENT-UNION-2024
#[test]
fn what_cannot_be_sent_becomes_a_note() {
    let result = lowered(call_result(), Revision::V2024_11_05);
    let kinds: Vec<&str> = result["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .filter_map(|block| block["type"].as_str())
        .collect();
    assert_eq!(kinds, ["text", "image", "text", "text", "resource", "resource"]);
    assert_eq!(result["content"][2]["text"], "[audio: audio/wav, 1234 bytes]");
    assert_eq!(result["content"][3]["text"], "[resource: A, file:///a.txt]");
    assert_eq!(result["content"][3]["annotations"]["priority"], 0.5);
    assert!(result.get("structuredContent").is_none());
    let result = lowered(call_result(), Revision::V2025_03_26);
    assert_eq!(result["content"][2]["type"], "audio");
    assert_eq!(result["content"][3]["type"], "text");
}

// covers: TOOLS-STRUCTURED-FIELD
#[test]
fn structured_output_is_an_object_where_it_must_be() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        assert_eq!(lowered(call_result(), revision)["structuredContent"], json!({ "result": [1, 2, 3] }));
        let schema = &lowered(tool(), revision)["outputSchema"];
        let array = json!({ "type": "array", "items": { "type": "integer" } });
        assert_eq!(
            schema,
            &json!({ "type": "object", "properties": { "result": array }, "required": ["result"] })
        );
    }
    assert_eq!(lowered(call_result(), Revision::V2026_07_28)["structuredContent"], json!([1, 2, 3]));
    let plain = CallToolResult::structured(&json!({ "a": 1 })).expect("encodes");
    assert_eq!(lowered(plain, Revision::V2025_06_18)["structuredContent"], json!({ "a": 1 }));
}

#[test]
fn a_wrapped_schema_wraps_every_value() {
    let schema = object(json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] }));
    let mut result = CallToolResult::structured(&json!({ "a": 1 })).expect("encodes");
    result.lower_with(Some(&schema), Revision::V2025_06_18.rules());
    assert_eq!(json!(result)["structuredContent"], json!({ "result": { "a": 1 } }));
}

#[test]
fn references_in_a_wrapped_schema_still_lead_somewhere() {
    let schema = json!({
        "$defs": { "node": { "properties": { "next": { "$ref": "#/$defs/node" }, "all": { "$ref": "#" } } } },
        "type": "array",
        "items": { "anyOf": [{ "$ref": "#/$defs/node" }, { "$ref": "#/items" }] },
    });
    let tool = Tool::new("t", JsonObject::new()).output_schema(object(schema));
    let wrapped = &lowered(tool, Revision::V2025_11_25)["outputSchema"];
    assert_eq!(wrapped["$defs"]["node"]["properties"]["next"]["$ref"], "#/$defs/node");
    assert_eq!(wrapped["$defs"]["node"]["properties"]["all"]["$ref"], "#/properties/result");
    assert_eq!(wrapped["properties"]["result"]["items"]["anyOf"][0]["$ref"], "#/$defs/node");
    assert_eq!(wrapped["properties"]["result"]["items"]["anyOf"][1]["$ref"], "#/properties/result/items");
    jsonschema::validator_for(wrapped).expect("references resolve");
}

#[test]
fn a_tools_title_moves_to_where_the_revision_has_it() {
    let tool = lowered(tool(), Revision::V2025_03_26);
    assert_eq!(tool["annotations"], json!({ "title": "Count", "readOnlyHint": true }));
    assert!(tool.get("title").is_none());
}

#[test]
fn results_are_stamped_where_that_is_demanded() {
    let page = lowered(ListToolsResult::default(), Revision::V2026_07_28);
    assert_eq!(page, json!({ "tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" }));
    let hinted =
        ListToolsResult { ttl_ms: Some(9), cache_scope: Some(CacheScope::Public), ..Default::default() };
    let page = lowered(hinted.clone(), Revision::V2026_07_28);
    assert_eq!((&page["ttlMs"], &page["cacheScope"]), (&json!(9), &json!("public")));
    assert_eq!(lowered(hinted, Revision::V2025_11_25), json!({ "tools": [] }));
    assert_eq!(lowered(EmptyResult::default(), Revision::V2025_11_25), json!({}));
}

#[test]
fn server_info_stays_out_of_legacy_results() {
    let mut result = EmptyResult { meta: Some(Meta::new()), ..Default::default() };
    result.meta.as_mut().expect("set").set(key::SERVER_INFO, implementation());
    assert_eq!(lowered(result.clone(), Revision::V2025_11_25), json!({}));
    assert!(lowered(result, Revision::V2026_07_28)["_meta"].get(key::SERVER_INFO).is_some());
}

#[test]
fn forms_are_put_in_older_words() {
    let flat = lowered(elicit_form(), Revision::V2025_06_18);
    let properties = &flat["requestedSchema"]["properties"];
    assert_eq!(properties["named"]["enum"], json!(["r", "g"]));
    assert_eq!(properties["named"]["enumNames"], json!(["Red", "Green"]));
    assert_eq!(properties["sure"]["default"], json!(true));
    assert!(properties["mail"].get("default").is_none() && properties["age"].get("default").is_none());
    assert!(flat.get("mode").is_none());
    assert_eq!(unaskable_field(&form(), Revision::V2025_06_18.rules()), Some("many"));
    assert_eq!(unaskable_field(&form(), Revision::V2025_11_25.rules()), None);
    assert_eq!(unaskable_field(&form(), Revision::V2025_03_26.rules()), Some("mail"));
    let rich = lowered(elicit_form(), Revision::V2026_07_28);
    assert_eq!(rich["requestedSchema"], json!(form()));
}

#[test]
fn a_client_that_only_opens_urls_claims_no_forms() {
    let only_url = ElicitationCapability { url: Some(JsonObject::new()), ..Default::default() };
    let capabilities = ClientCapabilities { elicitation: Some(only_url), ..Default::default() };
    assert_eq!(lowered(capabilities.clone(), Revision::V2025_06_18), json!({}));
    assert_eq!(lowered(capabilities, Revision::V2025_11_25), json!({ "elicitation": { "url": {} } }));
    assert_eq!(lowered(client_capabilities(), Revision::V2025_06_18)["elicitation"], json!({}));
}

// covers: SCHEMA-SAMPLING-CONTENT
#[test]
fn conversations_are_taken_apart() {
    let params = lowered(create_message(), Revision::V2025_06_18);
    let texts: Vec<&str> = params["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| message["content"]["text"].as_str())
        .collect();
    assert_eq!(texts, ["Count.", "Well…", r#"[tool call 1: count {"n":3}]"#, "[tool result 1: text]"]);
    assert!(params.get("tools").is_none());
    let result = lowered(create_message_result(), Revision::V2025_06_18);
    assert_eq!(result["content"]["text"], "Three.\n[image: image/png, 1 bytes]");
}

#[test]
fn codes_are_those_of_the_revision() {
    let code = |code, revision| lowered(ErrorObject::new(code, "m"), revision)["code"].clone();
    assert_eq!(code(code::RESOURCE_NOT_FOUND, Revision::V2025_11_25), -32002);
    assert_eq!(code(code::RESOURCE_NOT_FOUND, Revision::V2026_07_28), -32602);
    assert_eq!(code(code::URL_ELICITATION_REQUIRED, Revision::V2025_11_25), -32042);
    assert_eq!(code(code::URL_ELICITATION_REQUIRED, Revision::V2026_07_28), -32603);
}

#[test]
fn lowering_twice_changes_nothing_more() {
    for revision in Revision::ALL {
        let mut once = call_result();
        once.lower(revision.rules());
        assert_eq!(lowered(once.clone(), revision), json!(once));
        let mut once = tool();
        once.lower(revision.rules());
        assert_eq!(lowered(once.clone(), revision), json!(once));
        let mut once = create_message();
        once.lower(revision.rules());
        assert_eq!(lowered(once.clone(), revision), json!(once));
    }
}
