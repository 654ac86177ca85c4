//! `call`: one tool, once.
//!
//! Arguments that the tool's own schema refuses are not sent, unless they are to go unchecked.

use std::io::Read;
use std::process::ExitCode;

use contexture::client::ToolReply;
use contexture::model::{CallToolResult, JsonObject, Tool};
use contexture::{Client, Error};
use contexture_host::gateway::DENIED;
use serde::Serialize;

use super::{Told, hint, list, on_in, print, results};
use crate::arguments;
use crate::connect::Manner;
use crate::events::{Aside, emit};
use crate::exit::Failure;
use crate::nearest;
use crate::options::{Calling, Format, Words};
use crate::render::Page;
use crate::terminal::text::safe_line;

pub(super) fn run(calling: &Calling) -> ExitCode {
    let target = &calling.target;
    on_in(&Manner::with_events(target), Told::fails, target, calling.words(), |client, words| {
        call(client, words, calling)
    })
}

pub(super) async fn call(client: Client, mut words: Words, calling: &Calling) -> Result<(), Failure> {
    let target = &calling.target;
    let name = words.wanted("which tool to call")?;
    let wanted = Wanted { tool: &name, words: &words.rest(), unchecked: calling.unchecked };
    let base = calling.json.as_deref().map_or_else(|| Ok(JsonObject::new()), object)?;
    let tools = listed(&client).await?;
    let known = tools.iter().find(|known| known.name == wanted.tool);
    let arguments = arguments_for(base, &wanted, known)?;
    let call = client.call(wanted.tool, arguments);
    let reply = match call.on_progress(Aside::of(target.format).progress()).await {
        Ok(reply) => reply,
        // A tool that is not listed need not be missing; only the server can say.
        Err(error) => {
            let names = tools.iter().map(|tool| tool.name.as_str());
            // One that is denied is not listed either; another one is not what was meant.
            let is_missing = known.is_none() && !is_denied(&error);
            let proposal = if is_missing { nearest::proposal(wanted.tool, names) } else { None };
            let failure = Failure::from(error);
            let hint = proposal.or_else(|| hint::capability(&failure.words(), target));
            return Err(failure.hint(hint));
        }
    };
    answered(&reply, calling)
}

/// Programs get the whole result, also of a tool that failed; people get its message, once.
fn answered(reply: &ToolReply, calling: &Calling) -> Result<(), Failure> {
    let target = &calling.target;
    results::said(&**reply);
    match target.format {
        Format::Text if reply.is_error() => {}
        Format::Text => {
            let mut page = Page::of_stdout(target.raw, calling.save.as_deref());
            let text = page.result(reply)?;
            print(target.format, &**reply, || text)?;
        }
        Format::Json => print(target.format, &**reply, String::new)?,
        Format::Ndjson => {
            emit("result", &Answer { result: reply })?;
        }
    }
    if !reply.is_error() {
        return Ok(());
    }
    let text = reply.text();
    let hint = hint::capability(&text, target);
    Err(Failure::tool(text).hint(hint))
}

#[derive(Serialize)]
struct Answer<'a> {
    result: &'a CallToolResult,
}

/// What to call, and with what.
struct Wanted<'a> {
    tool: &'a str,
    words: &'a [String],
    unchecked: bool,
}

/// Whether a gateway's policy is what stands in the way.
fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Remote(error) if error.code == DENIED)
}

fn arguments_for(base: JsonObject, wanted: &Wanted<'_>, known: Option<&Tool>) -> Result<JsonObject, Failure> {
    let schema = known.map(|tool| &tool.input_schema);
    let arguments = arguments::of_tool(base, wanted.words, schema).and_then(|arguments| {
        match schema.filter(|_| !wanted.unchecked) {
            Some(schema) => arguments::check(&arguments, schema).map(|()| arguments),
            None => Ok(arguments),
        }
    });
    arguments.map_err(|fault| {
        let signature =
            known.map(|tool| format!("{}({})", safe_line(&tool.name), list::parameters(&tool.input_schema)));
        Failure::usage(format!("{}: {fault}", wanted.tool)).hint(signature)
    })
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

/// The tools that the server lists. One that does not list any may have some.
async fn listed(client: &Client) -> Result<Vec<Tool>, Failure> {
    match client.tools().await.map_err(Error::from) {
        Err(Error::Remote(_) | Error::PeerIncompatible(_)) => Ok(Vec::new()),
        tools => Ok(tools?),
    }
}
