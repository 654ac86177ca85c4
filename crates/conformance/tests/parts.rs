//! The client's parts, without the suite: each against a server that has the tools of its scenario and keeps
//! what it was called with.

use std::sync::{Arc, Mutex};

use contexture::model::{BooleanSchema, ElicitSchema, EnumSchema, NumberSchema, StringSchema};
use contexture::revision::Revision;
use contexture::server::Uri;
use contexture::testing::connect_with;
use contexture::{Args, Context, Error, Server, prompt, resource, tool};
use contexture_conformance::client::{Part, Scenario};
use serde_json::{Map, Value, json};

/// What the server was called with.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, Value)>>>);

impl Seen {
    fn note(&self, name: &str, what: impl Into<Value>) {
        self.0.lock().unwrap().push((name.to_owned(), what.into()));
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    fn last(&self) -> Value {
        self.0.lock().unwrap().last().unwrap().1.clone()
    }
}

/// A server with tools that take anything.
fn taking(seen: &Seen, names: &[&'static str]) -> Server {
    names.iter().copied().fold(Server::new("suite", "0"), |server, name| {
        let seen = seen.clone();
        server.tool(tool(name).handler(move |Args(arguments): Args<Map<String, Value>>| {
            seen.note(name, arguments);
            async { "done" }
        }))
    })
}

async fn play(scenario: &str, context: Value, server: impl Fn() -> Server) {
    let (name, scenario) = (scenario, Scenario::parse(scenario).unwrap());
    for revision in [Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN] {
        let part = Part { name: name.to_owned(), scenario, revision, context: context.clone() };
        let builder = part.client().unwrap().revisions(&[revision]);
        let client = connect_with(server(), builder).await.unwrap();
        assert_eq!(client.revision(), revision);
        part.play(&client).await.unwrap();
    }
}

#[tokio::test]
async fn two_numbers_are_added() {
    let seen = Seen::default();
    play("tools_call", Value::Null, || taking(&seen, &["add_numbers"])).await;
    assert_eq!(seen.last(), json!({ "a": 5, "b": 3 }));
}

#[tokio::test]
async fn a_form_is_accepted_with_its_defaults() {
    let seen = Seen::default();
    let server = || {
        let seen = seen.clone();
        let ask = move |context: Context| {
            let seen = seen.clone();
            async move {
                let form = ElicitSchema::new()
                    .optional("name", StringSchema::new().default_value("John Doe"))
                    .required("age", NumberSchema::integer().default_value(30))
                    .optional("status", EnumSchema::new(["active", "pending"]).default_value("active"))
                    .required("confirmed", BooleanSchema::new());
                let answer = context.elicit_form("form", "Please", form).await?;
                seen.note("form", serde_json::to_value(answer).unwrap());
                Ok::<_, Error>("thanks")
            }
        };
        Server::new("suite", "0").tool(tool("test_client_elicitation_defaults").handler(ask))
    };
    play("elicitation-sep1034-client-defaults", Value::Null, server).await;
    let expected = json!({ "name": "John Doe", "age": 30, "status": "active", "confirmed": true });
    assert_eq!(seen.last(), expected);
}

#[tokio::test]
async fn a_schema_comes_back_as_it_was() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "a": { "$anchor": "b", "type": "string" } },
        "properties": { "a": { "$ref": "#/$defs/a" } },
        "if": { "required": ["a"] },
        "then": { "minProperties": 1 },
        "additionalProperties": false
    });
    let seen = Seen::default();
    let server = || {
        let odd = tool("json_schema_2020_12_tool").input_schema(schema.as_object().unwrap().clone());
        taking(&seen, &["json_schema_echo"]).tool(odd.handler(|| async { "never called" }))
    };
    play("json-schema-2020-12-preservation", Value::Null, server).await;
    assert_eq!(seen.last(), json!({ "schema": schema }));
}

#[tokio::test]
async fn every_kind_of_request_is_made() {
    let seen = Seen::default();
    let server = || {
        let (read, asked) = (seen.clone(), seen.clone());
        taking(&seen, &["test_headers", "my-hyphenated-tool"])
            .resource(resource("test://example.com/resource?id=123").name("query").handler(
                move |Uri(uri): Uri| {
                    read.note("read", uri);
                    async { "content" }
                },
            ))
            .prompt(prompt("test_prompt").handler(move || {
                asked.note("prompt", Value::Null);
                async { "text" }
            }))
    };
    play("http-standard-headers", Value::Null, server).await;
    assert_eq!(seen.names()[..4], ["test_headers", "my-hyphenated-tool", "read", "prompt"]);
}

#[tokio::test]
async fn exactly_the_calls_that_are_listed_are_made() {
    let seen = Seen::default();
    let arguments = json!({ "region": " padded ", "verbose": null });
    let context =
        json!({ "name": "x", "toolCalls": [{ "name": "test_custom_headers", "arguments": arguments }] });
    play("http-custom-headers", context, || taking(&seen, &["test_custom_headers", "other"])).await;
    assert_eq!(seen.names(), ["test_custom_headers", "test_custom_headers"]);
    assert_eq!(seen.last(), arguments);
}
