//! Approval, audit, and checks of results.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::{Approval, CallOutcome, Event, ToolCall, ToolReply};
use contexture::model::CallToolResult;
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, full_pair};

async fn list(client: &Client, server: &mut Played, tools: Value) {
    let serve = async {
        let asked = server.asked("tools/list").await;
        server.complete(&asked, json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" })).await;
    };
    let (tools, ()) = tokio::join!(client.tools(), serve);
    tools.expect("a list");
}

async fn call(client: &Client, server: &mut Played, result: Value) -> Result<ToolReply, Error> {
    let serve = async {
        let asked = server.asked("tools/call").await;
        server.complete(&asked, result).await;
    };
    tokio::join!(client.call("t", json!({ "b": 1, "a": 2.50 })).into_future(), serve).0
}

// covers: TOOLS-HUMAN-LOOP, TOOLS-UI-CONFIRM, TOOLS-CLIENT-CONFIRM, TOOLS-CLIENT-SHOW-INPUTS
#[tokio::test(start_paused = true)]
async fn a_denied_call_stays_off_the_wire_and_an_approved_one_is_sent_as_shown() {
    for revision in ALL {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&shown);
        let builder = Client::builder().server_name("mine").approve_tools(move |call: ToolCall| {
            let arguments = call.arguments.as_ref().map(|raw| raw.get().to_owned());
            log.lock().expect("no panic").push((
                call.server.display_name().to_owned(),
                call.tool.clone(),
                arguments,
            ));
            assert!(call.sensitive, "everything is, unless someone knows better");
            async move { if call.tool == "t" { Approval::Allow } else { Approval::Deny } }
        });
        let (client, mut server) = full_pair(builder, revision).await;
        let before = server.methods().len();
        assert!(matches!(client.call("rm", json!({ "path": "/" })).await, Err(Error::Declined)));
        server.hears_nothing().await;
        assert_eq!(server.methods().len(), before);
        call(&client, &mut server, json!({ "content": [] })).await.expect("approved");
        let shown = shown.lock().expect("no panic");
        assert_eq!(shown[0], ("mine".into(), "rm".into(), Some(r#"{"path":"/"}"#.into())));
        let approved = shown[1].2.as_deref().expect("arguments");
        assert!(server.transcript_text().contains(&format!(r#""arguments":{approved}"#)), "the very text");
    }
}

/// Security row I16.
// covers: TOOLS-ANNOTATIONS-UNTRUSTED, TOOLS-ANNOTATIONS-NO-DECISION
#[tokio::test(start_paused = true)]
async fn hints_of_a_server_that_is_not_trusted_are_not_even_seen() {
    for trusted in [false, true] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let mut builder = Client::builder().approve_tools(move |call: ToolCall| {
            log.lock().expect("no panic").push((call.annotations.is_some(), call.sensitive));
            async { Approval::Allow }
        });
        if trusted {
            builder = builder.trust_annotations();
        }
        let (client, mut server) = full_pair(builder, "2025-06-18").await;
        for read_only in [true, false] {
            let hints = json!({ "readOnlyHint": read_only, "destructiveHint": !read_only, "title": "x" });
            let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "annotations": hints });
            list(&client, &mut server, json!([tool])).await;
            call(&client, &mut server, json!({ "content": [] })).await.expect("approved");
        }
        let seen = seen.lock().expect("no panic");
        let expected = if trusted { [(true, false), (true, true)] } else { [(false, true), (false, true)] };
        assert_eq!(*seen, expected);
    }
}

// covers: TOOLS-UI-INVOKED, TOOLS-CLIENT-AUDIT
#[tokio::test(start_paused = true)]
async fn every_call_is_on_the_record() {
    let log = contexture_judge::Events::on_this_thread();
    let builder = Client::builder()
        .approve_tools(
            async |call: ToolCall| if call.tool == "no" { Approval::Deny } else { Approval::Allow },
        )
        .sensitivity(|call| call.tool == "no");
    let (client, mut server) = full_pair(builder, MODERN).await;
    let mut events = client.events();
    call(&client, &mut server, json!({ "content": [] })).await.expect("a result");
    call(&client, &mut server, json!({ "content": [], "isError": true })).await.expect("a result");
    client.call("no", ()).await.expect_err("denied");
    let dropped = client.call("t", ()).start();
    let asked = server.asked("tools/call").await;
    drop(dropped);
    server.asked("notifications/cancelled").await;
    server.refuse(&asked, -32603).await;
    let expected = [
        (true, CallOutcome::Succeeded),
        (true, CallOutcome::ToolFailed),
        (false, CallOutcome::Denied),
        (true, CallOutcome::Cancelled),
    ];
    for (started, expected) in expected {
        if started {
            assert!(matches!(events.next().await, Some(Event::CallStarted { .. })));
        }
        let Some(Event::CallFinished { tool, outcome, .. }) = events.next().await else { panic!("an end") };
        assert!(tool == "t" || tool == "no");
        assert_eq!(outcome, expected);
    }
    let audit: Vec<String> = log.containing(" contexture::audit ");
    assert_eq!(audit.len(), 4);
    assert!(audit[0].contains("played") && audit[0].contains("Succeeded") && audit[0].contains("took"));
}

/// Security row I12.
// covers: TOOLS-OUTPUT-SCHEMA-VALIDATE
#[tokio::test(start_paused = true)]
async fn structured_results_must_fit_the_schema_they_were_listed_with() {
    for revision in ["2025-06-18", "2025-11-25", MODERN] {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let schema =
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema });
        list(&client, &mut server, json!([tool])).await;
        let fits = call(&client, &mut server, json!({ "content": [], "structuredContent": { "n": 1 } }));
        assert!(fits.await.expect("it fits").is_checked());
        for result in [
            json!({ "content": [], "structuredContent": { "n": "secret" } }),
            json!({ "content": [], "structuredContent": {} }),
            json!({ "content": [] }),
        ] {
            let error = call(&client, &mut server, result).await.expect_err("it does not fit");
            assert!(matches!(&error, Error::Invalid(why) if !why.contains("secret")), "{error}");
        }
        let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        assert!(call(&client, &mut server, failed).await.expect("a failure needs no structure").is_error());
    }
}

/// The first structured result of a tool that was not listed leads to one listing, and is checked with it.
// covers: TOOLS-OUTPUT-SCHEMA-VALIDATE
#[tokio::test(start_paused = true)]
async fn results_of_tools_that_nobody_listed_are_checked_too() {
    for revision in ["2025-06-18", MODERN] {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let tools = json!([{ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema }]);
        let structured = |n: Value| json!({ "content": [], "structuredContent": { "n": n } });
        let serve = async {
            let asked = server.asked("tools/call").await;
            server.complete(&asked, structured(json!("x"))).await;
            let list = server.asked("tools/list").await;
            server.complete(&list, json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" })).await;
            for _ in 0..2 {
                let asked = server.asked("tools/call").await;
                server.complete(&asked, structured(json!(1))).await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            server.notify("notifications/tools/list_changed", Value::Null).await.expect("sent");
            let asked = server.asked("tools/call").await;
            server.complete(&asked, structured(json!(1))).await;
            let list = server.asked("tools/list").await;
            server.refuse(&list, -32603).await;
        };
        let calls = async {
            assert!(matches!(client.call("t", ()).await, Err(Error::Invalid(_))));
            assert!(client.call("t", ()).await.expect("it fits").is_checked());
            let secret = client.call("unlisted", ()).await.expect("nothing to check with");
            assert!(!secret.is_checked(), "and nothing more to ask");
            tokio::time::sleep(Duration::from_millis(20)).await;
            let changed = client.call("t", ()).await.expect("a list that fails does not fail the call");
            assert!(!changed.is_checked());
        };
        tokio::join!(serve, calls);
        server.hears_nothing().await;
    }
}

/// Security row I11, for clients: only the tool with the hostile schema is affected, and nothing is fetched.
#[tokio::test(start_paused = true)]
async fn hostile_schemas_affect_only_their_tool() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let mut deep = json!({});
    for _ in 0..55 {
        deep = json!({ "not": deep });
    }
    let wide: Vec<Value> = (0..20_000).map(|_| json!({})).collect();
    for schema in [
        json!({ "$ref": "http://127.0.0.1:9/x" }),
        json!({ "$ref": "#/nowhere" }),
        json!({ "anyOf": wide }),
        deep,
    ] {
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema });
        list(&client, &mut server, json!([tool])).await;
        let reply =
            call(&client, &mut server, json!({ "content": [], "structuredContent": { "n": 1 } })).await;
        assert!(reply.is_err() || !reply.expect("unchecked").is_checked() || schema.get("not").is_some());
    }
}

// covers: TOOLS-CLIENT-VALIDATE-RESULTS, PROMPT-SEC-OUTPUT
#[tokio::test(start_paused = true)]
async fn results_can_be_changed_or_refused_before_anyone_sees_them() {
    let builder = Client::builder().filter_results(|call, reply| {
        assert_eq!(call.tool, "t");
        if reply.text().contains("password") {
            return Err(Error::Invalid("a password".into()));
        }
        Ok(CallToolResult::text(reply.text().to_uppercase()).into())
    });
    let (client, mut server) = full_pair(builder, LEGACY[2]).await;
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    assert_eq!(call(&client, &mut server, text("hello")).await.expect("passed on").text(), "HELLO");
    assert!(matches!(call(&client, &mut server, text("password: x")).await, Err(Error::Invalid(_))));
}
