//! Lowered samples of everything that we send are valid in every revision, and hold nothing else.

use contexture_core::model::*;
use contexture_core::revision::{Lower, Revision, Rules};
use serde::Serialize;
use serde_json::{Value, json};

use super::samples::*;
use contexture_judge::{Judge, tell};

struct Bench {
    judge: std::sync::Arc<Judge>,
    rules: &'static Rules,
    checked: usize,
}

impl Bench {
    fn lowered(&self, value: &mut (impl Lower + Serialize)) -> Value {
        value.lower(self.rules);
        let encoded = serde_json::to_value(&*value).expect("encodes");
        assert!(!has_null(&encoded), "{}: null in {encoded:#}", self.rules.revision);
        encoded
    }

    /// A result or an object, by its definition; nothing to do if the revision has no such thing.
    fn object(&mut self, definition: &str, mut value: impl Lower + Serialize) {
        let encoded = self.lowered(&mut value);
        if self.judge.has(definition) {
            self.judge.check(definition, &encoded);
            self.checked += 1;
        }
    }

    /// Parameters of a request or notification.
    fn params(&mut self, message: &str, mut value: impl Lower + Serialize, is_request: bool) {
        let mut encoded = self.lowered(&mut value);
        let Some(path) = self.judge.params_path(message) else { return };
        if is_request && !self.rules.has_server_requests {
            encoded["_meta"] = json!({
                key::PROTOCOL_VERSION: self.rules.revision.as_str(),
                key::CLIENT_CAPABILITIES: {},
            });
        }
        self.judge.check(&path, &encoded);
        self.checked += 1;
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        // The lifetime of a task is the one member that the schema wants as null.
        Value::Object(members) => members.iter().any(|(name, value)| name != "ttl" && has_null(value)),
        Value::Array(items) => items.iter().any(has_null),
        _ => false,
    }
}

fn every_revision(test: impl Fn(&mut Bench)) {
    for revision in Revision::ALL {
        let Some(judge) = Judge::of(revision.as_str()) else { continue };
        let mut bench = Bench { judge, rules: revision.rules(), checked: 0 };
        test(&mut bench);
        tell(format_args!("{revision}: {} samples valid", bench.checked));
        assert!(bench.checked > 0);
    }
}

// covers: SCHEMA-INIT-RESULT, SCHEMA-IMPLEMENTATION
#[test]
fn introductions() {
    every_revision(|bench| {
        let capabilities = client_capabilities();
        let protocol_version = bench.rules.revision.to_string();
        let initialize = InitializeParams {
            protocol_version: protocol_version.clone(),
            capabilities: capabilities.clone(),
            client_info: implementation(),
            meta: None,
        };
        bench.params("InitializeRequest", initialize, true);
        let result = InitializeResult {
            protocol_version: protocol_version.clone(),
            capabilities: server_capabilities(),
            server_info: implementation(),
            instructions: Some("Be kind.".to_owned()),
            meta: Some(meta()),
        };
        bench.object("InitializeResult", result);
        let mut discovered = DiscoverResult {
            supported_versions: vec![protocol_version],
            capabilities: server_capabilities(),
            meta: Some(Meta::new()),
            ..Default::default()
        };
        discovered.meta.as_mut().expect("set").set(key::SERVER_INFO, implementation());
        bench.object("DiscoverResult", discovered);
        bench.object("ClientCapabilities", capabilities);
        bench.object("ServerCapabilities", server_capabilities());
        bench.object("Implementation", implementation());
    });
}

// covers: SCHEMA-TOOL, SCHEMA-TOOL-RESULT-CONTENT, SCHEMA-LIST-RESULTS, SCHEMA-CONTENT-UNION-2024
#[test]
fn tools() {
    every_revision(|bench| {
        bench.object("Tool", tool());
        bench.object("Tool", Tool::new("bare", JsonObject::new()));
        bench.object("ListToolsResult", ListToolsResult::default());
        let page = ListToolsResult {
            tools: vec![tool()].into(),
            next_cursor: Some("2".to_owned()),
            meta: Some(meta()),
            ..Default::default()
        };
        bench.object("ListToolsResult", page);
        bench.object("CallToolResult", call_result());
        bench.object("CallToolResult", CallToolResult::default());
        let mut call = CallToolParams::new("count");
        let arguments = serde_json::value::to_raw_value(&json!({ "n": 3 })).expect("encodes");
        call.arguments = Some(&arguments);
        call.input_responses = Some(InputResponses::default());
        call.request_state = Some("sealed".to_owned());
        call.task = Some(TaskMetadata { ttl: Some(1) });
        bench.params("CallToolRequest", call, true);
    });
}

// covers: SCHEMA-RESOURCE, SCHEMA-RESOURCE-CONTENTS, SCHEMA-PROMPT, SCHEMA-COMPLETE, SCHEMA-LIST-RESULTS
#[test]
fn offers() {
    every_revision(|bench| {
        bench.object("Resource", resource());
        bench.object("ResourceTemplate", template());
        bench.object("Prompt", prompt());
        bench.object("ListResourcesResult", ListResourcesResult::default());
        let page = ListResourcesResult { resources: vec![resource()].into(), ..Default::default() };
        bench.object("ListResourcesResult", page);
        let page =
            ListResourceTemplatesResult { resource_templates: vec![template()].into(), ..Default::default() };
        bench.object("ListResourceTemplatesResult", page);
        let page = ListPromptsResult { prompts: vec![prompt()].into(), ..Default::default() };
        bench.object("ListPromptsResult", page);
        let contents = vec![
            ResourceContents::text("file:///a", "a").mime_type("text/plain").meta(meta()),
            ResourceContents::blob("file:///b", [1, 2]).meta(meta()),
        ];
        bench.object("ReadResourceResult", ReadResourceResult::new(contents));
        let messages = content().into_iter().map(PromptMessage::user).collect();
        let description = Some("Greets".to_owned());
        bench.object("GetPromptResult", GetPromptResult { description, ..GetPromptResult::new(messages) });
        let completion = Completion::new(["a", "b"]);
        bench.object("CompleteResult", CompleteResult { completion, ..Default::default() });
        let roots = vec![Root::new("file:///a").name("A").meta(meta())].into();
        bench.object("ListRootsResult", ListRootsResult { roots, meta: Some(meta()) });
        bench.object("EmptyResult", EmptyResult::default());
    });
}

// covers: SCHEMA-COMPLETE, SCHEMA-CURSOR-STRING
#[test]
fn requests_of_clients() {
    every_revision(|bench| {
        let page = PaginatedParams { cursor: Some("2".to_owned()), meta: None };
        bench.params("ListToolsRequest", page.clone(), true);
        bench.params("ListResourcesRequest", page, true);
        let read = ReadResourceParams { uri: "file:///a".to_owned(), ..Default::default() };
        bench.params("ReadResourceRequest", read, true);
        let get = GetPromptParams {
            name: "greet".to_owned(),
            arguments: Some([("who".to_owned(), "you".to_owned())].into()),
            input_responses: Some(InputResponses::default()),
            request_state: Some("sealed".to_owned()),
            meta: None,
        };
        bench.params("GetPromptRequest", get, true);
        let complete = CompleteParams {
            reference: Reference::Prompt { name: "greet".to_owned(), title: Some("Greet".to_owned()) },
            argument: CompletionArgument { name: "who".to_owned(), value: "y".to_owned() },
            context: Some(CompletionContext { arguments: Some([("a".to_owned(), "b".to_owned())].into()) }),
            meta: None,
        };
        bench.params("CompleteRequest", complete, true);
        let subscribe = SubscribeParams { uri: "file:///a".to_owned(), meta: None };
        bench.params("SubscribeRequest", subscribe.clone(), true);
        bench.params("UnsubscribeRequest", subscribe, true);
        bench.params("SetLevelRequest", SetLevelParams { level: LoggingLevel::Info, meta: None }, true);
        let notifications = SubscriptionFilter { tools_list_changed: Some(true), ..Default::default() };
        let listen = SubscriptionsListenParams { notifications, meta: None };
        bench.params("SubscriptionsListenRequest", listen, true);
    });
}

// covers: SCHEMA-SAMPLING-REQUEST, SCHEMA-SAMPLING-RESULT, SCHEMA-SAMPLING-CONTENT, SCHEMA-ELICIT, ELIC-SCHEMA-FLAT
#[test]
fn asks_and_answers() {
    every_revision(|bench| {
        bench.params("CreateMessageRequest", create_message(), false);
        bench.object("CreateMessageResult", create_message_result());
        if bench.judge.has("ElicitRequestFormParams") {
            bench.object("ElicitRequestFormParams", elicit_form());
        } else {
            bench.params("ElicitRequest", elicit_form(), false);
        }
        if bench.rules.has_url_elicitation {
            let mut params = ElicitParams::url("Log in", "https://example.com/login");
            if let ElicitParams::Url(url) = &mut params {
                url.elicitation_id = Some("e".to_owned());
            }
            bench.object("ElicitRequestURLParams", params);
        }
        bench.object("ElicitResult", elicit_result());
        bench.object("ElicitResult", ElicitResult { content: Some([].into()), ..ElicitResult::decline() });
        let asks = InputRequests::from([
            ("a".to_owned(), InputRequest::Elicit(elicit_form())),
            ("b".to_owned(), InputRequest::CreateMessage(Box::new(create_message()))),
            ("c".to_owned(), InputRequest::ListRoots(None)),
        ]);
        bench.object("InputRequiredResult", InputRequiredResult::new(asks, Some("sealed".to_owned())));
    });
}

// covers: SCHEMA-NOTIFICATION-PARAMS, SCHEMA-LOG-MESSAGE, SCHEMA-RESOURCE-URI-PARAM
#[test]
fn notifications() {
    every_revision(|bench| {
        let progress = ProgressParams::new("t".into(), 1.0).total(2.0).message("Half way");
        bench.params("ProgressNotification", progress, false);
        bench.params("CancelledNotification", CancelledParams::new(1).reason("Too late"), false);
        let log = LoggingMessageParams::new(LoggingLevel::Info, json!({ "a": 1 })).logger("core");
        bench.params("LoggingMessageNotification", log, false);
        let mut updated = SubscribeParams { uri: "file:///a".to_owned(), meta: Some(Meta::new()) };
        updated.meta.as_mut().expect("set").set(key::SUBSCRIPTION_ID, 1);
        bench.params("ResourceUpdatedNotification", updated, false);
        bench.params("ToolListChangedNotification", EmptyParams::default(), false);
        bench.params(
            "SubscriptionsAcknowledgedNotification",
            SubscriptionsAcknowledgedParams::default(),
            false,
        );
        bench.object("SubscriptionsListenResult", SubscriptionsListenResult::new(&"s".into()));
        let complete = ElicitationCompleteParams { elicitation_id: "e".to_owned(), meta: None };
        bench.params("ElicitationCompleteNotification", complete, false);
    });
}

#[test]
fn tasks() {
    let Some(judge) = Judge::of(Revision::V2025_11_25.as_str()) else { return };
    let mut bench = Bench { judge, rules: Revision::V2025_11_25.rules(), checked: 0 };
    bench.object("CreateTaskResult", CreateTaskResult { task: task(), meta: None });
    bench.object("GetTaskResult", TaskResult { task: task(), meta: Some(meta()) });
    bench.params("TaskStatusNotification", TaskResult { task: task(), meta: None }, false);
    bench.object("ListTasksResult", ListTasksResult { tasks: vec![task()].into(), ..Default::default() });
    bench.params("GetTaskRequest", TaskParams { task_id: "t".to_owned(), meta: None }, false);
    assert_eq!(bench.checked, 5);
}
