//! Exchanges that are passed on as they are on the wire, and questions that are.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::{Event, Forward, Forwarded};
use contexture::model::{
    ClientCapabilities, ErrorObject, InputRequest, LoggingLevel, Meta, Method, ProgressToken,
};
use contexture::testing::RawPeer;
use contexture::transport::memory;
use contexture::{Client, Error, Policy};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, code_of, discovery, everything, form_params, full_pair};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("JSON")
}

fn capabilities(value: Value) -> ClientCapabilities {
    serde_json::from_value(value).expect("capabilities")
}

fn call(client: &Client) -> Forward {
    client.forward(Method::ToolsCall, Some(&raw(r#"{"name":"t"}"#)))
}

fn kind(revision: &str) -> &'static str {
    if revision == MODERN { r#""resultType":"complete","# } else { "" }
}

/// Answers with a result that is written like this.
async fn write(server: &mut Played, request: &Value, result: &str) {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]);
    server.send_line(&line).await.expect("sent");
}

fn text(forwarded: &Forwarded) -> &str {
    str::from_utf8(&forwarded.result).expect("text")
}

#[tokio::test(start_paused = true)]
async fn what_goes_and_comes_is_not_touched_in_any_revision() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let params = concat!(
            "\n{ \"name\" : \"t\\u0061\",\r\n\"_meta\":{\"own\":1}, \"requestState\":\"forged\",",
            "\"arguments\":{\"n\":1.00,\n\"s\":\"a\\n\\/\\u00e9\"},\"inputResponses\":{}}\n"
        );
        let result = format!(r#"{{{}"content":[ ],"odd":1.50,"é":"\u0041"}}"#, kind(revision));
        let serve = async {
            let call = server.asked("tools/call").await;
            assert_eq!(call["params"]["name"], "ta");
            assert_eq!(call["params"]["arguments"], json!({ "n": 1.0, "s": "a\n/é" }));
            for left_out in ["requestState", "inputResponses"] {
                assert!(call["params"].get(left_out).is_none(), "{call}");
            }
            assert!(call["params"]["_meta"].get("own").is_none(), "{call}");
            let sent = server.transcript_text();
            assert!(sent.contains(r#""arguments":{"n":1.00, "s":"a\n\/\u00e9"}"#), "{sent}");
            write(&mut server, &call, &result).await;
            let list = server.asked("prompts/list").await;
            write(&mut server, &list, r#"{"prompts":[]}"#).await;
        };
        let calls = async {
            let forwarded = client.forward(Method::ToolsCall, Some(&raw(params))).await.expect("a result");
            assert_eq!(text(&forwarded), result);
            assert_eq!(forwarded.revision.as_str(), revision);
            assert!(forwarded.asked.is_none());
            let forwarded = client.forward(Method::PromptsList, None).await.expect("a result");
            assert_eq!(text(&forwarded), r#"{"prompts":[]}"#);
        };
        tokio::join!(serve, calls);
        assert_eq!(client.waiting(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_is_passed_on_but_nobody_speaks_for_us() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder().name("own", "1"), revision).await;
        let prefix = "io.modelcontextprotocol";
        let mut meta = Meta::new();
        for (name, value) in [
            ("traceparent", json!("00-1-2-01")),
            ("example.com/x", json!({ "y": [1] })),
            ("progressToken", json!("theirs")),
            ("io.modelcontextprotocol/protocolVersion", json!("1999-01-01")),
            ("io.modelcontextprotocol/clientInfo", json!({ "name": "theirs", "version": "1" })),
            ("io.modelcontextprotocol/clientCapabilities", json!({ "sampling": {} })),
            ("io.modelcontextprotocol/logLevel", json!("debug")),
        ] {
            meta.insert(name.to_owned(), value);
        }
        let serve = async {
            let call = server.asked("tools/call").await;
            let sent = &call["params"]["_meta"];
            assert_eq!(sent["traceparent"], "00-1-2-01");
            assert_eq!(sent["example.com/x"], json!({ "y": [1] }));
            assert_eq!(sent.get("progressToken"), None);
            let own = |name: &str| sent.get(format!("{prefix}/{name}"));
            assert_eq!(own("logLevel"), None);
            if revision == MODERN {
                assert_eq!(own("protocolVersion"), Some(&json!(MODERN)));
                assert_eq!(own("clientInfo").map(|info| &info["name"]), Some(&json!("own")));
                assert_eq!(own("clientCapabilities"), Some(&json!({})));
            } else {
                assert_eq!(sent.as_object().map(serde_json::Map::len), Some(2), "{sent}");
            }
            server.complete(&call, json!({ "content": [] })).await;
            let call = server.asked("tools/call").await;
            let sent = &call["params"]["_meta"];
            assert_eq!(sent["progressToken"], call["id"], "ours");
            let modern = (revision == MODERN).then(|| json!("warning"));
            assert_eq!(sent.get(format!("{prefix}/logLevel")), modern.as_ref());
            let modern = (revision == MODERN).then(|| json!({ "elicitation": { "form": {} } }));
            assert_eq!(sent.get(format!("{prefix}/clientCapabilities")), modern.as_ref());
            server.complete(&call, json!({ "content": [] })).await;
        };
        let calls = async {
            call(&client).meta(meta.clone()).await.expect("a result");
            let second = call(&client).meta(meta).on_progress(|_| {}).log_level(LoggingLevel::Warning);
            let declared = capabilities(json!({ "elicitation": { "form": {} } }));
            second.capabilities(declared).await.expect("a result");
        };
        tokio::join!(serve, calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_round_of_input_is_handed_over_and_goes_on_as_it_was_written() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let declared = capabilities(json!({ "elicitation": { "form": {} }, "roots": {} }));
    let asks = json!({
        "who": { "method": "elicitation/create", "params": form_params() },
        "where": { "method": "roots/list" },
    });
    let round =
        format!(r#"{{"resultType":"input_required","inputRequests":{asks},"requestState":"\u0061\/\n"}}"#);
    let serve = async {
        let first = server.asked("tools/call").await;
        write(&mut server, &first, &round).await;
        let second = server.asked("tools/call").await;
        assert_ne!(first["id"], second["id"]);
        assert_eq!(second["params"]["name"], "t");
        assert_eq!(second["params"]["inputResponses"]["where"], json!({ "roots": [] }));
        assert!(server.transcript_text().contains(r#""requestState":"\u0061\/\n""#), "byte for byte");
        write(&mut server, &second, r#"{"resultType":"complete","content":[]}"#).await;
    };
    let calls = async {
        let first = call(&client).capabilities(declared.clone()).await.expect("a round");
        assert_eq!(text(&first), round);
        let asked = first.asked.expect("questions");
        assert!(matches!(asked.requests["who"], InputRequest::Elicit(_)));
        assert!(matches!(asked.requests["where"], InputRequest::ListRoots(_)));
        let answers = raw("{\"who\":{\"action\":\"decline\"},\n\"where\":{\"roots\":[]}}");
        let second = call(&client).capabilities(declared).input(Some(&answers), asked.state.as_deref());
        assert!(second.await.expect("a result").asked.is_none());
    };
    tokio::join!(serve, calls);
}

/// What a server must not answer is no answer, and concerns nobody else.
#[tokio::test(start_paused = true)]
async fn results_that_must_not_be_are_refused() {
    let many: serde_json::Map<String, Value> =
        (0..1000).map(|n| (n.to_string(), json!({ "method": "roots/list" }))).collect();
    let tools = json!({ "messages": [], "maxTokens": 1, "tools": [] });
    let url = json!({ "mode": "url", "message": "m", "url": "https://example.com" });
    let bad = [
        json!([1]),
        json!("text"),
        json!({ "resultType": "surprise" }),
        json!({ "resultType": 5 }),
        json!({ "resultType": "input_required" }),
        json!({ "resultType": "input_required", "requestState": 7 }),
        json!({ "resultType": "input_required", "requestState": "x".repeat(64 * 1024 + 1) }),
        json!({ "resultType": "input_required", "inputRequests": [] }),
        json!({ "resultType": "input_required", "inputRequests": many }),
        json!({ "resultType": "input_required", "inputRequests": { "x": { "method": "tools/call" } } }),
        json!({ "resultType": "input_required",
            "inputRequests": { "x": { "method": "sampling/createMessage", "params": tools } } }),
        json!({ "resultType": "input_required",
            "inputRequests": { "x": { "method": "elicitation/create", "params": form_params() } } }),
        json!({ "resultType": "input_required",
            "inputRequests": { "x": { "method": "elicitation/create", "params": url } } }),
    ];
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let declared = capabilities(json!({ "roots": {}, "sampling": {}, "elicitation": { "url": {} } }));
    for result in bad {
        let forms_only = result.to_string().contains("https://");
        let mut declared = declared.clone();
        if forms_only {
            declared.elicitation = capabilities(json!({ "elicitation": { "form": {} } })).elicitation;
        }
        let serve = async {
            let call = server.asked("tools/call").await;
            write(&mut server, &call, &result.to_string()).await;
        };
        let (refused, ()) = tokio::join!(call(&client).capabilities(declared).into_future(), serve);
        assert!(
            matches!(refused, Err(Error::PeerMisbehaved(_) | Error::TooMuch(_))),
            "{result}: {refused:?}"
        );
    }
    let serve = async {
        let list = server.asked("tools/list").await;
        write(&mut server, &list, r#"{"resultType":"input_required","requestState":"s"}"#).await;
        let call = server.asked("tools/call").await;
        write(&mut server, &call, r#"{"content":[]}"#).await;
    };
    let calls = async {
        let refused = client.forward(Method::ToolsList, None).await;
        assert!(
            matches!(&refused, Err(Error::PeerMisbehaved(why)) if why.contains("must not")),
            "{refused:?}"
        );
        call(&client).await.expect("the connection is none the worse");
    };
    tokio::join!(serve, calls);
}

#[tokio::test(start_paused = true)]
async fn legacy_results_have_no_rounds() {
    for revision in LEGACY {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let call = server.asked("tools/call").await;
            write(&mut server, &call, r#"{"content":[],"resultType":"input_required"}"#).await;
            let call = server.asked("resources/read").await;
            server.refuse(&call, -32002).await;
        };
        let calls = async {
            assert!(call(&client).await.expect("a result").asked.is_none(), "a member like any other");
            let read = client.forward(Method::ResourcesRead, Some(&raw(r#"{"uri":"a:b"}"#))).await;
            assert!(matches!(read, Err(Error::Remote(error)) if error.code == -32002), "as it came");
        };
        tokio::join!(serve, calls);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_passed_on_is_not_sent() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let deep = format!(r#"{{"name":"t","arguments":{}1{}}}"#, "[".repeat(9000), "]".repeat(9000));
        for params in ["[]", "7", "null", "\"{}\"", &deep] {
            let refused = client.forward(Method::ToolsCall, Some(&raw(params))).await;
            assert!(matches!(refused, Err(Error::Misuse(_))), "{refused:?}");
        }
        for own in [Method::Initialize, Method::SubscriptionsListen] {
            assert!(matches!(client.forward(own, None).await, Err(Error::Misuse(_))));
        }
        let other_era = if revision == MODERN { Method::Ping } else { Method::ServerDiscover };
        assert!(matches!(client.forward(other_era, None).await, Err(Error::PeerIncompatible(_))));
        server.hears_nothing().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_is_cancelled_and_what_takes_too_long_expires() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let dropped = tokio::spawn(call(&client).into_future());
        let asked = server.asked("tools/call").await;
        dropped.abort();
        let cancelled = server.asked("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], asked["id"]);
        let second = Duration::from_secs(1);
        let slow = tokio::spawn(
            call(&client).timeout(second).max_time(3 * second).on_progress(|_| {}).into_future(),
        );
        let asked = server.asked("tools/call").await;
        for progress in 1..=4 {
            tokio::time::sleep(second * 9 / 10).await;
            let params = json!({ "progressToken": asked["id"], "progress": progress });
            server.notify("notifications/progress", params).await.expect("sent");
        }
        server.asked("notifications/cancelled").await;
        let expired = slow.await.expect("no panic");
        assert!(matches!(expired, Err(Error::Timeout(time)) if time == 3 * second), "{expired:?}");
        assert_eq!(client.waiting(), 0);
    }
}

/// Progress and log messages of an exchange are its own, in order; where it is not sure whose they are, nobody's.
#[tokio::test(start_paused = true)]
async fn asides_reach_the_exchange_that_they_belong_to() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let mut events = client.events();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = |who: &'static str| {
        let heard = Arc::clone(&heard);
        move |what: String| heard.lock().expect("a lock").push(format!("{who} {what}"))
    };
    let start = |who| {
        let (progress, log) = (note(who), note(who));
        let forward = call(&client).log_level(LoggingLevel::Info).on_progress(move |it| {
            assert!(matches!(it.progress_token, ProgressToken::Integer(_)));
            progress(it.progress.to_string());
        });
        tokio::spawn(forward.on_log(move |it| log(it.data.to_string())).into_future())
    };
    let said = |data: i32| json!({ "level": "info", "data": data });
    let first = start("a");
    let asked = server.asked("tools/call").await;
    server.notify("notifications/message", said(1)).await.expect("sent");
    let params = json!({ "progressToken": asked["id"], "progress": 2 });
    server.notify("notifications/progress", params).await.expect("sent");
    server.notify("notifications/message", said(3)).await.expect("sent");
    let second = start("b");
    let other = server.asked("tools/call").await;
    server.notify("notifications/message", said(4)).await.expect("sent");
    let Some(Event::Log(message)) = events.next().await else { panic!("no event") };
    assert_eq!(message.data, json!(4), "of which of the two?");
    server.complete(&asked, json!({ "content": [] })).await;
    first.await.expect("no panic").expect("a result");
    server.notify("notifications/message", said(5)).await.expect("sent");
    server.complete(&other, json!({ "content": [] })).await;
    second.await.expect("no panic").expect("a result");
    server.notify("notifications/message", said(6)).await.expect("sent");
    let Some(Event::Log(message)) = events.next().await else { panic!("no event") };
    assert_eq!(message.data, json!(6), "nobody hears it");
    assert_eq!(*heard.lock().expect("a lock"), ["a 1", "a 2", "a 3", "b 5"]);
}

/// Legacy log messages belong to the session.
#[tokio::test(start_paused = true)]
async fn legacy_log_messages_stay_events() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let mut events = client.events();
    let forward = tokio::spawn(call(&client).on_log(|_| panic!("not its own")).into_future());
    let asked = server.asked("tools/call").await;
    server.notify("notifications/message", json!({ "level": "info", "data": 1 })).await.expect("sent");
    assert!(matches!(events.next().await, Some(Event::Log(message)) if message.data == json!(1)));
    server.complete(&asked, json!({ "content": [] })).await;
    forward.await.expect("no panic").expect("a result");
}

/// Unless nobody else is there whose they could be.
#[tokio::test(start_paused = true)]
async fn legacy_log_messages_are_for_an_exchange_that_is_alone() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let listening = |heard: &tokio::sync::mpsc::UnboundedSender<Value>| {
        let heard = heard.clone();
        call(&client).alone().on_log(move |message| drop(heard.send(message.data))).into_future()
    };
    let one = tokio::spawn(listening(&heard));
    let asked = server.asked("tools/call").await;
    server.notify("notifications/message", json!({ "level": "info", "data": "alone" })).await.expect("sent");
    assert_eq!(hears.recv().await, Some(json!("alone")));

    // With another beside it nothing says whose it is.
    let two = tokio::spawn(listening(&heard));
    let beside = server.asked("tools/call").await;
    let mut events = client.events();
    server.notify("notifications/message", json!({ "level": "info", "data": "beside" })).await.expect("sent");
    assert!(matches!(events.next().await, Some(Event::Log(message)) if message.data == json!("beside")));
    for asked in [&asked, &beside] {
        server.complete(asked, json!({ "content": [] })).await;
    }
    for done in [one, two] {
        done.await.expect("no panic").expect("a result");
    }
    drop(heard);
    assert_eq!(hears.recv().await, None, "nothing else was heard");
}

/// Whoever passes something on must know whether it may have been done.
#[tokio::test(start_paused = true)]
async fn a_lost_connection_says_whether_the_request_had_left() {
    let mut policy = Policy::default();
    policy.unsent_bytes = 1;
    let (own, transport) = memory(1024);
    let mut server = RawPeer::over(own);
    let connecting = Client::builder().policy(policy).connect(transport);
    let (client, ()) = tokio::join!(connecting, async {
        let probe = server.expect("server/discover").await.expect("a probe");
        server.answer(&probe, discovery(everything())).await.expect("sent");
    });
    let client = client.expect("connected");
    let large = raw(&format!(r#"{{"name":"t","arguments":{{"x":"{}"}}}}"#, "x".repeat(100_000)));
    let left = tokio::spawn(client.forward(Method::ToolsCall, Some(&large)).into_future());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let waits = tokio::spawn(call(&client).into_future());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(client.waiting(), 2);
    drop(server);
    let (left, waits) = (left.await.expect("no panic"), waits.await.expect("no panic"));
    assert!(matches!(left, Err(Error::Interrupted(_))), "{left:?}");
    assert!(matches!(waits, Err(Error::Closed(_))), "{waits:?}");
    assert!(matches!(call(&client).await, Err(Error::Closed(_))), "not sent at all");
}

fn everything_asked() -> ClientCapabilities {
    capabilities(json!({ "roots": {}, "sampling": {}, "elicitation": { "form": {}, "url": {} } }))
}

/// The answer of a client of another revision is put into the words of this one.
// covers: ELIC-ACTIONS
#[tokio::test(start_paused = true)]
async fn a_responder_answers_whatever_legacy_servers_ask() {
    for revision in LEGACY {
        let builder = Client::builder().server_name("s").responder(everything_asked(), async |server, request| {
            assert_eq!(server.display_name(), "s");
            Ok(match request {
                InputRequest::ListRoots(_) => json!({ "roots": [{ "uri": "file:///a", "name": "a" }] }),
                InputRequest::CreateMessage(params) => json!({
                    "role": "assistant", "model": format!("m{}", params.max_tokens), "stopReason": "endTurn",
                    "content": [{ "type": "text", "text": "hi" }],
                }),
                _ => json!({ "action": "accept", "content": { "name": "Ada" } }),
            })
        });
        let (client, mut server) = full_pair(builder, revision).await;
        let roots = server.ask("roots/list", json!({})).await;
        assert_eq!(roots["result"]["roots"][0]["uri"], "file:///a");
        let sampled = server.ask("sampling/createMessage", json!({ "messages": [], "maxTokens": 5 })).await;
        assert_eq!(sampled["result"]["model"], "m5");
        if revision != "2025-11-25" {
            assert_eq!(sampled["result"]["content"]["text"], "hi", "one block, where there are no lists");
        }
        if revision >= "2025-06-18" {
            let elicited = server.ask("elicitation/create", form_params()).await;
            assert_eq!(elicited["result"], json!({ "action": "accept", "content": { "name": "Ada" } }));
        } else {
            assert_eq!(code_of(&mut server, "elicitation/create", form_params()).await, -32601);
        }
        client.roots_changed();
        server.asked("notifications/roots/list_changed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_responder_is_asked_only_what_was_declared_and_may_refuse() {
    let only_forms = capabilities(json!({ "elicitation": {}, "sampling": {} }));
    let builder = Client::builder().responder(only_forms, async |_, request| match request {
        InputRequest::Elicit(_) => Ok(json!({ "action": "surprise" })),
        _ => Err(ErrorObject::new(-1, "not today")),
    });
    let (client, mut server) = full_pair(builder, "2025-11-25").await;
    assert_eq!(code_of(&mut server, "roots/list", json!({})).await, -32601);
    let url = json!({ "mode": "url", "message": "m", "url": "https://a.b/c", "elicitationId": "1" });
    assert_eq!(code_of(&mut server, "elicitation/create", url).await, -32602);
    let tools = json!({ "messages": [], "maxTokens": 1, "tools": [] });
    assert_eq!(code_of(&mut server, "sampling/createMessage", tools).await, -32602);
    assert_eq!(code_of(&mut server, "elicitation/create", json!({})).await, -32602, "malformed");
    assert_eq!(code_of(&mut server, "elicitation/create", form_params()).await, -32603, "no such answer");
    let refused = server.ask("sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })).await;
    assert_eq!(refused["error"], json!({ "code": -1, "message": "not today" }));
    drop(client);
}

/// A question that is withdrawn is no longer passed on.
#[tokio::test(start_paused = true)]
async fn a_withdrawn_question_is_dropped() {
    #[derive(Debug, PartialEq)]
    enum Step {
        Nothing,
        Asked,
        Dropped,
    }
    struct Held(tokio::sync::watch::Sender<Step>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.send_replace(Step::Dropped);
        }
    }
    let step = tokio::sync::watch::Sender::new(Step::Nothing);
    let mut seen = step.subscribe();
    let builder = Client::builder().responder(everything_asked(), move |_, _| {
        let held = Held(step.clone());
        step.send_replace(Step::Asked);
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let (client, mut server) = full_pair(builder, "2025-06-18").await;
    let id = server.start("roots/list", json!({})).await.expect("sent");
    seen.wait_for(|step| *step == Step::Asked).await.expect("asked");
    server.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("sent");
    seen.wait_for(|step| *step == Step::Dropped).await.expect("dropped");
    drop(client);
}

/// Calls of the same client still have their rounds answered.
#[tokio::test(start_paused = true)]
async fn a_responder_answers_the_rounds_of_calls() {
    let builder =
        Client::builder().responder(everything_asked(), async |_, _| Ok(json!({ "action": "decline" })));
    let (client, mut server) = full_pair(builder, MODERN).await;
    let serve = async {
        let first = server.asked("tools/call").await;
        let declared = &first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert!(declared["elicitation"]["url"].is_object(), "{declared}");
        let asks = json!({ "q": { "method": "elicitation/create", "params": form_params() } });
        let round = json!({ "resultType": "input_required", "inputRequests": asks });
        server.answer(&first, round).await.expect("sent");
        let second = server.asked("tools/call").await;
        assert_eq!(second["params"]["inputResponses"], json!({ "q": { "action": "decline" } }));
        server.complete(&second, json!({ "content": [] })).await;
    };
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), serve);
    reply.expect("a result");
}
