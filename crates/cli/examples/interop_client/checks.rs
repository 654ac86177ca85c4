//! The fixed list of checks, on our own API.
//!
//! A check returns a detail; what the server did wrong, or what the era lacks, is its failure.

mod offers;
mod tools;
mod traffic;

use contexture::Error;
use contexture::client::ToolReply;
use contexture::model::Content;
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::{Failure, Outcome};
use offers::*;
use tools::*;
use traffic::*;

/// Runs one check.
pub(crate) async fn run(name: &str, peer: &Peer) -> Outcome {
    match name {
        "handshake" => handshake(peer),
        "ping" => ping(peer).await,
        "tools/list" => tools_list(peer).await,
        "tools/call echo" => echo(peer).await,
        "tools/call add structured" => add(peer).await,
        "tools/call weather structured" => weather(peer).await,
        "tools/call fail isError" => fail(peer).await,
        "tools/call kinds" => kinds(peer).await,
        "tools/call unknown tool error" => unknown_tool(peer).await,
        "resources/list" => resources_list(peer).await,
        "resources/read text" => read_text(peer).await,
        "resources/read blob" => read_blob(peer).await,
        "resources/read missing error" => not_found(peer, "demo://nothing").await,
        "resources/templates/list" => templates_list(peer).await,
        "resources/read template" => read_template(peer).await,
        "resources/subscribe updated" => subscribe(peer).await,
        "prompts/list" => prompts_list(peer).await,
        "prompts/get" => prompts_get(peer).await,
        "prompts/get missing argument error" => {
            // The typed call would be refused here already: the prompt's arguments are known from the list.
            refused(peer.client.request("prompts/get", json!({ "name": "greeting" })).await, &[-32602])
        }
        "completion prompt" => {
            completion(peer, prompt_reference(), "style", "f", &["formal", "friendly"]).await
        }
        "completion template" => completion(peer, template_reference(), "id", "a", &["alpha"]).await,
        "logging setLevel + messages" => logging(peer).await,
        "progress" => progress(peer).await,
        "cancel" => cancel(peer).await,
        "sampling" => sampling(peer).await,
        "elicitation accept" => elicitation(peer, true).await,
        "elicitation decline" => elicitation(peer, false).await,
        "roots" => roots(peer).await,
        "list_changed" => list_changed(peer).await,
        "resume" => resume(peer).await,
        "close" => close(peer).await,
        _ => Err(Failure::Wrong("this driver does not know the check".to_owned())),
    }
}

fn expect(held: bool, what: &str, got: impl std::fmt::Debug) -> Result<(), Failure> {
    if held { Ok(()) } else { Err(Failure::Wrong(format!("expected {what}; got {got:.400?}"))) }
}

/// Expects an error of the protocol with one of these codes.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, codes: &[i64]) -> Outcome {
    match result {
        Err(Error::Remote(error)) if codes.contains(&error.code) => {
            Ok(format!("{} {}", error.code, error.message))
        }
        Err(error) => Err(Failure::Wrong(format!("expected an error of {codes:?}; got {error}"))),
        Ok(result) => Err(Failure::Wrong(format!("expected an error of {codes:?}; got {result:?}"))),
    }
}

/// Expects that there is no such resource. Some legacy servers say so in the words of the modern era.
async fn not_found(peer: &Peer, uri: &str) -> Outcome {
    match peer.client.read(uri).await {
        Err(error @ Error::NotFound) => Ok(error.to_string()),
        other => refused(other, &[-32602]),
    }
}

/// The text of the only block.
fn said(reply: &ToolReply) -> Result<&str, Failure> {
    match reply.content.as_slice() {
        [Content::Text(block)] => Ok(&block.text),
        other => Err(Failure::Wrong(format!("expected one text block; got {other:?}"))),
    }
}

fn structure(reply: &ToolReply) -> Value {
    let raw = reply.structured_content.as_ref();
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn handshake(peer: &Peer) -> Outcome {
    let client = &peer.client;
    let offered = serde_json::to_value(client.server_capabilities()).unwrap_or_default();
    for capability in ["tools", "resources", "prompts", "completions", "logging"] {
        expect(offered[capability].is_object(), capability, &offered)?;
    }
    expect(offered["tools"]["listChanged"] == true, "tools.listChanged", &offered)?;
    expect(offered["resources"]["subscribe"] == true, "resources.subscribe", &offered)?;
    expect(
        client.instructions().is_some_and(|text| !text.is_empty()),
        "instructions",
        client.instructions(),
    )?;
    let Some(info) = client.server_info() else {
        return Err(Failure::Wrong("a server without a name".to_owned()));
    };
    Ok(format!("{} {}, {}", info.name, info.version, client.revision()))
}

async fn ping(peer: &Peer) -> Outcome {
    if peer.is_modern() {
        return Err(Failure::Absent("2026-07-28 has no ping".to_owned()));
    }
    peer.client.ping().await?;
    Ok(String::new())
}
