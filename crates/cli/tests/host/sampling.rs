//! Servers ask a model: a person sees what, changes it or forbids it, and the same with what the model says.

use std::sync::{Arc, Mutex};

use contexture::Client;
use contexture::client::{Builder, ElicitAnswer, Sampling};
use contexture::model::{CreateMessageResult, SamplingContent};
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::people::{Person, changes, decides, form};
use crate::provider::Provider;
use crate::stage::{Front, Stage};
use crate::upstream::{ERAS, Upstream};

/// Tools may be called; nothing is said about models.
fn config(provider: Option<&Provider>) -> Value {
    let mut config = json!({ "policy": { "rules": [{ "kinds": ["tool"], "decision": "allow" }] } });
    if let Some(provider) = provider {
        config["sampling"] = provider.config();
    }
    config
}

/// What the client's own model was asked.
type Asked = Arc<Mutex<Vec<Value>>>;

fn with_model(builder: Builder, asked: &Asked) -> Builder {
    let asked = Arc::clone(asked);
    builder.sampling(
        Sampling::new(move |question| {
            asked.lock().expect("whole").push(serde_json::to_value(&question.params).expect("JSON"));
            let answer = CreateMessageResult::new("theirs", SamplingContent::text("the model's own words"));
            std::future::ready(Ok::<_, String>(answer))
        })
        .approve_all(),
    )
}

/// The tool failed, in whichever way the eras have for it.
async fn fails(front: &Front, tool: &str) {
    if let Ok(reply) = front.call(tool, ()).await {
        assert!(reply.is_error(), "{}", reply.text());
    }
}

fn pairings() -> impl Iterator<Item = (Era, Era)> {
    ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server)))
}

/// The server was given no words of a model.
fn learnt_nothing(upstream: &Upstream) {
    assert!(!upstream.heard.text().contains("the model's own words"), "{}", upstream.heard.text());
}

// covers: SAMP-HUMAN-LOOP, SEC-SAMPLING-CONSENT, SAMP-UI-REVIEW
#[tokio::test]
async fn a_model_is_not_asked_what_a_person_forbids() {
    for (client, server) in pairings() {
        let (letters, provider) = (Upstream::start("letters", server).await, Provider::start().await);
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(Some(&provider)));
        for answer in [decides("deny"), ElicitAnswer::Decline, ElicitAnswer::Cancel] {
            let person = Person::saying([answer]);
            let front = stage.client(client, person.client()).await;
            fails(&front, "letters__think").await;
            let messages = person.messages();
            assert_eq!(messages.len(), 1, "{client:?} {server:?}");
            // The whole request, and whose it is.
            for shown in ["\"letters\"", "You read letters.", "What is in the letter?", "50 tokens"] {
                assert!(messages[0].contains(shown), "{shown} is not in {}", messages[0]);
            }
        }
        assert_eq!(provider.asked(), Vec::<Value>::new(), "{client:?} {server:?}");
        learnt_nothing(&letters);
        if server == Era::Legacy {
            let codes: Vec<Value> =
                letters.heard.answers().iter().map(|error| error["code"].clone()).collect();
            assert_eq!(codes, [json!(-1), json!(-1), json!(-1)], "the server is told that it was refused");
        }
        let lines = stage.audit();
        let denied =
            lines.iter().filter(|line| line["kind"] == "sampling" && line["decision"] == "deny").count();
        assert_eq!(denied, 3, "{lines:?}");
    }
}

// covers: SAMP-HUMAN-LOOP, SEC-SAMPLING-CONSENT
#[tokio::test]
async fn neither_is_the_clients_own_model() {
    for (client, server) in pairings() {
        let letters = Upstream::start("letters", server).await;
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(None));
        let (person, asked) = (Person::saying([ElicitAnswer::Decline]), Asked::default());
        let front = stage.client(client, with_model(person.client(), &asked)).await;
        fails(&front, "letters__think").await;
        assert_eq!(person.questions().len(), 1, "{client:?} {server:?}");
        assert!(asked.lock().expect("whole").is_empty(), "{client:?} {server:?}");
        assert!(!front.received().contains("sampling/createMessage"), "{client:?} {server:?}");
    }
}

// covers: SAMP-EDIT-PROMPT, SAMP-REVIEW-RESPONSE, SEC-SAMPLING-USER-CONTROL
#[tokio::test]
async fn people_change_what_is_asked_and_what_is_answered() {
    for (client, server) in pairings() {
        let (letters, provider) = (Upstream::start("letters", server).await, Provider::start().await);
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(Some(&provider)));
        let question =
            changes(&[("systemPrompt", "You keep secrets."), ("lastMessage", "How long is the letter?")]);
        let person = Person::saying([question, changes(&[("text", "it is short")])]);
        let front = stage.client(client, person.client()).await;
        assert_eq!(front.text("letters__think", json!({})).await, "it is short", "{client:?} {server:?}");
        let questions = person.questions();
        assert_eq!(questions.len(), 2, "{client:?} {server:?}: {:?}", person.messages());
        // The forms hold what was there, so that it can be changed, where the revision has words for that.
        if client == Era::Modern {
            assert_eq!(form(&questions[0])["properties"]["systemPrompt"]["default"], "You read letters.");
            assert_eq!(form(&questions[0])["properties"]["lastMessage"]["default"], "What is in the letter?");
        }
        assert!(
            person.messages()[1].contains("the model's own words")
                && person.messages()[1].contains("\"letters\"")
        );
        let asked = provider.asked();
        assert_eq!(asked.len(), 1, "{client:?} {server:?}: asked once, whatever the rounds");
        let text = asked[0].to_string();
        assert!(text.contains("You keep secrets.") && text.contains("How long is the letter?"), "{text}");
        assert!(!text.contains("You read letters.") && !text.contains("What is in"), "{text}");
        learnt_nothing(&letters);
        assert!(letters.heard.text().contains("it is short"));
    }
}

// covers: SAMP-EDIT-PROMPT, SAMP-REVIEW-RESPONSE
#[tokio::test]
async fn the_same_with_the_clients_own_model() {
    for (client, server) in pairings() {
        let letters = Upstream::start("letters", server).await;
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(None));
        let person =
            Person::saying([changes(&[("lastMessage", "How long is it?")]), changes(&[("text", "short")])]);
        let asked = Asked::default();
        let front = stage.client(client, with_model(person.client(), &asked)).await;
        assert_eq!(front.text("letters__think", json!({})).await, "short", "{client:?} {server:?}");
        let asked = asked.lock().expect("whole").clone();
        assert_eq!(asked.len(), 1, "{client:?} {server:?}");
        assert!(
            asked[0].to_string().contains("How long is it?") && !asked[0].to_string().contains("What is in")
        );
        learnt_nothing(&letters);
    }
}

// covers: SAMP-REVIEW-RESPONSE, SEC-SAMPLING-USER-CONTROL
#[tokio::test]
async fn an_answer_can_be_kept_from_the_server() {
    for (client, server) in pairings() {
        let (letters, provider) = (Upstream::start("letters", server).await, Provider::start().await);
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(Some(&provider)));
        let person = Person::saying([decides("once"), decides("deny")]);
        let front = stage.client(client, person.client()).await;
        fails(&front, "letters__think").await;
        assert_eq!((provider.asked().len(), person.questions().len()), (1, 2), "{client:?} {server:?}");
        learnt_nothing(&letters);
    }
}

// covers: SAMP-APPROVAL, SEC-SAMPLING-CONSENT
#[tokio::test]
async fn without_anybody_to_ask_no_model_is_asked() {
    for (client, server) in pairings() {
        let (letters, provider) = (Upstream::start("letters", server).await, Provider::start().await);
        let stage = Stage::new(json!({ "letters": letters.entry() }), config(Some(&provider)));
        let asked = Asked::default();
        for builder in [Client::builder(), with_model(Client::builder(), &asked)] {
            let front = stage.client(client, builder).await;
            fails(&front, "letters__think").await;
        }
        assert_eq!(provider.asked(), Vec::<Value>::new(), "{client:?} {server:?}");
        assert!(asked.lock().expect("whole").is_empty(), "{client:?} {server:?}");
        learnt_nothing(&letters);
    }
}

// covers: SEC-SAMPLING-USER-CONTROL, SAMP-APPROVAL
#[tokio::test]
async fn sampling_has_a_switch() {
    for (decision, questions, asks) in [("deny", 0, 0), ("allow", 0, 1)] {
        let (letters, provider) = (Upstream::start("letters", Era::Legacy).await, Provider::start().await);
        let mut config = config(Some(&provider));
        let rule = json!({ "server": "letters", "kinds": ["sampling"], "decision": decision });
        config["policy"]["rules"].as_array_mut().expect("rules").insert(0, rule);
        let stage = Stage::new(json!({ "letters": letters.entry() }), config);
        let person = Person::saying([]);
        let front = stage.client(Era::Legacy, person.client()).await;
        let reply = front.call("letters__think", ()).await.expect("an answer");
        assert_eq!(reply.is_error(), decision == "deny", "{}", reply.text());
        assert_eq!((person.questions().len(), provider.asked().len()), (questions, asks), "{decision}");
    }
}
