//! What servers of the legacy era ask a person, and how they take it back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::Client;
use contexture::client::{ElicitAnswer, Elicitation, Question};
use serde_json::{Value, json};

use crate::support::{code_of, form_params, full_pair};

// covers: ELIC-ACTIONS, ELIC-CONTENT-ON-ACCEPT, ELIC-UI-DECLINE, ELIC-UI-SERVER-IDENTITY, ELIC-CLEAR-PURPOSE
// covers: ELIC-UI-REVIEW, ELIC-APPROVAL, ELIC-VALIDATE-CLIENT
#[tokio::test(start_paused = true)]
async fn the_person_decides() {
    let elicitation = Elicitation::new(async |question: Question| {
        assert_eq!(question.server().display_name(), "played");
        let Question::Form { message, schema, .. } = &question else { panic!("a form") };
        assert_eq!(schema.required, ["name"]);
        match message.as_str() {
            "accept" => ElicitAnswer::accept([("name", "Ada")]),
            "bad" => ElicitAnswer::accept([("name", "A")]),
            "cancel" => ElicitAnswer::Cancel,
            _ => ElicitAnswer::Decline,
        }
    });
    for revision in ["2025-06-18", "2025-11-25"] {
        let (_client, mut server) =
            full_pair(Client::builder().elicitation(elicitation.clone()), revision).await;
        let expected = [
            ("accept", json!({ "action": "accept", "content": { "name": "Ada" } })),
            ("decline", json!({ "action": "decline" })),
            ("cancel", json!({ "action": "cancel" })),
        ];
        for (message, result) in expected {
            let mut params = form_params();
            params["message"] = json!(message);
            assert_eq!(server.ask("elicitation/create", params).await["result"], result);
        }
        let mut params = form_params();
        params["message"] = json!("bad");
        assert_eq!(code_of(&mut server, "elicitation/create", params).await, -32603, "not a bad accept");
        assert_eq!(code_of(&mut server, "elicitation/create", json!({ "message": "x" })).await, -32602);
    }
}

// covers: ELIC-NO-SENSITIVE
#[tokio::test(start_paused = true)]
async fn a_form_that_asks_for_secrets_can_be_refused_by_what_it_asks() {
    let elicitation = Elicitation::new(async |question: Question| {
        let Question::Form { schema, .. } = &question else { panic!("a form") };
        let asks_for_secrets = ["password", "name"].map(|field| schema.property(field).is_some());
        if asks_for_secrets == [false, true] {
            ElicitAnswer::accept([("name", "Ada")])
        } else {
            ElicitAnswer::Decline
        }
    });
    let (_client, mut server) = full_pair(Client::builder().elicitation(elicitation), "2025-06-18").await;
    let honest = server.ask("elicitation/create", form_params()).await;
    assert_eq!(honest["result"]["action"], "accept");
    let mut prying = form_params();
    prying["requestedSchema"]["properties"]["password"] = json!({ "type": "string" });
    assert_eq!(server.ask("elicitation/create", prying).await["result"], json!({ "action": "decline" }));
}

/// Security row G22.
#[tokio::test(start_paused = true)]
async fn unsafe_urls_are_never_shown() {
    let shown = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&shown);
    let elicitation = Elicitation::new(move |question| {
        count.fetch_add(1, Ordering::Relaxed);
        let Question::Url { host, .. } = &question else { panic!("a URL") };
        assert_eq!(host, "example.org");
        async { ElicitAnswer::Accept(BTreeMap::new()) }
    });
    let builder = Client::builder().elicitation(elicitation.clone().urls());
    let (_client, mut server) = full_pair(builder, "2025-11-25").await;
    let params = |url: &str| json!({ "mode": "url", "message": "go", "url": url, "elicitationId": "1" });
    let consent = server.ask("elicitation/create", params("https://example.org/login")).await;
    assert_eq!(consent["result"], json!({ "action": "accept" }));
    for url in ["javascript:alert(1)", "file:///etc/passwd", "https://a@example.org/", "data:,x"] {
        assert_eq!(code_of(&mut server, "elicitation/create", params(url)).await, -32602, "{url}");
    }
    assert_eq!(shown.load(Ordering::Relaxed), 1);
    let (_client, mut server) = full_pair(Client::builder().elicitation(elicitation), "2025-11-25").await;
    assert_eq!(code_of(&mut server, "elicitation/create", params("https://example.org")).await, -32602);
}

// covers: CANC-STOP, CANC-NO-RESPONSE, CANC-FREE, CANC-SAME-DIRECTION, CANC-IGNORE-UNKNOWN
// covers: CANC-IGNORE-MALFORMED, CANC-IGNORE-COMPLETED, PING-RESPOND, BASE-ERR-INTERNAL, CANC-LOG-REASON
#[tokio::test(start_paused = true)]
async fn a_question_can_be_withdrawn_while_others_are_answered() {
    let log = contexture_judge::Events::on_this_thread();
    let finished = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&finished);
    let elicitation = Elicitation::new(move |question| {
        let count = Arc::clone(&count);
        async move {
            assert_ne!(question.message(), "panic", "on purpose");
            tokio::time::sleep(Duration::from_secs(5)).await;
            count.fetch_add(1, Ordering::Relaxed);
            ElicitAnswer::Decline
        }
    });
    let (client, mut server) = full_pair(Client::builder().elicitation(elicitation), "2025-06-18").await;
    let call = client.call("t", ()).start();
    let own = server.asked("tools/call").await;
    let question =
        json!({ "jsonrpc": "2.0", "id": own["id"], "method": "elicitation/create", "params": form_params() });
    server.send(question.clone()).await.expect("sent");
    assert_eq!(server.ask("ping", Value::Null).await["result"], json!({}), "while the question is open");
    server.send(question).await.expect("a duplicate");
    let duplicate = server.receive().await.expect("refused");
    assert_eq!(duplicate["error"]["code"], -32600);
    for params in [
        json!({ "requestId": own["id"], "reason": "never mind" }),
        json!({ "requestId": 99 }),
        json!({ "requestId": [] }),
        json!({}),
        json!({ "requestId": own["id"] }),
    ] {
        server.notify("notifications/cancelled", params).await.expect("sent");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.hears_nothing().await;
    assert_eq!(finished.load(Ordering::Relaxed), 0, "stopped");
    let withdrawn = log.containing("withdrew").pop().expect("it is logged");
    assert!(withdrawn.contains("never mind") && withdrawn.contains(&own["id"].to_string()), "{withdrawn}");
    server.complete(&own, json!({ "content": [] })).await;
    call.await.expect("our own request with the same id went on");
    let mut params = form_params();
    params["message"] = json!("panic");
    assert_eq!(code_of(&mut server, "elicitation/create", params).await, -32603, "a panic ends one answer");
    assert!(server.ask("ping", Value::Null).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn questions_in_flight_are_bounded() {
    let elicitation = Elicitation::new(|_| std::future::pending());
    let mut policy = contexture::Policy::default();
    policy.in_flight = 3;
    let builder = Client::builder().elicitation(elicitation).policy(policy);
    let (_client, mut server) = full_pair(builder, "2025-06-18").await;
    for _ in 0..3 {
        server.start("elicitation/create", form_params()).await.expect("sent");
    }
    assert!(server.ask("elicitation/create", form_params()).await["error"]["code"].is_i64());
    assert_eq!(server.ask("ping", Value::Null).await["result"], json!({}));
}
