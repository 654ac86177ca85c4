//! `prompt`: the messages of a prompt.

use contexture::Client;
use contexture::model::{PromptMessage, Role};

use super::{print, show};
use crate::arguments;
use crate::exit::Failure;
use crate::options::Target;

pub(super) async fn prompt(
    client: Client,
    name: &str,
    words: &[String],
    target: &Target,
) -> Result<(), Failure> {
    let arguments = arguments::of_prompt(words).map_err(Failure::usage)?;
    let result = client.prompt(name, arguments).await?;
    print(target.format, &result, || {
        result.messages.iter().map(|message| spoken(message, target.raw)).collect()
    })
}

fn spoken(message: &PromptMessage, raw: bool) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    format!("{role}: {}\n", show::content(&message.content, raw))
}
