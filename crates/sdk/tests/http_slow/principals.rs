//! Sessions, streams and states of somebody else: as if they did not exist.

use std::future::ready;

use contexture::server::http::{Authorizer, Authorizing, Refused};
use contexture::{Args, Context, Error, Policy, Principal, Server, tool};
use http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{Ask, Got, LEGACY, Line, Served, ask, begin, serve, session};

/// Believes what the token says: its first part is who it is, the rest when it was issued.
struct Believing;

impl Authorizer for Believing {
    fn authorize<'a>(&'a self, head: &'a Parts) -> Authorizing<'a> {
        let token = head.headers.get("authorization").and_then(|value| value.to_str().ok());
        let who =
            token.and_then(|token| token.strip_prefix("Bearer ")).and_then(|token| token.split('-').next());
        Box::pin(ready(match who {
            Some(who @ ("alice" | "bob")) => Ok(Principal::new("tests", who)),
            _ => Err(Refused::unauthorized("Bearer")),
        }))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn greet(context: Context, Args(Nothing {}): Args<Nothing>) -> Result<String, Error> {
    let principal = context.principal().subject().to_owned();
    // Something to remember, so that there is a state to steal.
    let noted: String = context.once("noted", || async move { principal }).await;
    let who: Name = context.elicit("who", "Whom?").await?;
    Ok(format!("{noted} greets {}", who.name))
}

async fn known(change: impl FnOnce(&mut Policy)) -> Served {
    let mut policy = Policy::default();
    change(&mut policy);
    let who = tool("who").handler(|context: Context| async move { context.principal().subject().to_owned() });
    let server = Server::new("known", "0").policy(policy).tool(who).tool(tool("greet").handler(greet));
    serve(server.into_http().expect("a server").authorizer(Believing)).await
}

fn text(got: &Got) -> String {
    got.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Every door, without a name: 401, whatever else is wrong, and before the body is there.
#[tokio::test]
async fn nobody() {
    let served = known(|_| {}).await;
    let alices = session(&served, |ask| ask.by("alice")).await.expect("a session");
    for (what, request) in [
        ("modern", Ask::modern(1, "who", json!({}))),
        ("initialize", Ask::initialize()),
        ("legacy", Ask::legacy(1, "who", json!({})).session(&alices)),
        ("GET", Ask::get("/mcp").session(&alices)),
        ("DELETE", Ask::new("DELETE", "/mcp").session(&alices)),
        ("sse", Ask::get("/sse")),
        ("messages", Ask::post("/messages", &json!({}))),
    ] {
        for token in [None, Some("mallory"), Some(""), Some("ALICE")] {
            let request = match token {
                Some(token) => request.clone().by(token),
                None => request.clone(),
            };
            let got = ask(&served, &request).await;
            assert_eq!(got.status, 401, "E01 {what} {token:?}: {got:?}");
            assert!(got.header("www-authenticate").is_some(), "E01 {what}: {got:?}");
            assert!(got.header("mcp-session-id").is_none(), "E01 D09 {what}: {got:?}");
            assert!(!got.text.contains("who"), "E01 {what}: {got:?}");
        }
    }
    let mut line = Line::open(&served).await;
    let mut request = Ask::modern(1, "who", json!({}));
    request.body = " ".repeat(1000);
    let bytes = request.bytes(served.port);
    line.write(&bytes[..bytes.len() - 1000]).await;
    let got = Got::parse(line.until(|text| text.contains("\r\n\r\n")).await);
    assert_eq!(got.status, 401, "E01: before the body: {got:?}");
    assert_eq!(served.server.sessions(), 1, "D09");
}

/// CVE-2026-52869, CVE-2026-67431: another's session id is worth as much as an invented one.
#[tokio::test]
async fn cve_2026_52869_sessions_of_others() {
    let served = known(|_| {}).await;
    let id = session(&served, |ask| ask.by("alice")).await.expect("a session");
    for (what, request) in [
        ("call", Ask::legacy(1, "who", json!({}))),
        (
            "notification",
            Ask::post("/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        ),
        ("response", Ask::post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "result": {}}))),
        ("GET", Ask::get("/mcp")),
        ("DELETE", Ask::new("DELETE", "/mcp")),
    ] {
        let stolen = ask(&served, &request.clone().session(&id).by("bob")).await;
        let invented = ask(&served, &request.session("no-such-session").by("bob")).await;
        assert_eq!(stolen.status, 404, "D04 {what}: {stolen:?}");
        let same = stolen.text.split("date:").next() == invented.text.split("date:").next();
        assert!(same, "D04 {what}: {stolen:?}\n{invented:?}");
    }
    let got = ask(&served, &Ask::legacy(1, "who", json!({})).session(&id).by("alice")).await;
    assert_eq!(text(&got), "alice", "D04: {got:?}");
}

/// CVE-2026-33946: another's stream is not taken over, and goes on.
#[tokio::test]
async fn cve_2026_33946_streams_of_others() {
    let served = known(|_| {}).await;
    let id = session(&served, |ask| ask.by("alice")).await.expect("a session");
    let listen = Ask::get("/mcp").header("mcp-protocol-version", LEGACY).session(&id);
    let (mut line, got) = begin(&served, &listen.clone().by("alice")).await;
    assert_eq!(got.status, 200, "{got:?}");
    for _ in 0..3 {
        assert_eq!(ask(&served, &listen.clone().by("bob")).await.status, 404);
    }
    // Alice's stream ends when Alice ends it, and not before.
    let over = ask(&served, &Ask::new("DELETE", "/mcp").session(&id).by("alice")).await;
    assert!([200, 204].contains(&over.status), "{over:?}");
    line.to_the_end_of_the_stream().await;
}

/// D05: who it is counts, not how it was proven.
#[tokio::test]
async fn tokens_that_were_renewed() {
    let served = known(|_| {}).await;
    let id = session(&served, |ask| ask.by("alice-1")).await.expect("a session");
    let got = ask(&served, &Ask::legacy(1, "who", json!({})).session(&id).by("alice-2")).await;
    assert_eq!(text(&got), "alice", "D05: {got:?}");
}

/// D08: what one person holds is bounded, and does not keep others out.
#[tokio::test]
async fn sessions_of_one_person() {
    let served = known(|policy| policy.sessions_per_principal = 2).await;
    for _ in 0..2 {
        session(&served, |ask| ask.by("alice")).await.expect("room");
    }
    let refused = session(&served, |ask| ask.by("alice-other-token")).await.expect_err("D08: no room");
    assert!([429, 503].contains(&refused.status), "D08: {refused:?}");
    session(&served, |ask| ask.by("bob")).await.expect("D08: room for others");
}

/// CVE-2026-52869 was about the older pair, too: where to post is known to whoever reads the log of a proxy.
#[tokio::test]
async fn cve_2026_52869_the_older_pair() {
    let served = known(|_| {}).await;
    let (mut line, got) = begin(&served, &Ask::get("/sse").by("alice")).await;
    assert_eq!(got.status, 200, "{got:?}");
    let text = line.until(|text| text.split("data:").nth(1).is_some_and(|rest| rest.contains('\n'))).await;
    let data =
        text.lines().find_map(|line| line.strip_prefix("data:")).expect("where to post").trim().to_owned();
    let target = data.find("/messages").map(|at| data[at..].to_owned()).expect("a path");
    let mut initialize = Ask::initialize();
    initialize = Ask::post(&target, &serde_json::from_str(&initialize.body).expect("JSON"));
    let stolen = ask(&served, &initialize.clone().by("bob")).await;
    assert!([403, 404].contains(&stolen.status), "D04: {stolen:?}");
    let own = ask(&served, &initialize.by("alice")).await;
    assert_eq!(own.status, 202, "D04: {own:?}");
    let text = line.until(|text| text.contains("protocolVersion")).await;
    assert_eq!(text.matches("protocolVersion").count(), 1, "D04: {text}");
}

/// D17: a state belongs to whom it was given, and to what it was given for.
#[tokio::test]
async fn states_of_others() {
    let served = known(|_| {}).await;
    let asked = ask(&served, &Ask::modern(1, "greet", json!({})).by("alice")).await;
    let state = asked.json()["result"]["requestState"].as_str().map(str::to_owned);
    let state = state.unwrap_or_else(|| panic!("D17: a state: {asked:?}"));
    let answered = |id: u32, tool: &str| {
        let mut call = Ask::modern(id, tool, json!({}));
        let answers = json!({"who": {"action": "accept", "content": {"name": "Ann"}}});
        let extra = format!(r#""requestState":{},"inputResponses":{answers},"#, json!(state));
        call.body = call.body.replacen(r#""params":{"#, &format!(r#""params":{{{extra}"#), 1);
        call
    };
    let stolen = ask(&served, &answered(2, "greet").by("bob")).await;
    assert_eq!(stolen.code(), Some(-32602), "D17: {stolen:?}");
    let elsewhere = ask(&served, &answered(3, "who").by("alice")).await;
    assert_eq!(elsewhere.code(), Some(-32602), "D17: {elsewhere:?}");
    let own = ask(&served, &answered(4, "greet").by("alice")).await;
    assert_eq!(text(&own), "alice greets Ann", "D17: {own:?}");
}

/// C08: event ids of another person's session.
#[tokio::test]
async fn events_of_others() {
    let served = known(|_| {}).await;
    let id = session(&served, |ask| ask.by("alice")).await.expect("a session");
    let listen = Ask::get("/mcp").header("mcp-protocol-version", LEGACY);
    let (mut line, got) = begin(&served, &listen.clone().session(&id).by("alice")).await;
    assert_eq!(got.status, 200, "{got:?}");
    let text = line.until(|text| text.contains("id:")).await;
    let event = text.lines().find_map(|line| line.strip_prefix("id:")).expect("an id").trim().to_owned();
    let bobs = session(&served, |ask| ask.by("bob")).await.expect("a session");
    for session in [&id, &bobs] {
        let request = listen.clone().header("last-event-id", &event).session(session).by("bob");
        let got = ask(&served, &request).await;
        assert!([400, 404].contains(&got.status), "C08: {got:?}");
    }
}
