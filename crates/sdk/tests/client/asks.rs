//! Roots and sampling: what servers of the legacy era ask of a client and its model.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::{
    ElicitAnswer, Elicitation, Roots, Sampling, SamplingApproval, SamplingQuestion, SamplingReview,
};
use contexture::model::{CreateMessageResult, Root};
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, code_of, form_params, full_pair};

fn roots() -> Roots {
    Roots::new().with(Root::new("file:///srv/project/a").name("a")).expect("a root")
}

fn sample_params() -> Value {
    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }], "maxTokens": 100 })
}

fn echo_model() -> Sampling {
    Sampling::new(async |question: SamplingQuestion| {
        let text = format!("{} tokens at most", question.params.max_tokens);
        Ok::<_, String>(CreateMessageResult::new("model-1", text.as_str()).stop_reason("endTurn"))
    })
}

// covers: ROOTS-CAP-DECLARE, SAMP-CAP-DECLARE, ELIC-CAP-DECLARE, LIFE-OP-VERSION, LIFE-OP-VERSION-2024
#[tokio::test(start_paused = true)]
async fn capabilities_follow_from_the_responders() {
    for revision in ALL {
        let elicitation = Elicitation::new(async |_| ElicitAnswer::Decline).urls();
        let builder =
            Client::builder().roots(roots()).sampling(echo_model().tools()).elicitation(elicitation);
        let (_client, server) = full_pair(builder, revision).await;
        let hello = server.sent_by_client().remove(0);
        let declared = match revision {
            MODERN => &hello["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            _ => &hello["params"]["capabilities"],
        };
        let changes = json!({ "listChanged": true });
        let expected = match revision {
            "2024-11-05" | "2025-03-26" => json!({ "roots": changes, "sampling": {} }),
            "2025-06-18" => json!({ "roots": changes, "sampling": {}, "elicitation": {} }),
            "2025-11-25" => json!({
                "roots": changes, "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} }
            }),
            _ => json!({
                "roots": {}, "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} }
            }),
        };
        assert_eq!(declared, &expected, "{revision}");
    }
}

// covers: ROOTS-ERR-UNSUPPORTED, SAMP-CAP-DECLARE, ELIC-CAP-DECLARE, LIFE-OP-CAPS, LIFE-OP-CAPS-2024
// covers: BASE-ERR-METHOD-NOT-FOUND, BASE-COMPONENTS-REQUIRED
#[tokio::test(start_paused = true)]
async fn what_was_not_declared_is_not_found() {
    for revision in LEGACY {
        let (_client, mut server) = full_pair(Client::builder(), revision).await;
        assert_eq!(code_of(&mut server, "roots/list", Value::Null).await, -32601);
        assert_eq!(code_of(&mut server, "sampling/createMessage", sample_params()).await, -32601);
        assert_eq!(code_of(&mut server, "elicitation/create", form_params()).await, -32601);
        assert_eq!(code_of(&mut server, "no/such/method", Value::Null).await, -32601);
        assert_eq!(code_of(&mut server, "tools/list", Value::Null).await, -32601);
        assert_eq!(server.ask("ping", json!({})).await["result"], json!({}));
    }
    let elicitation = Elicitation::new(async |_| ElicitAnswer::Decline);
    let (_client, mut server) = full_pair(Client::builder().elicitation(elicitation), "2025-03-26").await;
    assert_eq!(
        code_of(&mut server, "elicitation/create", form_params()).await,
        -32601,
        "not in this revision"
    );
}

// covers: ROOTS-LIST-CHANGED, ROOTS-URI-FILE, ROOTS-SEC-PERMS, ROOTS-CLIENT-UI, ROOTS-SEC-TRAVERSAL
#[tokio::test(start_paused = true)]
async fn roots_are_explicit_checked_and_announced() {
    for revision in LEGACY {
        let roots = roots().permit(|root| !root.uri.contains("secret"));
        let (_client, mut server) = full_pair(Client::builder().roots(roots.clone()), revision).await;
        let listed = server.ask("roots/list", Value::Null).await;
        assert_eq!(listed["result"]["roots"], json!([{ "uri": "file:///srv/project/a", "name": "a" }]));
        roots.add(Root::new("file:///srv/project/secret")).expect("added");
        server.asked("notifications/roots/list_changed").await;
        roots.add(Root::new("file:///srv/project/b")).expect("added");
        server.asked("notifications/roots/list_changed").await;
        assert!(!roots.add(Root::new("file:///srv/project/b")).expect("known"), "no change, no notification");
        let listed = server.ask("roots/list", json!({})).await;
        assert_eq!(
            listed["result"]["roots"].as_array().map(Vec::len),
            Some(2),
            "the secret one is held back"
        );
        assert!(roots.remove("file:///srv/project/a"));
        server.asked("notifications/roots/list_changed").await;
        server.hears_nothing().await;
        for bad in ["http://a/b", "/srv/project", "file:///a/../../etc", "file:///a/%2e%2e/etc", "work"] {
            assert!(matches!(roots.add(Root::new(bad)), Err(Error::Misuse(_))), "{bad}");
        }
        assert_eq!(roots.list().len(), 2);
    }
    assert!(Roots::new().list().is_empty(), "nothing is a root by default");
}

// covers: ROOTS-SEC-MONITOR, ROOTS-CLIENT-MONITOR, ROOTS-CLIENT-VALIDATE-ACCESS, ROOTS-SEC-ACCESS
#[tokio::test(start_paused = true)]
async fn vanished_roots_are_dropped_and_announced() {
    let directory = std::env::temp_dir().join(format!("contexture-roots-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let uri = format!("file://{}", directory.display());
    let here = Roots::new().with(Root::new(&uri)).expect("a root").check_access();
    here.add(Root::new("file:///no/such/place")).expect("well-formed");
    let (_client, mut server) = full_pair(Client::builder().roots(here.clone()), "2025-06-18").await;
    let (_other, mut other) = full_pair(Client::builder().roots(Roots::new()), "2025-06-18").await;
    let listed = server.ask("roots/list", Value::Null).await;
    assert_eq!(listed["result"]["roots"], json!([{ "uri": uri }]), "only what is there");
    assert_eq!(other.ask("roots/list", Value::Null).await["result"]["roots"], json!([]), "each has its own");
    assert_eq!(here.refresh().len(), 1, "what never was there");
    server.asked("notifications/roots/list_changed").await;
    let here = here.refresh_every(Duration::from_secs(5));
    server.hears_nothing().await;
    std::fs::remove_dir_all(&directory).expect("removed");
    server.asked("notifications/roots/list_changed").await;
    assert!(here.list().is_empty(), "found out by itself");
    assert_eq!(server.ask("roots/list", Value::Null).await["result"]["roots"], json!([]));
    other.hears_nothing().await;
}

// covers: ROOTS-CLIENT-CONSENT, ROOTS-ERR-INTERNAL
#[tokio::test(start_paused = true)]
async fn roots_need_consent_where_it_is_asked_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let held_back = roots().consent(move |server| {
        count.fetch_add(1, Ordering::Relaxed);
        assert_eq!(server.display_name(), "played");
        async { false }
    });
    let (_client, mut server) = full_pair(Client::builder().roots(held_back.clone()), "2025-06-18").await;
    for _ in 0..2 {
        assert_eq!(server.ask("roots/list", Value::Null).await["result"]["roots"], json!([]));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "once");
    let (_other, mut other) = full_pair(Client::builder().roots(held_back), "2025-06-18").await;
    other.ask("roots/list", Value::Null).await;
    assert_eq!(asked.load(Ordering::Relaxed), 2, "once for every server");
    let failing = roots().provider(async || Err("disk on fire".to_owned()));
    let (_client, mut server) = full_pair(Client::builder().roots(failing), "2025-06-18").await;
    let answer = server.ask("roots/list", Value::Null).await;
    assert_eq!(answer["error"]["code"], -32603);
    assert!(!answer.to_string().contains("fire"));
    let remote = roots().provider(async || Ok(vec![Root::new("https://example.org")]));
    let (_client, mut server) = full_pair(Client::builder().roots(remote), "2025-06-18").await;
    assert_eq!(code_of(&mut server, "roots/list", Value::Null).await, -32603);
}

// covers: SAMP-APPROVAL, SAMP-HUMAN-LOOP, SAMP-ERRORS
#[tokio::test(start_paused = true)]
async fn sampling_without_approval_is_denied() {
    let (_client, mut server) = full_pair(Client::builder().sampling(echo_model()), "2025-06-18").await;
    assert_eq!(code_of(&mut server, "sampling/createMessage", sample_params()).await, -1);
    let denied = echo_model().approve(async |_| SamplingApproval::Deny("not now".into()));
    let (_client, mut server) = full_pair(Client::builder().sampling(denied), "2025-06-18").await;
    let answer = server.ask("sampling/createMessage", sample_params()).await;
    assert_eq!(answer["error"], json!({ "code": -1, "message": "not now" }));
    let broken = Sampling::new(async |_| Err::<CreateMessageResult, _>("quota")).approve_all();
    let (_client, mut server) = full_pair(Client::builder().sampling(broken), "2025-06-18").await;
    assert_eq!(code_of(&mut server, "sampling/createMessage", sample_params()).await, -32603);
    let slow = Sampling::new(|_| std::future::pending::<Result<CreateMessageResult, String>>());
    let slow = slow.approve_all().time(Duration::from_secs(1));
    let (_client, mut server) = full_pair(Client::builder().sampling(slow), "2025-06-18").await;
    assert_eq!(code_of(&mut server, "sampling/createMessage", sample_params()).await, -32603);
}

// covers: SAMP-UI-REVIEW, SAMP-EDIT-PROMPT, SAMP-REVIEW-RESPONSE, SAMP-MAXTOKENS, SAMP-SYSTEM-PROMPT
// covers: SCHEMA-SAMPLING-RESULT, SAMP-PREFS-ADVISORY, SAMP-INCLUDE-CONTEXT
#[tokio::test(start_paused = true)]
async fn people_see_and_edit_what_is_asked_and_answered() {
    for revision in LEGACY {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let sampling = echo_model()
            .max_tokens(10)
            .approve(move |question| {
                let mut params = question.params.clone();
                params.system_prompt = None;
                log.lock()
                    .expect("no panic")
                    .push((question.server.display_name().to_owned(), question.params));
                async move { SamplingApproval::Edit(Box::new(params)) }
            })
            .review(async |question, result| {
                assert_eq!(question.params.system_prompt, None);
                let mut result = result.clone();
                result.model = format!("{} (reviewed)", result.model);
                SamplingReview::Edit(Box::new(result))
            });
        let builder = Client::builder().server_name("my server").sampling(sampling);
        let (_client, mut server) = full_pair(builder, revision).await;
        let mut params = sample_params();
        params["systemPrompt"] = json!("be rude");
        params["includeContext"] = json!("allServers");
        params["modelPreferences"] = json!({ "hints": [{ "name": "other" }] });
        let answer = server.ask("sampling/createMessage", params).await;
        let content = json!({ "type": "text", "text": "10 tokens at most" });
        assert_eq!(
            answer["result"],
            json!({
                "role": "assistant", "content": content, "model": "model-1 (reviewed)", "stopReason": "endTurn"
            })
        );
        let seen = seen.lock().expect("no panic");
        assert_eq!(seen[0].0, "my server");
        assert_eq!(seen[0].1.system_prompt.as_deref(), Some("be rude"), "complete as it came");
    }
    let refused = echo_model().approve_all().review(async |_, _| SamplingReview::Deny("no".into()));
    let (_client, mut server) = full_pair(Client::builder().sampling(refused), "2025-06-18").await;
    assert_eq!(code_of(&mut server, "sampling/createMessage", sample_params()).await, -1);
}

// covers: SAMP-VALIDATE, SCHEMA-SAMPLING-CONTENT, SCHEMA-ROLE, BASE-ERR-INVALID-PARAMS
#[tokio::test(start_paused = true)]
async fn malformed_sampling_requests_are_refused() {
    let (_client, mut server) =
        full_pair(Client::builder().sampling(echo_model().approve_all()), "2024-11-05").await;
    let content = [
        json!({ "type": "image", "data": "not base64!", "mimeType": "image/png" }),
        json!({ "type": "resource", "resource": { "uri": "a:b", "text": "x" } }),
        json!({ "type": "smell" }),
        json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }),
        json!("text"),
    ];
    for content in content {
        let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 1 });
        assert_eq!(code_of(&mut server, "sampling/createMessage", params).await, -32602, "{content}");
    }
    for messages in [
        json!([{ "content": { "type": "text", "text": "" } }]),
        json!([{ "role": "system", "content": { "type": "text", "text": "" } }]),
        json!({}),
    ] {
        let params = json!({ "messages": messages, "maxTokens": 1 });
        assert_eq!(code_of(&mut server, "sampling/createMessage", params).await, -32602);
    }
    let mut params = sample_params();
    params["tools"] = json!([]);
    assert_eq!(
        code_of(&mut server, "sampling/createMessage", params).await,
        -32602,
        "tools were not declared"
    );
    assert!(server.ask("sampling/createMessage", sample_params()).await.get("result").is_some());
}

// covers: SAMP-SENSITIVE
#[tokio::test(start_paused = true)]
async fn what_people_and_models_say_is_not_logged() {
    let log = contexture_judge::Events::on_this_thread();
    let sampling =
        Sampling::new(async |_| Ok::<_, String>(CreateMessageResult::new("m", "hush-answer"))).approve_all();
    let elicitation = Elicitation::new(async |_| ElicitAnswer::accept([("name", "hush-name")]));
    let builder = Client::builder().sampling(sampling).elicitation(elicitation);
    let (client, mut server) = full_pair(builder, "2025-06-18").await;
    let content = json!({ "type": "text", "text": "hush-question" });
    let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 1 });
    server.ask("sampling/createMessage", params).await;
    server.ask("elicitation/create", form_params()).await;
    server
        .notify("notifications/message", json!({ "level": "error", "data": "hush-log" }))
        .await
        .expect("sent");
    let call = client.call("t", json!({ "key": "hush-argument" })).start();
    let asked = server.asked("tools/call").await;
    server.complete(&asked, json!({ "content": [{ "type": "text", "text": "hush-result" }] })).await;
    call.await.expect("a result");
    let lines = log.containing("");
    assert!(!lines.is_empty() && !lines.iter().any(|line| line.contains("hush")), "{lines:?}");
}

// covers: SAMP-RATE-LIMIT, ELIC-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn servers_that_ask_too_often_are_refused() {
    let sampling = echo_model().approve_all().per_second(2);
    let elicitation = Elicitation::new(async |_| ElicitAnswer::Decline).per_second(2);
    let builder = Client::builder().sampling(sampling).elicitation(elicitation);
    let (_client, mut server) = full_pair(builder, "2025-06-18").await;
    for method in ["sampling/createMessage", "elicitation/create"] {
        let params = if method.starts_with('s') { sample_params() } else { form_params() };
        for _ in 0..2 {
            assert!(server.ask(method, params.clone()).await.get("result").is_some());
        }
        assert!(server.ask(method, params.clone()).await.get("error").is_some());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(server.ask(method, params).await.get("result").is_some());
    }
}

/// What it said before an answer counts when that is here: whoever lends a connection to somebody else looks at it then.
#[tokio::test(start_paused = true)]
async fn a_server_that_has_said_something_by_itself_is_told_from_one_that_has_not() {
    for says in ["nothing", "a message", "a question"] {
        let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
        let (pong, ()) = tokio::join!(client.ping(), async {
            let asked = server.asked("ping").await;
            match says {
                "a message" => {
                    let message = json!({ "level": "info", "data": "by the way" });
                    server.notify("notifications/message", message).await.expect("sent");
                }
                "a question" => drop(server.ask("roots/list", Value::Null).await),
                _ => {}
            }
            server.complete(&asked, json!({})).await;
        });
        pong.expect("it is there");
        assert_eq!(client.has_spoken(), says != "nothing", "{says}");
    }
}
