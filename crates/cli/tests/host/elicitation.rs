//! Servers ask people: in their own name, with what they want to know, and people say what they want to say.

use contexture::Client;
use contexture::client::ElicitAnswer;
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::people::{Person, form};
use crate::stage::Stage;
use crate::upstream::{ERAS, Upstream};

fn allowed() -> Value {
    json!({ "policy": { "rules": [{ "kinds": ["tool"], "decision": "allow" }] } })
}

fn named(name: &str) -> ElicitAnswer {
    ElicitAnswer::accept([("name", name)])
}

// covers: ELIC-UI-SERVER-IDENTITY, ELIC-CLEAR-PURPOSE
#[tokio::test]
async fn a_question_says_who_asks_and_what() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (post, mail) = (Upstream::start("post", server).await, Upstream::start("mail", server).await);
        let stage = Stage::new(json!({ "post": post.entry(), "mail": mail.entry() }), allowed());
        let person = Person::saying([named("Ada"), named("Grace")]);
        let front = stage.client(client, person.client()).await;
        assert_eq!(front.text("post__ask", json!({})).await, "it is Ada", "{client:?} {server:?}");
        assert_eq!(front.text("mail__ask", json!({})).await, "it is Grace", "{client:?} {server:?}");
        let messages = person.messages();
        assert_eq!(messages.len(), 2);
        for (message, name) in messages.iter().zip(["\"post\"", "\"mail\""]) {
            assert!(message.contains(name) && message.contains("Whom do I write to?"), "{message}");
            assert!(message.find(name) < message.find("Whom"), "the name comes first: {message}");
        }
        // All that the server says about its fields comes along.
        let form = form(&person.questions()[0]);
        assert_eq!(form["properties"]["name"]["title"], "Your name", "{form}");
        assert_eq!(form["properties"]["name"]["description"], "What people call you.", "{form}");
        assert_eq!(form["required"], json!(["name"]), "{form}");
    }
}

// covers: ELIC-UI-REVIEW
#[tokio::test]
async fn nothing_is_answered_before_the_person_is_done() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let post = Upstream::start("post", server).await;
        let stage = Stage::new(json!({ "post": post.entry() }), allowed());
        let person = Person::silent([named("Ada, finally")]);
        let front = stage.client(client, person.client()).await;
        let call = front.call("post__ask", ()).start();
        person.is_asked(1).await;
        assert_eq!(front.text("post__look", json!({})).await, "seen");
        assert_eq!(post.heard.answers(), Vec::<Value>::new(), "{client:?} {server:?}");
        person.speak();
        assert_eq!(call.await.expect("an answer").text(), "it is Ada, finally", "{client:?} {server:?}");
        let answer = json!({ "action": "accept", "content": { "name": "Ada, finally" } });
        assert_eq!(post.heard.answers(), [answer], "{client:?} {server:?}");
    }
}

// covers: ELIC-UI-DECLINE
#[tokio::test]
async fn whoever_declines_or_goes_away_is_heard() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        for (answer, action) in [(ElicitAnswer::Decline, "decline"), (ElicitAnswer::Cancel, "cancel")] {
            let post = Upstream::start("post", server).await;
            let stage = Stage::new(json!({ "post": post.entry() }), allowed());
            let person = Person::saying([answer]);
            let front = stage.client(client, person.client()).await;
            let reply = front.call("post__ask", ()).await.expect("an answer");
            assert!(reply.is_error(), "{client:?} {server:?}: {}", reply.text());
            assert_eq!(post.heard.answers(), [json!({ "action": action })], "{client:?} {server:?}");
        }
    }
}

// covers: ELIC-APPROVAL
#[tokio::test]
async fn nobody_answers_for_a_person() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let post = Upstream::start("post", server).await;
        let stage = Stage::new(json!({ "post": post.entry() }), allowed());
        let front = stage.client(client, Client::builder()).await;
        // The server may put its failure into a result or an error.
        let failed = match front.call("post__ask", ()).await {
            Ok(reply) => reply.is_error(),
            Err(_) => true,
        };
        assert!(failed, "{client:?} {server:?}");
        let accepted = post.heard.answers().into_iter().filter(|answer| answer["action"] == "accept").count();
        assert_eq!(accepted, 0, "{client:?} {server:?}");
    }
}

// covers: ELIC-NO-SENSITIVE, SEC-CONSENT-OPERATIONS, SEC-USER-CONTROL
#[tokio::test]
async fn a_server_can_be_forbidden_to_ask() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (nosy, post) = (Upstream::start("nosy", server).await, Upstream::start("post", server).await);
        let policy = json!({ "policy": { "rules": [
            { "server": "nosy", "kinds": ["elicitation"], "decision": "deny" },
            { "kinds": ["tool"], "decision": "allow" },
        ] } });
        let stage = Stage::new(json!({ "nosy": nosy.entry(), "post": post.entry() }), policy);
        let person = Person::saying([named("Ada")]);
        let front = stage.client(client, person.client()).await;
        let reply = front.call("nosy__ask", ()).await;
        assert!(!reply.is_ok_and(|reply| !reply.is_error()), "{client:?} {server:?}");
        assert_eq!(person.messages(), Vec::<String>::new(), "{client:?} {server:?}: not even shown");
        assert!(nosy.heard.answers().iter().all(|answer| answer["action"] != "accept"));
        assert_eq!(front.text("post__ask", json!({})).await, "it is Ada", "the other may");
        let denied = stage.audit().into_iter().any(|line| {
            line["server"] == "nosy" && line["kind"] == "elicitation" && line["decision"] == "deny"
        });
        assert!(denied, "{:?}", stage.audit());
    }
}

// covers: SEC-CONSENT-OPERATIONS, ELIC-APPROVAL
#[tokio::test]
async fn a_server_may_have_to_be_let_ask() {
    let post = Upstream::start("post", Era::Legacy).await;
    let policy = json!({ "policy": { "rules": [
        { "kinds": ["elicitation"], "decision": "ask" }, { "kinds": ["tool"], "decision": "allow" },
    ] } });
    let stage = Stage::new(json!({ "post": post.entry() }), policy);
    let person =
        Person::saying([ElicitAnswer::Decline, ElicitAnswer::accept([("decision", "once")]), named("Ada")]);
    let front = stage.client(Era::Legacy, person.client()).await;
    assert!(front.call("post__ask", ()).await.expect("an answer").is_error());
    assert_eq!(person.questions().len(), 1, "its own question is not shown");
    assert_eq!(front.text("post__ask", json!({})).await, "it is Ada");
    assert_eq!(person.questions().len(), 3);
}
