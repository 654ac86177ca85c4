//! Protections that are not put together correctly, verifiers of one's own, and other transports.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::auth::{Issuer as Trusted, Protection, Scopes, TokenVerifier, Unverified, Verifying};
use contexture::server::http::{SessionRecord, SessionStore, Storing};
use contexture::transport::{Incoming, MemoryTransport, Transport, memory};
use contexture::{Principal, Server, tool};
use serde_json::{Value, json};

use super::issuer::Issuer;
use super::protected::{Protected, challenged};
use super::support::{Site, hello, notification, request, server, text_of};

/// A store of sessions that can be looked into.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<SessionRecord>>>);

impl Kept {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&*self.0.lock().expect("not poisoned")).expect("JSON")
    }
}

impl SessionStore for Kept {
    fn save(&self, record: SessionRecord) -> Storing<'_, ()> {
        self.0.lock().expect("not poisoned").push(record);
        Box::pin(std::future::ready(Ok(())))
    }

    fn load<'a>(&'a self, id: &'a str) -> Storing<'a, Option<SessionRecord>> {
        let found = self.0.lock().expect("not poisoned").iter().find(|record| record.id == id).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn remove<'a>(&'a self, _id: &'a str) -> Storing<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

// covers: AUTH-PRM-AS-LIST, AUTH-COMM-SECURITY, AUTH-OAUTH21-SECURITY
#[tokio::test]
async fn what_is_wrong_is_said_before_serving() {
    let issuer = || Trusted::new("https://issuer.example");
    let with = || Protection::new(issuer());
    for (protection, word) in [
        (Protection::from(""), "issuer"),
        (Protection::from("issuer.example"), "issuer"),
        (Protection::from("http://issuer.example"), "https"),
        (Protection::from("https://issuer.example?x=1"), "issuer"),
        (with().issuer("https://issuer.example"), "twice"),
        (with().resource("mcp.example.com"), "where a server is"),
        (with().resource("https://mcp.example.com/mcp#x"), "fragment"),
        (with().resource("https://ada@mcp.example.com/mcp"), "user"),
        (with().scopes(["files read"]), "scope"),
        (with().scopes(["files\"read"]), "scope"),
        (with().supported_scopes([""]), "scope"),
        (with().scope_includes("a b", ["c"]), "scope"),
        (with().scopes(["offline_access"]), "offline_access"),
        (with().leeway(Duration::from_secs(61)), "60 seconds"),
        (Protection::new(issuer().algorithms([])), "algorithm"),
        (Protection::new(issuer().key_age(Duration::MAX)), "day"),
        (
            Protection::new(issuer().introspection("a", "b"))
                .issuer(Trusted::new("https://other.example").introspection("a", "b")),
            "only one issuer",
        ),
    ] {
        let (server, _calls) = server();
        let http = server.into_http().expect("a server").protect(protection);
        let error = http.bind("127.0.0.1:0").await.expect_err(word).to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
    let (server, _calls) = server();
    let open =
        server.into_http().expect("a server").protect("https://issuer.example").bind("0.0.0.0:0").await;
    assert!(open.expect_err("nobody reaches us there").to_string().contains("Protection::resource"));
    for wrong in ["two words", "", "quo\"te"] {
        let server = Server::new("test", "1").tool(tool("x").scope(wrong).handler(|| async { "x" }));
        assert!(server.build().expect_err("no scope").to_string().contains("scope"), "{wrong:?}");
    }
}

/// A server that was meant to be protected and is not put together correctly lets nobody in, also in a router.
#[tokio::test]
async fn a_fault_opens_no_door() {
    use tower_service::Service as _;

    for protection in [Protection::from("not an issuer"), Protection::from("https://issuer.example")] {
        let (server, _calls) = server();
        let mut http = server.into_http().expect("a server").protect(protection);
        let body = request(1, "initialize", hello("2025-11-25", json!({}))).to_string();
        let ask = http::Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("authorization", "Bearer x")
            .body(axum::body::Body::from(body))
            .expect("a request");
        let Ok(response) = http.call(ask).await;
        assert_eq!(response.status(), 503, "nobody said where it is, or it is not protected as it should be");
    }
}

/// A door of one's own: whoever says the word.
struct Word;

impl TokenVerifier for Word {
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a> {
        Box::pin(async move {
            assert!(audience[0].ends_with("/mcp"));
            match token {
                "sesame" => Ok(Principal::new("word", "ali")),
                "little" => Ok(Principal::new("word", "ali").granting(Scopes::from(["files:read"]))),
                "later" => Err(Unverified::Unavailable("the cave is closed".into())),
                _ => Err(Unverified::Invalid("not the word".into())),
            }
        })
    }
}

// covers: AUTH-CUSTOM-STRATEGY
#[tokio::test]
async fn tokens_can_be_verified_in_other_ways() {
    let protected = Protected::with(|protection| protection.verifier(Word).scopes(["files:read"])).await;
    let status = async |tool: &str, token: &str| {
        protected.call(tool).and("authorization", &format!("Bearer {token}")).status().await
    };
    assert_eq!(status("write", "sesame").await, 200, "nothing limits it");
    assert_eq!(status("open", "little").await, 200);
    assert_eq!(status("write", "little").await, 403);
    assert_eq!(status("open", "later").await, 503);
    let refused = protected.call("open").and("authorization", "Bearer wheat").send().await;
    assert_eq!((refused.status, challenged(&refused, "error").as_deref()), (401, Some("invalid_token")));
    assert_eq!(protected.issuer.asked("/jwks"), 0);
}

/// A transport that knows whom it serves.
struct Known(MemoryTransport, Principal);

impl Transport for Known {
    fn poll_receive(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<Incoming>> {
        self.0.poll_receive(cx)
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.0.send(lines);
    }

    fn unsent(&self) -> usize {
        self.0.unsent()
    }

    fn poll_flush(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        self.0.poll_close(cx)
    }

    fn principal(&self) -> Option<Principal> {
        Some(self.1.clone())
    }
}

/// On other transports what lacks is an error of the protocol, before the handler runs.
// covers: AUTH-ALT-TRANSPORT, AUTH-STDIO-NO-OAUTH
#[tokio::test]
async fn other_transports_say_who_is_there() {
    let principal = Principal::new("certificates", "ada").granting(Scopes::from(["files:read"]));
    for (principal, allowed) in [(Some(principal), false), (None, true)] {
        let server = Server::new("test", "1")
            .tool(tool("who").handler(|who: Principal| async move { format!("{who:?}") }))
            .tool(tool("write").scope("files:write").handler(|| async { "written" }));
        let (ours, mut theirs) = memory(1024 * 1024);
        let built = server.build().expect("a server");
        match principal.clone() {
            Some(principal) => drop(tokio::spawn(async move { built.serve(Known(ours, principal)).await })),
            None => drop(tokio::spawn(async move { built.serve(ours).await })),
        }
        let call = |id: u64, tool: &str| request(id, "tools/call", json!({ "name": tool, "arguments": {} }));
        ask(&mut theirs, &request(1, "initialize", hello("2025-11-25", json!({})))).await;
        tell(&mut theirs, &notification("notifications/initialized")).await;
        let who = text_of(&ask(&mut theirs, &call(2, "who")).await);
        assert_eq!(who, if allowed { "Principal( local)" } else { "Principal(certificates ada)" });
        let answer = ask(&mut theirs, &call(3, "write")).await;
        if allowed {
            assert_eq!(text_of(&answer), "written");
        } else {
            assert_eq!(answer["error"]["code"], -31403, "{answer}");
            assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("files:write")));
        }
    }
}

async fn tell(transport: &mut MemoryTransport, message: &Value) {
    transport.send(&mut format!("{message}\n").into_bytes());
    std::future::poll_fn(|cx| transport.poll_flush(cx)).await.expect("it is sent");
}

async fn ask(transport: &mut MemoryTransport, message: &Value) -> Value {
    tell(transport, message).await;
    match std::future::poll_fn(|cx| transport.poll_receive(cx)).await.expect("an answer") {
        Incoming::Message(text) => serde_json::from_slice(&text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

/// The five lines of the README.
// covers: AUTH-HTTP-CONFORM
#[tokio::test]
async fn one_line_protects() {
    let issuer = Issuer::start().await;
    let (server, _calls) = server();
    let site = Site::with(server, |http| http.protect(issuer.url.as_str())).await;
    let resource = format!("http://{}/mcp", site.address);
    let hello = request(1, "initialize", hello("2025-11-25", json!({})));
    assert_eq!(site.post(&hello).status().await, 401);
    let token = issuer.token("ada", &resource, "");
    assert_eq!(site.post(&hello).and("authorization", &format!("Bearer {token}")).status().await, 200);
}
