//! Tools: the list, the kinds of results, and failures.

use contexture::Error;
use contexture::model::{Content, ResourceContents};
use serde_json::{Value, json};

use super::{expect, refused, said, structure};
use crate::Outcome;
use crate::peer::Peer;

const TOOLS: [&str; 13] = [
    "echo",
    "add",
    "weather",
    "greet",
    "ask_model",
    "list_roots",
    "countdown",
    "log_lines",
    "sleep",
    "kinds",
    "fail",
    "toggle",
    "touch",
];

pub(super) async fn tools_list(peer: &Peer) -> Outcome {
    let tools = peer.client.tools().await.map_err(Error::from)?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    expect(TOOLS.iter().all(|name| names.contains(name)), "every tool of the contract", &names)?;
    expect(!names.contains(&"extra"), "no tool `extra` yet", &names)?;
    expect(tools.iter().all(|tool| tool.input_schema["type"] == "object"), "object schemas", &tools)?;
    for tool in &tools {
        match tool.name.as_str() {
            "echo" => expect(
                tool.annotations.as_ref().is_some_and(|hints| hints.is_read_only()),
                "echo to be read-only",
                tool,
            )?,
            "add" | "weather" => expect(tool.output_schema.is_some(), "an output schema", tool)?,
            _ => {}
        }
    }
    Ok(format!("{} tools", tools.len()))
}

pub(super) async fn echo(peer: &Peer) -> Outcome {
    let message = "zwölf Boxkämpfer 🥊\n\"quoted\"";
    let reply = peer.client.call("echo", json!({ "message": message })).await?;
    expect(said(&reply)? == message, "the message itself", &reply)?;
    Ok(String::new())
}

pub(super) async fn add(peer: &Peer) -> Outcome {
    let reply = peer.client.call("add", json!({ "a": 1, "b": 2 })).await?;
    expect(said(&reply)? == "3", "the text 3", &reply)?;
    let wanted = if peer.is_modern() { json!(3) } else { json!({ "result": 3 }) };
    expect(structure(&reply) == wanted, "the sum as structured content", &reply)?;
    let sum: i64 = reply.structured()?;
    expect(sum == 3, "3", sum)?;
    Ok(wanted.to_string())
}

pub(super) async fn weather(peer: &Peer) -> Outcome {
    let reply = peer.client.call("weather", json!({ "city": "Bern" })).await?;
    let wanted = json!({ "city": "Bern", "celsius": 21.5, "sky": "clear" });
    expect(structure(&reply) == wanted, "the weather as structured content", &reply)?;
    let mirror: Value = serde_json::from_str(said(&reply)?).unwrap_or_default();
    expect(mirror == wanted, "its mirror as text", &reply)?;
    Ok(if reply.is_checked() { "checked against its schema" } else { "" }.to_owned())
}

pub(super) async fn fail(peer: &Peer) -> Outcome {
    let reply = peer.client.call("fail", json!({ "message": "no luck" })).await?;
    expect(reply.is_error() && said(&reply)? == "no luck", "an error result", &reply)?;
    Ok(String::new())
}

pub(super) async fn kinds(peer: &Peer) -> Outcome {
    let reply = peer.client.call("kinds", ()).await?;
    let [text, image, audio, link, embedded] =
        [0, 1, 2, 3, 4].map(|kind| reply.content.iter().filter(|block| is_kind(block, kind)).count());
    let found = [text, image, audio, link, embedded];
    expect(found == [1; 5], "one block of each kind", (found, &reply))?;
    Ok("text, image, audio, resource_link, resource".to_owned())
}

fn is_kind(block: &Content, kind: usize) -> bool {
    match block {
        Content::Text(_) => kind == 0,
        Content::Image(image) => kind == 1 && image.mime_type == "image/png",
        Content::Audio(audio) => kind == 2 && audio.mime_type == "audio/wav",
        Content::ResourceLink(link) => kind == 3 && link.uri == "demo://readme",
        Content::Resource(embedded) => {
            kind == 4 && matches!(&embedded.resource, ResourceContents::Text(text) if !text.text.is_empty())
        }
        _ => false,
    }
}

/// An `isError` result is how the TypeScript SDK says it; the model learns the same.
pub(super) async fn unknown_tool(peer: &Peer) -> Outcome {
    match peer.client.call("no_such_tool", json!({})).await {
        Ok(reply) if reply.is_error() => Ok(format!("an isError result instead of -32602: {}", reply.text())),
        result => refused(result, &[-32602]),
    }
}
