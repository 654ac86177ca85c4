//! Input rounds of the modern era.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::client::{
    ElicitAnswer, Elicitation, Question, Roots, Sampling, SamplingApproval, SamplingQuestion,
};
use contexture::model::{CreateMessageResult, Root};
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{MODERN, Played, full_pair};

fn form() -> Value {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    json!({ "method": "elicitation/create", "params": { "message": "Who?", "requestedSchema": schema } })
}

fn sampling() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hi" } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 5 } })
}

fn person() -> (Elicitation, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let elicitation = Elicitation::new(move |_: Question| {
        count.fetch_add(1, Ordering::Relaxed);
        async { ElicitAnswer::accept([("name", "Ada")]) }
    });
    (elicitation, asked)
}

fn model() -> Sampling {
    Sampling::new(async |_: SamplingQuestion| Ok::<_, String>(CreateMessageResult::new("m", "hello")))
}

async fn require(server: &mut Played, request: &Value, requests: Value, state: Option<&str>) {
    let mut result = json!({ "resultType": "input_required" });
    if !requests.is_null() {
        result["inputRequests"] = requests;
    }
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    server.answer(request, result).await.expect("sent");
}

// covers: ELIC-ACTIONS, SAMP-HUMAN-LOOP
#[tokio::test(start_paused = true)]
async fn the_responders_answer_and_the_caller_sees_only_the_result() {
    let (elicitation, _) = person();
    let roots = Roots::new().with(Root::new("file:///work")).expect("a root");
    let builder = Client::builder().elicitation(elicitation).sampling(model().approve_all()).roots(roots);
    let (client, mut server) = full_pair(builder, MODERN).await;
    let serve = async {
        let first = server.asked("tools/call").await;
        let requests = json!({ "who": form(), "what": sampling(), "where": { "method": "roots/list" } });
        require(&mut server, &first, requests, Some("s\u{1}\"\\\u{fffd}")).await;
        let second = server.asked("tools/call").await;
        assert_ne!(first["id"], second["id"], "a new id each round");
        assert_eq!(second["params"]["name"], "t");
        assert_eq!(second["params"]["arguments"], json!({ "a": 1 }), "the original parameters");
        assert_eq!(second["params"]["requestState"], "s\u{1}\"\\\u{fffd}", "unchanged");
        let answers = &second["params"]["inputResponses"];
        assert_eq!(answers["who"], json!({ "action": "accept", "content": { "name": "Ada" } }));
        assert_eq!(answers["what"]["model"], "m");
        assert_eq!(answers["where"]["roots"], json!([{ "uri": "file:///work" }]));
        require(&mut server, &second, json!({ "who": form() }), None).await;
        let third = server.asked("tools/call").await;
        assert!(third["params"].get("requestState").is_none(), "none came, none goes back");
        assert_eq!(third["params"]["inputResponses"].as_object().map(|it| it.len()), Some(1));
        require(&mut server, &third, Value::Null, Some("later")).await;
        let fourth = server.asked("tools/call").await;
        assert_eq!(fourth["params"]["requestState"], "later");
        assert!(fourth["params"].get("inputResponses").is_none(), "nothing was asked");
        server.complete(&fourth, json!({ "content": [{ "type": "text", "text": "done" }] })).await;
    };
    let (reply, ()) = tokio::join!(client.call("t", json!({ "a": 1 })).into_future(), serve);
    assert_eq!(reply.expect("a result").text(), "done");
    assert_eq!(client.waiting(), 0);
}

/// Security row G19: the very bytes go back, whatever escapes they use.
#[tokio::test(start_paused = true)]
async fn state_is_echoed_byte_for_byte() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let state = format!(r#""\u0061\/\u00e9{}""#, "x".repeat(64 * 1024 - "a/é".len()));
    let serve = async {
        let first = server.asked("resources/read").await;
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","requestState":{state}}}}}"#,
            first["id"]
        );
        server.send_line(&line).await.expect("sent");
        let second = server.asked("resources/read").await;
        assert_eq!(second["params"]["requestState"], serde_json::from_str::<Value>(&state).expect("JSON"));
        assert!(server.transcript_text().contains(&state), "as it was written");
        server.complete(&second, json!({ "contents": [], "ttlMs": 60000, "cacheScope": "public" })).await;
        let again = server.asked("resources/read").await;
        server.complete(&again, json!({ "contents": [], "ttlMs": 0, "cacheScope": "public" })).await;
    };
    let calls = async {
        client.read("a:b").await.expect("contents");
        client.read("a:b").await.expect("what came of an input round is not kept");
    };
    tokio::join!(serve, calls);
}

/// Security row G17.
#[tokio::test(start_paused = true)]
async fn endless_rounds_come_to_an_end() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let serve = async {
        for _ in 0..=10 {
            let call = server.asked("prompts/get").await;
            require(&mut server, &call, Value::Null, Some("again")).await;
        }
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(client.prompt("p", ()).into_future(), serve);
    assert!(matches!(reply, Err(Error::TooMuch(_))));
}

/// Security rows G18 and G20: nobody is bothered with a round that must not be.
#[tokio::test(start_paused = true)]
async fn rounds_that_must_not_be_are_refused_before_anybody_is_asked() {
    let many: serde_json::Map<String, Value> = (0..1000).map(|n| (n.to_string(), form())).collect();
    let unsafe_url = json!({ "mode": "url", "message": "m", "url": "javascript:x" });
    let bad = [
        json!({ "who": form(), "what": sampling() }),
        json!({ "who": form(), "x": { "method": "tools/call", "params": {} } }),
        json!({ "who": form(), "x": { "method": "elicitation/create", "params": unsafe_url } }),
        json!({ "who": form(), "x": { "method": "elicitation/create", "params": { "message": "m" } } }),
        Value::Object(many),
        json!([]),
    ];
    for requests in bad {
        let (elicitation, asked) = person();
        let (client, mut server) = full_pair(Client::builder().elicitation(elicitation.urls()), MODERN).await;
        let serve = async {
            let call = server.asked("tools/call").await;
            require(&mut server, &call, requests.clone(), Some("s")).await;
            server.hears_nothing().await;
        };
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), serve);
        assert!(matches!(reply, Err(Error::PeerMisbehaved(_) | Error::TooMuch(_))), "{requests}");
        assert_eq!(asked.load(Ordering::Relaxed), 0, "{requests}");
    }
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let serve = async {
        let list = server.asked("tools/list").await;
        require(&mut server, &list, Value::Null, Some("s")).await;
        for result in [
            json!({ "resultType": "input_required" }),
            json!({ "resultType": "input_required", "requestState": 7 }),
            json!({ "resultType": "surprise", "content": [] }),
            json!({ "resultType": 5, "content": [] }),
        ] {
            let call = server.asked("tools/call").await;
            server.answer(&call, result).await.expect("sent");
        }
    };
    let calls = async {
        assert!(matches!(client.tools().await.expect_err("invalid").reason, Error::PeerMisbehaved(_)));
        for _ in 0..4 {
            assert!(matches!(client.call("t", ()).await, Err(Error::PeerMisbehaved(_))));
        }
    };
    tokio::join!(serve, calls);
}

#[tokio::test(start_paused = true)]
async fn a_refused_question_ends_the_call_without_another_round() {
    let denied = model().approve(async |_| SamplingApproval::Deny("no".into()));
    let (client, mut server) = full_pair(Client::builder().sampling(denied), MODERN).await;
    let serve = async {
        let call = server.asked("tools/call").await;
        require(&mut server, &call, json!({ "x": sampling() }), None).await;
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), serve);
    assert!(matches!(reply, Err(Error::Declined)));
    let bad = Elicitation::new(async |_| ElicitAnswer::accept([("other", "x")]));
    let (client, mut server) = full_pair(Client::builder().elicitation(bad), MODERN).await;
    let serve = async {
        let call = server.asked("tools/call").await;
        require(&mut server, &call, json!({ "x": form() }), None).await;
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), serve);
    assert!(matches!(reply, Err(Error::Invalid(_))));
}

/// Security row A38.
#[tokio::test(start_paused = true)]
async fn requests_of_a_modern_server_are_not_executed_and_not_answered() {
    let (elicitation, asked) = person();
    let (client, mut server) = full_pair(Client::builder().elicitation(elicitation), MODERN).await;
    for method in ["elicitation/create", "ping", "roots/list"] {
        let params = form()["params"].clone();
        server.start(method, params).await.expect("sent");
    }
    server.send_line(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#).await.expect("sent");
    server.hears_nothing().await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert_eq!(client.dropped().requests, 3);
}

// covers: LIFE-TIMEOUT-MAX
#[tokio::test(start_paused = true)]
async fn the_maximum_time_is_for_all_rounds_together() {
    let second = Duration::from_secs(1);
    let slow = Elicitation::new(move |_| async move {
        tokio::time::sleep(second).await;
        ElicitAnswer::Decline
    });
    let (client, mut server) = full_pair(Client::builder().elicitation(slow), MODERN).await;
    let began = tokio::time::Instant::now();
    let call = client.call("t", ()).max_time(5 * second).start();
    for _ in 0..3 {
        let asked = server.asked("tools/call").await;
        tokio::time::sleep(second).await;
        require(&mut server, &asked, json!({ "q": form() }), None).await;
    }
    assert!(matches!(call.await, Err(Error::Timeout(time)) if time == 5 * second));
    assert_eq!(began.elapsed().as_secs(), 5);
}
