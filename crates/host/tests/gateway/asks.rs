//! What servers ask in the middle of a call, in every pairing.

use contexture::client::{ElicitAnswer, Elicitation};
use contexture::model::{Content, ResourceContents};
use contexture::revision::Era;
use contexture::{Client, Error};

use super::support::{Gate, pairings};

#[tokio::test]
async fn a_person_is_asked_in_the_name_of_the_server() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        for (tool, text) in [
            ("up__ask", "Hello, Alan"),
            ("up__ask_twice", "Ada and Grace"),
            ("up__ask_both", "Ada and Grace"),
        ] {
            let reply =
                client.call(tool, ()).await.unwrap_or_else(|error| panic!("{pairing:?} {tool}: {error}"));
            assert_eq!(reply.text(), text, "{pairing:?}");
        }
        assert_eq!(gate.host.parked(), 0, "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let prompt =
            client.prompt("up__asking", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert!(
            matches!(&prompt.messages[0].content, Content::Text(text) if text.text == "For Alan"),
            "{pairing:?}"
        );
        let read =
            client.read("up+test://asking").await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert!(
            matches!(&read.contents[0], ResourceContents::Text(text) if text.text == "read by Alan"),
            "{pairing:?}"
        );
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn the_clients_model_and_its_roots_answer() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let model = client.call("up__model", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(model.text(), "a model's word", "{pairing:?}");
        let roots = client.call("up__roots", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(roots.text(), "file:///project/here", "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_person_who_declines_is_heard() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let no = Client::builder().elicitation(Elicitation::new(|_| async { ElicitAnswer::Decline }));
        let client = gate.connect(no, pairing.client, pairing.front).await;
        let reply = client.call("up__ask", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert!(reply.is_error() && reply.text().contains("declined"), "{pairing:?}: {}", reply.text());
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn who_cannot_be_asked_is_not() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.connect(Client::builder(), pairing.client, pairing.front).await;
        for tool in ["up__ask", "up__model", "up__roots"] {
            match client.call(tool, ()).await {
                Ok(reply) => assert!(reply.is_error(), "{pairing:?} {tool}: {}", reply.text()),
                // The modern era has an error for it, which passes as it is.
                Err(Error::Remote(error)) => assert_eq!((pairing.client, error.code), (Era::Modern, -32021)),
                Err(other) => panic!("{pairing:?} {tool}: {other}"),
            }
        }
        gate.host.stop().await;
    })
    .await;
}
