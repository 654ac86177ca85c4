//! What the programs offer, without the suite: every tool in every revision, and the keys that the suite
//! expects in input rounds.

use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::testing::{RawPeer, Side, Story, Transcript, stories};
use contexture_conformance::client::{Failure, Part, Scenario};
use contexture_conformance::server::server;
use contexture_judge::{From, Watch};
use serde_json::{Value, json};

fn part(scenario: Scenario) -> Part {
    Part { name: String::new(), scenario, revision: Revision::NEWEST_MODERN, context: Value::Null }
}

fn client() -> Builder {
    part(Scenario::Listing).client().unwrap()
}

/// Judges the server only: a form may ask for a number, but the published schema of 2025-11-25 lets a client
/// answer with whole ones alone, and this client accepts the default 95.5.
fn judge(told: &[(Revision, Transcript)]) {
    for (_, transcript) in told {
        let mut watch = Watch::new(From::Server);
        for entry in transcript.entries() {
            let from = if entry.from == Side::Server { From::Server } else { From::Client };
            watch.message(from, &entry.value());
        }
        assert!(watch.judged() > 0);
    }
}

/// Arguments for the tools that need some.
fn arguments(tool: &str) -> Value {
    match tool {
        "test_sampling" => json!({ "prompt": "Are you there?" }),
        "test_elicitation" => json!({ "message": "Who are you?" }),
        "test_custom_header" => json!({ "value": "Hello" }),
        "json_schema_2020_12_tool" => json!({ "email": "ada@example.com" }),
        _ => json!({}),
    }
}

#[tokio::test(start_paused = true)]
async fn every_tool_answers_in_every_revision() {
    let story = |Story { revision, client, .. }: Story| async move {
        let tools = client.tools().await.unwrap();
        assert_eq!(tools[0].name, "test_simple_text", "the suite calls the first tool without arguments");
        for tool in tools {
            assert!(tool.description.is_some_and(|text| !text.is_empty()), "{}", tool.name);
            let reply = client.call(&tool.name, arguments(&tool.name)).await.unwrap();
            let asks = reply.text().contains("this needs a client that supports");
            let fails = tool.name == "test_error_handling" || asks;
            assert_eq!(reply.is_error(), fails, "{} in {revision}: {}", tool.name, reply.text());
        }
        for prompt in client.prompts().await.unwrap() {
            let asks = prompt.name == "test_input_required_result_prompt";
            let arguments = prompt.arguments.iter().flatten().map(|it| (it.name.clone(), json!("test://x")));
            let filled = client.prompt(&prompt.name, Value::Object(arguments.collect())).await;
            assert!(asks || filled.is_ok_and(|it| !it.messages.is_empty()), "{} in {revision}", prompt.name);
        }
        for resource in client.resources().await.unwrap() {
            assert_eq!(client.read(resource.uri).await.unwrap().contents.len(), 1);
        }
        assert_eq!(client.read("test://template/123/data").await.unwrap().contents.len(), 1);
    };
    judge(&stories(server, client, story).await.unwrap());
}

fn modern(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST_MODERN.as_str(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

async fn first_round(tool: &str, capabilities: Value) -> Value {
    let mut peer = RawPeer::client_of(server());
    let name = format!("test_input_required_result_{tool}");
    let params = modern(json!({ "name": name, "arguments": {} }), &capabilities);
    peer.request("tools/call", params).await.unwrap()["result"].take()
}

#[tokio::test]
async fn questions_have_the_keys_that_the_suite_expects() {
    let all = json!({ "sampling": {}, "elicitation": {}, "roots": {} });
    for (tool, keys) in [
        ("elicitation", vec!["user_name"]),
        ("sampling", vec!["capital_question"]),
        ("list_roots", vec!["client_roots"]),
        ("request_state", vec!["confirm"]),
        ("multiple_inputs", vec!["client_roots", "greeting", "user_name"]),
        ("multi_round", vec!["step1"]),
        ("tampered_state", vec!["confirm"]),
        ("capabilities", vec!["model", "person", "roots"]),
    ] {
        let result = first_round(tool, all.clone()).await;
        let mut asked: Vec<&String> = result["inputRequests"].as_object().unwrap().keys().collect();
        asked.sort();
        assert_eq!(asked, keys, "{tool}: {result}");
        assert!(result["requestState"].is_string(), "{tool}: {result}");
    }
}

#[tokio::test]
async fn only_what_the_client_can_answer_is_asked() {
    let result = first_round("capabilities", json!({ "sampling": {} })).await;
    let asked = result["inputRequests"].as_object().unwrap();
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["model"]);
    assert_eq!(asked["model"]["method"], "sampling/createMessage");
}

#[test]
fn a_scenario_that_nobody_plays_is_unknown() {
    let variables = |scenario: &'static str| {
        move |name: &str| match name {
            "MCP_CONFORMANCE_SCENARIO" => Some(scenario.to_owned()),
            "MCP_CONFORMANCE_PROTOCOL_VERSION" => Some(Revision::NEWEST_LEGACY.to_string()),
            _ => None,
        }
    };
    assert_eq!(Part::read(variables("sse-retry")).unwrap().scenario, Scenario::Reconnection);
    assert!(matches!(Part::read(variables("sep-2640-client-no-prefetch")), Err(Failure::Unknown(_))));
    assert!(matches!(Part::read(|_| None), Err(Failure::Unknown(_))));
}
