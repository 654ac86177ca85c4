//! Other addresses beside the MCP endpoint.

use bytes::Bytes;
use contexture::server::{BoxFuture, HttpServer};
use contexture::{Policy, Server, tool};
use http::{Request, Response};
use serde_json::json;

use super::support::{EVERY, Peer, Site, Tokens};

fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("now").handler(|| async { "now" }))
}

/// Answers with a name and what was asked for.
fn named(name: &'static str) -> impl Fn(Request<()>) -> BoxFuture<Response<Bytes>> + Send + Sync + 'static {
    move |request| {
        let said = format!("{name} {}", request.uri());
        Box::pin(async move {
            let mut response = Response::new(Bytes::from(said));
            response.headers_mut().insert("content-type", http::HeaderValue::from_static("text/plain"));
            *response.status_mut() = http::StatusCode::IM_A_TEAPOT;
            response
        })
    }
}

fn routed(http: HttpServer) -> HttpServer {
    let broken = |_: Request<()>| -> BoxFuture<Response<Bytes>> { panic!("at once") };
    let late = |_: Request<()>| -> BoxFuture<Response<Bytes>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("later")
        })
    };
    http.route("/health", named("health"))
        .route("/health/deep", named("deep"))
        .route("/mcp", named("never"))
        .route("/broken", broken)
        .route("/late", late)
}

async fn get(site: &Site, target: &str) -> (u16, String) {
    let mut reply = site.ask("GET", target).send().await;
    (reply.status, reply.text().await)
}

#[tokio::test]
async fn the_most_particular_path_answers() {
    let site = Site::with(server(), routed).await;
    for (target, said) in [
        ("/health", "health /health"),
        ("/health?x=1&y=%20", "health /health?x=1&y=%20"),
        ("/health/", "health /health/"),
        ("/health/other", "health /health/other"),
        ("/health/deep", "deep /health/deep"),
        ("/health/deep/er", "deep /health/deep/er"),
        ("/health/deeper", "health /health/deeper"),
    ] {
        assert_eq!(get(&site, target).await, (418, said.to_owned()));
    }
    for target in ["/", "/healthy", "/healt", "/other", "/mcp/health"] {
        let expected = if target == "/mcp/health" { 418 } else { 404 };
        assert_eq!(get(&site, target).await.0, expected, "{target}");
    }
}

#[tokio::test]
async fn mcp_is_served_as_before() {
    let site = Site::with(server(), routed).await;
    for revision in EVERY {
        assert_eq!(Peer::of(&site, revision).await.tool("now").await, "now");
    }
}

#[tokio::test]
async fn they_are_only_read() {
    let site = Site::with(server(), routed).await;
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let reply = site.ask(method, "/health").send().await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET")), "{method}");
    }
}

#[tokio::test]
async fn strangers_are_kept_out_as_elsewhere() {
    let site = Site::with(server(), routed).await;
    let ask = || site.ask("GET", "/health");
    assert_eq!(ask().with("host", "evil.example.com").status().await, 403);
    assert_eq!(ask().and("origin", "https://evil.example.com").status().await, 403);
    assert_eq!(ask().without("host").status().await, 400);
    assert_eq!(ask().status().await, 418);
}

#[tokio::test]
async fn nobody_has_to_say_who_they_are() {
    let site = Site::with(server(), |http| routed(http).authorizer(Tokens)).await;
    assert_eq!(get(&site, "/health").await.0, 418);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(site.post(&list).status().await, 401);
}

#[tokio::test]
async fn a_fault_ends_one_answer() {
    let site = Site::with(server(), routed).await;
    for target in ["/broken", "/late"] {
        assert_eq!(get(&site, target).await.0, 500, "{target}");
    }
    assert_eq!(get(&site, "/health").await.0, 418);
}

#[tokio::test]
async fn what_is_no_path_is_refused() {
    for path in ["", "health", "http://localhost/health", "/health?x", "/a#b"] {
        let http = server().into_http().expect("a server").route(path, named("x"));
        let refused = http.bind("127.0.0.1:0").await;
        assert!(matches!(refused, Err(contexture::Error::Misuse(why)) if why.contains("path")), "{path:?}");
    }
}

#[tokio::test]
async fn they_are_answered_while_there_is_too_much_else() {
    let mut policy = Policy::default();
    policy.requests_at_once = 0;
    let site = Site::with(server().policy(policy), routed).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(site.post(&list).status().await, 503);
    assert_eq!(get(&site, "/health").await.0, 418);
}

#[tokio::test]
async fn whoever_wants_to_know_hears_when_it_drains() {
    let bound = server().into_http().expect("a server").bind("127.0.0.1:0").await.expect("a port");
    let draining = tokio::spawn(bound.draining());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(bound.serve_until(async { drop(stopped.await) }));
    tokio::task::yield_now().await;
    assert!(!draining.is_finished());
    stop.send(()).expect("it serves");
    draining.await.expect("no panic");
    serving.await.expect("no panic").expect("stops");
}
