//! Exchanges that are passed on, over HTTP.

use std::sync::{Arc, Mutex};

use contexture::client::Forward;
use contexture::model::{LoggingLevel, Method, Tool};
use contexture::{Client, Error};
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{MODERN, SESSION, handshake, pair, said};

fn call(client: &Client, params: &str) -> Forward {
    let params = RawValue::from_string(params.to_owned()).expect("JSON");
    client.forward(Method::ToolsCall, Some(&params))
}

/// Two at once on one client: each has its own log messages, and no others.
#[tokio::test]
async fn log_messages_belong_to_the_stream_that_they_came_on() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let start = |name: &'static str| {
        let heard = Arc::clone(&heard);
        let note = move |message: &serde_json::Value| {
            heard.lock().expect("a lock").push(format!("{name} heard {message}"));
        };
        let forward = call(&client, &format!(r#"{{"name":"{name}"}}"#)).log_level(LoggingLevel::Info);
        tokio::spawn(forward.on_log(move |message| note(&message.data)).into_future())
    };
    let (first, second) = (start("a"), start("b"));
    for _ in 0..2 {
        let seen = fixture.post("tools/call").await;
        let name = seen.request.header("mcp-name").expect("a name").to_owned();
        let answer = seen.response_with(said("x"));
        let mut stream = seen.stream().await;
        let params = json!({ "level": "info", "data": name });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        stream.event(None, &message).await;
        stream.event(None, &answer).await;
        stream.end().await;
    }
    first.await.expect("no panic").expect("a result");
    second.await.expect("no panic").expect("a result");
    let mut heard = heard.lock().expect("a lock").clone();
    heard.sort();
    assert_eq!(heard, [r#"a heard "a""#, r#"b heard "b""#]);
    fixture.close(&client).await;
}

/// What another connection has listed makes the headers of this one.
#[tokio::test]
async fn arguments_are_mirrored_as_far_as_the_tool_is_known() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    let tool: Tool = serde_json::from_value(json!({ "name": "t", "inputSchema": schema })).expect("a tool");
    let params = r#"{"name":"t","arguments":{"region":"west"}}"#;
    let (first, ()) = tokio::join!(call(&client, params).into_future(), async {
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-param-region"), None);
        seen.result(said("x")).await;
    });
    first.expect("a result");
    client.know_tools(&[tool]);
    let (second, ()) = tokio::join!(call(&client, params).into_future(), async {
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-param-region"), Some("west"));
        assert_eq!(seen.request.header("mcp-name"), Some("t"));
        seen.result(said("x")).await;
    });
    second.expect("a result");
    fixture.close(&client).await;
}

/// What was not taken is sent to the next session; what may have been is never sent again.
#[tokio::test]
async fn a_forgotten_session_is_opened_anew_and_an_answer_that_is_lost_stays_lost() {
    let revision = "2025-06-18";
    let (client, mut fixture) = pair(Client::builder(), revision).await;
    let (forwarded, ()) = tokio::join!(call(&client, r#"{"name":"t"}"#).into_future(), async {
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-session-id"), Some(SESSION));
        seen.refuse(404, "").await;
        fixture.post("initialize").await.opens("session-2", handshake(revision)).await;
        fixture.post("notifications/initialized").await.accept().await;
        fixture.verb("GET").await.refuse(405, "").await;
        let again = fixture.post("tools/call").await;
        assert_eq!(again.request.header("mcp-session-id"), Some("session-2"));
        again.result(said("x")).await;
    });
    forwarded.expect("a result");
    let (lost, ()) = tokio::join!(call(&client, r#"{"name":"t"}"#).into_future(), async {
        fixture.post("tools/call").await.cut();
        fixture.settle().await;
    });
    assert!(matches!(lost, Err(Error::Interrupted(_))), "{lost:?}");
    assert_eq!(fixture.methods().iter().filter(|method| *method == "tools/call").count(), 3);
    fixture.close(&client).await;
}
