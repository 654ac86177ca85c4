//! The stateless revision: every request says everything, and nothing is remembered.

use contexture::{Context, Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::support::{MODERN, Peer, with_meta};

const PREFIX: &str = "io.modelcontextprotocol/";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn server() -> Server {
    Server::new("modern", "3")
        .instructions("Ask nicely.")
        .title("Modern Times")
        .tool(tool("who").handler(|context: Context| async move {
            context.elicit::<Name>("who", "who?").await.map(|answer| answer.name)
        }))
        .tool(tool("client").handler(|context: Context| async move {
            context.peer().info.as_ref().map_or("nobody".to_owned(), |info| info.name.clone())
        }))
        .prompt(prompt("greet").handler(|| async { "hello" }))
        .resource(resource("demo://note").text("note"))
}

fn meta(key: &str) -> String {
    format!("{PREFIX}{key}")
}

#[tokio::test]
async fn discovery_tells_what_there_is_without_opening_anything() {
    let mut peer = Peer::of(server());
    let found = peer.modern("server/discover", json!({}), json!({})).await["result"].clone();
    assert_eq!(found["supportedVersions"], json!([MODERN]), "only what can be asked for here");
    assert_eq!(found["instructions"], "Ask nicely.");
    let mut capabilities: Vec<_> =
        found["capabilities"].as_object().expect("an object").keys().cloned().collect();
    capabilities.sort();
    assert_eq!(capabilities, ["logging", "prompts", "resources", "tools"]);
    assert_eq!((&found["ttlMs"], &found["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(found["_meta"][meta("serverInfo")]["title"], "Modern Times");
    let again = peer.request("tools/list", json!({})).await.expect("an answer");
    assert_eq!(again["error"]["code"], -32602, "nothing is remembered: {again}");
}

#[tokio::test]
async fn every_result_says_that_it_is_complete_and_who_gave_it() {
    let mut peer = Peer::of(server());
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "client" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "greet" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "demo://note" })),
    ] {
        let result = peer.modern(method, params, json!({})).await["result"].clone();
        assert_eq!(result["resultType"], "complete", "{method} {result}");
        let info = &result["_meta"][meta("serverInfo")];
        assert_eq!((&info["name"], &info["version"]), (&json!("modern"), &json!("3")), "{method} {result}");
    }
}

#[tokio::test]
async fn requests_without_their_metadata_are_refused_in_a_fixed_order() {
    let mut peer = Peer::of(server());
    let whole = with_meta(json!({}), json!({}));
    let without = |key: &str| {
        let mut params = whole.clone();
        params["_meta"].as_object_mut().expect("an object").remove(&meta(key));
        params
    };
    let with = |key: &str, value: Value| {
        let mut params = whole.clone();
        params["_meta"][meta(key)] = value;
        params
    };
    for (method, params, code) in [
        ("tools/list", without("protocolVersion"), -32602),
        ("tools/list", without("clientCapabilities"), -32602),
        ("no/such", without("clientCapabilities"), -32602),
        ("tools/list", with("protocolVersion", json!(5)), -32602),
        ("tools/list", with("clientCapabilities", json!("all")), -32602),
        ("tools/list", with("protocolVersion", json!("1999-01-01")), -32022),
        ("tools/list", with("protocolVersion", json!("2025-06-18")), -32022),
        ("no/such", with("protocolVersion", json!("1999-01-01")), -32022),
        ("no/such", whole.clone(), -32601),
    ] {
        let refused = peer.request(method, params.clone()).await.expect("an answer");
        assert_eq!(refused["error"]["code"], code, "{method} {params} {refused}");
        if code == -32022 {
            assert_eq!(refused["error"]["data"]["supported"], json!([MODERN]), "{refused}");
            assert_eq!(refused["error"]["data"]["requested"], params["_meta"][meta("protocolVersion")]);
        }
    }
    let anonymous = without("clientInfo");
    let served = peer.request("tools/list", anonymous).await.expect("an answer");
    assert!(served["result"]["tools"].is_array(), "a name is not required: {served}");
}

#[tokio::test]
async fn capabilities_and_names_hold_for_one_request_only() {
    let mut peer = Peer::of(server());
    let who = json!({ "name": "who" });
    let asked = peer.modern("tools/call", who.clone(), json!({ "elicitation": {} })).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let refused = peer.modern("tools/call", who, json!({})).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert!(refused["error"]["data"]["requiredCapabilities"]["elicitation"].is_object(), "{refused}");

    let mut named = with_meta(json!({ "name": "client" }), json!({}));
    named["_meta"][meta("clientInfo")] = json!({ "name": "alice", "version": "1" });
    let named = peer.request("tools/call", named).await.expect("an answer");
    assert_eq!(named["result"]["content"][0]["text"], "alice");
    let other = peer.modern("tools/call", json!({ "name": "client" }), json!({})).await;
    assert_eq!(other["result"]["content"][0]["text"], "raw");
}

#[tokio::test]
async fn a_server_that_stops_takes_its_streams_back() {
    let mut peer = Peer::of(server());
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let id = peer.start("subscriptions/listen", with_meta(wanted, json!({}))).await.expect("sent");
    peer.expect("notifications/subscriptions/acknowledged").await.expect("open");
    peer.finish().await.expect("closed");
    let cancelled = peer.receive().await.expect("a last word");
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], id);
    let result = peer.receive().await.expect("the result");
    assert_eq!(
        (&result["id"], &result["result"]["resultType"]),
        (&json!(id), &json!("complete")),
        "{result}"
    );
    assert!(peer.receive().await.is_err(), "the end");
}
