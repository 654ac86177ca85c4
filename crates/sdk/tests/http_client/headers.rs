//! What every request says in its headers.

use contexture::client::Builder;
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{Fixture, LEGACY, MODERN, SESSION, pair, said};

/// Several requests of each kind, and what they look like.
// covers: HTTP-POST-METHOD, HTTP-POST-ACCEPT, HTTP-POST-SINGLE-MESSAGE, HTTP-SESSION-ECHO, HTTP-VERSION-HEADER
// covers: HTTP-GET-ACCEPT, HTTP-GET-STREAM, HTTP-SESSION-DELETE
#[tokio::test]
async fn every_request_says_whose_it_is() {
    for revision in LEGACY {
        let (client, mut fixture) = pair(Client::builder().header("X-Own", "secret"), revision).await;
        let calls =
            [client.call("a", ()).start(), client.call("b", ()).start(), client.call("c", ()).start()];
        for _ in &calls {
            fixture.post("tools/call").await.result(said("x")).await;
        }
        for call in calls {
            call.await.expect("a reply");
        }
        let (closed, ()) = tokio::join!(client.close(), async {
            fixture.verb("DELETE").await.refuse(405, "").await;
        });
        let () = closed;
        let (mut after, mut deletes) = (false, 0);
        for request in fixture.requests() {
            assert_eq!(request.path, "/mcp");
            assert_eq!(request.header("x-own"), Some("secret"));
            let accept = request.header("accept").unwrap_or_default();
            match request.verb.as_str() {
                "POST" => {
                    assert!(request.body.is_object(), "one message each");
                    assert!(accept.contains("application/json") && accept.contains("text/event-stream"));
                    assert_eq!(request.header("content-type"), Some("application/json"));
                }
                "GET" => assert!(accept.contains("text/event-stream")),
                "DELETE" => deletes += 1,
                other => panic!("{other}"),
            }
            assert_eq!(request.header("mcp-session-id"), after.then_some(SESSION), "{request:?}");
            let version = (after && revision >= "2025-06-18").then_some(revision);
            assert_eq!(request.header("mcp-protocol-version"), version, "{request:?}");
            assert_eq!((request.header("mcp-method"), request.header("mcp-name")), (None, None));
            after = true;
        }
        assert_eq!(deletes, 1);
    }
}

/// The modern era says in headers again what is in the message.
#[tokio::test]
async fn modern_requests_are_mirrored() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let uri = "file:///a%20b?c=d";
    let calls = tokio::spawn({
        let client = client.clone();
        async move {
            client.call("my-tool", ()).await.expect("a reply");
            client.call("größe ", ()).await.expect("a reply");
            client.prompt("p", ()).await.expect("a prompt");
            client.read(uri).await.expect("a resource");
            client.prompts().await.expect("a list");
        }
    });
    let kept = json!({ "ttlMs": 0, "cacheScope": "private" });
    let with = |mut result: Value| {
        result.as_object_mut().expect("an object").extend(kept.as_object().expect("an object").clone());
        result
    };
    let expected = [
        ("tools/call", Some("my-tool".to_owned()), said("x")),
        ("tools/call", Some("=?base64?Z3LDtsOfZSA=?=".to_owned()), said("x")),
        ("prompts/get", Some("p".to_owned()), json!({ "messages": [] })),
        ("resources/read", Some(uri.to_owned()), with(json!({ "contents": [] }))),
        ("prompts/list", None, with(json!({ "prompts": [] }))),
    ];
    for (method, name, result) in expected {
        let seen = fixture.post(method).await;
        assert_eq!(seen.request.header("mcp-method"), Some(method));
        assert_eq!(seen.request.header("mcp-name"), name.as_deref());
        assert_eq!(seen.request.header("mcp-protocol-version"), Some(MODERN));
        assert_eq!(seen.request.header("mcp-session-id"), None);
        seen.result(result).await;
    }
    calls.await.expect("done");
    let probe = &fixture.requests()[0];
    assert_eq!(probe.header("mcp-method"), Some("server/discover"));
    client.close().await;
    assert_eq!((fixture.count("GET"), fixture.count("DELETE")), (0, 0));
}

fn tool(name: &str, properties: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

async fn list(client: &Client, fixture: &mut Fixture, tools: &Value) -> Vec<String> {
    let (listed, ()) = tokio::join!(client.tools(), async {
        let list = json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" });
        fixture.post("tools/list").await.result(list).await;
    });
    listed.expect("a list").into_iter().map(|tool| tool.name).collect()
}

fn annotated() -> Value {
    json!([tool(
        "t",
        json!({
            "text": { "type": "string", "x-mcp-header": "Text" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
            "plain": { "type": "string" },
            "deep": { "type": "object", "properties": { "er": { "type": "string", "x-mcp-header": "Deeper" } } },
        })
    )])
}

/// Row B16 of the security bar: values never become headers of their own.
#[tokio::test]
async fn annotated_arguments_are_mirrored_and_encoded() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    list(&client, &mut fixture, &annotated()).await;
    let cases = [
        (json!({ "text": "us west", "plain": "x" }), Some("us west"), None),
        (json!({ "text": "", "count": 42 }), Some(""), Some("42")),
        (json!({ "text": "a\r\nx-evil: 1", "count": -7 }), Some("=?base64?YQ0KeC1ldmlsOiAx?="), Some("-7")),
        (json!({ "text": " edge", "count": null }), Some("=?base64?IGVkZ2U=?="), None),
        (json!({ "text": "=?base64?eA==?=" }), Some("=?base64?PT9iYXNlNjQ/ZUE9PT89?="), None),
        (json!({ "flag": true, "deep": { "er": "x" } }), None, None),
    ];
    for (arguments, text, count) in cases {
        let (reply, ()) = tokio::join!(client.call("t", arguments).into_future(), async {
            let seen = fixture.post("tools/call").await;
            assert_eq!(seen.request.header("mcp-param-text"), text);
            assert_eq!(seen.request.header("mcp-param-count"), count);
            assert_eq!(seen.request.header("mcp-param-plain"), None);
            assert_eq!(seen.request.header("x-evil"), None);
            let more = seen.request.header("mcp-param-flag").zip(seen.request.header("mcp-param-deeper"));
            assert_eq!(more, text.is_none().then_some(("true", "x")));
            seen.result(said("x")).await;
        });
        reply.expect("a reply");
    }
    let beyond = client.call("t", json!({ "count": 1_u64 << 60 })).await;
    assert!(matches!(beyond, Err(Error::Invalid(_))), "{beyond:?}");
}

/// Row B15: tools that describe their headers wrongly are left out, the others stay.
#[tokio::test]
async fn tools_with_bad_annotations_are_left_out() {
    let string = |header: Value| json!({ "a": { "type": "string", "x-mcp-header": header } });
    let bad = [
        string(json!("")),
        string(json!("a\r\nb")),
        string(json!("a b")),
        string(json!(1)),
        json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
        json!({ "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } }),
        json!({ "a": { "oneOf": [{ "type": "string", "x-mcp-header": "A" }] } }),
        json!({ "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } }),
    ];
    let mut tools = vec![tool("good", string(json!("Region")))];
    tools
        .extend(bad.iter().enumerate().map(|(at, properties)| tool(&format!("bad{at}"), properties.clone())));
    let tools = Value::Array(tools);
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let events = contexture_judge::Events::on_this_thread();
    assert_eq!(list(&client, &mut fixture, &tools).await, ["good"]);
    assert_eq!(events.containing("describes its headers wrongly").len(), bad.len());
    // Where nothing is mirrored there is nothing to be wrong.
    let (client, mut fixture) = pair(Client::builder(), "2025-11-25").await;
    assert_eq!(list(&client, &mut fixture, &tools).await.len(), 1 + bad.len());
    fixture.close(&client).await;
}

#[tokio::test]
async fn a_server_that_knows_the_tool_otherwise_is_asked_about_it_once() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let (reply, ()) = tokio::join!(client.call("t", json!({ "text": "x" })).into_future(), async {
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-param-text"), None, "not known so far");
        seen.error(400, -32020, json!(null)).await;
        let list = json!({ "tools": annotated(), "ttlMs": 0, "cacheScope": "private" });
        fixture.post("tools/list").await.result(list).await;
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-param-text"), Some("x"));
        seen.result(said("done")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "done");
    let (reply, ()) = tokio::join!(client.call("t", json!({ "text": "x" })).into_future(), async {
        fixture.post("tools/call").await.error(400, -32020, json!(null)).await;
        let list = json!({ "tools": annotated(), "ttlMs": 0, "cacheScope": "private" });
        fixture.post("tools/list").await.result(list).await;
        fixture.post("tools/call").await.error(400, -32020, json!(null)).await;
    });
    assert!(matches!(reply, Err(Error::Remote(error)) if error.code == -32020), "once only");
}

/// A server may be reached by a socket of the file system.
#[cfg(unix)]
#[tokio::test]
async fn a_socket_of_the_file_system_is_a_way() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let path = std::env::temp_dir().join(format!("contexture-http-{}.sock", std::process::id()));
    let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut head = vec![0; 4096];
        let read = stream.read(&mut head).await.expect("a request");
        stream.write_all(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n").await.expect("written");
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let builder: Builder = Client::builder().unix_socket(&path);
    let refused = builder.connect("http://example.invalid/mcp").await;
    assert!(matches!(refused, Err(Error::Http(refusal)) if refusal.status == 403));
    let head = served.await.expect("served");
    assert!(head.starts_with("POST /mcp ") && head.contains("example.invalid"), "{head}");
    std::fs::remove_file(path).expect("removed");
}
