//! Tools that ask: the person, the model, and for the roots.
//!
//! None of them knows whether the question is a request of its own or a round of the call.

use contexture::model::{
    BooleanSchema, Content, CreateMessageParams, ElicitSchema, EnumSchema, NumberSchema, SamplingContent,
    SamplingMessage, StringFormat, StringSchema,
};
use contexture::{Args, Context, Error, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn register(server: Server) -> Server {
    let server = forms(server);
    server
        .tool(
            tool("ask_model")
                .description("Asks the client's model a question.")
                .read_only()
                .handler(ask_model),
        )
        .tool(
            tool("list_roots")
                .description("The directories that the client lets servers work in.")
                .read_only()
                .handler(list_roots),
        )
        .tool(
            tool("plan_trip")
                .description("Asks the person for a city and the client for its roots, both at once.")
                .read_only()
                .handler(plan_trip),
        )
        .tool(
            tool("visit")
                .description("Asks the person to visit a URL.")
                .destructive(false)
                .open_world(true)
                .handler(visit),
        )
}

fn forms(server: Server) -> Server {
    server.tool(tool("greet").description("Asks for a name and greets it.").read_only().handler(greet)).tool(
        tool("survey")
            .description("Asks the person to fill in a form with every kind of field.")
            .read_only()
            .handler(survey),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// How to greet, for example "Hello".
    greeting: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What people call you.
    name: String,
}

async fn greet(context: Context, Args(Greet { greeting }): Args<Greet>) -> Result<String, Error> {
    let who: Name = context.elicit("who", "Whom shall I greet?").await?;
    Ok(format!("{greeting}, {}!", who.name))
}

async fn survey(context: Context) -> Result<String, Error> {
    let form = ElicitSchema::new()
        .required(
            "email",
            StringSchema::new().title("E-mail").description("Where to reach you").format(StringFormat::Email),
        )
        .required("age", NumberSchema::integer().title("Age").minimum(0).maximum(150))
        .optional("height", NumberSchema::new().title("Height").description("In metres"))
        .optional("newsletter", BooleanSchema::new().title("Newsletter").default_value(false))
        .required("color", EnumSchema::new(["red", "green", "blue"]).title("Favourite colour"));
    let answers = context.elicit_form("survey", "A few questions", form).await?;
    serde_json::to_string(&answers).map_err(|error| Error::Invalid(error.to_string()))
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// What to ask.
    question: String,
}

async fn ask_model(context: Context, Args(Question { question }): Args<Question>) -> Result<String, Error> {
    let message = SamplingMessage::user(SamplingContent::text(question));
    let answer = context.sample("model", CreateMessageParams::new(vec![message], 100)).await?;
    let text = answer.content.as_slice().iter().filter_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    Ok(text.collect::<Vec<_>>().join("\n"))
}

async fn list_roots(context: Context) -> Result<Vec<Content>, Error> {
    let roots = context.roots("roots").await?;
    Ok(roots.iter().map(|root| Content::text(&root.uri)).collect())
}

#[derive(Deserialize, JsonSchema)]
struct Destination {
    /// Where to go.
    city: String,
}

async fn plan_trip(context: Context) -> Result<String, Error> {
    let (Destination { city }, roots) =
        tokio::try_join!(context.elicit("city", "Where do you want to go?"), context.roots("roots"))?;
    Ok(format!("A trip to {city}, planned in {} directories.", roots.len()))
}

#[derive(Deserialize, JsonSchema)]
struct Visit {
    /// Where to go.
    url: String,
}

/// Every failure is told to the model, also that the client does not know URLs: it can say so to the person.
async fn visit(context: Context, Args(Visit { url }): Args<Visit>) -> Result<String, String> {
    let asked = context.elicit_url("visit", "Please visit this page.", url.as_str()).await;
    asked.map(|()| format!("on the way to {url}")).map_err(|error| error.to_string())
}
