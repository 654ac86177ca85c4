//! Messages: which are served, which are refused and how, and which are never answered.

use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::model::{CreateMessageParams, Meta, SamplingMessage};
use contexture::testing::Side;
use contexture::{Args, Context, Server, State, prompt, resource, tool};
use serde_json::{Value, json};

use super::support::{EVERY, LEGACY, MODERN, Peer, with_meta};

/// How often a handler ran.
#[derive(Default)]
struct Ran(AtomicUsize);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn server() -> Server {
    Server::new("base", "1")
        .state(Ran::default())
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
        .tool(tool("count").handler(|State(ran): State<Ran>| async move {
            format!("run {}", ran.0.fetch_add(1, Ordering::Relaxed) + 1)
        }))
        .tool(
            tool("meta")
                .handler(|meta: Meta| async move { serde_json::to_string(&meta).unwrap_or_default() }),
        )
        .tool(tool("ask").handler(|context: Context| async move {
            let answer =
                context.sample("q", CreateMessageParams::new(vec![SamplingMessage::user("?")], 9)).await?;
            Ok::<_, contexture::Error>(answer.model)
        }))
        .tool(tool("panic").handler(|| async {
            if true {
                panic!("a secret")
            }
        }))
        .prompt(prompt("greet").handler(|| async { "hello" }))
        .resource(resource("demo://note").text("note"))
        .complete_prompt("greet", "name", |_: contexture::server::Completing| async {
            Ok(vec!["x".to_owned()])
        })
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// How often `count` has run before.
async fn runs(peer: &mut Peer) -> String {
    text(&peer.call("tools/call", json!({ "name": "count" })).await).to_owned()
}

// covers: BASE-COMPONENTS-REQUIRED, BASE-COMPONENTS-OPTIONAL
#[tokio::test]
async fn a_server_of_nothing_is_still_a_server() {
    for revision in EVERY {
        let mut peer = Peer::speaking(Server::new("bare", "1").without_logging(), revision, json!({})).await;
        assert_eq!(peer.capabilities(), &json!({}), "{revision}");
        for method in
            ["tools/list", "prompts/list", "resources/list", "completion/complete", "logging/setLevel"]
        {
            let refused = peer.call(method, json!({})).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method} {refused}");
        }
        if revision != MODERN {
            assert_eq!(peer.call("ping", json!({})).await["result"], json!({}));
        }
    }
}

// covers: BASE-JSONRPC-CONFORM
#[tokio::test]
async fn only_json_rpc_two_is_dispatched() {
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        for version in [None, Some(json!("1.0")), Some(json!(2.0)), Some(Value::Null), Some(json!("2.00"))] {
            let params = with_meta(json!({ "name": "count" }), json!({}));
            let mut message = json!({ "id": "v", "method": "tools/call", "params": params });
            if let Some(version) = &version {
                message["jsonrpc"] = version.clone();
            }
            peer.send(message).await.expect("sent");
            let refused = peer.response(&json!("v")).await.expect("an answer");
            assert_eq!(refused["error"]["code"], -32600, "{revision} {version:?} {refused}");
        }
        assert_eq!(runs(&mut peer).await, "run 1", "{revision}: none of them ran");
        let sent = peer.transcript().sent_by(Side::Server);
        assert!(sent.iter().all(|message| message["jsonrpc"] == "2.0"));
    }
}

// covers: BASE-REQ-ID-TYPE, BASE-REQ-ID-NOT-NULL
#[tokio::test]
async fn a_request_with_a_bad_id_is_neither_served_nor_a_notification() {
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for id in
            [json!(1.5), json!(true), json!({ "a": 1 }), json!([1]), Value::Null, json!("x".repeat(2000))]
        {
            let params = with_meta(json!({ "name": "count" }), json!({}));
            peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
                .await
                .expect("sent");
            let refused = peer.receive().await.expect("an answer");
            assert_eq!(refused["error"]["code"], -32600, "{revision} {id} {refused}");
            let expected = (!matches!(revision, "2025-11-25" | MODERN)).then_some(&Value::Null);
            assert_eq!(refused.get("id"), expected, "{revision} {refused}");
        }
        assert_eq!(runs(&mut peer).await, "run 1", "{revision}");
    }
}

// covers: BASE-RESP-ID-ECHO, BASE-REQ-ID-TYPE
#[tokio::test]
async fn ids_come_back_byte_for_byte() {
    let ids = ["1", "\"1\"", "-7", "9223372036854775807", "\"\"", "\"\\u00e9\\n\"", "\"é/\\/\"", "0"];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for id in ids {
            for (method, params) in [
                ("tools/list", json!({})),
                ("no/such", json!({})),
                ("tools/call", json!({ "name": "count" })),
            ] {
                let params = with_meta(params, json!({}));
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
                peer.send_line(&line).await.expect("sent");
                peer.receive().await.expect("an answer");
                let entries = peer.transcript().entries();
                let answer = entries.last().expect("recorded").message.get().to_owned();
                assert!(answer.contains(&format!(r#""id":{id},"#)), "{revision} {id} {answer}");
            }
        }
    }
}

// covers: BASE-RESP-ONE-OF, BASE-RESP-NOT-BOTH, BASE-ERROR-CODE-INT, BASE-ERROR-CODE-MESSAGE
// covers: SCHEMA-RESULT-OBJECT
#[tokio::test]
async fn a_malformed_answer_fails_what_waits_for_it() {
    let error = json!({ "code": -1, "message": "no" });
    let malformed = [
        json!({}),
        json!({ "result": {}, "error": error }),
        json!({ "result": "text" }),
        json!({ "result": null }),
        json!({ "error": { "code": "-32601", "message": "text" } }),
        json!({ "error": { "code": 1.5, "message": "fraction" } }),
        json!({ "error": { "code": 1 } }),
        json!({ "error": { "message": "no code" } }),
        json!({ "error": "text" }),
    ];
    for revision in LEGACY {
        let mut peer = Peer::session(server(), revision, json!({ "sampling": {} })).await;
        for members in &malformed {
            let id = peer.start("tools/call", json!({ "name": "ask" })).await.expect("sent");
            let asked = peer.expect("sampling/createMessage").await.expect("asked");
            let mut answer = members.clone();
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = asked["id"].clone();
            peer.send(answer).await.expect("sent");
            let failed = peer.response(&json!(id)).await.expect("no hang");
            assert_eq!(failed["result"]["isError"], true, "{revision} {members} {failed}");
            assert!(text(&failed).contains("broke the protocol"), "{members} {failed}");
        }
        let responses = peer.transcript().sent_by(Side::Server);
        for message in responses.iter().filter(|message| message.get("method").is_none()) {
            assert!(message.get("result").is_some() != message.get("error").is_some(), "{message}");
            assert!(message.get("result").is_none_or(Value::is_object), "{message}");
        }
    }
}

// covers: BASE-RESULT-ANY-OBJECT, BASE-REQ-ID-UNIQUE
#[tokio::test]
async fn unknown_members_of_an_answer_do_no_harm() {
    for revision in LEGACY {
        let mut peer =
            Peer::session(server(), revision, json!({ "sampling": {}, "unheard-of": { "x": 1 } })).await;
        let mut ids = std::collections::HashSet::new();
        for _ in 0..20 {
            let id = peer.start("tools/call", json!({ "name": "ask" })).await.expect("sent");
            let asked = peer.expect("sampling/createMessage").await.expect("asked");
            assert!(
                asked["id"].is_i64() && ids.insert(asked["id"].to_string()),
                "an id is used once: {asked}"
            );
            let result = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "!" },
                "x-unknown": [1, { "deep": null }], "_meta": { "com.example/y": true } });
            peer.answer(&asked, result).await.expect("sent");
            assert_eq!(text(&peer.response(&json!(id)).await.expect("an answer")), "m", "{revision}");
        }
    }
}

// covers: SCHEMA-EMPTY-RESULT
#[tokio::test]
async fn methods_without_data_are_answered_with_nothing() {
    for revision in LEGACY {
        let mut peer = Peer::session(server(), revision, json!({})).await;
        for (method, params) in [
            ("ping", json!({})),
            ("logging/setLevel", json!({ "level": "error" })),
            ("resources/subscribe", json!({ "uri": "demo://note" })),
            ("resources/unsubscribe", json!({ "uri": "demo://note" })),
        ] {
            assert_eq!(peer.call(method, params).await["result"], json!({}), "{revision} {method}");
        }
    }
}

// covers: SCHEMA-ERROR-ID
#[tokio::test]
async fn a_client_that_could_not_read_us_may_say_so_without_an_id() {
    for revision in LEGACY {
        let mut peer = Peer::session(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for id in [json!({}), json!({ "id": null })] {
            let mut complaint = json!({ "jsonrpc": "2.0", "error": { "code": -32700, "message": "what?" } });
            complaint.as_object_mut().expect("an object").extend(id.as_object().expect("an object").clone());
            peer.send(complaint).await.expect("sent");
            assert_eq!(
                peer.settle().await.expect("ready"),
                Vec::<Value>::new(),
                "{revision}: no answer to that"
            );
        }
    }
}

// covers: BASE-NOTIF-NO-RESPONSE
#[tokio::test]
async fn notifications_are_never_answered() {
    let notifications = [
        ("notifications/cancelled", json!({ "requestId": 4711, "reason": "why not" })),
        ("notifications/cancelled", json!({ "requestId": { "no": "id" } })),
        ("notifications/cancelled", Value::Null),
        ("notifications/initialized", Value::Null),
        ("notifications/progress", json!({ "progressToken": "none", "progress": 1 })),
        ("notifications/progress", json!({ "progress": "much" })),
        ("notifications/roots/list_changed", Value::Null),
        ("notifications/no/such", json!({ "a": 1 })),
        ("tools/call", json!({ "name": "count" })),
        ("tools/list", Value::Null),
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for (method, params) in &notifications {
            peer.notify(method, params.clone()).await.expect("sent");
            assert_eq!(
                peer.settle().await.expect("ready"),
                Vec::<Value>::new(),
                "{revision} {method} {params}"
            );
        }
        assert_eq!(runs(&mut peer).await, "run 1", "{revision}: without an id nothing is called");
    }
}

// covers: BASE-UTF8
#[tokio::test]
async fn text_is_utf8_and_nothing_else() {
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        for words in ["Grüße", "日本語", "𝄞🦀\u{10ffff}", "a\u{0}b\u{2028}c\r\n\"\\"] {
            let answer =
                peer.call("tools/call", json!({ "name": "echo", "arguments": { "message": words } })).await;
            assert_eq!(text(&answer), words, "{revision}");
        }
        peer.settle().await.expect("ready");
        let before = br#"{"jsonrpc":"2.0","id":9,"method":""#;
        for bytes in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\xaf"] {
            peer.send_bytes(&[before, bytes, b"\"}"].concat()).await.expect("sent");
            let refused = peer.receive().await.expect("an answer");
            assert_eq!(refused["error"]["code"], -32700, "{revision} {bytes:?} {refused}");
        }
        assert_eq!(runs(&mut peer).await, "run 1", "goes on");
    }
}

// covers: BASE-ERR-PARSE, BASE-ERR-INVALID-REQUEST, SCHEMA-PARAMS-OBJECT, SCHEMA-ERROR-ID
#[tokio::test]
async fn what_is_not_json_and_what_is_no_request_are_told_apart() {
    let lines = [
        (r#"{"jsonrpc":"2.0","id":"#, -32700),
        ("hello", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32700),
        ("7", -32600),
        ("\"text\"", -32600),
        ("null", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":"i","method":5}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"i"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"i","method":"ping","result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"i","id":"j","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"i","method":"ping","params":[1]}"#, -32602),
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        peer.settle().await.expect("ready");
        for (line, code) in lines {
            peer.send_line(line).await.expect("sent");
            let refused = peer.receive().await.expect("an answer");
            assert_eq!(refused["error"]["code"], code, "{revision} {line} {refused}");
            let readable = line.contains(r#""i""#) && !line.contains(r#""j""#);
            let null = !matches!(revision, "2025-11-25" | MODERN);
            let expected = if readable { Some(json!("i")) } else { null.then_some(Value::Null) };
            assert_eq!(refused.get("id"), expected.as_ref(), "{revision} {line} {refused}");
        }
        assert_eq!(runs(&mut peer).await, "run 1", "goes on");
    }
}

// covers: BASE-ERR-METHOD-NOT-FOUND
#[tokio::test]
async fn unknown_methods_and_those_of_another_era_do_not_exist() {
    let legacy_only =
        ["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
    let modern_only = ["server/discover", "subscriptions/listen"];
    let never = [
        "no/such/method",
        "",
        "TOOLS/LIST",
        "sampling/createMessage",
        "roots/list",
        "notifications/initialized",
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let other_era = if revision == MODERN { &legacy_only[..] } else { &modern_only[..] };
        for method in never.iter().chain(other_era) {
            let refused = peer.call(method, json!({})).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method} {refused}");
        }
    }
}

// covers: BASE-ERR-INVALID-PARAMS
#[tokio::test]
async fn parameters_that_do_not_fit_are_refused_by_every_method() {
    let typed = [
        ("tools/list", json!({ "cursor": 5 })),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 5 })),
        ("prompts/list", json!({ "cursor": {} })),
        ("prompts/get", json!({})),
        ("prompts/get", json!({ "name": "greet", "arguments": { "a": 1 } })),
        ("resources/list", json!({ "cursor": true })),
        ("resources/templates/list", json!({ "cursor": [] })),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": null })),
        ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "greet" } })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/other" }, "argument": { "name": "a", "value": "" } }),
        ),
    ];
    let legacy = [
        ("resources/subscribe", json!({})),
        ("resources/unsubscribe", json!({ "uri": 1 })),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("tools/list", json!({ "_meta": 5 })),
    ];
    let modern = [("subscriptions/listen", json!({ "notifications": 5 }))];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let own = if revision == MODERN { &modern[..] } else { &legacy[..] };
        for (method, params) in typed.iter().chain(own) {
            let refused = peer.call(method, params.clone()).await;
            assert_eq!(refused["error"]["code"], -32602, "{revision} {method} {params} {refused}");
        }
        let panicked = peer.call("tools/call", json!({ "name": "panic" })).await;
        assert_eq!(panicked["error"]["code"], -32603, "{panicked}");
    }
}

// covers: BASE-ERROR-MESSAGE-CONCISE, BASE-ERROR-CODE-MESSAGE, BASE-ERROR-CODE-INT
#[tokio::test]
async fn errors_are_short_sentences_whatever_the_peer_sends() {
    let long = "line\n".repeat(2000);
    let provoking = [
        (long.clone(), json!({})),
        ("tools/call".into(), json!({ "name": long })),
        ("tools/call".into(), json!({ "name": "echo", "arguments": { "message": 5, long.clone(): long } })),
        ("prompts/get".into(), json!({ "name": long })),
        ("prompts/get".into(), json!({ "name": "greet", "arguments": long })),
        ("resources/read".into(), json!({ "uri": long })),
        ("resources/read".into(), json!({ "uri": format!("demo://{}", "x".repeat(9000)) })),
        ("logging/setLevel".into(), json!({ "level": long })),
        (
            "completion/complete".into(),
            json!({ "ref": { "type": long }, "argument": { "name": long, "value": long } }),
        ),
        ("tools/list".into(), json!({ "cursor": long })),
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        for (method, params) in &provoking {
            let answer = peer.call(method, params.clone()).await;
            let Some(error) = answer.get("error") else {
                assert_eq!(answer["result"]["isError"], true, "{revision} {method}");
                continue;
            };
            let message = error["message"].as_str().expect("a message");
            assert!(error["code"].is_i64(), "{revision} {error}");
            assert!(!message.contains('\n') && message.len() <= 256, "{revision} {method}: {message}");
        }
    }
    let initialize = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": long });
    let refused = Peer::of(server()).request("initialize", initialize).await.expect("an answer");
    assert!(refused["error"]["message"].as_str().is_some_and(|message| message.len() <= 256), "{refused}");
}

// covers: BASE-META-NO-ASSUMPTIONS
#[tokio::test]
async fn reserved_metadata_passes_through_untouched() {
    let odd = json!({ "mcp.dev/odd": [1, null], "modelcontextprotocol.io/x": 7, "io.modelcontextprotocol/other": { "a": [] },
        "com.example/mine": "kept", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let answer = peer.call("tools/call", json!({ "name": "meta", "_meta": odd })).await;
        let seen: Value = serde_json::from_str(text(&answer)).expect("the metadata");
        for (key, value) in odd.as_object().expect("an object") {
            assert_eq!(&seen[key], value, "{revision} {key}");
        }
    }
}
