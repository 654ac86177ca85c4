//! What servers make clients put into headers: annotations that are traps, values that would split a line.

use serde_json::{Value, json};

use crate::support::{Act, LEGACY, MODERN, Rude, client, json_answer, said, setup, whole, within};

fn listing(heard: &crate::support::Heard, tools: &Value) -> Option<Act> {
    (heard.method() == "tools/list").then(|| {
        json_answer(&json!({"jsonrpc": "2.0", "id": heard.body["id"], "result": {
            "tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}}))
    })
}

fn tool(name: &str, properties: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

/// B15: annotations that cannot be honoured take their tool along, and no other.
#[tokio::test]
async fn annotations_with_traps() {
    let traps = json!({
        "empty": {"a": {"type": "string", "x-mcp-header": ""}},
        "crlf": {"a": {"type": "string", "x-mcp-header": "X\r\nEvil: 1"}},
        "newline": {"a": {"type": "string", "x-mcp-header": "X\n"}},
        "blank": {"a": {"type": "string", "x-mcp-header": "a b"}},
        "colon": {"a": {"type": "string", "x-mcp-header": "a:b"}},
        "unicode": {"a": {"type": "string", "x-mcp-header": "\u{e9}"}},
        "nul": {"a": {"type": "string", "x-mcp-header": "a\u{0}"}},
        "number": {"a": {"type": "string", "x-mcp-header": 7}},
        "null": {"a": {"type": "string", "x-mcp-header": null}},
        "twice": {"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "REGION"}},
        "of a number": {"a": {"type": "number", "x-mcp-header": "A"}},
        "of an array": {"a": {"type": "array", "items": {"type": "string"}, "x-mcp-header": "A"}},
        "of an object": {"a": {"type": "object", "x-mcp-header": "A"}},
        "of no type": {"a": {"x-mcp-header": "A"}},
        "under items": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
        "under oneOf": {"a": {"oneOf": [{"type": "string", "x-mcp-header": "A"}]}},
        "under not": {"a": {"type": "string", "not": {"type": "string", "x-mcp-header": "A"}}},
    });
    let mut tools = vec![tool("fine", json!({"region": {"type": "string", "x-mcp-header": "Region"}}))];
    tools.extend(
        traps.as_object().expect("traps").iter().map(|(name, properties)| tool(name, properties.clone())),
    );
    let mut referred = tool("under $defs", json!({"a": {"$ref": "#/$defs/a"}}));
    referred["inputSchema"]["$defs"] = json!({"a": {"type": "string", "x-mcp-header": "A"}});
    tools.push(referred);
    tools.push(tool("plain", json!({})));
    let tools = json!(tools);
    let rude = Rude::start(MODERN, move |heard| listing(heard, &tools)).await;
    let client = client(MODERN, &rude).await;
    let listed = within(client.tools()).await.expect("B15: the good ones");
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["fine", "plain"], "B15");
}

/// B16: whatever the values are, a header is one line, and says what the body says.
#[tokio::test]
async fn values_that_would_split_a_line() {
    let annotated = json!([tool(
        "t",
        json!({
            "text": {"type": "string", "x-mcp-header": "Text"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        })
    )]);
    let rude = Rude::start(MODERN, move |heard| listing(heard, &annotated)).await;
    let client = client(MODERN, &rude).await;
    within(client.tools()).await.expect("a list");
    for text in [
        "a\r\nX-Evil: 1",
        "a\nX-Evil: 1",
        "a\rX-Evil: 1",
        "a\0b",
        " edge ",
        "\tedge",
        "\u{e9}\u{1f600}",
        "=?base64?eA==?=",
        "=?base64?",
        "",
        "\u{7f}",
        "\u{85}\u{2028}",
    ] {
        let reply = within(client.call("t", json!({"text": text, "flag": true}))).await;
        assert_eq!(reply.unwrap_or_else(|error| panic!("B16 {text:?}: {error}")).text(), "fine", "B16");
        let heard = rude.heard().into_iter().rfind(|heard| heard.method() == "tools/call").expect("a call");
        assert!(!heard.head.to_lowercase().contains("\nx-evil"), "B16 {text:?}: {}", heard.head);
        let sent = heard.header("mcp-param-text").unwrap_or_default();
        let decoded = contexture_core::http::mirror::decode(sent).map(|value| value.into_owned());
        assert_eq!(decoded.as_deref(), Some(text), "B16: {sent:?}");
        assert_eq!(heard.header("mcp-param-flag"), Some("true"), "B16");
    }
    // Beyond what every reader of a number can hold: refused, or written as it is; never another number.
    for count in [1_i64 << 60, i64::MIN, 9_007_199_254_740_993] {
        let before = rude.count("POST", "tools/call");
        if within(client.call("t", json!({"count": count}))).await.is_ok() {
            let heard =
                rude.heard().into_iter().rfind(|heard| heard.method() == "tools/call").expect("a call");
            assert_eq!(heard.header("mcp-param-count"), Some(count.to_string().as_str()), "B16");
        } else {
            assert_eq!(rude.count("POST", "tools/call"), before, "B16: refused before it was sent");
        }
    }
}

/// B16: names of tools, prompts and resources are values, too.
#[tokio::test]
async fn names_that_would_split_a_line() {
    let rude = Rude::start(MODERN, |heard| {
        let id = &heard.body["id"];
        (heard.verb == "POST" && !id.is_null() && heard.method() != "server/discover")
            .then(|| json_answer(&said(id, "fine")))
    })
    .await;
    let client = client(MODERN, &rude).await;
    for name in ["a\r\nX-Evil: 1", "\u{e9}", " edge ", "=?base64?eA==?=", "a\0b"] {
        let _ = within(client.call(name, ())).await;
        let _ = within(client.read(name)).await;
        let _ = within(client.prompt(name, ())).await;
    }
    for heard in rude.heard() {
        assert!(!heard.head.to_lowercase().contains("\nx-evil"), "B16: {}", heard.head);
        let named = heard.body["params"]["name"].as_str().or(heard.body["params"]["uri"].as_str());
        if let Some(named) = named {
            let sent = heard.header("mcp-name").unwrap_or_default();
            let decoded = contexture_core::http::mirror::decode(sent).map(|value| value.into_owned());
            assert_eq!(decoded.as_deref(), Some(named), "B16: {sent:?}");
        }
    }
}

/// Session ids that no client should repeat: refused, or repeated as they are, but never a second header.
#[tokio::test]
async fn ids_of_sessions_with_traps() {
    let long = "s".repeat(200_000);
    for id in ["a b", "\u{e9}", "", long.as_str(), "a\tb", "a,b", "\u{7f}"] {
        let session = id.to_owned();
        let rude = Rude::start(LEGACY, move |heard| {
            (heard.method() == "initialize").then(|| {
                let result = json!({"protocolVersion": LEGACY, "capabilities": {}, "serverInfo": {"name": "x", "version": "0"}});
                let body = json!({"jsonrpc": "2.0", "id": heard.body["id"], "result": result}).to_string();
                whole(200, &[("content-type", "application/json"), ("mcp-session-id", &session)], body.as_bytes())
            })
        })
        .await;
        let connected = within(setup(LEGACY).connect(rude.url())).await;
        if let Ok(client) = connected {
            let _ = within(client.call("t", ())).await;
            within(client.close()).await;
        }
        for heard in rude.heard() {
            let ids = heard.head.to_lowercase().matches("\nmcp-session-id:").count();
            assert!(ids <= 1, "B16 {id:.20?}: {ids} ids");
        }
    }
}
