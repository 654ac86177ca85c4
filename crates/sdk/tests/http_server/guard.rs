//! Who is let in at all: hosts, origins, and pages that may read the answers.

use serde_json::json;

use super::raw::Ask;
use super::support::{EVERY, MODERN, Peer, Site, server};

/// One request of every kind, each of which would be served.
async fn every_kind(site: &Site) -> Vec<Ask> {
    let mut all = Vec::new();
    for revision in EVERY {
        let peer = Peer::of(site, revision).await;
        all.push(peer.post(&peer.request("tools/call", json!({ "name": "now", "arguments": {} }))));
        if revision != MODERN {
            all.push(peer.get());
            all.push(peer.delete());
        }
    }
    all.push(site.ask("GET", "/sse").and("accept", "text/event-stream"));
    all
}

// covers: HTTP-ORIGIN-VALIDATE
#[tokio::test]
async fn pages_of_strangers_are_refused() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let own = format!("http://{}", site.address);
    let strangers = [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost.evil.example",
        "file://",
        "",
        &own.replace("http:", "https:"),
        &format!("{own}.evil.example"),
        &format!("{own}/"),
    ];
    for ask in every_kind(&site).await {
        for stranger in strangers {
            let reply = ask.clone().and("origin", stranger).send().await;
            assert_eq!(reply.status, 403, "{stranger}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
        assert_eq!(ask.clone().and("origin", &own).and("origin", &own).status().await, 403);
    }
    for ask in every_kind(&site).await {
        let status = ask.and("origin", &own).status().await;
        assert!([200, 204].contains(&status), "{status}: a page of this very server");
    }
    assert!(calls.try_recv().is_err());
}

// covers: HTTP-ORIGIN-VALIDATE
#[tokio::test]
async fn other_names_for_this_machine_are_not_served() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let port = site.address.port();
    for ask in every_kind(&site).await {
        for host in ["evil.example", "127.0.0.1:1", "127.0.0.1.evil.example", "localhost.", "0.0.0.0"] {
            let status = ask.clone().with("host", host).status().await;
            assert!([400, 403].contains(&status), "{host}: {status}");
        }
        assert_eq!(ask.clone().with("host", &format!("evil.example:{port}")).status().await, 403);
        assert_eq!(ask.clone().without("host").status().await, 400);
        let named = format!("evil.example:{port}");
        let proxied = ask.with("host", &named).and("x-forwarded-host", &format!("127.0.0.1:{port}"));
        assert_eq!(proxied.status().await, 403, "what proxies add is not looked at");
    }
    let peer = Peer::of(&site, MODERN).await;
    for host in [format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")] {
        let list = peer.post(&peer.request("tools/list", json!({}))).with("host", &host);
        assert_eq!(list.status().await, 200, "{host}");
    }
}

#[tokio::test]
async fn a_host_that_was_given_is_served() {
    let (server, _calls) = server();
    let site = Site::with(server, |http| http.host("mcp.example.com").host("other.example.com:8443")).await;
    let list = |host: &str| {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/x" });
        site.post(&message).with("host", host).and("mcp-protocol-version", MODERN)
    };
    for host in ["mcp.example.com", "mcp.example.com:99", "MCP.example.com", "other.example.com:8443"] {
        assert_eq!(list(host).status().await, 202, "{host}");
    }
    for host in ["other.example.com", "x.mcp.example.com", &site.address.to_string()] {
        assert_eq!(list(host).status().await, 403, "{host}");
    }
}

// covers: HTTP-ORIGIN-VALIDATE
#[tokio::test]
async fn pages_that_were_configured_may_ask_and_read() {
    const APP: &str = "https://app.example.com";
    let (server, _calls) = server();
    let site = Site::with(server, |http| http.origin(APP)).await;
    for ask in every_kind(&site).await {
        let reply = ask.clone().and("origin", APP).send().await;
        assert!([200, 204].contains(&reply.status));
        assert_eq!(reply.header("access-control-allow-origin"), Some(APP));
        assert_eq!(reply.header("vary").map(str::to_ascii_lowercase).as_deref(), Some("origin"));
        assert!(
            reply.header("access-control-expose-headers").is_some_and(|all| all.contains("Mcp-Session-Id"))
        );
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        let other = ask.and("origin", "https://other.example.com").send().await;
        assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None));
    }
    let preflight = |origin: &str| {
        site.ask("OPTIONS", "/mcp")
            .and("origin", origin)
            .and("access-control-request-method", "POST")
            .and("access-control-request-headers", "content-type,mcp-protocol-version,mcp-param-x")
            .send()
    };
    let reply = preflight(APP).await;
    assert_eq!(reply.status, 204);
    assert_eq!(reply.header("access-control-allow-origin"), Some(APP));
    let allowed = reply.header("access-control-allow-headers").expect("headers");
    assert!(allowed.contains("mcp-param-x"), "{allowed}");
    assert!(reply.header("access-control-allow-methods").is_some_and(|all| all.contains("DELETE")));
    let reply = preflight("https://evil.example").await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None));
}

// covers: HTTP-BIND-LOCALHOST
#[tokio::test]
async fn an_address_without_a_host_is_not_the_whole_world() {
    for address in ["localhost:0", "127.0.0.1:0", ":0", "0"] {
        let http = server().0.into_http().expect("a server");
        if let Ok(bound) = http.bind(address).await {
            assert!(bound.address().ip().is_loopback(), "{address} became {}", bound.address());
        }
    }
}

#[tokio::test]
async fn what_is_no_host_or_origin_is_not_served_at_all() {
    for wrong in ["", "a b", "http://x", "x/y"] {
        let http = server().0.into_http().expect("a server").host(wrong);
        assert!(http.bind("127.0.0.1:0").await.is_err(), "{wrong:?}");
    }
    for wrong in ["", "x", "*", "https://x/", "null"] {
        let http = server().0.into_http().expect("a server").origin(wrong);
        assert!(http.bind("127.0.0.1:0").await.is_err(), "{wrong:?}");
    }
}
