//! Calls and what comes back.

use std::collections::BTreeMap;

use contexture::client::ToolReply;
use contexture::model::{LoggingLevel, Reference};
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, full_pair, pair};

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

// covers: SCHEMA-AUTHORITATIVE, SCHEMA-TOOL-CALL, TOOLS-ISERROR-DEFAULT, BASE-RESULT-ANY-OBJECT, SCHEMA-OPEN-OBJECTS
#[tokio::test(start_paused = true)]
async fn a_tool_is_called_in_every_revision() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let call = server.asked("tools/call").await;
            assert_eq!(call["params"]["name"], "add");
            assert_eq!(call["params"]["arguments"], json!({ "a": 1, "b": "line\nbreak\u{2028}" }));
            let mut result = text("3");
            result["future"] = json!({ "x": null });
            server.complete(&call, result).await;
            let call = server.asked("tools/call").await;
            assert!(call["params"].get("arguments").is_none());
            server.complete(&call, text("plain")).await;
        };
        let calls = async {
            let reply =
                client.call("add", json!({ "a": 1, "b": "line\nbreak\u{2028}" })).await.expect("a result");
            assert!(!reply.is_error());
            assert_eq!(reply.structured::<i64>().expect("read by its text"), 3);
            let reply = client.call("add", ()).await.expect("a result");
            assert_eq!(reply.text(), "plain");
            assert_eq!(reply.structured::<String>().expect("text"), "plain");
        };
        tokio::join!(serve, calls);
    }
}

#[tokio::test(start_paused = true)]
async fn structured_results_are_read_and_unwrapped() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let serve = async {
        for structured in
            [json!({ "result": 5 }), json!({ "a": 1 }), json!(7), json!({ "result": 1, "b": 2 })]
        {
            let call = server.asked("tools/call").await;
            let mut result = text("ignored");
            result["structuredContent"] = structured;
            server.complete(&call, result).await;
            if call["id"] == 2 {
                let list = server.asked("tools/list").await;
                let tools = json!({ "tools": [], "ttlMs": 0, "cacheScope": "private" });
                server.complete(&list, tools).await;
            }
        }
        let call = server.asked("tools/call").await;
        let mut result = text("it broke");
        result["isError"] = json!(true);
        server.complete(&call, result).await;
    };
    let calls = async {
        let reply = client.call("t", ()).await.and_then(ToolReply::ok).expect("ok");
        assert_eq!(reply.structured::<i64>().expect("unwrapped"), 5);
        let map: BTreeMap<String, i64> =
            client.call("t", ()).await.expect("ok").structured().expect("as it is");
        assert_eq!(map["a"], 1);
        assert_eq!(client.call("t", ()).await.expect("ok").structured::<i64>().expect("bare"), 7);
        assert!(client.call("t", ()).await.expect("ok").structured::<i64>().is_err());
        let failed = client.call("t", ()).await.expect("a tool's failure is a result");
        assert!(failed.is_error());
        assert!(matches!(failed.structured::<i64>(), Err(Error::ToolFailed(why)) if why == "it broke"));
        assert!(matches!(failed.ok(), Err(Error::ToolFailed(why)) if why == "it broke"));
    };
    tokio::join!(serve, calls);
}

// covers: LIFE-OP-CAPS, LIFE-OP-CAPS-2024, PROMPT-RESPECT-CAPS
#[tokio::test(start_paused = true)]
async fn what_the_server_did_not_declare_stays_off_the_wire() {
    for revision in ALL {
        let (client, mut server) = pair(Client::builder(), revision, json!({})).await;
        let before = server.methods().len();
        assert!(matches!(client.call("t", ()).await, Err(Error::PeerIncompatible(_))));
        assert!(matches!(Error::from(client.tools().await.expect_err("no")), Error::PeerIncompatible(_)));
        assert!(client.prompts().await.is_err() && client.prompt("p", ()).await.is_err());
        assert!(client.resources().await.is_err() && client.resource_templates().await.is_err());
        assert!(client.read("a:b").await.is_err() && client.subscribe("a:b").await.is_err());
        assert!(client.set_log_level(LoggingLevel::Info).await.is_err());
        if revision != "2024-11-05" {
            assert!(client.complete(prompt("p"), "a", "", BTreeMap::new()).await.is_err());
        }
        server.hears_nothing().await;
        assert_eq!(server.methods().len(), before);
    }
}

fn prompt(name: &str) -> Reference {
    Reference::Prompt { name: name.into(), title: None }
}

// covers: SCHEMA-PROMPT-GET, RES-READ-ANY-SCHEME, SCHEMA-RESOURCE-URI-PARAM, SCHEMA-BASE64-FIELDS
#[tokio::test(start_paused = true)]
async fn prompts_and_resources_in_every_revision() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let get = server.asked("prompts/get").await;
            assert_eq!(get["params"]["arguments"], json!({ "who": "{{x}}" }));
            let message = json!({ "role": "user", "content": { "type": "text", "text": "hi" } });
            server.complete(&get, json!({ "messages": [message] })).await;
            let read = server.asked("resources/read").await;
            assert_eq!(read["params"]["uri"], "myapp://x/%41?y");
            let contents = json!([{ "uri": "myapp://x", "blob": "AAEC" }]);
            server
                .complete(&read, json!({ "contents": contents, "ttlMs": 0, "cacheScope": "private" }))
                .await;
            let read = server.asked("resources/read").await;
            server.complete(&read, json!({ "contents": [{ "uri": "a:b", "blob": "not base64!" }] })).await;
        };
        let calls = async {
            let prompt = client.prompt("greet", json!({ "who": "{{x}}" })).await.expect("messages");
            assert_eq!(prompt.messages.len(), 1);
            let read = client.read("myapp://x/%41?y").await.expect("contents");
            assert_eq!(read.contents.len(), 1);
            assert!(matches!(client.read("a:b").await, Err(Error::PeerMisbehaved(_))), "row I10");
            assert!(matches!(client.prompt("p", json!({ "n": 1 })).await, Err(Error::Misuse(_))));
            assert!(matches!(client.call("t", [1]).await, Err(Error::Misuse(_))));
        };
        tokio::join!(serve, calls);
    }
}

// covers: COMPL-CONTEXT, SCHEMA-COMPLETE, COMPL-PARTIAL, COMPL-REF-TYPES
#[tokio::test(start_paused = true)]
async fn completion_knows_what_is_filled_in_already() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let has_context = !["2024-11-05", "2025-03-26"].contains(&revision);
        let serve = async {
            let asked = server.asked("completion/complete").await;
            assert_eq!(asked["params"]["argument"], json!({ "name": "city", "value": "P" }));
            assert_eq!(asked["params"].get("context").is_some(), has_context);
            server.complete(&asked, json!({ "completion": { "values": ["Paris"], "total": 1 } })).await;
            let asked = server.asked("completion/complete").await;
            assert_eq!(asked["params"]["ref"], json!({ "type": "ref/resource", "uri": "a:{b}" }));
            server.complete(&asked, json!({ "completion": { "values": [] } })).await;
        };
        let calls = async {
            let context = BTreeMap::from([("country".to_owned(), "FR".to_owned())]);
            let completion = client.complete(prompt("p"), "city", "P", context).await.expect("proposals");
            assert_eq!(completion.values, ["Paris"]);
            let reference = Reference::Resource { uri: "a:{b}".into() };
            let completion = client.complete(reference, "b", "", BTreeMap::new()).await.expect("nothing");
            assert!(completion.values.is_empty() && completion.has_more.is_none());
        };
        tokio::join!(serve, calls);
    }
}

// covers: LOG-SETLEVEL, LOG-LEVELS, PING-NO-PARAMS, PING-EITHER-SIDE, SCHEMA-EMPTY-RESULT
#[tokio::test(start_paused = true)]
async fn levels_and_pings_in_the_words_of_the_era() {
    for revision in LEGACY {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let asked = server.asked("logging/setLevel").await;
            assert_eq!(asked["params"], json!({ "level": "warning" }));
            server.complete(&asked, json!({})).await;
            let asked = server.asked("ping").await;
            assert!(asked.get("params").is_none());
            server.complete(&asked, json!({})).await;
        };
        let calls = async {
            client.set_log_level(LoggingLevel::Warning).await.expect("set");
            client.ping().await.expect("pong");
        };
        tokio::join!(serve, calls);
    }
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    client.set_log_level(LoggingLevel::Warning).await.expect("remembered");
    let serve = async {
        let asked = server.asked("server/discover").await;
        assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "warning");
        server.answer(&asked, crate::support::discovery(json!({}))).await.expect("sent");
    };
    let (pong, ()) = tokio::join!(client.ping(), serve);
    pong.expect("pong");
}

// covers: BASE-META-RESERVED-PREFIX, SCHEMA-META-PLACES
#[tokio::test(start_paused = true)]
async fn callers_add_metadata_under_keys_of_their_own() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let call = server.asked("tools/call").await;
            let meta = &call["params"]["_meta"];
            assert_eq!(meta["com.example/x"], 1);
            assert_eq!(meta["traceparent"], "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
            server.complete(&call, text("ok")).await;
        };
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let call = client.call("t", ()).meta("com.example/x", 1).trace(trace, None).into_future();
        let (reply, ()) = tokio::join!(call, serve);
        reply.expect("a result");
        for key in ["io.modelcontextprotocol/x", "tools.mcp.com/x", "a..b/x", "progressToken"] {
            assert!(matches!(client.call("t", ()).meta(key, 1).await, Err(Error::Misuse(_))), "{key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_resource_is_the_same_error_in_every_revision() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let codes = if revision == MODERN { [-32602, -32002] } else { [-32002, -32002] };
        let serve = async {
            for code in codes {
                let read = server.asked("resources/read").await;
                server.refuse(&read, code).await;
            }
            let read = server.asked("resources/read").await;
            server.refuse(&read, -32603).await;
            let call = server.asked("tools/call").await;
            server.refuse(&call, codes[0]).await;
        };
        let calls = async {
            for _ in codes {
                assert!(matches!(client.read("m:none").await, Err(Error::NotFound)), "{revision}");
            }
            assert!(matches!(client.read("m:broken").await, Err(Error::Remote(_))));
            assert!(matches!(client.call("none", ()).await, Err(Error::Remote(_))), "only of resources");
        };
        tokio::join!(serve, calls);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_read_is_text_or_bytes() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let serve = async {
        let read = server.asked("resources/read").await;
        let contents = json!([{ "uri": "m:a", "text": "one" }, { "uri": "m:a", "blob": "AAE=" }]);
        let result = json!({ "contents": contents, "ttlMs": 0, "cacheScope": "private" });
        server.complete(&read, result).await;
    };
    let (read, ()) = tokio::join!(client.read("m:a").into_future(), serve);
    let read = read.expect("contents");
    assert_eq!(read.text(), "one");
    assert_eq!(read.bytes().expect("base64"), b"one\x00\x01");
}
