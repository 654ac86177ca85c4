//! Results of other servers: untouched in the same revision, translated into any other.

use bytes::Bytes;
use contexture::model::{
    Annotations, CallToolResult, CompleteResult, Completion, Content, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Meta, Prompt, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use contexture::revision::{Lower, Revision};
use contexture::server::{Operation, Reply};
use serde::Serialize;
use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

fn revision(date: &str) -> Revision {
    Revision::parse(date).expect("a revision")
}

/// What a server of this revision would have answered.
fn given(mut result: impl Lower + Serialize, from: &str) -> Value {
    result.lower(revision(from).rules());
    serde_json::to_value(&result).expect("JSON")
}

fn meta() -> Meta {
    serde_json::from_value(json!({ "example.com/kept": 1 })).expect("metadata")
}

fn called() -> CallToolResult {
    let link: Content = serde_json::from_value(
        json!({ "type": "resource_link", "uri": "note://1", "name": "one", "title": "One" }),
    )
    .expect("a link");
    let mut result = CallToolResult::structured(&json!({ "sum": 3 })).expect("structured");
    result.content.extend([
        Content::image([1, 2, 3], "image/png"),
        Content::audio([1, 2, 3], "audio/wav"),
        link,
        Content::resource(ResourceContents::text("note://2", "two")),
        Content::text("marked").annotations(Annotations::default()),
    ]);
    result.meta = Some(meta());
    result
}

fn tools() -> ListToolsResult {
    let tool = json!({ "name": "add", "title": "Add", "description": "adds", "inputSchema": { "type": "object",
        "properties": { "any": true } }, "outputSchema": { "type": "array" }, "annotations": { "readOnlyHint": true },
        "_meta": { "example.com/kept": 1 } });
    let tools = serde_json::from_value(json!([tool])).expect("tools");
    ListToolsResult { tools, ..ListToolsResult::default() }
}

/// One result of every kind, with how it is asked for.
fn every(from: &str) -> Vec<(&'static str, Value, Value)> {
    let prompts = vec![Prompt::new("p").title("P")].into();
    let prompts = ListPromptsResult { prompts, ..ListPromptsResult::default() };
    let resources = vec![Resource::new("note://1", "one").title("One")].into();
    let resources = ListResourcesResult { resources, ..ListResourcesResult::default() };
    let resource_templates = vec![ResourceTemplate::new("note://{n}", "n")].into();
    let templates =
        ListResourceTemplatesResult { resource_templates, ..ListResourceTemplatesResult::default() };
    let prompt = GetPromptResult::new(vec![PromptMessage::user(Content::text("hello"))]);
    let read = ReadResourceResult::new(vec![ResourceContents::text("note://1", "one").meta(meta())]);
    let completed = CompleteResult { completion: Completion::new(["a", "b"]), ..CompleteResult::default() };
    let completing =
        json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "x", "value": "" } });
    vec![
        ("tools/call", json!({ "name": "add", "arguments": {} }), given(called(), from)),
        ("tools/list", json!({}), given(tools(), from)),
        ("prompts/list", json!({}), given(prompts, from)),
        ("resources/list", json!({}), given(resources, from)),
        ("resources/templates/list", json!({}), given(templates, from)),
        ("prompts/get", json!({ "name": "p" }), given(prompt, from)),
        ("resources/read", json!({ "uri": "note://1" }), given(read, from)),
        ("completion/complete", completing, given(completed, from)),
    ]
}

/// Passes on whatever a test puts there: JSON text and a revision.
fn passing(result: impl Into<String>, from: &str) -> Elsewhere {
    let (result, from) = (Bytes::from(result.into()), revision(from));
    Elsewhere::new(move |_: Operation| {
        let result = result.clone();
        async move { Ok(Reply::Forwarded { result, from }) }
    })
}

#[tokio::test]
async fn every_result_goes_from_every_revision_to_every_other() {
    for from in ALL {
        for to in ALL {
            for (method, params, result) in every(from) {
                let mut peer = Spoken::to(passing(result.to_string(), from).server(), to, json!({})).await;
                // Its schema judges the answer when the peer is dropped.
                let answer = peer.ask(method, params).await;
                let got = &answer["result"];
                if from == to {
                    assert_eq!(*got, result, "{method} {from}");
                    continue;
                }
                assert_eq!(got.get("resultType").is_some(), to == MODERN, "{method} {from} {to}: {answer}");
                if method == "tools/call" {
                    assert_eq!(text_of(&answer), r#"{"sum":3}"#);
                    assert_eq!(got["_meta"]["example.com/kept"], 1);
                } else {
                    let cached = !matches!(method, "prompts/get" | "completion/complete");
                    assert_eq!(got.get("ttlMs").is_some(), cached && to == MODERN, "{method} {from} {to}");
                }
            }
        }
    }
}

/// What was sent as the result, to the byte.
async fn raw_result(server: contexture::Server, to: &'static str) -> String {
    let mut peer = Spoken::to(server, to, json!({})).await;
    let answer = peer.call("any", json!({})).await;
    let lines = peer.transcript().entries();
    let line = lines.last().expect("an answer").message.get().to_owned();
    let (_, result) = line.split_once(r#""result":"#).unwrap_or_else(|| panic!("{answer}"));
    result.strip_suffix('}').expect("the end of a message").to_owned()
}

#[tokio::test]
async fn the_same_revision_gets_the_same_bytes() {
    for to in ALL {
        let stamp = if to == MODERN { r#""resultType":"complete","# } else { "" };
        let text = format!(
            r#"{{{stamp}"content":[{{"type":"text","text":"\u0041\/é"}}] , "isError" : false,"_meta":{{"x/y":1.50e2}}}}"#
        );
        assert_eq!(raw_result(passing(&*text, to).server(), to).await, text, "{to}");
    }
}

#[tokio::test]
async fn a_result_of_many_lines_stays_one_message() {
    for to in ALL {
        let mut result = given(CallToolResult::text("line\nline"), to);
        result["_meta"] = json!({ "example.com/x": ["a", "b"] });
        let text = serde_json::to_string_pretty(&result).expect("JSON").replace('\n', "\r\n");
        let mut peer = Spoken::to(passing(text, to).server(), to, json!({})).await;
        assert_eq!(peer.call("any", json!({})).await["result"], result, "{to}");
        assert_eq!(text_of(&peer.call("any", json!({})).await), "line\nline");
    }
}

/// A result with structured content that older revisions have to wrap.
fn structured(value: Value) -> String {
    json!({ "resultType": "complete", "structuredContent": value,
        "content": [{ "type": "text", "text": "mirror" }] })
    .to_string()
}

#[tokio::test]
async fn structured_content_is_wrapped_as_the_schema_of_its_tool_says() {
    let any_of = json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] });
    let cases = [
        (json!([1, 2]), json!({ "type": "array" }), json!({ "result": [1, 2] })),
        // The list told the client of an object with a `result`, so it must get one.
        (json!({ "a": 1 }), any_of, json!({ "result": { "a": 1 } })),
        (json!({ "a": 1 }), json!({ "type": "object" }), json!({ "a": 1 })),
    ];
    for (value, schema, wrapped) in cases {
        for to in LEGACY {
            let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema });
            let server = passing(structured(value.clone()), MODERN).tool(tool).server();
            let mut peer = Spoken::to(server, to, json!({})).await;
            let answer = peer.call("t", json!({})).await;
            let expected = if to < "2025-06-18" { Value::Null } else { wrapped.clone() };
            assert_eq!(answer["result"]["structuredContent"], expected, "{to}");
            assert_eq!(text_of(&answer), "mirror");
        }
    }
}

#[tokio::test]
async fn what_is_no_result_is_blamed_on_the_server_behind() {
    let broken = [
        (LEGACY[3], "{\"content\":\"no list\"}"),
        (LEGACY[3], "[]"),
        (LEGACY[3], "{"),
        (LEGACY[3], ""),
        (MODERN, "{\"resultType\":\"input_required\",\"requestState\":\"x\"}"),
        (MODERN, "{\"resultType\":\"task\",\"content\":[]}"),
    ];
    for to in ALL {
        for (from, text) in broken {
            if from == to {
                continue;
            }
            let mut peer = Spoken::to(passing(text, from).server(), to, json!({})).await;
            let answer = peer.call("any", json!({})).await;
            assert_eq!(answer["error"]["code"], -32603, "{from} {to} {text}: {answer}");
            let message = answer["error"]["message"].as_str().expect("a message");
            assert!(message.contains("server behind this one"), "{message}");
        }
        let mut peer = Spoken::to(passing("[1]", to).server(), to, json!({})).await;
        assert_eq!(peer.call("any", json!({})).await["error"]["code"], -32603, "{to}");
    }
}
