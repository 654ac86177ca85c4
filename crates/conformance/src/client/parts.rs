//! One part for each scenario: the calls that the suite's server waits for.

use contexture::model::Tool;
use contexture::{Client, Error};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Part;

/// What can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Connect, and see which tools there are, if any.
    Listing,
    /// Add two numbers.
    ToolsCall,
    /// Call a tool that asks, and accept its defaults.
    ElicitationDefaults,
    /// Call a tool whose answer comes on another stream.
    Reconnection,
    /// Give a schema back as it came.
    SchemaPreservation,
    /// Call tools that answer in one round, in two, and with and without state.
    RequestState,
    /// Make requests of every kind that has headers of its own.
    StandardHeaders,
    /// Make the calls that the scenario lists.
    CustomHeaders,
    /// Call every tool that is left when those with impossible headers are dropped.
    InvalidToolHeaders,
    /// Use a server that wants a login.
    Protected,
}

impl Scenario {
    /// By the suite's name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "initialize" | "request-metadata" | "json-schema-ref-no-deref" => Self::Listing,
            "tools_call" => Self::ToolsCall,
            "elicitation-sep1034-client-defaults" => Self::ElicitationDefaults,
            "sse-retry" => Self::Reconnection,
            "json-schema-2020-12-preservation" => Self::SchemaPreservation,
            "sep-2322-client-request-state" => Self::RequestState,
            "http-standard-headers" => Self::StandardHeaders,
            "http-custom-headers" => Self::CustomHeaders,
            "http-invalid-tool-headers" => Self::InvalidToolHeaders,
            name if name.starts_with("auth/") => Self::Protected,
            _ => return None,
        })
    }
}

impl Part {
    /// Plays the part with a client that is connected, and closes it.
    ///
    /// # Errors
    /// When the client found another era than the one that the suite speaks, or the server does not do its part.
    pub async fn play(&self, client: &Client) -> contexture::Result<()> {
        if client.era() != self.revision.era() {
            let (found, meant) = (client.revision(), self.revision);
            return Err(Error::Invalid(format!("the client found {found} where the suite speaks {meant}")));
        }
        let played = match self.scenario {
            Scenario::Listing => listing(client).await,
            Scenario::ToolsCall => tools_call(client).await,
            Scenario::ElicitationDefaults => call_listed(client, "test_client_elicitation_defaults").await,
            Scenario::Reconnection => call_listed(client, "test_reconnection").await,
            Scenario::SchemaPreservation => schema_preservation(client).await,
            Scenario::RequestState => request_state(client).await,
            Scenario::StandardHeaders => standard_headers(client).await,
            Scenario::CustomHeaders => custom_headers(client, &self.context).await,
            Scenario::InvalidToolHeaders => invalid_tool_headers(client).await,
            Scenario::Protected => call_listed(client, "test-tool").await,
        };
        client.close().await;
        played
    }
}

/// Some of the suite's servers offer nothing; those are only asked whether they are there.
async fn listing(client: &Client) -> contexture::Result<()> {
    if client.server_capabilities().tools.is_some() {
        client.tools().await?;
    }
    client.ping().await
}

async fn tools_call(client: &Client) -> contexture::Result<()> {
    client.tools().await?;
    client.call("add_numbers", json!({ "a": 5, "b": 3 })).await?.ok().map(drop)
}

async fn call_listed(client: &Client, name: &str) -> contexture::Result<()> {
    let tools = client.tools().await?;
    listed(&tools, name)?;
    client.call(name, json!({})).await?.ok().map(drop)
}

fn listed<'a>(tools: &'a [Tool], name: &str) -> contexture::Result<&'a Tool> {
    let missing = || Error::Invalid(format!("the suite's server does not list the tool {name:?}"));
    tools.iter().find(|tool| tool.name == name).ok_or_else(missing)
}

async fn schema_preservation(client: &Client) -> contexture::Result<()> {
    let tools = client.tools().await?;
    let schema = &listed(&tools, "json_schema_2020_12_tool")?.input_schema;
    client.call("json_schema_echo", json!({ "schema": schema })).await.map(drop)
}

async fn request_state(client: &Client) -> contexture::Result<()> {
    client.tools().await?;
    for tool in
        ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"]
    {
        client.call(tool, json!({})).await?.ok()?;
    }
    Ok(())
}

async fn standard_headers(client: &Client) -> contexture::Result<()> {
    for tool in client.tools().await? {
        client.call(tool.name, json!({})).await?.ok()?;
    }
    for resource in client.resources().await? {
        client.read(resource.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.prompt(prompt.name, json!({})).await?;
    }
    Ok(())
}

/// What the scenario adds: exactly these calls.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

async fn custom_headers(client: &Client, context: &Value) -> contexture::Result<()> {
    let calls = Calls::deserialize(context)
        .map_err(|error| Error::Invalid(format!("MCP_CONFORMANCE_CONTEXT names no calls: {error}")))?;
    client.tools().await?;
    for Call { name, arguments } in calls.tool_calls {
        client.call(name, arguments).await?.ok()?;
    }
    Ok(())
}

async fn invalid_tool_headers(client: &Client) -> contexture::Result<()> {
    for tool in client.tools().await? {
        client.call(tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}
