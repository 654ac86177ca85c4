//! What a token allows: for everything, for one tool, prompt or resource; and how a client is told what it lacks.

use contexture::{Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::issuer::Issuer;
use super::protected::{NEEDED, Protected, challenged};
use super::raw::Ask;
use super::support::{EVERY, MODERN, Peer, Site, text_of};

impl Protected {
    async fn calls(&self, tool: &str, scope: &str) -> (u16, Option<String>) {
        let token = self.token("ada", scope);
        let reply = self.call(tool).and("authorization", &format!("Bearer {token}")).send().await;
        if reply.status == 403 {
            assert_eq!(challenged(&reply, "error").as_deref(), Some("insufficient_scope"));
            assert!(challenged(&reply, "resource_metadata").is_some());
        }
        (reply.status, challenged(&reply, "scope"))
    }
}

/// E17: all that is needed is named at once, with what was granted already.
// covers: AUTH-STATUS-403, AUTH-TOKEN-ERROR-RESPONSE
#[tokio::test]
async fn what_lacks_is_named_at_once() {
    let protected = Protected::with(|protection| protection.scopes(["base"])).await;
    for (tool, scope, expected) in [
        ("open", "base", (200, None)),
        ("open", "base more", (200, None)),
        ("open", "", (403, Some("base"))),
        ("open", "other", (403, Some("base other"))),
        ("write", "base", (403, Some("base files:write"))),
        ("write", "base x", (403, Some("base files:write x"))),
        ("write", "base files:write", (200, None)),
        ("write", "files:write", (403, Some("base files:write"))),
        ("write", "base files:writ", (403, Some("base files:writ files:write"))),
        ("write", "base FILES:WRITE", (403, Some("FILES:WRITE base files:write"))),
        ("both", "base", (403, Some("base files:read files:write"))),
        ("both", "base files:read", (403, Some("base files:read files:write"))),
        ("both", "base files:read files:write", (200, None)),
    ] {
        let ran = protected.ran();
        let (status, wanted) = protected.calls(tool, scope).await;
        assert_eq!((status, wanted.as_deref()), expected, "E17 {tool} with {scope:?}");
        assert_eq!(protected.ran() - ran, usize::from(status == 200), "E17 {tool} with {scope:?}");
    }
}

/// E17: a scope may include others, over any number of steps.
// covers: AUTH-STATUS-403
#[tokio::test]
async fn broader_scopes() {
    let protected = Protected::with(|protection| {
        let protection = protection.scopes(["base"]).scope_includes("files", ["files:read", NEEDED]);
        protection.scope_includes("admin", ["files", "base"])
    })
    .await;
    for (tool, scope, expected) in [
        ("both", "admin", (200, None)),
        ("both", "base files", (200, None)),
        ("open", "admin", (200, None)),
        ("open", "files", (403, Some("base files"))),
        ("both", "base", (403, Some("base files:read files:write"))),
        ("both", "base files:read", (403, Some("base files:read files:write"))),
        ("write", "base administrator", (403, Some("administrator base files:write"))),
    ] {
        let (status, wanted) = protected.calls(tool, scope).await;
        assert_eq!((status, wanted.as_deref()), expected, "E17 {tool} with {scope:?}");
    }
}

/// A client that does what it is told gets there in one step.
#[tokio::test]
async fn a_step_up_is_one_step() {
    let protected = Protected::with(|protection| protection.scopes(["base"])).await;
    let (status, wanted) = protected.calls("both", "base kept").await;
    assert_eq!(status, 403);
    let wanted = wanted.expect("what to ask for");
    assert_eq!(protected.calls("both", &wanted).await, (200, None));
    assert!(wanted.split(' ').any(|scope| scope == "kept"), "nothing is lost: {wanted}");
}

/// The session goes on with another token of the same person; each request has what its own token allows.
// covers: SEC-VERIFY-ALL-REQUESTS
#[tokio::test]
async fn in_a_session_each_request_has_its_own_scopes() {
    let protected = Protected::start().await;
    let (low, high) = (protected.token("ada", "x"), protected.token("ada", NEEDED));
    for revision in EVERY {
        let peer = Peer::known(&protected.site, revision, &low).await;
        let call =
            |tool: &str| peer.post(&peer.request("tools/call", json!({ "name": tool, "arguments": {} })));
        let stepped_up = |ask: Ask| ask.with("authorization", &format!("Bearer {high}"));
        assert_eq!(call("write").status().await, 403, "{revision}");
        assert_eq!(stepped_up(call("write")).status().await, 200, "{revision}");
        assert_eq!(call("write").status().await, 403, "{revision}: that was another request");
        let who = stepped_up(call("who")).send().await.answer().await;
        assert!(text_of(&who).ends_with("ada [files:write]"), "{revision}: {who}");
        let who = call("who").send().await.answer().await;
        assert!(text_of(&who).ends_with("ada [x]"), "{revision}: {who}");
    }
}

/// What is about something that needs a scope needs it as well.
#[tokio::test]
async fn watching_and_completing_need_it_too() {
    let protected = Protected::start().await;
    let reference = json!({ "type": "ref/prompt", "name": "write" });
    let complete = json!({ "ref": reference, "argument": { "name": "name", "value": "a" } });
    for revision in EVERY {
        for (scope, allowed) in [("x", false), (NEEDED, true)] {
            let peer = Peer::known(&protected.site, revision, &protected.token("ada", scope)).await;
            let mut asks = vec![("completion/complete", complete.clone())];
            if revision == MODERN {
                let watched = |uri: &str| json!({ "notifications": { "resourceSubscriptions": [uri] } });
                asks.push(("subscriptions/listen", watched("test://write")));
                asks.push(("subscriptions/listen", watched("test://write/x")));
            } else {
                asks.push(("resources/subscribe", json!({ "uri": "test://write" })));
            }
            for (method, params) in asks {
                let status = peer.post(&peer.request(method, params)).status().await;
                assert_eq!(status, if allowed { 200 } else { 403 }, "{revision} {method} {scope}");
            }
        }
    }
}

/// What can be called is listed for everybody: how else would anybody know what to ask for.
#[tokio::test]
async fn lists_are_whole() {
    let protected = Protected::start().await;
    for revision in EVERY {
        let peer = Peer::known(&protected.site, revision, &protected.token("ada", "")).await;
        let tools = peer.call("tools/list", json!({})).await;
        let tools = tools["result"]["tools"].as_array().expect("tools");
        assert!(tools.iter().any(|tool: &Value| tool["name"] == "write"), "{revision}");
    }
}

/// Signs.
#[tool(scope = "a", read_only, scope = "b")]
async fn sign() -> &'static str {
    "signed"
}

#[prompt(scope = "a")]
async fn ask() -> String {
    "asked".into()
}

#[resource("test://{name}", scope = "b", title = "Secret")]
async fn secret(name: String) -> String {
    name
}

/// What attributes say counts as what builders say.
#[tokio::test]
async fn attributes_name_scopes() {
    let issuer = Issuer::start().await;
    let server = Server::new("test", "1").tool(sign).prompt(ask).resource(secret);
    let site = Site::with(server, |http| http.protect(issuer.url.as_str())).await;
    let audience = format!("http://{}/mcp", site.address);
    for (scope, allowed) in [
        ("", [false, false, false]),
        ("a", [false, true, false]),
        ("b", [false, false, true]),
        ("a b", [true; 3]),
    ] {
        let peer = Peer::known(&site, MODERN, &issuer.token("ada", &audience, scope)).await;
        let asks = [
            ("tools/call", json!({ "name": "sign", "arguments": {} })),
            ("prompts/get", json!({ "name": "ask" })),
            ("resources/read", json!({ "uri": "test://x" })),
        ];
        for ((method, params), allowed) in asks.into_iter().zip(allowed) {
            let status = peer.post(&peer.request(method, params)).status().await;
            assert_eq!(status, if allowed { 200 } else { 403 }, "{method} with {scope:?}");
        }
    }
}
