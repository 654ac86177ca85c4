//! Nothing reaches a server that was not let through.

use std::sync::{Arc, Mutex};

use contexture::Client;
use contexture::client::{Builder, ElicitAnswer, Elicitation};
use contexture_host::consent::PolicyConfig;
use contexture_host::gateway::DENIED;
use serde_json::json;

use super::support::{Gate, Wire, pairings, refused};

/// A person who says the same to everything, and remembers what was asked.
fn person(says: &'static str) -> (Builder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let elicitation = Elicitation::new(move |question| {
        kept.lock().expect("whole").push(question.message().to_owned());
        async move { ElicitAnswer::accept([("decision", says)]) }
    });
    (Client::builder().elicitation(elicitation), asked)
}

#[tokio::test]
async fn a_person_is_asked_before_anything_is_sent() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| config.policy = PolicyConfig::default()).await;
        let (yes, asked) = person("once");
        let client = gate.connect(yes, pairing.client, pairing.front).await;
        let reply = client.call("up__echo", json!({ "text": "a secret plan" })).await;
        assert_eq!(reply.unwrap_or_else(|error| panic!("{pairing:?}: {error}")).text(), "a secret plan");
        let asked = asked.lock().expect("whole").clone();
        assert_eq!(asked.len(), 1, "{pairing:?}: {asked:?}");
        for word in ["up", "echo", "a secret plan"] {
            assert!(asked[0].contains(word), "{word:?} is not in {:?}", asked[0]);
        }
        let (no, _) = person("deny");
        let client = gate.connect(no, pairing.client, pairing.front).await;
        let error = refused(client.call("up__echo", json!({ "text": "x" })).await);
        assert_eq!(error.code, DENIED, "{pairing:?}: {error}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn without_anybody_to_ask_it_is_denied_and_says_how_to_allow_it() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| config.policy = PolicyConfig::default()).await;
        let client = gate.connect(Client::builder(), pairing.client, pairing.front).await;
        let error = refused(client.call("up__echo", json!({ "text": "x" })).await);
        assert_eq!(error.code, DENIED);
        assert!(error.message.contains("\"decision\": \"allow\""), "{pairing:?}: {error}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn consent_and_the_servers_own_question_follow_one_another() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| config.policy = PolicyConfig::default()).await;
        let elicitation = Elicitation::new(|question| async move {
            if question.message().ends_with("Who are you?") {
                ElicitAnswer::accept([("name", "Ada")])
            } else {
                ElicitAnswer::accept([("decision", "once")])
            }
        });
        let client =
            gate.connect(Client::builder().elicitation(elicitation), pairing.client, pairing.front).await;
        let reply = client.call("up__ask", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(reply.text(), "Hello, Ada", "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_known_person_always_allows_is_not_asked_again() {
    pairings(|pairing| async move {
        if pairing.front == Wire::Http {
            return; // Nobody is known there.
        }
        let gate = Gate::changed(pairing, |config| config.policy = PolicyConfig::default()).await;
        let (always, asked) = person("always");
        let client = gate.connect(always, pairing.client, pairing.front).await;
        for _ in 0..3 {
            client
                .call("up__echo", json!({ "text": "x" }))
                .await
                .unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        }
        assert_eq!(asked.lock().expect("whole").len(), 1, "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}
