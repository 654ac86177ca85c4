//! Resources, templates, prompts and the completion of their arguments.

use std::collections::BTreeMap;
use std::time::Duration;

use contexture::Error;
use contexture::model::{Reference, ResourceContents, Role};
use serde_json::json;

use super::{expect, not_found};
use crate::peer::{Change, Peer};
use crate::{Failure, Outcome};

const CLOCK: &str = "demo://clock";
const NOTES: &str = "demo://notes/{id}";

pub(super) async fn resources_list(peer: &Peer) -> Outcome {
    let resources = peer.client.resources().await.map_err(Error::from)?;
    for (uri, kind) in
        [("demo://readme", "text/markdown"), ("demo://logo.png", "image/png"), (CLOCK, "text/plain")]
    {
        let found =
            resources.iter().any(|known| known.uri == uri && known.mime_type.as_deref() == Some(kind));
        expect(found, &format!("{uri} as {kind}"), &resources)?;
    }
    Ok(format!("{} resources", resources.len()))
}

pub(super) async fn read_text(peer: &Peer) -> Outcome {
    let result = peer.client.read("demo://readme").await?;
    match result.contents.as_slice() {
        [ResourceContents::Text(text)] if text.uri == "demo://readme" && !text.text.is_empty() => {
            expect(text.mime_type.as_deref() == Some("text/markdown"), "text/markdown", text)?;
            Ok(String::new())
        }
        other => Err(Failure::Wrong(format!("expected the readme; got {other:?}"))),
    }
}

pub(super) async fn read_blob(peer: &Peer) -> Outcome {
    let result = peer.client.read("demo://logo.png").await?;
    let [ResourceContents::Blob(logo)] = result.contents.as_slice() else {
        return Err(Failure::Wrong(format!("expected one blob; got {result:?}")));
    };
    let bytes = logo.blob.decode().map_err(|error| Failure::Wrong(error.to_string()))?;
    expect(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "a PNG", logo)?;
    let resources = peer.client.resources().await.map_err(Error::from)?;
    let listed = resources.iter().find(|known| known.uri == "demo://logo.png").and_then(|logo| logo.size);
    expect(listed == Some(bytes.len() as u64), "the listed size", (listed, bytes.len()))?;
    Ok(format!("{} bytes", bytes.len()))
}

pub(super) async fn templates_list(peer: &Peer) -> Outcome {
    let templates = peer.client.resource_templates().await.map_err(Error::from)?;
    let found = templates.iter().any(|known| known.uri_template == NOTES && known.name == "note");
    expect(found, "the template of notes", &templates)?;
    Ok(format!("{} templates", templates.len()))
}

pub(super) async fn read_template(peer: &Peer) -> Outcome {
    let result = peer.client.read("demo://notes/beta").await?;
    let found =
        matches!(result.contents.as_slice(), [ResourceContents::Text(note)] if note.text == "note beta");
    expect(found, "note beta", &result)?;
    not_found(peer, "demo://notes/omega").await
}

pub(super) async fn subscribe(peer: &Peer) -> Outcome {
    peer.client.subscribe(CLOCK).await?;
    peer.changes.clear();
    peer.client.call("touch", ()).await?;
    let heard = peer.changes.arrived(1).await;
    expect(heard.contains(&Change::Resource(CLOCK.to_owned())), "an update of the clock", &heard)?;
    peer.client.unsubscribe(CLOCK).await?;
    peer.changes.clear();
    peer.client.call("touch", ()).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    expect(peer.changes.arrived(0).await.is_empty(), "silence after unsubscribing", "a change")?;
    Ok(if peer.is_modern() { "subscriptions/listen" } else { "resources/subscribe" }.to_owned())
}

pub(super) async fn prompts_list(peer: &Peer) -> Outcome {
    let prompts = peer.client.prompts().await.map_err(Error::from)?;
    expect(prompts.iter().any(|prompt| prompt.name == "review"), "the prompt review", &prompts)?;
    let greeting = prompts.iter().find(|prompt| prompt.name == "greeting");
    let arguments: Vec<(&str, bool)> = greeting
        .and_then(|prompt| prompt.arguments.as_ref())
        .into_iter()
        .flatten()
        .map(|argument| (argument.name.as_str(), argument.is_required()))
        .collect();
    expect(arguments == [("name", true), ("style", false)], "the arguments of greeting", &arguments)?;
    Ok(format!("{} prompts", prompts.len()))
}

pub(super) async fn prompts_get(peer: &Peer) -> Outcome {
    let greeting = peer.client.prompt("greeting", json!({ "name": "Ada" })).await?;
    let spoken: Vec<_> =
        greeting.messages.iter().map(|message| (message.role, message.content.as_text())).collect();
    let greets = matches!(spoken.as_slice(), [(Role::User, Some(text))] if text.contains("Ada"));
    expect(greets, "a greeting of Ada", &spoken)?;
    let review = peer.client.prompt("review", json!({ "code": "let x = 1;" })).await?;
    let spoken: Vec<_> =
        review.messages.iter().map(|message| (message.role, message.content.as_text())).collect();
    let reviews = matches!(
        spoken.as_slice(),
        [(Role::User, Some(text)), (Role::Assistant, _)] if text.contains("let x = 1;")
    );
    expect(reviews, "user and assistant about the code", &spoken)?;
    Ok(String::new())
}

pub(super) fn prompt_reference() -> Reference {
    Reference::Prompt { name: "greeting".to_owned(), title: None }
}

pub(super) fn template_reference() -> Reference {
    Reference::Resource { uri: NOTES.to_owned() }
}

pub(super) async fn completion(
    peer: &Peer,
    of: Reference,
    argument: &str,
    typed: &str,
    wanted: &[&str],
) -> Outcome {
    let completion = peer.client.complete(of, argument, typed, BTreeMap::new()).await?;
    let mut values = completion.values;
    values.sort();
    expect(values == wanted, &wanted.join(" and "), &values)?;
    Ok(String::new())
}
