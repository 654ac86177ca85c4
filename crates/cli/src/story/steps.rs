//! The steps of the story, each a piece of the protocol.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use contexture::model::{ProgressParams, ResourceContents, ServerCapabilities};
use contexture::revision::Revision;
use contexture::{Client, Error};
use serde_json::{Value, json};

use super::page::{Page, Stop};
use super::{meet, somebody_or_the_world};
use crate::terminal::text::safe_line;

/// The server discovers nothing about us that a request does not carry.
pub(super) async fn handshake(page: &mut Page, somebody: bool) -> Result<Client, Stop> {
    page.step("Who is there?")?;
    let client = meet(page.transcript(), &Revision::ALL, somebody_or_the_world(somebody)).await?;
    let info = client.server_info();
    let name = info.as_ref().map_or_else(String::new, |info| format!("{} {}", info.name, info.version));
    page.result(&format!("{} speaks {}", safe_line(&name), client.revision()))?;
    page.say(&format!("and offers {}.", offers(&client.server_capabilities()).join(", ")))?;
    page.sent("server/discover")?;
    page.received(|message| message["result"].is_object())?;
    Ok(client)
}

fn offers(capabilities: &ServerCapabilities) -> Vec<String> {
    let capabilities = serde_json::to_value(capabilities).unwrap_or_default();
    capabilities.as_object().map(|known| known.keys().map(|key| safe_line(key)).collect()).unwrap_or_default()
}

pub(super) async fn lists(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("What can it do?")?;
    let tools = client.tools().await.map_err(Error::from)?;
    let resources = client.resources().await.map_err(Error::from)?;
    let templates = client.resource_templates().await.map_err(Error::from)?;
    let prompts = client.prompts().await.map_err(Error::from)?;
    page.result(&some("tools", tools.iter().map(|tool| tool.name.as_str())))?;
    page.result(&some("resources", resources.iter().map(|resource| resource.uri.as_str())))?;
    page.result(&some("templates", templates.iter().map(|template| template.uri_template.as_str())))?;
    page.result(&some("prompts", prompts.iter().map(|prompt| prompt.name.as_str())))?;
    page.sent("tools/list")?;
    page.received(|message| message["result"]["tools"].is_array())
}

/// The number of things, and the first of them.
fn some<'a>(what: &str, names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 6;
    let count = names.len();
    let mut shown: Vec<String> = names.take(SHOWN).map(safe_line).collect();
    if count > SHOWN {
        shown.push("…".to_owned());
    }
    format!("{count:>2} {what}: {}", shown.join(", "))
}

pub(super) async fn call(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("A model calls a tool; the client does it for the model.")?;
    let reply = client.call("echo", json!({ "message": "Hello, MCP" })).await?;
    page.result(&format!("echo \"Hello, MCP\" = {:?}", safe_line(&reply.text())))?;
    page.sent("tools/call")?;
    page.received(|message| message["result"].is_object())
}

pub(super) async fn structure(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("Results can be data, with a schema that the client checks.")?;
    let reply = client.call("weather", json!({ "city": "Lisbon" })).await?;
    let weather: Value = reply.structured()?;
    let (celsius, sky) = (&weather["celsius"], weather["sky"].as_str().unwrap_or_default());
    let checked = if reply.is_checked() { ", as its schema says" } else { "" };
    page.result(&format!("weather in Lisbon: {celsius} °C, {}{checked}", safe_line(sky)))?;
    page.received(|message| message["result"].is_object())
}

pub(super) async fn progress(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("Long work reports how far it is.")?;
    let heard: Arc<Mutex<Vec<ProgressParams>>> = Arc::default();
    let inbox = Arc::clone(&heard);
    let call = client.call("countdown", json!({ "steps": 5, "delay_ms": 40 }));
    let reply = call
        .on_progress(move |report| inbox.lock().unwrap_or_else(PoisonError::into_inner).push(report))
        .await?;
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    let bars: Vec<String> = heard.iter().map(bar).collect();
    page.result(&format!("{}  {}", bars.join(" "), safe_line(&reply.text())))?;
    page.received(|message| message["method"] == "notifications/progress")
}

fn bar(report: &ProgressParams) -> String {
    // The demo counts whole steps; whatever else came would not be drawn, only bounded.
    let done = report.progress.clamp(0.0, 8.0) as usize;
    let total = report.total.unwrap_or(0.0).clamp(0.0, 8.0) as usize;
    "█".repeat(done) + &"░".repeat(total.saturating_sub(done))
}

/// The server asks back in the middle of a call. In the modern era that is the call's own answer.
pub(super) async fn question(page: &mut Page, client: &Client, somebody: bool) -> Result<(), Stop> {
    page.step("A server may ask back: the person …")?;
    if somebody {
        page.say("The tool `greet` needs a name. You are the person:")?;
        // What is asked comes over standard error; what was printed must stand above it.
        std::io::stdout().flush().map_err(|error| Stop::Failed(error.into()))?;
    } else {
        page.say(
            "The tool `greet` needs a name. Standard input is no terminal, so the answer is \"world\".",
        )?;
    }
    let reply = client.call("greet", json!({ "greeting": "Hello" })).await?;
    page.result(&format!("greet = {:?}", safe_line(&reply.text())))?;
    page.received(|message| message["result"]["resultType"] == "input_required")?;
    page.answered()?;
    page.say("… and in the same way the model (sampling) or which directories to work in (roots).")
}

pub(super) async fn resource(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("Data to read, by URI.")?;
    let result = client.read("demo://notes/alpha").await?;
    if let Some(ResourceContents::Text(note)) = result.contents.first() {
        page.result(&format!("demo://notes/alpha = {:?}", safe_line(&note.text)))?;
    }
    page.sent("resources/read")
}

pub(super) async fn prompt(page: &mut Page, client: &Client) -> Result<(), Stop> {
    page.step("Prompts: words for a model, ready to be filled in.")?;
    let result = client.prompt("greeting", json!({ "name": "Ada", "style": "pirate" })).await?;
    for message in &result.messages {
        page.result(&format!("{:?}", safe_line(message.content.as_text().unwrap_or_default())))?;
    }
    page.sent("prompts/get")
}

/// The same server, the same handlers, another era.
pub(super) async fn yesterday(page: &mut Page) -> Result<(), Stop> {
    let [oldest, ..] = Revision::ALL;
    page.step(&format!("The same server for a client of {oldest}: any client, any server, any era."))?;
    let client = meet(page.transcript(), &[oldest], somebody_or_the_world(false)).await?;
    let reply = client.call("add", json!({ "a": 1, "b": 2 })).await?;
    page.result(&format!(
        "add 1 2 = {}, over a session that begins with a handshake",
        safe_line(&reply.text())
    ))?;
    page.sent("initialize")?;
    client.close().await;
    Ok(())
}

pub(super) fn outlook(page: &Page) -> Result<(), Stop> {
    page.line("")?;
    page.line(&page.style.bold("Your turn"))?;
    let started = started_by();
    for (verb, what) in [
        ("tools list", "the tools of this demo; add `-- COMMAND` for another server"),
        ("call add a=1 b=2", "one call; `survey` asks you for more than a name"),
        ("demo", "this server, for any MCP client, over stdio"),
    ] {
        page.command(&format!("{started} {verb}"), what)?;
    }
    Ok(())
}

/// What to type to start this program again: as it was started, by cargo or by name.
fn started_by() -> String {
    if std::env::var_os("CARGO").is_some() {
        let profile = if cfg!(debug_assertions) { "" } else { "--release " };
        return format!("cargo run {profile}--");
    }
    let name = std::env::args().next().filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
    name.map_or_else(|| "contexture".to_owned(), |name| safe_line(&name))
}
