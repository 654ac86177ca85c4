//! The specification's own examples decode into our types and come back the same.

use std::path::Path;

use contexture_core::model::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Numbers compare by value, `isError: false` is the same as nothing.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(members) => {
            let kept =
                members.into_iter().filter(|(name, value)| name != "isError" || value != &Value::Bool(false));
            Value::Object(kept.map(|(name, value)| (name, normal(value))).collect())
        }
        other => other,
    }
}

fn same<T: Serialize + DeserializeOwned>(value: Value, path: &Path) {
    let decoded: T =
        super::decode(value.clone()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let encoded = serde_json::to_value(&decoded).expect("encodes");
    assert_eq!(normal(encoded), normal(value), "{}", path.display());
}

fn call_params(mut value: Value, path: &Path) {
    let text = value.to_string();
    let decoded: CallToolParams<'_> = serde_json::from_str(&text).expect("decodes");
    // The engine reads `_meta` apart.
    value.as_object_mut().expect("an object").remove("_meta");
    assert_eq!(serde_json::to_value(&decoded).expect("encodes"), value, "{}", path.display());
}

/// Takes a message apart down to what has a type here.
fn check(name: &str, mut value: Value, path: &Path) {
    if let Some(result) = name.strip_suffix("Response") {
        let is_input = value["result"]["resultType"] == "input_required";
        return check(if is_input { "InputRequiredResult" } else { result }, value["result"].take(), path);
    }
    let is_message = name.ends_with("Request") || name.ends_with("Notification");
    if is_message && name != "ListRootsRequest" {
        let method = value["method"].as_str().expect("a method");
        assert!(Method::parse(method).is_some(), "{method}");
        match value.get_mut("params") {
            Some(params) => return check(&format!("{name}Params"), params.take(), path),
            None => return,
        }
    }
    if name.ends_with("Error") {
        let error = if value.get("error").is_some() { value["error"].take() } else { value };
        return same::<ErrorObject>(error, path);
    }
    let judge: fn(Value, &Path) = match name {
        "AudioContent" | "EmbeddedResource" | "ImageContent" | "ResourceLink" | "TextContent" => {
            same::<Content>
        }
        "BlobResourceContents" | "TextResourceContents" => same::<ResourceContents>,
        "BooleanSchema"
        | "NumberSchema"
        | "StringSchema"
        | "TitledMultiSelectEnumSchema"
        | "TitledSingleSelectEnumSchema"
        | "UntitledMultiSelectEnumSchema"
        | "UntitledSingleSelectEnumSchema" => same::<PrimitiveSchema>,
        "CallToolRequestParams" => call_params,
        "CallToolResult" => same::<CallToolResult>,
        "CancelledNotificationParams" => same::<CancelledParams>,
        "ClientCapabilities" => same::<ClientCapabilities>,
        "CompleteRequestParams" => same::<CompleteParams>,
        "CompleteResult" => same::<CompleteResult>,
        "CreateMessageRequestParams" => same::<CreateMessageParams>,
        "CreateMessageResult" => same::<CreateMessageResult>,
        "DiscoverRequestParams" => same::<DiscoverParams>,
        "DiscoverResult" => same::<DiscoverResult>,
        "ElicitRequestParams" | "ElicitRequestFormParams" | "ElicitRequestURLParams" => same::<ElicitParams>,
        "ElicitResult" => same::<ElicitResult>,
        "GetPromptRequestParams" => same::<GetPromptParams>,
        "GetPromptResult" => same::<GetPromptResult>,
        "InputRequests" => same::<InputRequests>,
        "InputRequiredResult" => same::<InputRequiredResult>,
        "InputResponses" => same::<InputResponses>,
        "ListPromptsRequestParams"
        | "ListResourceTemplatesRequestParams"
        | "ListResourcesRequestParams"
        | "ListToolsRequestParams"
        | "PaginatedRequestParams" => same::<PaginatedParams>,
        "ListPromptsResult" => same::<ListPromptsResult>,
        "ListResourceTemplatesResult" => same::<ListResourceTemplatesResult>,
        "ListResourcesResult" => same::<ListResourcesResult>,
        "ListRootsRequest" => {
            // The example carries an id, which input requests do not have.
            value.as_object_mut().expect("an object").remove("id");
            same::<InputRequest>
        }
        "ListRootsResult" => same::<ListRootsResult>,
        "ListToolsResult" => same::<ListToolsResult>,
        "LoggingMessageNotificationParams" => same::<LoggingMessageParams>,
        "ModelPreferences" => same::<ModelPreferences>,
        "ProgressNotificationParams" => same::<ProgressParams>,
        "PromptListChangedNotificationParams"
        | "ResourceListChangedNotificationParams"
        | "ToolListChangedNotificationParams" => same::<EmptyParams>,
        "ReadResourceRequestParams" => same::<ReadResourceParams>,
        "ReadResourceResult" => same::<ReadResourceResult>,
        "Resource" => same::<Resource>,
        "ResourceUpdatedNotificationParams" => same::<ResourceUpdatedParams>,
        "Root" => same::<Root>,
        "SamplingMessage" => same::<SamplingMessage>,
        "ServerCapabilities" => same::<ServerCapabilities>,
        "SubscriptionsAcknowledgedNotificationParams" => same::<SubscriptionsAcknowledgedParams>,
        "SubscriptionsListenRequestParams" => same::<SubscriptionsListenParams>,
        "SubscriptionsListenResult" => same::<SubscriptionsListenResult>,
        "Tool" => same::<Tool>,
        "ToolResultContent" | "ToolUseContent" => same::<SamplingContent>,
        other => panic!("no type for the example {other}"),
    };
    judge(value, path);
}

// covers: SCHEMA-CONTENT-UNION
#[test]
fn examples_of_the_specification_round_trip() {
    let directory = contexture_judge::directory().join("examples/2026-07-28");
    let Ok(kinds) = std::fs::read_dir(&directory) else {
        contexture_judge::tell(format_args!(
            "NOT VALIDATED: no examples in {}; set MCP_SCHEMA_DIR",
            directory.display()
        ));
        return;
    };
    let mut count = 0;
    for kind in kinds {
        let kind = kind.expect("readable").path();
        let name = kind.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        for example in std::fs::read_dir(&kind).expect("a directory") {
            let path = example.expect("readable").path();
            let text = std::fs::read_to_string(&path).expect("readable");
            check(&name, serde_json::from_str(&text).expect("JSON"), &path);
            count += 1;
        }
    }
    contexture_judge::tell(format_args!("{count} examples round-trip"));
    assert!(count > 100);
}
