//! `prompt`: the messages of a prompt.

use contexture::Client;
use contexture::model::{PromptMessage, Role};

use super::{list, print, show};
use crate::arguments;
use crate::exit::Failure;
use crate::nearest;
use crate::options::{Prompting, Words};

pub(super) async fn prompt(client: Client, mut words: Words, prompting: &Prompting) -> Result<(), Failure> {
    let target = &prompting.target;
    let name = words.wanted("which prompt to fill in")?;
    let arguments = arguments::of_prompt(&words.rest()).map_err(Failure::usage)?;
    let result = match client.prompt(&name, arguments).await {
        Ok(result) => result,
        Err(error) => return Err(Failure::from(error).hint(proposal(&client, &name).await)),
    };
    print(target.format, &result, || {
        result.messages.iter().map(|message| spoken(message, target.raw)).collect()
    })
}

/// What to ask for instead: the prompt as it wants to be filled in, or others.
async fn proposal(client: &Client, name: &str) -> Option<String> {
    let prompts = client.prompts().await.ok()?;
    match prompts.iter().find(|prompt| prompt.name == name) {
        Some(prompt) => Some(list::prompt_signature(prompt)),
        None => nearest::proposal(name, prompts.iter().map(|prompt| prompt.name.as_str())),
    }
}

fn spoken(message: &PromptMessage, raw: bool) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    format!("{role}: {}\n", show::content(&message.content, raw))
}
