//! Tools whose questions the suite follows through input rounds, by the keys that it expects.
//!
//! They are ordinary handlers: what travels between two rounds, and what becomes of state that somebody
//! changed, is the library's business.

use contexture::model::{BooleanSchema, ElicitSchema, Root, StringSchema};
use contexture::server::ToolEntry;
use contexture::{Context, Error, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::asks::{question, text};

pub(super) fn register(server: Server) -> Server {
    let entries = [
        named("elicitation").description("Asks for a name.").handler(elicitation),
        named("sampling").description("Asks the model.").handler(sampling),
        named("list_roots").description("Asks for the roots.").handler(list_roots),
        named("request_state").description("Asks, and keeps something meanwhile.").handler(request_state),
        named("multiple_inputs").description("Asks three things at once.").handler(multiple_inputs),
        named("multi_round").description("Asks one thing after the other.").handler(multi_round),
        named("tampered_state").description("Asks, and notices changed state.").handler(tampered_state),
        named("capabilities").description("Asks only what the client can answer.").handler(capabilities),
    ];
    entries.into_iter().fold(server, |server, entry: ToolEntry| server.tool(entry))
}

fn named(what: &str) -> contexture::server::ToolBuilder {
    tool(format!("test_input_required_result_{what}"))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What people call you.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    /// The one that you like best.
    color: String,
}

async fn elicitation(context: Context) -> Result<String, Error> {
    let Name { name } = context.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

async fn sampling(context: Context) -> Result<String, Error> {
    let answer = context.sample("capital_question", question("What is the capital of France?")).await?;
    Ok(text(&answer))
}

async fn list_roots(context: Context) -> Result<String, Error> {
    let roots = context.roots("client_roots").await?;
    Ok(uris(&roots))
}

fn uris(roots: &[Root]) -> String {
    let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    format!("{} roots: {}", uris.len(), uris.join(", "))
}

fn confirmation() -> ElicitSchema {
    ElicitSchema::new().required("ok", BooleanSchema::new().description("Is that all right?"))
}

async fn request_state(context: Context) -> Result<String, Error> {
    let kept: String = context.once("kept", || async { "state-ok".to_owned() }).await;
    context.elicit_form("confirm", "Please confirm.", confirmation()).await?;
    Ok(format!("Confirmed: {kept}"))
}

async fn multiple_inputs(context: Context) -> Result<String, Error> {
    context.once("began", || async { true }).await;
    let (Name { name }, answer, roots) = tokio::try_join!(
        context.elicit("user_name", "What is your name?"),
        context.sample("greeting", question("Generate a greeting.")),
        context.roots("client_roots"),
    )?;
    Ok(format!("{name}: {}; {}", text(&answer), uris(&roots)))
}

async fn multi_round(context: Context) -> Result<String, Error> {
    context.once("began", || async { true }).await;
    let Name { name } = context.elicit("step1", "What is your name?").await?;
    let Color { color } = context.elicit("step2", "What is your favourite colour?").await?;
    Ok(format!("{name} likes {color}."))
}

async fn tampered_state(context: Context) -> Result<String, Error> {
    context.once("began", || async { true }).await;
    context.elicit_form("confirm", "Please confirm.", confirmation()).await?;
    Ok("Confirmed, and the state is as it was.".to_owned())
}

async fn capabilities(context: Context) -> Result<String, Error> {
    let can = &context.peer().capabilities;
    let (has_model, has_person, has_roots) =
        (can.sampling.is_some(), can.elicitation.is_some(), can.roots.is_some());
    let form = ElicitSchema::new().required("name", StringSchema::new());
    tokio::try_join!(
        async {
            if has_model {
                context.sample("model", question("Say something.")).await.map(drop)
            } else {
                Ok(())
            }
        },
        async {
            if has_person {
                context.elicit_form("person", "Your name?", form).await.map(drop)
            } else {
                Ok(())
            }
        },
        async { if has_roots { context.roots("roots").await.map(drop) } else { Ok(()) } },
    )?;
    Ok("Asked all that could be asked.".to_owned())
}
