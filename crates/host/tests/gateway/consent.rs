//! Nothing reaches a server that was not let through.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use contexture::Client;
use contexture::client::{Builder, ElicitAnswer, Elicitation};
use contexture::model::ElicitResult;
use contexture::revision::Era;
use contexture::server::BoxFuture;
use contexture_host::Services;
use contexture_host::consent::{Person, PersonQuestion, PolicyConfig};
use contexture_host::gateway::DENIED;
use serde_json::json;

use super::rich;
use super::support::{ERAS, Gate, Site, Wire, at, config, named, pairings, refused, until};

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

/// Somebody who is asked, and away.
#[derive(Clone, Default)]
pub(crate) struct Away {
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) taken_back: Arc<AtomicUsize>,
}

impl Person for Away {
    fn ask(&self, _: PersonQuestion) -> BoxFuture<ElicitResult> {
        struct Asked(Arc<AtomicUsize>);
        impl Drop for Asked {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let asked = Asked(Arc::clone(&self.taken_back));
        Box::pin(async move {
            let _asked = asked;
            std::future::pending().await
        })
    }
}

/// Whoever ends does not wait for people who are away, and nothing is done that nobody has allowed.
#[tokio::test]
async fn told_to_end_what_was_not_answered_is_denied() {
    for era in ERAS {
        let behind = Site::of(rich::server(Era::Modern)).await;
        let mut config = config(vec![at("up", &behind.url)]);
        config.policy = PolicyConfig::default();
        let away = Away::default();
        let services = Services { person: Some(Arc::new(away.clone())), ..Services::default() };
        let gate = Gate::with(config, services).await;
        let client = gate.connect(Client::builder(), era, Wire::Http).await;
        let given_up = client.clone();
        let given_up = tokio::spawn(async move { given_up.call("up__echo", json!({ "text": "x" })).await });
        until("they are asked", || async { (away.asked.load(Ordering::SeqCst) == 1).then_some(()) }).await;
        given_up.abort();
        until("nobody waits any more", || async {
            (away.taken_back.load(Ordering::SeqCst) == 1).then_some(())
        })
        .await;
        let call = tokio::spawn(async move { client.call("up__echo", json!({ "text": "x" })).await });
        until("they are asked again", || async { (away.asked.load(Ordering::SeqCst) == 2).then_some(()) })
            .await;
        gate.host.ask_no_more();
        assert_eq!(refused(call.await.expect("no panic")).code, DENIED, "{era:?}");
        assert_eq!(away.taken_back.load(Ordering::SeqCst), 2, "{era:?}");
        gate.host.stop().await;
    }
}

/// Names that a client is shown.
async fn shown(client: &Client) -> (Vec<String>, Vec<String>, Vec<String>) {
    let tools = client.tools().await.expect("tools").into_iter().map(|it| it.name).collect();
    let resources = client.resources().await.expect("resources").into_iter().map(|it| it.uri).collect();
    let templates = client.resource_templates().await.expect("templates");
    (tools, resources, templates.into_iter().map(|it| it.uri_template).collect())
}

// Catalogue J04: what somebody may not use they do not see, and do not reach on any way.
#[tokio::test]
async fn what_is_denied_is_not_listed_and_not_reached() {
    let rules = json!({ "default": "deny", "rules": [
        { "principal": "test ada", "decision": "allow" },
        { "server": "up", "tool": "echo", "decision": "allow" },
        { "tool": "pid", "arguments": { "why": "because" }, "decision": "allow" },
        { "resource": "test://item/*", "decision": "allow" },
    ] });
    let policy: PolicyConfig = serde_json::from_value(rules).expect("a policy");
    for (era, server) in ERAS.into_iter().flat_map(|era| ERAS.map(|server| (era, server))) {
        let behind = Site::of(rich::server(server)).await;
        let mut config = config(vec![at("up", &behind.url), at("other", &behind.url)]);
        config.policy = policy.clone();
        let gate = Gate::known(config).await;
        let ada = gate.connect(named("ada"), era, Wire::Http).await;
        let bob = gate.connect(named("bob"), era, Wire::Http).await;
        let (tools, resources, templates) = shown(&ada).await;
        assert!(tools.len() > 10 && tools.contains(&"other__echo".to_owned()), "{tools:?}");
        assert!(!resources.is_empty() && !templates.is_empty());
        let (tools, resources, templates) = shown(&bob).await;
        assert_eq!(tools, ["up__echo", "up__pid", "other__pid"], "{era:?} {server:?}");
        assert!(resources.is_empty(), "{resources:?}");
        assert!(templates.iter().all(|template| template.contains("test://item/")), "{templates:?}");
        assert_eq!(bob.call("up__echo", json!({ "text": "x" })).await.expect("allowed").text(), "x");
        assert_eq!(refused(bob.call("other__echo", json!({ "text": "x" })).await).code, DENIED);
        assert_eq!(refused(bob.call("up__pid", ()).await).code, DENIED);
        assert_eq!(refused(bob.read("up+test://doc").await).code, DENIED);
        ada.subscribe("up+test://doc").await.unwrap_or_else(|error| panic!("{era:?} {server:?}: {error}"));
        assert!(bob.subscribe("up+test://doc").await.is_err(), "{era:?} {server:?}");
        gate.host.stop().await;
    }
}
