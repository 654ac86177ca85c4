//! Prompts: text, a dialogue, and one with a picture.
//!
//! Arguments are inserted as they are; what they say is the model's business.

use contexture::model::{Content, PromptMessage, ResourceContents};
use contexture::{Args, Server, prompt};
use schemars::JsonSchema;
use serde::Deserialize;

use super::beginning_with;
use super::resources::LOGO;

const STYLES: &[&str] = &["formal", "friendly", "pirate"];
const LANGUAGES: &[&str] = &["rust", "ruby", "python", "typescript", "go"];

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Who is greeted.
    name: String,
    /// How: formal, friendly or pirate.
    style: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// What to look at.
    code: String,
    /// What it is written in.
    language: Option<String>,
}

pub(super) fn register(server: Server) -> Server {
    server
        .prompt(
            prompt("greeting")
                .title("Greeting")
                .description("Asks the model to greet somebody.")
                .handler(|Args(arguments)| async move { greeting(&arguments) }),
        )
        .complete_prompt("greeting", "style", beginning_with(STYLES))
        .prompt(
            prompt("review")
                .title("Code review")
                .description("Asks the model to review code.")
                .handler(|Args(arguments)| async move { review(&arguments) }),
        )
        .complete_prompt("review", "language", beginning_with(LANGUAGES))
        .prompt(
            prompt("illustrated")
                .title("Illustrated")
                .description("A prompt with a picture and a resource.")
                .handler(|| async { illustrated() }),
        )
}

fn greeting(Greeting { name, style }: &Greeting) -> String {
    match style {
        Some(style) => format!("Please greet {name} in a {style} style."),
        None => format!("Please greet {name}."),
    }
}

fn review(Review { code, language }: &Review) -> Vec<PromptMessage> {
    let language = language.as_deref().unwrap_or("");
    vec![
        PromptMessage::user(format!("Please review this code:\n\n```{language}\n{code}\n```")),
        PromptMessage::assistant("I will look at correctness first, then at clarity. Shall I be brief?"),
    ]
}

fn illustrated() -> Vec<PromptMessage> {
    let note = ResourceContents::text("demo://notes/beta", "note beta").mime_type("text/plain");
    vec![
        PromptMessage::user("What does this picture show, and does the note say the same?"),
        PromptMessage::user(Content::image(LOGO, "image/png")),
        PromptMessage::user(Content::resource(note)),
    ]
}
