//! The stateless revision: what every request must bring, in which order faults are found, what results
//! carry, and how both eras share one pipe.

use std::time::Duration;

use contexture::model::{LoggingLevel, Meta};
use contexture::revision::Revision;
use contexture::{Context, Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::spoken::{Spoken, text_of};
use super::support::{LEGACY, MODERN, Peer, with_meta};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

fn server() -> Server {
    Server::new("test", "1.0.0")
        .instructions("Use with care.")
        .tool(tool("which").handler(|ctx: Context| async move {
            ctx.log(LoggingLevel::Error, "asked");
            ctx.revision().to_string()
        }))
        .prompt(prompt("p").handler(|| async { "x" }))
        .resource(resource("note://1").text("x"))
        .resource(resource("note://{n}/x").handler(|| async { "x" }))
}

fn with(meta: Value) -> Value {
    json!({ "name": "which", "arguments": {}, "_meta": meta })
}

fn meta() -> Value {
    json!({ VERSION: MODERN, CAPABILITIES: {} })
}

async fn error_of(peer: &mut Peer, method: &str, params: Value) -> Value {
    let answer = peer.request(method, params).await.expect("a response");
    assert!(answer["error"].is_object(), "{answer}");
    answer["error"].clone()
}

#[tokio::test]
async fn discovery_tells_what_the_server_is() {
    let mut peer = Peer::of(server().title("A test"));
    let answer = peer.modern("server/discover", json!({}), json!({})).await;
    let result = &answer["result"];
    assert_eq!(result["supportedVersions"], json!([MODERN]), "legacy revisions are not discovered");
    assert_eq!(result["instructions"], "Use with care.");
    assert_eq!(
        result["capabilities"],
        json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "logging": {},
        })
    );
    assert_eq!(
        result["_meta"][SERVER_INFO],
        json!({ "name": "test", "title": "A test", "version": "1.0.0" })
    );
    assert_eq!(result.get("serverInfo"), None, "identity is metadata");
    assert_eq!(result["resultType"], "complete");
}

#[tokio::test]
async fn a_request_brings_its_own_metadata() {
    let mut peer = Peer::of(server());
    for (fault, meta) in [
        ("no capabilities", json!({ VERSION: MODERN })),
        ("capabilities that are none", json!({ VERSION: MODERN, CAPABILITIES: 7 })),
        ("a version that is no text", json!({ VERSION: 7, CAPABILITIES: {} })),
        ("a level that is none", {
            let mut meta = meta();
            meta["io.modelcontextprotocol/logLevel"] = json!("loud");
            meta
        }),
        ("a token that is none", {
            let mut meta = meta();
            meta["progressToken"] = json!({});
            meta
        }),
        ("nothing at all", json!({})),
        ("no object", json!(7)),
    ] {
        assert_eq!(error_of(&mut peer, "tools/call", with(meta)).await["code"], -32602, "{fault}");
    }
    // Nothing is remembered from a request that was in order.
    assert!(peer.request("tools/call", with(meta())).await.expect("a response")["result"].is_object());
    assert_eq!(error_of(&mut peer, "tools/call", with(json!({ VERSION: MODERN }))).await["code"], -32602);
    let mut undescribed = meta();
    undescribed["io.modelcontextprotocol/clientInfo"] = json!("nobody");
    let answer = peer.request("tools/call", with(undescribed)).await.expect("a response");
    assert!(answer["result"].is_object(), "who a client says it is decides nothing: {answer}");
}

#[tokio::test]
async fn faults_are_found_in_order() {
    let mut peer = Peer::of(server());
    let unknown = "2099-01-01";
    // Metadata before the version.
    let error = error_of(&mut peer, "tools/call", with(json!({ VERSION: unknown }))).await;
    assert_eq!(error["code"], -32602);
    // The version before the method.
    let params = json!({ "_meta": { VERSION: unknown, CAPABILITIES: {} } });
    let error = error_of(&mut peer, "no/such/method", params).await;
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"], json!({ "supported": [MODERN], "requested": unknown }));
    // The method before its parameters.
    let error = error_of(&mut peer, "no/such/method", json!({ "name": 7, "_meta": meta() })).await;
    assert_eq!(error["code"], -32601);
    // Legacy revisions are agreed on with `initialize`, never named in a request.
    for revision in LEGACY {
        let params = with(json!({ VERSION: revision, CAPABILITIES: {} }));
        assert_eq!(error_of(&mut peer, "tools/call", params).await["code"], -32022);
    }
}

#[tokio::test]
async fn what_the_revision_removed_does_not_exist() {
    let mut peer = Peer::of(server());
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
        "tasks/list",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "notifications/cancelled",
    ] {
        let params = json!({ "uri": "note://1", "level": "info", "_meta": meta() });
        assert_eq!(error_of(&mut peer, method, params).await["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn a_server_of_one_era_says_so() {
    let mut legacy = Peer::of(server().revisions(&[Revision::V2025_06_18]));
    let error = error_of(&mut legacy, "tools/call", with(meta())).await;
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"], json!({ "supported": [], "requested": MODERN }));
    let answer = legacy.initialize("2025-11-25", json!({})).await.expect("a response");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");

    let mut modern = Peer::of(server().revisions(&[Revision::V2026_07_28]));
    let answer = modern.initialize("2025-11-25", json!({})).await.expect("a response");
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"], json!({ "supported": [MODERN], "requested": "2025-11-25" }));
    assert!(modern.request("tools/call", with(meta())).await.expect("a response")["result"].is_object());
}

#[tokio::test]
async fn six_results_say_how_long_they_may_be_kept() {
    let asked = [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
    ];
    for (server, ttl, scope) in
        [(server(), 0, "private"), (server().cache(Duration::from_secs(90), true), 90_000, "public")]
    {
        let mut peer = Spoken::to(server, MODERN, json!({})).await;
        for (method, params) in asked.clone() {
            let answer = peer.ask(method, params).await;
            assert_eq!(answer["result"]["ttlMs"], ttl, "{method}");
            assert_eq!(answer["result"]["cacheScope"], scope, "{method}");
        }
        let read = peer.ask("resources/read", json!({ "uri": "note://1" })).await;
        assert_eq!(read["result"]["ttlMs"], 0, "contents are the handler's: {read}");
        assert!(read["result"]["cacheScope"].is_string());
        let called = peer.call("which", json!({})).await;
        assert_eq!(called["result"].get("ttlMs"), None, "calls are not kept");
    }
    for revision in LEGACY {
        let mut peer = Spoken::to(server().cache(Duration::from_secs(90), true), revision, json!({})).await;
        for (method, params) in asked[1..].iter().cloned() {
            let answer = peer.ask(method, params).await;
            assert_eq!(answer["result"].get("ttlMs"), None, "{revision} has no such member");
        }
    }
}

#[tokio::test]
async fn every_result_says_who_answers() {
    let mut peer = Spoken::to(server(), MODERN, json!({})).await;
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", json!({ "name": "which", "arguments": {} })),
        ("prompts/get", json!({ "name": "p" })),
        ("resources/read", json!({ "uri": "note://1" })),
    ] {
        let answer = peer.ask(method, params).await;
        let info = json!({ "name": "test", "version": "1.0.0" });
        assert_eq!(answer["result"]["_meta"][SERVER_INFO], info, "{method}");
        assert_eq!(answer["result"]["resultType"], "complete", "{method}");
    }
}

#[tokio::test]
async fn metadata_of_a_handler_is_kept_beside_ours() {
    let server = Server::new("test", "1.0.0").tool(tool("meta").handler(|| async {
        let mut result = contexture::model::CallToolResult::text("x");
        let mut meta = Meta::new();
        meta.insert_custom("example.com/cost", json!(3)).expect("a key");
        result.meta = Some(meta);
        result
    }));
    let mut peer = Spoken::to(server, MODERN, json!({})).await;
    let answer = peer.call("meta", json!({})).await;
    let meta = &answer["result"]["_meta"];
    assert_eq!(meta["example.com/cost"], 3);
    assert_eq!(meta[SERVER_INFO]["name"], "test");
}

#[tokio::test]
async fn trace_context_reaches_handlers() {
    let server = Server::new("test", "1.0.0").tool(tool("trace").handler(|meta: Meta| async move {
        format!("{:?} {:?} {:?}", meta.traceparent(), meta.tracestate(), meta.baggage())
    }));
    let mut peer = Spoken::to(server, MODERN, json!({})).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let trace = json!({ "traceparent": parent, "tracestate": "a=1", "baggage": "user=7" });
    let answer = peer.ask("tools/call", json!({ "name": "trace", "arguments": {}, "_meta": trace })).await;
    assert_eq!(text_of(&answer), format!("Some({parent:?}) Some(\"a=1\") Some(\"user=7\")"));
}

#[tokio::test]
async fn both_eras_share_one_pipe() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        let legacy = peer.call("which", json!({})).await;
        assert_eq!(text_of(&legacy), revision);
        assert_eq!(peer.heard("notifications/message").await.len(), 1, "by the level of the session");

        let modern = peer.modern("tools/call", with(json!({})), json!({})).await;
        assert_eq!(text_of(&modern), MODERN);
        assert_eq!(modern["result"]["resultType"], "complete");
        assert!(peer.heard("notifications/message").await.is_empty(), "it asked for no log");

        let legacy = peer.ask("tools/list", json!({})).await;
        assert_eq!(legacy["result"].get("resultType"), None);
        let modern = peer.modern("tools/list", json!({}), json!({})).await;
        assert_eq!(modern["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn capabilities_of_a_session_are_not_those_of_a_stateless_request() {
    let server = || {
        Server::new("test", "1.0.0").tool(tool("roots").handler(|ctx: Context| async move {
            let roots = ctx.roots("roots").await?;
            Ok::<_, contexture::Error>(roots.len().to_string())
        }))
    };
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "roots": {} })).await;
        let params = json!({ "name": "roots", "arguments": {} });
        let error = error_of(&mut peer, "tools/call", with_meta(params.clone(), json!({}))).await;
        assert_eq!(error["code"], -32021);
        assert_eq!(error["data"]["requiredCapabilities"], json!({ "roots": {} }));
        // And the other way round: what one request declared is not the session's.
        let mut poor = Spoken::to(server(), revision, json!({})).await;
        let round = poor.modern("tools/call", params.clone(), json!({ "roots": {} })).await;
        assert_eq!(round["result"]["resultType"], "input_required");
        assert_eq!(poor.call("roots", json!({})).await["result"]["isError"], true);
        assert!(poor.heard("roots/list").await.is_empty());
    }
}
