//! Requests without a token, with a token where none belongs, with half a token; and paths that lead around the door.

use serde_json::json;

use super::protected::{Protected, challenge, challenged};
use super::support::{EVERY, LEGACY, Peer, Site, hello, request, server};

/// E01: nobody is told anything but what to do.
// covers: AUTH-401-WWW-AUTHENTICATE, AUTH-STATUS-401, AUTH-NO-DATA-LEAK, AUTH-VALIDATE-BEFORE-PROCESS
#[tokio::test]
async fn without_a_token() {
    let protected = Protected::with(|protection| protection.scopes(["files:read"])).await;
    let site = &protected.site;
    let events = |method, path| site.ask(method, path).and("accept", "text/event-stream");
    let initialize = request(1, "initialize", hello("2025-11-25", json!({})));
    for (case, ask) in [
        ("a modern call", protected.call("who")),
        ("a handshake", site.post(&initialize)),
        ("a list", site.post(&request(1, "tools/list", json!({})))),
        ("a session", site.post(&request(1, "tools/list", json!({}))).and("mcp-session-id", "x")),
        ("a batch", site.post(&json!([request(1, "tools/list", json!({}))]))),
        (
            "rubbish",
            site.ask("POST", "/mcp").and("content-type", "application/json").and("accept", "*/*").body("{"),
        ),
        ("GET", events("GET", "/mcp")),
        ("DELETE", events("DELETE", "/mcp")),
        ("HTTP+SSE", events("GET", "/sse")),
        ("a message", site.post(&initialize).to("/messages?session=x")),
    ] {
        let mut reply = ask.send().await;
        assert_eq!(reply.status, 401, "E01 {case}");
        let url = challenged(&reply, "resource_metadata").expect("where to read on");
        assert_eq!(challenged(&reply, "scope").as_deref(), Some("files:read"), "E01 {case}");
        assert_eq!(challenged(&reply, "error"), None, "E01 {case}: nothing was shown, so nothing was wrong");
        assert!(reply.header("mcp-session-id").is_none());
        let body = reply.text().await;
        assert!(
            !["who", "write", "session", "files"].iter().any(|word| body.contains(word)),
            "E01 {case}: {body}"
        );
        let path = url.strip_prefix(&format!("http://{}", site.address)).expect("an address of this server");
        let mut document = site.ask("GET", path).send().await;
        assert_eq!(document.status, 200, "E01 {case}: {url}");
        assert!(document.json().await["authorization_servers"].is_array());
    }
    assert_eq!((protected.ran(), protected.site.http.sessions()), (0, 0));
}

/// E14: a token anywhere else is none.
// covers: AUTH-STATUS-401
#[tokio::test]
async fn tokens_where_none_belong() {
    let protected = Protected::start().await;
    let token = protected.token("ada", "");
    for (case, ask) in [
        ("query", protected.call("who").to(&format!("/mcp?access_token={token}"))),
        ("cookie", protected.call("who").and("cookie", &format!("access_token={token}"))),
        ("another header", protected.call("who").and("x-authorization", &format!("Bearer {token}"))),
        ("proxy", protected.call("who").and("proxy-authorization", &format!("Bearer {token}"))),
        (
            "body",
            protected
                .call("who")
                .body(json!({ "jsonrpc": "2.0", "id": 1, "access_token": token }).to_string()),
        ),
        (
            "form",
            protected
                .call("who")
                .with("content-type", "application/x-www-form-urlencoded")
                .body(format!("access_token={token}")),
        ),
    ] {
        let status = ask.status().await;
        assert!(status == 401 || (case == "form" && status == 415), "E14 {case}: {status}");
    }
    assert_eq!((protected.ran(), protected.issuer.asked("/jwks")), (0, 0), "E14");
}

/// E15: one header, one token.
// covers: AUTH-STATUS-400, AUTH-TOKEN-ERROR-RESPONSE, AUTH-TOKEN-INVALID-401
#[tokio::test]
async fn half_a_token_and_two() {
    let protected = Protected::start().await;
    let token = protected.token("ada", "");
    let shown = |value: &str| protected.call("who").and("authorization", value);
    for value in [format!("Bearer {token}"), format!("bearer {token}"), format!("BEARER {token}")] {
        assert_eq!(shown(&value).status().await, 200, "E15");
    }
    let twice = shown(&format!("Bearer {token}")).and("authorization", &format!("Bearer {token}"));
    let mixed = shown(&format!("Bearer {token}")).and("authorization", "Basic YTpi");
    for (case, ask) in [
        ("two headers", twice),
        ("two schemes", mixed),
        ("two spaces", shown(&format!("Bearer  {token}"))),
        ("no token", shown("Bearer")),
        ("two tokens", shown(&format!("Bearer {token} {token}"))),
        ("a list", shown(&format!("Bearer {token}, Bearer {token}"))),
        ("quotes", shown(&format!("Bearer \"{token}\""))),
    ] {
        let reply = ask.send().await;
        assert_eq!(reply.status, 400, "E15 {case}");
        assert_eq!(challenged(&reply, "error").as_deref(), Some("invalid_request"), "E15 {case}");
    }
    for (case, value) in [("another scheme", "Basic YTpi"), ("DPoP", "DPoP abc"), ("no scheme", "abc")] {
        let reply = shown(value).send().await;
        assert_eq!(reply.status, 401, "E15 {case}");
        assert_eq!(challenge(&reply).len(), 1, "E15 {case}: only where to read on");
    }
    let reply = shown(&format!("Bearer {}", "a".repeat(20_000))).send().await;
    assert_eq!(reply.status, 401, "E15: too long");
    assert_eq!(challenged(&reply, "error").as_deref(), Some("invalid_token"));
    assert_eq!(
        shown(&format!("Bearer {}", "a".repeat(1024 * 1024))).status().await,
        431,
        "E15: much too long"
    );
}

/// E23: no path, method or name leads around the door.
// covers: AUTH-VALIDATE-BEFORE-PROCESS
#[tokio::test]
async fn ways_around_the_door() {
    let protected = Protected::start().await;
    let call = || protected.call("open");
    for agent in
        ["kube-probe/1.30", "ELB-HealthChecker/2.0", "GoogleHC/1.0", "curl/8", "node", "python-httpx"]
    {
        assert_eq!(call().and("user-agent", agent).status().await, 401, "E23 {agent}");
    }
    for header in
        ["x-forwarded-for", "x-real-ip", "x-forwarded-user", "x-original-url", "x-http-method-override"]
    {
        assert_eq!(call().and(header, "127.0.0.1").status().await, 401, "E23 {header}");
    }
    let elsewhere = [
        "/health",
        "/healthz",
        "/metrics",
        "/status",
        "//mcp",
        "/mcp/",
        "/MCP",
        "/%6dcp",
        "/mcp;x",
        "/./mcp",
        "/.well-known/../mcp",
        "/.well-known/mcp",
    ];
    for path in elsewhere {
        assert_eq!(call().to(path).status().await, 404, "E23 {path}");
    }
    for method in ["OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "PROPFIND"] {
        let status = protected.site.ask(method, "/mcp").status().await;
        assert!([401, 405].contains(&status), "E23 {method}: {status}");
    }
    assert_eq!(protected.ran(), 0);
}

/// A later request of a session is refused on its own merits, and so is one with another's token.
// covers: SEC-VERIFY-ALL-REQUESTS, SEC-SESSION-NOT-AUTH, AUTH-VALIDATE-BEFORE-PROCESS
#[tokio::test]
async fn a_session_proves_nothing() {
    let protected = Protected::start().await;
    let token = protected.token("ada", "");
    let expired = {
        let mut claims = protected.issuer.claims("ada", &protected.resource, "");
        claims["exp"] = json!(1);
        protected.issuer.sign(&claims)
    };
    for revision in LEGACY {
        let peer = Peer::known(&protected.site, revision, &token).await;
        let call = peer.request("tools/call", json!({ "name": "open", "arguments": {} }));
        let ran = protected.ran();
        for ask in [peer.post(&call), peer.get(), peer.delete()] {
            assert_eq!(ask.clone().without("authorization").status().await, 401, "{revision}");
            assert_eq!(
                ask.with("authorization", &format!("Bearer {expired}")).status().await,
                401,
                "{revision}"
            );
        }
        assert_eq!(protected.ran(), ran);
        assert_eq!(peer.post(&call).status().await, 200, "{revision}: nothing was harmed");
    }
}

// covers: AUTH-OPTIONAL
#[tokio::test]
async fn without_protection_nobody_is_asked() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        assert_eq!(Peer::of(&site, revision).await.tool("now").await, "now");
    }
    assert_eq!(site.ask("GET", "/.well-known/oauth-protected-resource").status().await, 404);
}
