//! `call`: one tool, once.

use std::io::Read;

use contexture::model::{JsonObject, ProgressParams};
use contexture::{Client, Error};

use super::{print, show};
use crate::arguments;
use crate::exit::Failure;
use crate::options::Target;
use crate::terminal::note;
use crate::terminal::text::safe_line;

pub(super) async fn call(
    client: Client,
    tool: &str,
    words: &[String],
    json: Option<&str>,
    target: &Target,
) -> Result<(), Failure> {
    let base = json.map_or_else(|| Ok(JsonObject::new()), object)?;
    let schema = if words.is_empty() { None } else { input_schema(&client, tool).await? };
    let arguments = arguments::of_tool(base, words, schema.as_ref()).map_err(Failure::usage)?;
    let reply = client.call(tool, arguments).on_progress(|progress| note(&progress_line(&progress))).await?;
    if reply.is_error() {
        // Programs get the whole result; people get the message, once.
        if target.format == crate::options::Format::Json {
            print(target.format, &*reply, String::new)?;
        }
        return Err(Failure::tool(reply.text()));
    }
    print(target.format, &*reply, || show::contents(&reply.content, target.raw))
}

fn object(json: &str) -> Result<JsonObject, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--json: {error}"));
    if json != "-" {
        return serde_json::from_str(json).map_err(|error| wrong(&error));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

/// How the tool wants its arguments; nothing if it is not listed, which need not mean that there is none.
async fn input_schema(client: &Client, tool: &str) -> Result<Option<JsonObject>, Failure> {
    let tools = client.tools().await.map_err(Error::from)?;
    Ok(tools.into_iter().find(|known| known.name == tool).map(|known| known.input_schema))
}

fn progress_line(progress: &ProgressParams) -> String {
    let mut line = format!("… {}", progress.progress);
    if let Some(total) = progress.total {
        line += &format!("/{total}");
    }
    if let Some(message) = &progress.message {
        line += &format!("  {}", safe_line(message));
    }
    line
}
