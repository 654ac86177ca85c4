//! Doors that were open: paths, methods, headers, revisions.

use serde_json::{Value, json};

use contexture_judge::Events;

use crate::raw::{Ask, Got, Line, serve, session};
use crate::support::{Minter, Place, offer, text};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Every request that an MCP endpoint knows.
fn requests() -> Vec<Ask> {
    vec![
        Ask::modern(1, "who", json!({})),
        Ask::initialize(),
        Ask::legacy(1, "who", json!({})),
        Ask::get("/mcp"),
        Ask::new("DELETE", "/mcp"),
        Ask::get("/sse"),
        Ask::post("/messages", &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })),
    ]
}

fn assert_refused(got: &Got, what: &str) {
    assert_eq!(got.status, 401, "{what}: {got:?}");
    assert!(got.header("www-authenticate").is_some(), "{what}: {got:?}");
    assert!(got.header("mcp-session-id").is_none(), "{what}: {got:?}");
}

/// nginx-ui: one of two endpoints had forgotten its guard.
#[tokio::test]
async fn cve_2026_33032_every_endpoint_is_guarded() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for request in requests() {
        assert_refused(&place.ask(&request).await, "no token");
    }
    assert_eq!((place.runs(), place.served.server.sessions()), (0, 0));
}

/// Tokens that nobody has issued.
const INVENTED: [&str; 6] = ["x", "null", "undefined", "admin", "a.b.c", "eyJhbGciOiJub25lIn0.e30."];

/// Sends requests with every invented token, and with none.
async fn assert_closed(requests: &[Ask]) {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for request in requests {
        assert_refused(&place.ask(request).await, "no token");
        for token in INVENTED {
            assert_refused(&place.ask(&request.clone().by(token)).await, token);
        }
    }
    assert_eq!((place.runs(), place.served.server.sessions()), (0, 0));
}

/// PraisonAI: a token that nobody knows was a good one.
#[tokio::test]
async fn cve_2026_34953_tokens_that_nobody_knows() {
    assert_closed(&requests()).await;
}

/// PraisonAI: one kind of connection asked for no token.
#[tokio::test]
async fn cve_2026_34952_streams_need_tokens() {
    assert_closed(&[
        Ask::get("/mcp"),
        Ask::get("/mcp").session("1"),
        Ask::get("/mcp").header("last-event-id", "1"),
    ])
    .await;
}

/// PraisonAI: nor did the older transport.
#[tokio::test]
async fn cve_2026_39889_the_older_pair_needs_tokens() {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_closed(&[
        Ask::get("/sse"),
        Ask::post("/messages", &ping),
        Ask::post("/messages?sessionId=1", &ping),
    ])
    .await;
}

/// Asks for something at a path, with any method.
fn any(method: &str, path: &str) -> Ask {
    let mut request = Ask::new(method, path).header("accept", "application/json, text/event-stream");
    if method == "POST" {
        request = request.header("content-type", "application/json");
        request.body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    }
    request
}

async fn assert_no_way_in(methods: &[&str], paths: &[&str]) {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for path in paths {
        for method in methods {
            let got = place.ask(&any(method, path)).await;
            assert!((400..500).contains(&got.status), "{method} {path}: {got:?}");
            assert!(!got.text.contains("\"tools\""), "{method} {path}: {got:?}");
        }
    }
    assert_eq!((place.runs(), place.served.server.sessions()), (0, 0));
}

/// `MCPHub`: routes without a guard.
#[tokio::test]
async fn cve_2025_13822_every_method_is_guarded() {
    let methods = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
    assert_no_way_in(&methods, &["/mcp", "/sse", "/messages"]).await;
}

/// Obot: only paths with a listed beginning had a guard.
#[tokio::test]
async fn ghsa_pr6h_vr44_xq8j_every_path_is_guarded() {
    let paths = [
        "/",
        "/mcp/",
        "/mcp/x",
        "//mcp",
        "/MCP",
        "/mcp?token=x",
        "/mcp/../mcp",
        "/%6dcp",
        "/x/../mcp",
        "/sse/",
        "/messages/",
        "/health",
        "/metrics",
        "/api",
        "/v0.1/servers",
        "/.well-known/other",
        "/.well-known/oauth-protected-resource/../../mcp",
    ];
    assert_no_way_in(&["GET", "POST", "DELETE"], &paths).await;
}

/// Obot: whoever knew an id was let in.
#[tokio::test]
async fn ghsa_vw82_7fv8_r6gp_an_id_is_no_token() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let ada = minter.token(&place, "ada", "");
    let id = session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
    for request in [Ask::legacy(1, "who", json!({})), Ask::get("/mcp"), Ask::new("DELETE", "/mcp")] {
        assert_refused(&place.ask(&request.session(&id)).await, "an id");
    }
    for path in [format!("/mcp/{id}"), format!("/mcp-connect/{id}"), format!("/messages?sessionId={id}")] {
        let got = place.ask(&any("POST", &path)).await;
        assert!((400..500).contains(&got.status), "{path}: {got:?}");
    }
    assert_eq!((place.runs(), place.served.server.sessions()), (0, 1));
}

/// `ToolHive`: whoever came from this machine, or from a container on it, was let in.
#[tokio::test]
async fn ghsa_qg2g_g9w3_m5h8_this_machine_needs_tokens_too() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for host in ["localhost", "127.0.0.1", "[::1]", "host.docker.internal", "host.containers.internal"] {
        for request in requests() {
            let named = format!("host: {host}:{}\r\n", place.served.port);
            let bytes = String::from_utf8(request.header("connection", "close").bytes(place.served.port))
                .expect("text");
            let bytes = bytes.replacen(&format!("host: 127.0.0.1:{}\r\n", place.served.port), &named, 1);
            let mut line = Line::open(&place.served).await;
            line.write(bytes.as_bytes()).await;
            let got = Got::parse(line.read_to_its_end().await);
            assert!([401, 403, 421].contains(&got.status), "{host}: {got:?}");
        }
    }
    assert_eq!(place.runs(), 0);
}

/// OAuth2 Proxy: whoever called itself a health check needed no token.
#[tokio::test]
async fn cve_2026_34457_health_checks_need_tokens() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for agent in
        ["kube-probe/1.31", "GoogleHC/1.0", "ELB-HealthChecker/2.0", "Amazon-Route53-Health-Check-Service"]
    {
        for request in requests() {
            assert_refused(&place.ask(&request.header("user-agent", agent)).await, agent);
        }
    }
}

/// Kuadrant: headers for inner use let anybody in who knew them.
#[tokio::test]
async fn ghsa_g53w_w6mj_hrpp_headers_prove_nothing() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for (name, value) in [
        ("mcp-init-host", "upstream.example"),
        ("router-key", "secret-api-key"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-real-ip", "127.0.0.1"),
        ("x-forwarded-user", "ada"),
        ("x-authenticated-user", "ada"),
        ("x-mcp-authorized", "true"),
        ("x-original-url", "/.well-known/oauth-protected-resource"),
        ("cookie", "access_token=x"),
        ("proxy-authorization", "Bearer x"),
    ] {
        for request in requests() {
            assert_refused(&place.ask(&request.header(name, value)).await, name);
        }
    }
    let token = minter.token(&place, "ada", "");
    for request in requests() {
        for (name, value) in [("cookie", format!("access_token={token}")), ("x-access-token", token.clone())]
        {
            assert_refused(&place.ask(&request.clone().header(name, &value)).await, name);
        }
    }
    let query = Ask::post(
        &format!("/mcp?access_token={token}"),
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
    );
    assert_refused(&place.ask(&query).await, "a token in the address");
}

/// What one revision is asked for, with a token.
async fn called(place: &Place, revision: &str, method: &str, params: Value, token: &str) -> Got {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    if LEGACY.contains(&revision) {
        let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "x", "version": "0" } });
        let hello =
            Ask::post("/mcp", &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        let got = place.ask(&hello.by(token)).await;
        let session =
            got.header("mcp-session-id").unwrap_or_else(|| panic!("{revision}: {got:?}")).to_owned();
        let request = Ask::post("/mcp", &message).header("mcp-protocol-version", revision);
        return place.ask(&request.session(&session).by(token)).await;
    }
    let mut message = message;
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {}
    });
    let named = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default();
    let request = Ask::post("/mcp", &message).header("mcp-protocol-version", revision);
    place.ask(&request.header("mcp-method", method).header("mcp-name", named).by(token)).await
}

/// MCP Toolbox: scopes counted in one revision only, so that an older header opened every tool.
#[tokio::test]
async fn cve_2026_11719_scopes_count_in_every_revision() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let (low, high) = (minter.token(&place, "ada", "read"), minter.token(&place, "ada", "read write"));
    for revision in LEGACY.into_iter().chain(["2026-07-28"]) {
        let params = json!({ "name": "write", "arguments": {} });
        let got = called(&place, revision, "tools/call", params.clone(), &low).await;
        assert_eq!(got.status, 403, "{revision}: {got:?}");
        let challenge = got.header("www-authenticate").unwrap_or_default();
        assert!(
            challenge.contains("insufficient_scope") && challenge.contains("write"),
            "{revision}: {challenge}"
        );
        let before = place.runs();
        let got = called(&place, revision, "tools/call", params, &high).await;
        assert_eq!((text(&got).as_str(), place.runs()), ("written", before + 1), "{revision}: {got:?}");
    }
}

/// Jenkins: what needed a permission was done without it.
#[tokio::test]
async fn cve_2026_57300_prompts_and_resources_have_scopes_too() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let low = minter.token(&place, "ada", "read");
    for revision in LEGACY.into_iter().chain(["2026-07-28"]) {
        for (method, params) in [
            ("tools/call", json!({ "name": "write", "arguments": {} })),
            ("prompts/get", json!({ "name": "writing" })),
            ("resources/read", json!({ "uri": "note://secret" })),
        ] {
            let got = called(&place, revision, method, params, &low).await;
            assert_eq!(got.status, 403, "{revision} {method}: {got:?}");
            assert!(!got.text.contains("secret note"), "{revision} {method}: {got:?}");
        }
    }
    assert_eq!(place.runs(), 0);
}

/// Azure DevOps MCP: no authorization at all. A protection that cannot work lets nobody in; it does not stand open.
#[tokio::test]
async fn cve_2026_32211_a_wrong_protection_is_no_open_door() {
    for issuer in ["", "issuer.example", "http://issuer.example", "https://issuer.example?x", "javascript:x"]
    {
        let (server, _) = offer();
        assert!(server.protect(issuer).bind("127.0.0.1:0").await.is_err(), "{issuer:?}");
    }
    // An issuer that cannot be reached makes nobody trustworthy.
    let minter = Minter::start().await;
    let place = Place::protected("http://127.0.0.1:1").await;
    let mut claims = minter.claims(&place.url(), "ada", "");
    claims["iss"] = json!("http://127.0.0.1:1");
    let got = place.who(&minter.sign(&claims)).await;
    assert!([401, 503].contains(&got.status), "{got:?}");
    assert_eq!(place.runs(), 0);
}

/// MCP Registry: a path with two slashes became the host of a redirect.
#[tokio::test]
async fn cve_2026_44427_no_path_becomes_a_redirect() {
    let (server, _) = offer();
    let open = serve(server).await;
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for path in [
        "//evil.example/",
        "/\\evil.example/",
        "//evil.example/mcp/",
        "/mcp/",
        "/.//evil.example/",
        "/%2f/evil.example/",
    ] {
        for served in [&open, &place.served] {
            for method in ["GET", "POST"] {
                let got = crate::raw::ask(served, &Ask::new(method, path)).await;
                assert!(got.header("location").is_none() && got.status >= 400, "{method} {path}: {got:?}");
            }
        }
    }
}

/// Splunk: tokens stood in the log.
#[tokio::test]
async fn cve_2026_20205_tokens_are_not_logged() {
    let events = Events::on_this_thread();
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let good = minter.token(&place, "ada", "read");
    let mut expired = minter.claims(&place.url(), "ada", "");
    expired["exp"] = json!(1);
    let expired = minter.sign(&expired);
    for token in [&good, &expired, &format!("{good}x"), &"hunter2-opaque".to_owned()] {
        let signature = token.rsplit('.').next().unwrap_or(token);
        for request in requests() {
            if request.bytes(0).starts_with(b"GET") && *token == good {
                // A stream does not end by itself.
                continue;
            }
            let got = place.ask(&request.by(token)).await;
            assert!(!got.text.contains(signature), "{got:?}");
        }
        assert_eq!(events.containing(signature), Vec::<String>::new());
    }
}
