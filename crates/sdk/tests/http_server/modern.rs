//! The modern era over HTTP: statuses, and headers that say what the body says.

use base64::Engine;
use contexture::{Args, Context, Error, Server, prompt, resource, tool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::raw::{Ask, Reply};
use super::support::{LEGACY, MODERN, Peer, Site, VERSIONED, hello, server, text_of};

#[derive(Deserialize, schemars::JsonSchema)]
struct Mirrored {
    count: Option<f64>,
    word: Option<String>,
    flag: Option<bool>,
}

fn mirrored() -> Server {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "word": { "type": "string", "x-mcp-header": "Word" },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
        },
    });
    let (server, _) = server();
    server
        .resource(resource("test://leaf").name("leaf").text("green"))
        .prompt(prompt("grün").handler(|| async { "green" }))
        .tool(tool("roots").handler(|ctx: Context| async move {
            ctx.roots("roots").await.map(|roots| roots.len().to_string())
        }))
        .tool(tool("mirrored").input_schema(serde_json::from_value(schema).expect("an object")).handler(
            |Args(Mirrored { count, word, flag }): Args<Mirrored>| async move {
                Ok::<_, Error>(format!("{count:?} {word:?} {flag:?}"))
            },
        ))
}

async fn refused(ask: Ask, status: u16, code: i64) {
    let mut reply: Reply = ask.send().await;
    let body = reply.json().await;
    assert_eq!((reply.status, body["error"]["code"].as_i64()), (status, Some(code)), "{body}");
    assert!(!body["id"].is_null(), "{body}");
}

#[tokio::test]
async fn errors_have_their_status() {
    let site = Site::of(mirrored()).await;
    let peer = Peer::of(&site, MODERN).await;
    let modern = |method: &str, params: Value| peer.post(&peer.request(method, params));
    refused(modern("no/such/method", json!({})), 404, -32601).await;
    refused(modern("initialize", hello(VERSIONED, json!({}))), 404, -32601).await;
    refused(modern("ping", json!({})), 404, -32601).await;
    refused(modern("logging/setLevel", json!({ "level": "info" })), 404, -32601).await;
    refused(modern("tools/call", json!({ "name": "roots", "arguments": {} })), 400, -32021).await;
    refused(modern("tools/call", json!({ "name": "unknown", "arguments": {} })), 200, -32602).await;
    refused(modern("tools/list", json!({ "cursor": "nonsense" })), 200, -32602).await;
    refused(modern("resources/read", json!({ "uri": "test://none" })), 200, -32602).await;
    let mut bare = peer.request("tools/list", json!({}));
    bare["params"]["_meta"]
        .as_object_mut()
        .expect("metadata")
        .remove("io.modelcontextprotocol/clientCapabilities");
    refused(peer.post(&bare), 400, -32602).await;
    let mut unspoken = peer.request("tools/list", json!({}));
    unspoken["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    refused(peer.post(&unspoken).with("mcp-protocol-version", "2099-01-01"), 400, -32022).await;
}

#[tokio::test]
async fn an_error_after_the_first_word_is_part_of_the_stream() {
    let roots = tool("late").handler(|ctx: Context| async move {
        ctx.progress(1.0, None);
        ctx.roots("roots").await.map(|roots| roots.len().to_string())
    });
    let site = Site::of(Server::new("test", "1.0.0").tool(roots)).await;
    let peer = Peer::of(&site, MODERN).await;
    let mut reply = peer.begin("late", "t").await;
    assert_eq!(reply.status, 200, "it was promised already");
    let said = reply.rest().await;
    assert_eq!(said[1]["error"]["code"], -32021, "{said:?}");
}

#[tokio::test]
async fn headers_say_what_the_body_says() {
    let site = Site::of(mirrored()).await;
    let peer = Peer::of(&site, MODERN).await;
    let call = || peer.post(&peer.request("tools/call", json!({ "name": "now", "arguments": {} })));
    let mismatch = |ask| refused(ask, 400, -32020);
    assert_eq!(call().status().await, 200);
    mismatch(call().without("mcp-protocol-version")).await;
    for other in LEGACY {
        mismatch(call().with("mcp-protocol-version", other)).await;
    }
    mismatch(call().without("mcp-method")).await;
    mismatch(call().with("mcp-method", "tools/list")).await;
    mismatch(call().with("mcp-method", "Tools/Call")).await;
    mismatch(call().and("mcp-method", "tools/call")).await;
    mismatch(call().without("mcp-name")).await;
    mismatch(call().with("mcp-name", "steps")).await;
    mismatch(call().with("mcp-name", "NOW")).await;
    mismatch(call().and("mcp-name", "now")).await;
    let wrapped =
        |text: &str| format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text));
    assert_eq!(call().with("mcp-name", &wrapped("now")).status().await, 200);
    mismatch(call().with("mcp-name", &wrapped("steps"))).await;
    mismatch(call().with("mcp-name", "=?base64?!!?=")).await;
    let green = || peer.post(&peer.request("prompts/get", json!({ "name": "grün" })));
    assert_eq!(green().with("mcp-name", &wrapped("grün")).status().await, 200);
    mismatch(green().with("mcp-name", "grun")).await;
    mismatch(green().with("mcp-name", "grün")).await;
    let leaf = || peer.post(&peer.request("resources/read", json!({ "uri": "test://leaf" })));
    assert_eq!(leaf().status().await, 200);
    mismatch(leaf().with("mcp-name", "leaf")).await;
    // What has no name needs no header for it.
    assert_eq!(peer.start("tools/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn annotated_arguments_are_repeated_in_headers() {
    let site = Site::of(mirrored()).await;
    let peer = Peer::of(&site, MODERN).await;
    let call = |arguments: &str| {
        let mut message = peer.request("tools/call", json!({ "name": "mirrored", "arguments": "HERE" }));
        message["params"]["arguments"] = json!("HERE");
        peer.post(&message).body(message.to_string().replace("\"HERE\"", arguments))
    };
    let good = [
        (r#"{"count":42}"#, "count", "42"),
        (r#"{"count":42.0}"#, "count", "42"),
        (r#"{"count":42}"#, "count", "42.0"),
        (r#"{"count":4.2e1}"#, "count", "42"),
        (r#"{"count":-0}"#, "count", "0"),
        (r#"{"word":"plain text"}"#, "word", "plain text"),
        (r#"{"word":"grün"}"#, "word", "=?base64?Z3LDvG4=?="),
        (r#"{"word":"gr\u00fcn"}"#, "word", "=?base64?Z3LDvG4=?="),
        (r#"{"word":"=?base64?eA==?="}"#, "word", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        (r#"{"flag":true}"#, "flag", "true"),
    ];
    for (arguments, header, value) in good {
        let mut reply = call(arguments).and(&format!("mcp-param-{header}"), value).send().await;
        let answer = reply.json().await;
        assert_eq!(reply.status, 200, "{arguments} {value}: {answer}");
    }
    assert_eq!(call("{}").status().await, 200, "what is absent is not repeated");
    assert_eq!(call(r#"{"count":null}"#).send().await.json().await.get("error"), None);
    let bad = [
        (r#"{"count":42}"#, "count", "43"),
        (r#"{"count":42}"#, "count", "forty-two"),
        (r#"{"word":"grün"}"#, "word", "grun"),
        (r#"{"word":"Word"}"#, "word", "word"),
        (r#"{"word":"x"}"#, "word", "=?base64?*?="),
        (r#"{"flag":true}"#, "flag", "false"),
        ("{}", "word", "x"),
    ];
    for (arguments, header, value) in bad {
        refused(call(arguments).and(&format!("mcp-param-{header}"), value), 400, -32020).await;
    }
    refused(call(r#"{"count":42}"#), 400, -32020).await;
    let twice = call(r#"{"count":42}"#).and("mcp-param-count", "42").and("Mcp-Param-Count", "42");
    refused(twice, 400, -32020).await;
}

#[tokio::test]
async fn older_revisions_repeat_nothing() {
    let site = Site::of(mirrored()).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let call = peer.request("tools/call", json!({ "name": "mirrored", "arguments": { "count": 1 } }));
        let reply =
            peer.post(&call).and("mcp-param-count", "7").and("mcp-name", "x").send().await.json().await;
        assert_eq!(text_of(&reply), "Some(1.0) None None", "{revision}");
    }
}

#[tokio::test]
async fn a_question_ends_the_round_and_the_answer_begins_another() {
    let site = Site::of(mirrored()).await;
    let peer = Peer::able(&site, MODERN, json!({ "roots": {} })).await;
    let mut params = json!({ "name": "roots", "arguments": {} });
    let asked = peer.call("tools/call", params.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let key = asked["result"]["inputRequests"].as_object().expect("questions").keys().next().expect("one");
    params["inputResponses"] = json!({ key: { "roots": [{ "uri": "file:///a" }] } });
    params["requestState"] = asked["result"]["requestState"].clone();
    if params["requestState"].is_null() {
        params.as_object_mut().expect("an object").remove("requestState");
    }
    assert_eq!(text_of(&peer.call("tools/call", params).await), "1");
}

#[tokio::test]
async fn no_session_is_needed_or_used() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, MODERN).await;
    let list = peer.request("tools/list", json!({}));
    let reply = peer.post(&list).and("mcp-session-id", "nobody").send().await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    assert_eq!(site.http.sessions(), 0);
    let batch = json!([peer.request("tools/list", json!({}))]);
    assert_eq!(peer.post(&batch).status().await, 400, "there are no batches");
}
