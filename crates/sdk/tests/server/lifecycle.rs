//! Sessions from end to end: what is spoken, what is declared, how long one waits, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use contexture::model::{Content, CreateMessageParams, Icon, Resource, SamplingMessage};
use contexture::revision::Revision;
use contexture::server::Session;
use contexture::testing::Side;
use contexture::transport::memory;
use contexture::{Context, Error, Json, Policy, Server, prompt, resource, tool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::{EVERY, LEGACY, MODERN, Peer};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    #[serde(rename = "name")]
    _name: String,
}

fn question() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user("?")], 9)
}

/// A server with a tool for each thing that a server can ask.
fn asking() -> Server {
    Server::new("asking", "1")
        .tool(tool("sample").handler(|context: Context| async move {
            context.sample("q", question()).await.map(|answer| answer.model)
        }))
        .tool(tool("roots").handler(|context: Context| async move {
            context.roots("q").await.map(|roots| roots.len().to_string())
        }))
        .tool(tool("elicit").handler(|context: Context| async move {
            context.elicit::<Name>("q", "who?").await.map(|_| "somebody")
        }))
        .tool(tool("ping").handler(|session: Option<Session>| async move {
            session.ok_or(Error::Cancelled)?.ping().await.map(|()| "there")
        }))
        .tool(tool("revision").handler(|context: Context| async move { context.revision().to_string() }))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Requests and notifications that the server has sent.
fn spoken(peer: &Peer) -> Vec<Value> {
    peer.transcript()
        .sent_by(Side::Server)
        .into_iter()
        .filter(|message| message.get("method").is_some())
        .collect()
}

async fn begin(peer: &mut Peer, name: &str) -> i64 {
    peer.start("tools/call", json!({ "name": name })).await.expect("sent")
}

// covers: LIFE-SERVER-WAIT-INITIALIZED
#[tokio::test]
async fn before_initialized_a_server_asks_for_nothing_but_a_ping() {
    for revision in LEGACY {
        let mut peer = Peer::of(asking().on_initialized(|session| async move {
            session.roots().await.ok();
        }));
        let info = json!({ "name": "raw", "version": "0" });
        let offer = json!({ "protocolVersion": revision, "capabilities": { "sampling": {}, "roots": {} }, "clientInfo": info });
        peer.request("initialize", offer).await.expect("an answer");
        let waiting = begin(&mut peer, "sample").await;
        let pinging = begin(&mut peer, "ping").await;
        let ping = peer.expect("ping").await.expect("pings may pass");
        peer.answer(&ping, json!({})).await.expect("sent");
        assert_eq!(text(&peer.response(&json!(pinging)).await.expect("an answer")), "there");
        assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "{revision}: held back");

        peer.notify("notifications/initialized", Value::Null).await.expect("sent");
        peer.expect("roots/list").await.expect("asked by the hook");
        let asked = peer.expect("sampling/createMessage").await.expect("what was held back");
        let answer = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "!" } });
        peer.answer(&asked, answer).await.expect("sent");
        assert_eq!(text(&peer.response(&json!(waiting)).await.expect("an answer")), "m");
    }
}

// covers: LIFE-VERSION-MULTI, LIFE-VERSION-SINGLE
#[tokio::test]
async fn one_server_speaks_every_revision_at_once_and_each_connection_one() {
    let built = asking().build().expect("complete");
    let mut peers: Vec<(&str, Peer)> = Vec::new();
    for revision in LEGACY {
        let mut peer = Peer::of_built(&built);
        peer.initialize(revision, json!({})).await.expect("a session");
        peers.push((revision, peer));
    }
    for _ in 0..2 {
        for (revision, peer) in &mut peers {
            assert_eq!(text(&peer.call("tools/call", json!({ "name": "revision" })).await), *revision);
            let again = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "x", "version": "0" } });
            assert_eq!(
                peer.call("initialize", again).await["error"]["code"],
                -32600,
                "settled once and for all"
            );
        }
    }
    // The stateless revision passes a session by without touching it.
    let (revision, peer) = &mut peers[0];
    let modern = peer.modern("tools/call", json!({ "name": "revision" }), json!({})).await;
    assert_eq!(text(&modern), MODERN);
    assert_eq!(text(&peer.call("tools/call", json!({ "name": "revision" })).await), *revision);
}

// covers: LIFE-VERSION-FORMAT
#[test]
fn revisions_are_dates() {
    for (revision, date) in Revision::ALL.into_iter().zip(EVERY) {
        assert_eq!(revision.as_str(), date);
        let digits: Vec<usize> = date.split('-').map(str::len).collect();
        assert!(digits == [4, 2, 2] && date.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()));
        assert_eq!(Revision::parse(date), Some(revision));
    }
}

/// A server that uses everything that any revision has.
fn lavish() -> Server {
    let icons = || vec![Icon::new("https://example.com/icon.png")];
    Server::new("lavish", "1")
        .title("Lavish")
        .description("Uses all there is")
        .website("https://example.com")
        .icons(icons())
        .tool(
            tool("rich")
                .title("Rich")
                .icons(icons())
                .read_only()
                .handler(|| async { Json(json!({ "a": 1 })) }),
        )
        .tool(tool("loud").handler(|context: Context| async move {
            context.progress_message(1.0, Some(2.0), "half");
            vec![Content::audio([1], "audio/wav"), Content::ResourceLink(Resource::new("demo://x", "x"))]
        }))
        .prompt(prompt("hello").title("Hello").icons(icons()).handler(|| async { "hello" }))
        .resource(resource("demo://note").title("Note").icons(icons()).size(3_u64).text("one"))
        .complete_prompt("hello", "who", |_: contexture::server::Completing| async {
            Ok(vec!["x".to_owned()])
        })
}

// covers: LIFE-OP-VERSION, LIFE-OP-VERSION-2024
#[tokio::test]
async fn nothing_leaves_that_the_revision_does_not_know() {
    // The judge refuses members that a revision does not have; this only makes sure that there is much to judge.
    for revision in EVERY {
        let mut peer = Peer::speaking(lavish(), revision, json!({ "elicitation": {}, "unknown": {} })).await;
        let tools = peer.call("tools/list", json!({})).await["result"]["tools"].clone();
        for list in ["prompts/list", "resources/list", "resources/templates/list"] {
            assert!(peer.call(list, json!({})).await["result"].is_object(), "{revision} {list}");
        }
        peer.call("tools/call", json!({ "name": "rich" })).await;
        let loud = json!({ "name": "loud", "_meta": { "progressToken": 1 } });
        let loud = peer.call("tools/call", loud).await["result"]["content"].clone();
        let progress = peer.expect("notifications/progress").await.expect("told");
        let kinds: Vec<_> =
            loud.as_array().expect("content").iter().map(|block| block["type"].clone()).collect();
        if revision == "2024-11-05" {
            assert_eq!(kinds, ["text", "text"]);
            assert_eq!(tools[0].as_object().map(|tool| tool.len()), Some(2), "name and schema: {tools}");
            assert_eq!(progress["params"].get("message"), None);
            assert_eq!(peer.capabilities().get("completions"), None);
        } else {
            assert_eq!(kinds[0], "audio");
            assert_eq!(progress["params"]["message"], "half");
            assert!(peer.capabilities()["completions"].is_object());
        }
    }
}

// covers: LIFE-OP-VERSION-2024
#[tokio::test]
async fn members_from_later_revisions_are_tolerated_in_an_older_session() {
    let mut peer = Peer::session(
        asking(),
        "2024-11-05",
        json!({ "elicitation": { "url": {} }, "tasks": { "list": {} }, "x": 5 }),
    )
    .await;
    let call = json!({ "name": "revision", "task": { "ttl": 1 }, "inputResponses": {}, "_meta": { "x": 1 } });
    assert_eq!(text(&peer.call("tools/call", call).await), "2024-11-05");
    let refused = peer.call("tools/call", json!({ "name": "elicit" })).await;
    assert_eq!(
        refused["result"]["isError"], true,
        "not in this revision, whatever the client declares: {refused}"
    );
    assert_eq!(spoken(&peer), Vec::<Value>::new());
}

// covers: LIFE-OP-CAPS, LIFE-OP-CAPS-2024, LIFE-ERR-CAPS-FAIL
#[tokio::test]
async fn what_was_not_declared_is_not_used_by_either_side() {
    for revision in EVERY {
        let mut peer = Peer::speaking(asking().without_logging(), revision, json!({})).await;
        for name in ["sample", "roots", "elicit"] {
            let refused = peer.call("tools/call", json!({ "name": name })).await;
            if revision == MODERN {
                assert_eq!(refused["error"]["code"], -32021, "{refused}");
                assert!(refused["error"]["data"]["requiredCapabilities"].is_object(), "{refused}");
            } else {
                assert_eq!(refused["result"]["isError"], true, "{revision} {name} {refused}");
                assert!(text(&refused).contains("needs a client that supports"), "{refused}");
            }
        }
        assert_eq!(spoken(&peer), Vec::<Value>::new(), "{revision}: nothing on the wire");
        for method in ["prompts/list", "resources/list", "completion/complete", "logging/setLevel"] {
            let refused = peer.call(method, json!({ "level": "info" })).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method} {refused}");
        }
        assert_eq!(text(&peer.call("tools/call", json!({ "name": "revision" })).await), revision, "goes on");
    }
}

// covers: LIFE-CAP-ADVERTISE
#[tokio::test]
async fn capabilities_follow_from_what_is_registered() {
    type Build = fn(Server) -> Server;
    let features: [(&str, Build); 4] = [
        ("tools", |server| server.tool(tool("t").handler(|| async { "" }))),
        ("prompts", |server| server.prompt(prompt("p").handler(|| async { "" }))),
        ("resources", |server| server.resource(resource("demo://r").text(""))),
        ("completions", |server| {
            // What is completed must be there.
            let server = server.prompt(prompt("p").handler(|| async { "" }));
            server.complete_prompt("p", "a", |_: contexture::server::Completing| async {
                Ok(Vec::<String>::new())
            })
        }),
    ];
    for revision in EVERY {
        for (feature, build) in &features {
            let peer =
                Peer::speaking(build(Server::new("one", "1").without_logging()), revision, json!({})).await;
            let declared: Vec<_> =
                peer.capabilities().as_object().expect("an object").keys().cloned().collect();
            let expected = match *feature {
                "completions" if revision == "2024-11-05" => vec!["prompts"],
                "completions" => vec!["completions", "prompts"],
                other => vec![other],
            };
            assert_eq!(declared, expected, "{revision}");
        }
        let logging = Peer::speaking(Server::new("log", "1"), revision, json!({})).await;
        assert_eq!(logging.capabilities(), &json!({ "logging": {} }));
    }
}

// covers: LIFE-ERR-VERSION-MISMATCH
#[tokio::test]
async fn a_server_of_one_era_says_what_it_speaks_to_the_other() {
    let mut modern = Peer::of(asking().revisions(&Revision::MODERN));
    let refused = modern.initialize("2025-06-18", json!({})).await.expect("an answer");
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["supported"], json!([MODERN]));
    let served = modern.modern("tools/call", json!({ "name": "revision" }), json!({})).await;
    assert_eq!(text(&served), MODERN, "still there");

    let mut legacy = Peer::of(asking().revisions(&[Revision::V2024_11_05]));
    let refused = legacy.modern("tools/list", json!({}), json!({})).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["requested"], MODERN);
    let offered = legacy.initialize("2025-06-18", json!({})).await.expect("an answer");
    assert_eq!(offered["result"]["protocolVersion"], "2024-11-05", "the newest that it has");
    legacy.finish().await.expect("closed");
    assert!(matches!(legacy.receive().await, Err(Error::Closed(_))), "a client that cannot speak it leaves");
}

// covers: LIFE-TIMEOUT-ALL, LIFE-TIMEOUT-CANCEL, LIFE-TIMEOUT-STOP-WAITING
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_by_itself() {
    let mut policy = Policy::default();
    policy.patience.idle = Duration::from_secs(5);
    for revision in ["2025-06-18", "2025-11-25"] {
        let client = json!({ "sampling": {}, "roots": {}, "elicitation": {} });
        let mut peer = Peer::session(asking().policy(policy.clone()), revision, client).await;
        for (name, method) in [
            ("sample", "sampling/createMessage"),
            ("roots", "roots/list"),
            ("elicit", "elicitation/create"),
            ("ping", "ping"),
        ] {
            let id = begin(&mut peer, name).await;
            let asked = peer.expect(method).await.expect("asked");
            let before = tokio::time::Instant::now();
            let failed = peer.response(&json!(id)).await.expect("an answer");
            assert_eq!(before.elapsed().as_secs(), 5, "{revision} {name}");
            assert_eq!(failed["result"]["isError"], true, "{failed}");
            assert!(text(&failed).contains("no answer within 5s"), "{failed}");
            let cancelled = peer.expect("notifications/cancelled").await.expect("told");
            assert_eq!(cancelled["params"]["requestId"], asked["id"]);
            peer.answer(&asked, json!({})).await.expect("late");
            assert_eq!(
                peer.settle().await.expect("ready"),
                Vec::<Value>::new(),
                "told once; too late is ignored"
            );
        }
    }
}

// covers: LIFE-TIMEOUT-CONFIG
#[tokio::test(start_paused = true)]
async fn each_question_has_its_own_patience() {
    let server =
        Server::new("patient", "1").tool(tool("both").handler(|session: Option<Session>| async move {
            let session = session.ok_or(Error::Cancelled)?;
            let (short, long) =
                (session.clone().timeout(Duration::from_secs(2)), session.timeout(Duration::from_secs(7)));
            let began = tokio::time::Instant::now();
            let timed = |session: Session| async move {
                assert!(session.ping().await.is_err());
                began.elapsed().as_secs()
            };
            let (first, second) = tokio::join!(timed(short), timed(long));
            Ok::<_, Error>(format!("{first} {second}"))
        }));
    let mut peer = Peer::session(server, "2025-06-18", json!({})).await;
    assert_eq!(text(&peer.call("tools/call", json!({ "name": "both" })).await), "2 7");
}

// covers: LIFE-SHUTDOWN-TRANSPORT
#[tokio::test]
async fn the_end_of_the_messages_is_the_end_of_the_session() {
    for revision in EVERY {
        let go = Arc::new(Notify::new());
        let gate = Arc::clone(&go);
        let server = Server::new("slow", "1").tool(tool("slow").handler(move |context: Context| {
            let gate = Arc::clone(&gate);
            async move {
                context.progress(1.0, None);
                gate.notified().await;
                "done"
            }
        }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let slow = json!({ "name": "slow", "_meta": { "progressToken": 1 } });
        let slow = if revision == MODERN { super::support::with_meta(slow, json!({})) } else { slow };
        let id = peer.start("tools/call", slow).await.expect("sent");
        peer.expect("notifications/progress").await.expect("at work");
        peer.finish().await.expect("closed");
        go.notify_one();
        let answer = peer.response(&json!(id)).await.expect("work at hand is finished");
        assert_eq!(text(&answer), "done", "{revision}");
        assert!(matches!(peer.receive().await, Err(Error::Closed(_))), "and then the end");
        let methods: Vec<_> = spoken(&peer).iter().map(|message| message["method"].clone()).collect();
        assert_eq!(methods, ["notifications/progress"], "no word of farewell");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_to_a_client_that_left_fails_at_once() {
    for revision in LEGACY {
        let mut peer = Peer::session(asking(), revision, json!({ "sampling": {} })).await;
        let id = begin(&mut peer, "sample").await;
        peer.expect("sampling/createMessage").await.expect("asked");
        let before = tokio::time::Instant::now();
        peer.finish().await.expect("closed");
        let failed = peer.response(&json!(id)).await.expect("an answer");
        assert_eq!(failed["result"]["isError"], true, "{revision} {failed}");
        assert!(
            before.elapsed() < Duration::from_secs(1),
            "nobody will answer any more: {:?}",
            before.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_neither_reads_nor_leaves_does_not_keep_a_server_from_stopping() {
    let began = Arc::new(Notify::new());
    let signal = Arc::clone(&began);
    let big = Server::new("big", "1").tool(tool("big").handler(move || {
        signal.notify_one();
        async { "x".repeat(1024 * 1024) }
    }));
    let (mut own, other) = memory(64 * 1024 * 1024);
    let stop = Arc::new(Notify::new());
    let (server, stopped) = (big.build().expect("complete"), Arc::clone(&stop));
    let serving = tokio::spawn(async move { server.serve_until(other, stopped.notified()).await });
    let call = json!({ "name": "big" });
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": super::support::with_meta(call, json!({})) });
    contexture::transport::Transport::send(&mut own, &mut format!("{line}\n").into_bytes());
    std::future::poll_fn(|cx| contexture::transport::Transport::poll_flush(&mut own, cx))
        .await
        .expect("sent");
    began.notified().await;
    stop.notify_one();
    let limit = Policy::default().drain * 2;
    tokio::time::timeout(limit, serving)
        .await
        .expect("stops in time")
        .expect("no panic")
        .expect("no failure");
    drop(own);
}
