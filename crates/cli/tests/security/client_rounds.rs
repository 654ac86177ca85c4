//! Our client against servers that ask: for too much, for ever, for what was not offered, or with a trap.

use std::sync::{Arc, Mutex};

use contexture::client::{Builder, ElicitAnswer, Elicitation, Question, Sampling};
use contexture::model::CreateMessageResult;
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::hostile::{server, setup, within};

type Shown = Arc<Mutex<Vec<String>>>;

/// A client whose person accepts everything, and the list of what they were shown.
fn trusting() -> (Builder, Shown) {
    let shown = Shown::default();
    let list = Arc::clone(&shown);
    let elicitation = Elicitation::new(move |question| {
        let text = match &question {
            Question::Url { url, .. } => url.clone(),
            other => other.message().to_owned(),
        };
        list.lock().expect("not poisoned").push(text);
        std::future::ready(ElicitAnswer::accept([("name", "Alice")]))
    });
    (setup().elicitation(elicitation.urls()), shown)
}

async fn spawn(builder: Builder, role: &str) -> Client {
    within(builder.spawn(server(role))).await.unwrap_or_else(|error| panic!("{role}: {error}"))
}

fn count(shown: &Shown) -> usize {
    shown.lock().expect("not poisoned").len()
}

async fn heard(client: &Client) -> Vec<String> {
    let reply = within(client.call("heard", ())).await.expect("the server tells");
    serde_json::from_str(&reply.text()).expect("a list")
}

fn form(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

#[tokio::test]
async fn rounds_without_end() {
    let (builder, shown) = trusting();
    let client = spawn(builder, "modern").await;
    for ask in [json!({"inputRequests": {"a": form("again")}}), json!({"requestState": "again"})] {
        let end = within(client.call("input", json!({"for_ever": true, "ask": ask}))).await;
        assert!(matches!(end, Err(Error::TooMuch(_) | Error::PeerMisbehaved(_))), "G17: {end:?}");
        let requests = heard(&client).await.len();
        assert!((10..=12).contains(&requests), "G17: {requests} requests");
    }
    assert!(count(&shown) <= 11, "G17");
}

#[tokio::test]
async fn rounds_that_ask_for_what_was_not_offered() {
    let (builder, shown) = trusting();
    let client = spawn(builder, "modern").await;
    let many: serde_json::Map<String, Value> = (0..1000).map(|n| (format!("k{n}"), form("many"))).collect();
    let sampling = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    for ask in [
        json!({"inputRequests": {"a": sampling}}),
        json!({"inputRequests": {"a": {"method": "roots/list"}}}),
        json!({"inputRequests": {"a": form("first"), "b": {"method": "roots/list"}}}),
        json!({"inputRequests": {"a": {"method": "tools/call", "params": {"name": "fine"}}}}),
        json!({"inputRequests": {"a": {"method": "", "params": {}}}}),
        json!({"inputRequests": {"a": null}}),
        json!({"inputRequests": {"a": {"method": "elicitation/create"}}}),
        json!({"inputRequests": []}),
        json!({"inputRequests": many}),
        json!({}),
    ] {
        let end = within(client.call("input", json!({"ask": ask}))).await;
        assert!(end.is_err(), "G18 {ask:.200}: {end:?}");
        assert_eq!(count(&shown), 0, "G18 {ask:.200}: shown to the person");
        assert_eq!(heard(&client).await.len(), 1, "G18 {ask:.200}: there was a second round");
    }
}

#[tokio::test]
async fn states_come_back_as_they_were() {
    let (builder, _) = trusting();
    let client = spawn(builder, "modern").await;
    for state in [
        Some("\u{0}\"\\/\u{1f600}\u{2028} </script>\n".to_owned()),
        Some("s".repeat(64 << 10)),
        Some(String::new()),
        None,
    ] {
        let mut ask = json!({"inputRequests": {"who": form("who?")}});
        if let Some(state) = &state {
            ask["requestState"] = state.as_str().into();
        }
        let reply = within(client.call("input", json!({"ask": ask}))).await.expect("an answer");
        assert_eq!(reply.text(), "answered", "G19");
        let requests: Vec<Value> =
            heard(&client).await.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(requests.len(), 2, "G19");
        assert!(requests[0]["params"].get("requestState").is_none(), "G19: state before any was given");
        assert_eq!(requests[1]["params"].get("requestState"), state.map(Value::from).as_ref(), "G19");
        assert_ne!(requests[0]["id"], requests[1]["id"], "G19: a new round is a new request");
        assert_eq!(requests[0]["params"]["arguments"], requests[1]["params"]["arguments"], "G19");
    }
    let ask = json!({"inputRequests": {"who": form("who?")}, "requestState": "s".repeat((64 << 10) + 1)});
    let end = within(client.call("input", json!({"ask": ask}))).await;
    assert!(end.is_err(), "G19: {end:?}");
}

#[tokio::test]
async fn input_for_a_list() {
    let (builder, shown) = trusting();
    let client = spawn(builder, "modern input").await;
    let end = within(client.tools()).await;
    assert!(end.is_err(), "G20: {end:?}");
    assert_eq!(count(&shown), 0, "G20");
}

/// What the client sends back for a question, asked in the legacy way.
async fn reply_to(client: &Client, tool: &str, params: &Value) -> Value {
    within(client.call(tool, params)).await.expect("the call itself is fine");
    let end = tokio::time::Instant::now() + crate::child::PATIENCE;
    loop {
        let replies = heard(client).await;
        let reply = replies.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        if let Some(reply) = reply.into_iter().find(|reply| reply["id"] == 2000) {
            return reply;
        }
        assert!(tokio::time::Instant::now() < end, "the question was never answered: {params}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn forms_with_traps() {
    let (builder, shown) = trusting();
    let client = spawn(builder, "legacy").await;
    for property in [
        json!({"type": "object", "properties": {"x": {"type": "string"}}}),
        json!({"type": "array", "items": {"type": "object"}}),
        json!({"$ref": "http://127.0.0.1:1/x"}),
        json!({"$ref": "#/$defs/x"}),
        json!({"allOf": [{"type": "string"}]}),
        json!({"type": "password"}),
        json!({}),
        json!(7),
    ] {
        let schema = json!({"type": "object", "properties": {"name": property}});
        let reply = reply_to(&client, "elicit", &json!({"message": "trap", "requestedSchema": schema})).await;
        assert!(reply["error"]["code"].is_i64(), "G21 {property}: {reply}");
        assert_eq!(count(&shown), 0, "G21 {property}: shown to the person");
    }
    for params in [
        json!({"message": "trap"}),
        json!({"message": 7, "requestedSchema": {"type": "object", "properties": {}}}),
        json!({"message": "trap", "requestedSchema": {"type": "array"}}),
        json!({"message": "trap", "requestedSchema": null}),
    ] {
        let reply = reply_to(&client, "elicit", &params).await;
        assert!(reply["error"]["code"].is_i64(), "G21 {params}: {reply}");
    }
    assert_eq!(count(&shown), 0, "G21");
}

#[tokio::test]
async fn urls_with_traps() {
    let (builder, shown) = trusting();
    let client = spawn(builder, "legacy").await;
    for url in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://example.com/",
        "https://user:pass@example.com/",
        "https://example.com@evil.example/",
        "not a url",
        "",
        "https://",
        "//example.com",
        " https://example.com",
        "https://exa\nmple.com",
        "https://example.com/\u{202e}",
    ] {
        let params = json!({"mode": "url", "message": "visit", "url": url, "elicitationId": "e"});
        let reply = reply_to(&client, "elicit", &params).await;
        assert!(reply["error"]["code"].is_i64(), "G22 {url}: {reply}");
        assert_eq!(count(&shown), 0, "G22 {url}: shown to the person");
    }
    // What is shown is shown whole.
    let url = "https://xn--80ak6aa92e.com/login?next=https://bank.example/";
    let params = json!({"mode": "url", "message": "visit", "url": url, "elicitationId": "e"});
    let reply = reply_to(&client, "elicit", &params).await;
    assert_eq!(reply["result"]["action"], "accept", "G22: {reply}");
    assert_eq!(*shown.lock().expect("not poisoned"), [url], "G22");
}

/// An answer that does not fit what was asked never leaves.
#[tokio::test]
async fn answers_that_do_not_fit() {
    let (builder, _) = trusting();
    let client = spawn(builder, "legacy").await;
    let schema = json!({"type": "object", "properties": {"name": {"type": "integer"}}, "required": ["name"]});
    let reply = reply_to(&client, "elicit", &json!({"message": "m", "requestedSchema": schema})).await;
    assert!(!reply.to_string().contains("Alice"), "G23: {reply}");
}

#[tokio::test]
async fn sampling_has_its_bounds() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let model = |asked: &Arc<Mutex<Vec<u64>>>| {
        let asked = Arc::clone(asked);
        Sampling::new(move |question| {
            asked.lock().expect("not poisoned").push(question.params.max_tokens);
            let result: CreateMessageResult = serde_json::from_value(json!({
                "role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"
            }))
            .expect("a result");
            std::future::ready(Ok::<_, std::fmt::Error>(result))
        })
    };
    let message = json!([{"role": "user", "content": {"type": "text", "text": "q"}}]);
    let huge = json!({"messages": message, "maxTokens": 1_000_000_000_000_u64});

    // Nobody approves: nobody is asked.
    let client = spawn(setup().sampling(model(&asked)), "legacy").await;
    let reply = reply_to(&client, "sample", &huge).await;
    assert!(reply["error"]["code"].is_i64(), "G24: {reply}");
    assert!(asked.lock().expect("not poisoned").is_empty(), "G24: the model was asked without approval");

    // With approval: capped.
    let client = spawn(setup().sampling(model(&asked).approve_all().max_tokens(500)), "legacy").await;
    let reply = reply_to(&client, "sample", &huge).await;
    assert_eq!(reply["result"]["model"], "m", "G24: {reply}");
    assert_eq!(*asked.lock().expect("not poisoned"), [500], "G24");

    // Tools were not offered, and a loop has a rate.
    let tools = json!({"messages": message, "maxTokens": 1, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let reply = reply_to(&client, "sample", &tools).await;
    assert!(reply["error"]["code"].is_i64(), "G24: {reply}");
    let client = spawn(setup().sampling(model(&asked).approve_all().per_second(2)), "legacy").await;
    let mut refused = 0;
    for _ in 0..10 {
        refused += usize::from(reply_to(&client, "sample", &huge).await["error"]["code"].is_i64());
    }
    assert!(refused > 0, "G24: no end to the loop");
}

/// Context of other servers is not ours to give, whatever is asked.
#[tokio::test]
async fn context_of_other_servers() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let sampling = Sampling::new(move |question| {
        sink.lock().expect("not poisoned").push(serde_json::to_value(&question.params).expect("JSON"));
        std::future::ready(Err::<CreateMessageResult, _>("no model here"))
    });
    let client = spawn(setup().sampling(sampling.approve_all()), "legacy").await;
    let message = json!([{"role": "user", "content": {"type": "text", "text": "q"}}]);
    let params = json!({"messages": message, "maxTokens": 1, "includeContext": "allServers"});
    let reply = reply_to(&client, "sample", &params).await;
    assert!(reply["error"]["code"].is_i64(), "G24: {reply}");
    for params in seen.lock().expect("not poisoned").iter() {
        assert_eq!(params["messages"].as_array().map(Vec::len), Some(1), "G24: {params}");
    }
}

/// Questions before the answer to the handshake, and of capabilities that were never declared.
#[tokio::test]
async fn questions_that_were_not_invited() {
    let client = spawn(setup(), "legacy").await;
    let reply = reply_to(&client, "elicit", &form("who?")["params"]).await;
    assert_eq!(reply["error"]["code"], -32601, "G18: {reply}");
    let reply = reply_to(&client, "sample", &json!({"messages": [], "maxTokens": 1})).await;
    assert_eq!(reply["error"]["code"], -32601, "G18: {reply}");
}
