//! Tools that ask the model or the person one thing.

use std::collections::BTreeMap;

use contexture::model::{
    CreateMessageParams, CreateMessageResult, ElicitSchema, ElicitValue, SamplingContent, SamplingMessage,
    StringSchema,
};
use contexture::{Args, Context, Error, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn register(server: Server) -> Server {
    server
        .tool(tool("test_sampling").description("Asks the model what it is told to ask.").handler(sampling))
        .tool(
            tool("test_elicitation")
                .description("Asks the person for a name and an address.")
                .handler(elicitation),
        )
        .tool(
            tool("test_streaming_elicitation")
                .description("Asks the person for a name.")
                .handler(streaming_elicitation),
        )
        .tool(
            tool("test_missing_capability")
                .description("Needs a client with a model.")
                .handler(missing_capability),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// What to ask the model.
    prompt: String,
}

async fn sampling(context: Context, Args(Prompt { prompt }): Args<Prompt>) -> Result<String, Error> {
    let answer = context.sample("sampling", question(prompt)).await?;
    Ok(format!("LLM response: {}", text(&answer)))
}

/// One message to the model.
pub(super) fn question(text: impl Into<String>) -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(SamplingContent::text(text))], 100)
}

/// What the model said.
pub(super) fn text(answer: &CreateMessageResult) -> String {
    let texts = answer.content.as_slice().iter().filter_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What to tell the person.
    message: String,
}

async fn elicitation(context: Context, Args(Message { message }): Args<Message>) -> Result<String, Error> {
    let form = ElicitSchema::new()
        .required("username", StringSchema::new().description("What you are called"))
        .required("email", StringSchema::new().description("Where you are reached"));
    let answer = context.elicit_form("user", message, form).await;
    response(answer, "User response")
}

/// What the person decided, as text: a refusal is an answer, too.
pub(super) fn response(
    answer: Result<BTreeMap<String, ElicitValue>, Error>,
    said: &str,
) -> Result<String, Error> {
    let (action, content) = match answer {
        Ok(content) => ("accept", content),
        Err(Error::Declined) => ("decline", BTreeMap::new()),
        Err(Error::Dismissed) => ("cancel", BTreeMap::new()),
        Err(other) => return Err(other),
    };
    let content = serde_json::to_string(&content).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(format!("{said}: action={action}, content={content}"))
}

async fn streaming_elicitation(context: Context) -> Result<String, Error> {
    let form = ElicitSchema::new().required("name", StringSchema::new().description("What you are called"));
    response(context.elicit_form("name", "What is your name?", form).await, "User response")
}

async fn missing_capability(context: Context) -> Result<String, Error> {
    let answer = context.sample("model", question("Are you there?")).await?;
    Ok(format!("LLM response: {}", text(&answer)))
}
