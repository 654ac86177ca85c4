//! Prompts: text, arguments, a resource, a picture, and one that asks first.

use contexture::model::{Content, PromptMessage, ResourceContents};
use contexture::server::Choices;
use contexture::{Args, Context, Error, Server, prompt};
use schemars::JsonSchema;
use serde::Deserialize;

use super::PNG;

const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

pub(super) fn register(server: Server) -> Server {
    server
        .prompt(
            prompt("test_simple_prompt")
                .description("Text without arguments.")
                .handler(|| async { "This is a simple prompt for testing." }),
        )
        .prompt(
            prompt(WITH_ARGUMENTS)
                .description("Text with two arguments.")
                .handler(|Args(two)| async move { with_arguments(&two) }),
        )
        .complete_prompt(WITH_ARGUMENTS, "arg1", Choices::new(["test", "testing", "paris"]))
        .complete_prompt(WITH_ARGUMENTS, "arg2", Choices::new(["value", "another value"]))
        .prompt(
            prompt("test_prompt_with_embedded_resource")
                .description("A resource that the caller names.")
                .handler(|Args(named)| async move { with_resource(named) }),
        )
        .prompt(prompt("test_prompt_with_image").description("A picture.").handler(|| async { with_image() }))
        .prompt(
            prompt("test_input_required_result_prompt")
                .description("Asks the person for context first.")
                .handler(after_asking),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// The first.
    arg1: String,
    /// The second.
    arg2: String,
}

fn with_arguments(Two { arg1, arg2 }: &Two) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Named {
    /// The URI of the resource.
    resource_uri: String,
}

fn with_resource(Named { resource_uri }: Named) -> Vec<PromptMessage> {
    let text = "Embedded resource content for testing.";
    let resource = ResourceContents::text(resource_uri, text).mime_type("text/plain");
    vec![
        PromptMessage::user(Content::resource(resource)),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

fn with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Background {
    /// What the model should know.
    context: String,
}

async fn after_asking(context: Context) -> Result<String, Error> {
    let background: Background =
        context.elicit("user_context", "What context should the prompt use?").await?;
    Ok(format!("Use this context: {}", background.context))
}
