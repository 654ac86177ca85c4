//! Questions that are not the client's to answer, or not its alone.

use std::sync::{Arc, Mutex};

use contexture::client::{ElicitAnswer, Elicitation, Question, Roots};
use contexture::model::Root;
use contexture::revision::Era;
use contexture::{Client, Context, Error, Server, State, tool};
use contexture_host::config::RootsFor;
use serde_json::json;

use super::rich;
use super::scripted::{Script, Scripted};
use super::support::{Gate, Site, Wire, able, at, config, pairings};

#[tokio::test]
async fn roots_of_the_configuration_need_no_client() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| {
            config.servers[0].roots = RootsFor::Fixed(vec![Root::new("file:///configured")]);
        })
        .await;
        for builder in [Client::builder(), able()] {
            let client = gate.connect(builder, pairing.client, pairing.front).await;
            let roots =
                client.call("up__roots", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
            assert_eq!(roots.text(), "file:///configured", "{pairing:?}");
        }
        gate.host.stop().await;
    })
    .await;
}

/// Those of whom nobody knows who they are may be two people, though they use one connection after the other: the server must
/// not take the roots of the one for the other's.
#[tokio::test]
async fn roots_of_one_stranger_are_not_those_of_the_next() {
    pairings(|pairing| async move {
        if pairing.front == Wire::Pipe {
            return;
        }
        let gate = Gate::of(pairing).await;
        for root in ["file:///one", "file:///two", "file:///one"] {
            let roots = Roots::new().with(Root::new(root)).expect("a root");
            let client = gate.connect(Client::builder().roots(roots), pairing.client, pairing.front).await;
            let shown =
                client.call("up__roots", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
            assert_eq!(shown.text(), root, "{pairing:?}");
            client.close().await;
        }
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn roots_that_are_not_shown_do_not_exist() {
    pairings(|pairing| async move {
        let gate = Gate::changed(pairing, |config| config.servers[0].roots = RootsFor::None).await;
        let client = gate.client(pairing.client, pairing.front).await;
        match client.call("up__roots", ()).await {
            Ok(reply) => assert!(reply.is_error(), "{pairing:?}: {}", reply.text()),
            Err(Error::Remote(error)) => assert_eq!((pairing.client, error.code), (Era::Modern, -32021)),
            Err(other) => panic!("{pairing:?}: {other}"),
        }
        gate.host.stop().await;
    })
    .await;
}

/// A provider that always says the same.
async fn provider() -> (Scripted, contexture_host::sampling::SamplingConfig) {
    let said = json!({ "model": "toy-1", "choices": [{ "index": 0, "finish_reason": "stop",
        "message": { "role": "assistant", "content": "from the provider" } }] });
    let scripted = Scripted::new(Script::Says(200, said.to_string())).await;
    let sampling = json!({ "providers": { "toy": { "kind": "openai", "url": scripted.url } },
        "models": [{ "name": "toy-1", "provider": "toy" }] });
    let sampling = serde_json::from_value(sampling).expect("a section");
    (scripted, sampling)
}

#[tokio::test]
async fn a_model_of_ours_answers_where_the_client_has_none() {
    pairings(|pairing| async move {
        let (scripted, sampling) = provider().await;
        let gate = Gate::changed(pairing, |config| config.sampling = sampling).await;
        let client = gate.connect(Client::builder(), pairing.client, pairing.front).await;
        let reply = client.call("up__model", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(reply.text(), "from the provider", "{pairing:?}");
        assert_eq!(scripted.heard().len(), 1, "{pairing:?}: asked once");
        let own = gate.client(pairing.client, pairing.front).await;
        let reply = own.call("up__model", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(reply.text(), "a model's word", "{pairing:?}: a client that can is asked first");
        assert_eq!(scripted.heard().len(), 1, "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

// covers: SAMP-EDIT-PROMPT, SAMP-REVIEW-RESPONSE
#[tokio::test]
async fn a_person_sees_and_changes_what_a_model_is_asked_and_says() {
    pairings(|pairing| async move {
        let (scripted, sampling) = provider().await;
        let gate = Gate::changed(pairing, |config| {
            config.sampling = sampling;
            config.policy = serde_json::from_value(json!({
                "default": "allow", "rules": [{ "kinds": ["sampling"], "decision": "ask" }]
            }))
            .expect("a policy");
        })
        .await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let elicitation = Elicitation::new(move |question: Question| {
            let message = question.message().to_owned();
            let answer = if message.contains("ask a model") {
                ElicitAnswer::accept([("decision", "once"), ("lastMessage", "a milder question")])
            } else {
                ElicitAnswer::accept([("decision", "once"), ("text", "a milder answer")])
            };
            kept.lock().expect("whole").push(message);
            async move { answer }
        });
        let client =
            gate.connect(Client::builder().elicitation(elicitation), pairing.client, pairing.front).await;
        let reply = client.call("up__model", ()).await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        assert_eq!(reply.text(), "a milder answer", "{pairing:?}");
        let heard = scripted.heard();
        assert_eq!(heard.len(), 1, "{pairing:?}: the model is asked once, however many rounds it takes");
        assert!(heard[0].body.to_string().contains("a milder question"), "{}", heard[0].body);
        let asked = asked.lock().expect("whole").clone();
        assert!(asked[0].contains("What is it?") && asked[1].contains("from the provider"), "{asked:?}");
        gate.host.stop().await;
    })
    .await;
}

/// A server that wants to know the roots as soon as it may.
fn curious() -> Server {
    let roots = Arc::new(Mutex::new(None::<String>));
    let known = Arc::clone(&roots);
    Server::new("curious", "1")
        .revisions(rich::revisions(Era::Legacy))
        .state(roots)
        .on_initialized(move |session| {
            let known = Arc::clone(&known);
            async move {
                if let Ok(roots) = session.roots().await {
                    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
                    *known.lock().expect("whole") = Some(uris.join(" "));
                }
            }
        })
        .tool(tool("initial").handler(|roots: State<Arc<Mutex<Option<String>>>>, _: Context| async move {
            roots.lock().expect("whole").clone().unwrap_or_default()
        }))
}

#[tokio::test]
async fn a_server_that_asks_before_the_first_call_is_answered() {
    let behind = Site::of(curious()).await;
    let mut entry = at("up", &behind.url);
    entry.roots = RootsFor::Client;
    let gate = Gate::start(config(vec![entry])).await;
    let roots = Roots::new().with(Root::new("file:///mine")).expect("a root");
    for era in [Era::Legacy, Era::Modern] {
        let client = gate.connect(Client::builder().roots(roots.clone()), era, Wire::Http).await;
        super::support::until(&format!("roots of a client of the {era:?} era"), || async {
            (client.call("up__initial", ()).await.ok()?.text() == "file:///mine").then_some(())
        })
        .await;
    }
    gate.host.stop().await;
}
