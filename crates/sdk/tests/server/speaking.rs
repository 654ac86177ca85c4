//! A server that speaks first: not before `initialized`, not for ever, and not past the end.

use std::time::Duration;

use contexture::engine::Patience;
use contexture::{Context, Error, Policy, Server, tool};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::spoken::{Spoken, text_of};
use super::support::{LEGACY, Peer};

fn patient(seconds: u64) -> Policy {
    let mut policy = Policy::default();
    let idle = Duration::from_secs(seconds);
    policy.patience = Patience { idle, ..Patience::default() };
    policy
}

fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("roots").handler(|ctx: Context| async move {
        let roots = ctx.roots("roots").await?;
        Ok::<_, Error>(roots.len().to_string())
    }))
}

/// A server that asks for the roots as soon as it may, and tells how that went.
fn asking(policy: Policy) -> (Server, UnboundedReceiver<Result<usize, Error>>) {
    let (told, tells) = unbounded_channel();
    let server = server().policy(policy).on_initialized(move |session| {
        let told = told.clone();
        async move { told.send(session.roots().await.map(|roots| roots.len())).expect("is told") }
    });
    (server, tells)
}

fn hello(revision: &str) -> Value {
    let info = json!({ "name": "raw", "version": "0" });
    json!({ "protocolVersion": revision, "capabilities": { "roots": {} }, "clientInfo": info })
}

// covers: LIFE-SERVER-WAIT-INITIALIZED
#[tokio::test]
async fn nothing_is_asked_before_the_client_is_ready() {
    for revision in LEGACY {
        let (server, mut tells) = asking(Policy::default());
        let registry = server.registry();
        let mut peer = Peer::of(server);
        peer.request("initialize", hello(revision)).await.expect("a response");
        // A call before `initialized` may be served, but its question waits.
        let call =
            peer.start("tools/call", json!({ "name": "roots", "arguments": {} })).await.expect("is sent");
        registry.add_tool(tool("later").handler(|| async { "x" })).expect("a tool");
        assert_eq!(peer.settle().await.expect("lives"), Vec::<Value>::new(), "neither asked nor told");

        peer.notify("notifications/initialized", Value::Null).await.expect("is sent");
        for _ in 0..2 {
            let question = peer.expect("roots/list").await.expect("a question");
            peer.answer(&question, json!({ "roots": [{ "uri": "file:///a" }] })).await.expect("is sent");
        }
        assert_eq!(text_of(&peer.response(&json!(call)).await.expect("a response")), "1");
        assert!(matches!(tells.recv().await, Some(Ok(1))));
        peer.notify("notifications/initialized", Value::Null).await.expect("is sent");
        assert_eq!(peer.settle().await.expect("lives"), Vec::<Value>::new(), "the hook runs once");
    }
}

// covers: LIFE-TIMEOUT-ALL, LIFE-TIMEOUT-CANCEL, LIFE-TIMEOUT-CONFIG, LIFE-ERR-REQ-TIMEOUT
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_is_given_up() {
    for revision in LEGACY {
        for seconds in [2, 9] {
            let (server, mut tells) = asking(patient(seconds));
            let mut peer = Spoken::to(server, revision, json!({ "roots": {} })).await;
            let question = peer.expect("roots/list").await.expect("a question");
            let given_up = peer.expect("notifications/cancelled").await.expect("is given up");
            assert_eq!(given_up["params"]["requestId"], question["id"]);
            let Some(Err(Error::Timeout(waited))) = tells.recv().await else { panic!("not given up") };
            assert_eq!(waited, Duration::from_secs(seconds));
            peer.answer(&question, json!({ "roots": [] })).await.expect("is sent");
            assert_eq!(peer.settle().await.expect("lives"), Vec::<Value>::new(), "a late answer is nobody's");

            let id = peer.begin("tools/call", json!({ "name": "roots", "arguments": {} })).await;
            let response = peer.response(&id).await.expect("a response");
            assert_eq!(response["result"]["isError"], true, "the model hears of it");
            assert!(text_of(&response).contains("no answer within"), "{response}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_not_waited_for() {
    for revision in LEGACY {
        let (server, mut tells) = asking(patient(1000));
        let mut peer = Spoken::to(server, revision, json!({ "roots": {} })).await;
        peer.expect("roots/list").await.expect("a question");
        let id = peer.begin("tools/call", json!({ "name": "roots", "arguments": {} })).await;
        peer.expect("roots/list").await.expect("a question");
        peer.finish().await.expect("closes");
        let response = peer.response(&id).await.expect("what was begun is answered");
        assert_eq!(response["result"]["isError"], true);
        assert!(peer.receive().await.is_err(), "and then the end");
        assert!(matches!(tells.recv().await, Some(Err(Error::Closed(_))) | None));
    }
}

#[tokio::test]
async fn questions_that_are_open_are_bounded() {
    let mut policy = Policy::default();
    policy.pending = 2;
    for revision in LEGACY {
        let mut peer = Spoken::to(server().policy(policy.clone()), revision, json!({ "roots": {} })).await;
        for _ in 0..2 {
            peer.begin("tools/call", json!({ "name": "roots", "arguments": {} })).await;
            peer.expect("roots/list").await.expect("a question");
        }
        let response = peer.call("roots", json!({})).await;
        assert_eq!(response["result"]["isError"], true);
        assert!(text_of(&response).contains("over the limit"), "{response}");
    }
}

#[tokio::test]
async fn a_handler_may_speak_through_its_session() {
    let server = || {
        Server::new("test", "1.0.0").tool(tool("who").handler(
            |session: Option<contexture::server::Session>| async move {
                match session {
                    Some(session) => {
                        session.ping().await?;
                        let info = session.peer().info.as_ref().map(|info| info.name.clone());
                        Ok::<_, Error>(format!("session with {info:?}"))
                    }
                    None => Ok("no session".to_owned()),
                }
            },
        ))
    };
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        let id = peer.begin("tools/call", json!({ "name": "who", "arguments": {} })).await;
        let ping = peer.expect("ping").await.expect("a ping");
        peer.answer(&ping, json!({})).await.expect("is sent");
        let response = peer.response(&id).await.expect("a response");
        assert_eq!(text_of(&response), r#"session with Some("raw")"#);
    }
    let mut peer = Spoken::to(server(), super::support::MODERN, json!({})).await;
    assert_eq!(text_of(&peer.call("who", json!({})).await), "no session");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_expired_before_initialized_is_never_sent() {
    let server = asking_for_roots(Duration::from_millis(50));
    let mut peer = Peer::of(server);
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": {} },
        "clientInfo": { "name": "raw", "version": "0" },
    });
    peer.request("initialize", hello).await.expect("an answer");
    let failed = peer.request("tools/call", json!({ "name": "ask" })).await.expect("an answer");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    peer.notify("notifications/initialized", json!({})).await.expect("sent");
    assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "neither asked nor cancelled");
}

#[tokio::test]
async fn patience_may_be_without_end() {
    let server = asking_for_roots(Duration::MAX);
    let mut peer = Peer::session(server, "2025-11-25", json!({ "roots": {} })).await;
    let id = peer.start("tools/call", json!({ "name": "ask" })).await.expect("sent");
    let asked = peer.expect("roots/list").await.expect("asked");
    peer.answer(&asked, json!({ "roots": [] })).await.expect("sent");
    let answer = peer.response(&json!(id)).await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "asked", "{answer}");
}

fn asking_for_roots(patience: Duration) -> Server {
    let mut policy = Policy::default();
    policy.patience.idle = patience;
    policy.patience.total = patience;
    Server::new("asking", "1").policy(policy).tool(
        tool("ask").handler(|context: Context| async move { context.roots("r").await.map(|_| "asked") }),
    )
}
