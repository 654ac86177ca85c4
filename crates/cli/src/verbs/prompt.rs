//! `prompt`: the messages of a prompt.

use contexture::Client;
use contexture::model::{PromptMessage, Role};

use super::{list, print_each};
use crate::arguments;
use crate::exit::Failure;
use crate::nearest;
use crate::options::{Prompting, Words};
use crate::render::Page;

pub(super) async fn prompt(client: Client, mut words: Words, prompting: &Prompting) -> Result<(), Failure> {
    let target = &prompting.target;
    let name = words.wanted("which prompt to fill in")?;
    let arguments = arguments::of_prompt(&words.rest()).map_err(Failure::usage)?;
    let result = match client.prompt(&name, arguments).await {
        Ok(result) => result,
        Err(error) => return Err(Failure::from(error).hint(proposal(&client, &name).await)),
    };
    print_each(target.format, &result, &result.messages, || {
        let mut page = Page::of_stdout(target.raw, prompting.save.as_deref());
        result.messages.iter().map(|message| spoken(message, &mut page)).collect()
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

fn spoken(message: &PromptMessage, page: &mut Page<'_>) -> Result<String, Failure> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Ok(format!("{role}: {}\n", page.block(&message.content)?.trim_end_matches('\n')))
}
