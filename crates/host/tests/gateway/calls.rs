//! Calls that nobody has to be asked about.

use std::collections::BTreeMap;

use contexture::Error;
use contexture::model::{Content, Reference, ResourceContents, code};
use serde_json::json;

use super::support::{Gate, pairings};

#[tokio::test]
async fn tools_are_listed_under_their_server_and_can_be_called() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let tools = client.tools().await.expect("tools");
        assert!(tools.iter().any(|tool| tool.name == "up__echo"), "{pairing:?}: {tools:?}");
        assert!(tools.iter().all(|tool| tool.name.starts_with("up__")));
        let reply = client.call("up__echo", json!({ "text": "hello \u{1f642}" })).await.expect("an answer");
        assert_eq!(reply.text(), "hello \u{1f642}", "{pairing:?}");
        let failed = client.call("up__fail", ()).await.expect("an answer");
        assert!(failed.is_error() && failed.text().contains("does not work"), "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_is_an_error_of_the_request() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        for name in ["echo", "up__nothing", "down__echo", ""] {
            match client.call(name, ()).await {
                Err(Error::Remote(error)) => {
                    assert_eq!(error.code, code::INVALID_PARAMS, "{pairing:?} {name}")
                }
                other => panic!("{pairing:?} {name}: {other:?}"),
            }
        }
        assert!(
            matches!(client.read("test://doc").await, Err(Error::NotFound)),
            "{pairing:?}: not under its server"
        );
        assert!(matches!(client.read("up+test://item/none").await, Err(Error::NotFound)), "{pairing:?}");
        assert!(client.prompt("up__no", ()).await.is_err());
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn prompts_resources_templates_and_completions_are_passed_on() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let prompts = client.prompts().await.expect("prompts");
        assert!(prompts.iter().any(|prompt| prompt.name == "up__greet"), "{prompts:?}");
        let prompt = client.prompt("up__greet", json!({ "text": "Ada" })).await.expect("a prompt");
        assert!(matches!(&prompt.messages[0].content, Content::Text(text) if text.text == "Greet Ada"));

        let resources = client.resources().await.expect("resources");
        assert!(resources.iter().any(|resource| resource.uri == "up+test://doc"), "{resources:?}");
        let templates = client.resource_templates().await.expect("templates");
        assert_eq!(templates[0].uri_template, "up+test://item/{id}");
        for (uri, text) in [("up+test://doc", "the document"), ("up+test://item/7", "item 7")] {
            let read = client.read(uri).await.expect("contents");
            match &read.contents[0] {
                ResourceContents::Text(contents) => {
                    assert_eq!((contents.text.as_str(), contents.uri.as_str()), (text, uri), "{pairing:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        let linked = client.call("up__link", ()).await.expect("an answer");
        let text = serde_json::to_string(&linked.content).expect("JSON");
        assert!(text.contains("up+test://item/7"), "{text}");

        let reference = Reference::prompt("up__greet");
        let completion = client.complete(reference, "text", "a", BTreeMap::new()).await.expect("proposals");
        assert_eq!(completion.values, ["ada", "alan", "grace"][..completion.values.len()], "{pairing:?}");
        assert!(completion.values.len() >= 2);
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn metadata_passes_except_for_what_is_ours() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let reply = client.call("up__meta", ()).meta("example.com/ticket", 7).await.expect("an answer");
        let meta: serde_json::Value = serde_json::from_str(&reply.text()).expect("JSON");
        assert_eq!(meta["example.com/ticket"], 7, "{pairing:?}: {meta}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn with_one_server_and_no_prefix_it_is_that_server() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| config.servers[0].prefix = false).await;
        let client = gate.client(pairing.client, pairing.front).await;
        assert_eq!(client.instructions().as_deref(), Some("Be rich."), "{pairing:?}");
        assert!(client.server_capabilities().logging.is_some());
        let tools = client.tools().await.expect("tools");
        assert_eq!(tools[0].name, "ask", "in the server's own order");
        let reply = client.call("echo", json!({ "text": "plain" })).await.expect("an answer");
        assert_eq!(reply.text(), "plain");
        assert!(client.read("test://doc").await.is_ok());
        gate.host.stop().await;
    })
    .await;
}
