//! Protected Resource Metadata: where it is, what it says, and who may read it.

use axum::Router;
use contexture::auth::Protection;
use serde_json::json;
use tokio::net::TcpListener;

use super::issuer::Issuer;
use super::protected::{Protected, challenged};
use super::raw::Ask;
use super::support::{Site, hello, request, server};

const ROOT: &str = "/.well-known/oauth-protected-resource";

/// E19: at the root and at the path, without a token, with the exact resource; and nowhere else.
// covers: AUTH-SERVER-PRM, AUTH-PRM-AS-LIST
#[tokio::test]
async fn metadata_is_where_it_belongs() {
    let protected =
        Protected::with(|protection| protection.scopes(["files:read"]).supported_scopes(["files:list"]))
            .await;
    let (site, url) = (&protected.site, &protected.issuer.url);
    for (path, resource) in [("", "/mcp"), ("/mcp", "/mcp"), ("/sse", "/sse")] {
        let mut reply = site.ask("GET", &format!("{ROOT}{path}")).send().await;
        assert_eq!(reply.status, 200, "E19 {path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let expected = json!({
            "resource": format!("http://{}{resource}", site.address),
            "authorization_servers": [url],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["files:list", "files:read"],
        });
        assert_eq!(reply.json().await, expected, "E19 {path}");
    }
    for path in ["/", "/mcp/", "/mcp2", "/messages", "/other", "/mcp/../sse", "?x=1/other"] {
        let status = site.ask("GET", &format!("{ROOT}{path}")).status().await;
        assert_eq!(status, if path.starts_with('?') { 200 } else { 404 }, "E19 {path}");
    }
    for path in
        ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/"]
    {
        assert_eq!(site.ask("GET", path).status().await, 404, "E19 {path}");
    }
}

#[tokio::test]
async fn everybody_may_read_it_and_nobody_may_change_it() {
    let protected = Protected::start().await;
    let ask = |method| protected.site.ask(method, ROOT);
    let page = ask("GET").and("origin", "https://some.page.example").send().await;
    assert_eq!((page.status, page.header("access-control-allow-origin")), (200, Some("*")));
    let before = ask("OPTIONS").and("origin", "https://some.page.example").send().await;
    assert_eq!((before.status, before.header("access-control-allow-headers")), (204, Some("*")));
    for method in ["POST", "PUT", "DELETE"] {
        let refused = ask(method).send().await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")), "{method}");
    }
    assert_eq!(ask("GET").with("host", "evil.example").status().await, 403, "another name for us");
}

/// A server on this machine answers to every name that this machine has for itself, consistently.
// covers: AUTH-401-WWW-AUTHENTICATE
#[tokio::test]
async fn names_of_this_machine() {
    let protected = Protected::start().await;
    let port = protected.site.address.port();
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        let host = format!("{name}:{port}");
        let refused = protected.call("who").with("host", &host).send().await;
        let url = challenged(&refused, "resource_metadata").expect("where to read on");
        assert_eq!(url, format!("http://{host}{ROOT}/mcp"));
        let document =
            protected.site.ask("GET", &format!("{ROOT}/mcp")).with("host", &host).send().await.json().await;
        assert_eq!(document["resource"], format!("http://{host}/mcp"));
        let token = protected.issuer.token("ada", &format!("http://{host}/mcp"), "");
        assert_eq!(protected.who(&token).await.status, 200, "{name}");
    }
}

// covers: AUTH-URI-TRAILING-SLASH
#[tokio::test]
async fn what_was_said_about_the_resource_counts() {
    for (said, resource, at) in [
        ("HTTPS://MCP.Example.com/mcp", "https://mcp.example.com/mcp", "/mcp"),
        ("https://mcp.example.com/", "https://mcp.example.com", ""),
        ("https://mcp.example.com:443/api/mcp", "https://mcp.example.com/api/mcp", "/api/mcp"),
    ] {
        let protected = Protected::with(|protection| protection.resource(said)).await;
        for path in ["", "/mcp", at] {
            let document = protected.site.ask("GET", &format!("{ROOT}{path}")).send().await.json().await;
            assert_eq!(document["resource"], resource, "{said} {path}");
        }
        let refused = protected.call("who").send().await;
        let url = challenged(&refused, "resource_metadata").expect("where to read on");
        assert_eq!(url, format!("https://mcp.example.com{ROOT}{at}"));
        assert_eq!(protected.who(&protected.issuer.token("ada", resource, "")).await.status, 200, "{said}");
        assert_eq!(
            protected.who(&protected.token("ada", "")).await.status,
            401,
            "{said}: where it listens is no name"
        );
    }
}

#[tokio::test]
async fn other_paths_have_their_own_metadata() {
    let issuer = Issuer::start().await;
    let (server, _calls) = server();
    let protection = Protection::new(issuer.url.as_str());
    let site =
        Site::with(server, |http| http.protect(protection).at("/a/b").sse_at("/old", "/old/post")).await;
    for (path, resource) in [("", "/a/b"), ("/a/b", "/a/b"), ("/old", "/old")] {
        let document = site.ask("GET", &format!("{ROOT}{path}")).send().await.json().await;
        assert_eq!(document["resource"], format!("http://{}{resource}", site.address), "{path}");
    }
    assert_eq!(site.ask("GET", &format!("{ROOT}/mcp")).status().await, 404);
    let stream = site.ask("GET", "/old").and("accept", "text/event-stream").send().await;
    let url = challenged(&stream, "resource_metadata").expect("where to read on");
    assert_eq!(url, format!("http://{}{ROOT}/old", site.address));
}

/// In a router, below a path that it cuts off.
#[tokio::test]
async fn in_a_router() {
    let issuer = Issuer::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let resource = format!("http://{address}/api/mcp");
    let (server, _calls) = server();
    let protection = Protection::new(issuer.url.as_str()).resource(resource.as_str());
    let http = server.into_http().expect("a server").below("/api").protect(protection);
    let inserted = format!("{ROOT}/api/mcp");
    let router = Router::new()
        .route_service(ROOT, http.clone())
        .route_service(&inserted, http.clone())
        .nest_service("/api", http);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let hello = request(1, "initialize", hello("2025-11-25", json!({}))).to_string();
    let post = || {
        let ask = Ask::new(address, "POST", "/api/mcp").and("content-type", "application/json");
        ask.and("accept", "application/json, text/event-stream").body(hello.clone())
    };
    let refused = post().send().await;
    assert_eq!(refused.status, 401);
    let url = challenged(&refused, "resource_metadata").expect("where to read on");
    assert_eq!(url, format!("http://{address}{inserted}"));
    for path in [ROOT, &inserted] {
        let document = Ask::new(address, "GET", path).send().await.json().await;
        assert_eq!(document["resource"], resource, "{path}");
    }
    let token = issuer.token("ada", &resource, "");
    assert_eq!(post().and("authorization", &format!("Bearer {token}")).status().await, 200);
}
