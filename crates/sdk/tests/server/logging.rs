//! Log messages: who gets them, from which level on, and what is taken out of them.

use contexture::model::LoggingLevel;
use contexture::server::layers::around;
use contexture::server::{Reply, Request};
use contexture::{Args, Context, Policy, Server, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

fn levels() -> [LoggingLevel; 8] {
    LEVELS.map(|level| serde_json::from_value(json!(level)).expect("a level"))
}

/// Logs once at every level.
fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("work").handler(|ctx: Context| async move {
        for level in levels() {
            ctx.log(level, json!({ "step": 1 }));
        }
        "done"
    }))
}

async fn levels_heard(peer: &mut Spoken) -> Vec<String> {
    let heard = peer.heard("notifications/message").await;
    heard.iter().map(|message| message["params"]["level"].as_str().expect("a level").to_owned()).collect()
}

/// Calls with a level of its own, as modern requests do.
async fn work_at(peer: &mut Spoken, level: Option<&str>) -> Value {
    let mut params = json!({ "name": "work", "arguments": {} });
    if let Some(level) = level {
        params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
    }
    peer.ask("tools/call", params).await
}

// covers: LOG-CAP-DECLARE
#[tokio::test]
async fn without_the_capability_nothing_is_logged() {
    for revision in ALL {
        let mut with = Spoken::to(server(), revision, json!({})).await;
        assert_eq!(with.declared()["logging"], json!({}));
        let mut without = Spoken::to(server().without_logging(), revision, json!({})).await;
        assert_eq!(without.declared()["logging"], Value::Null);
        assert_eq!(without.refused("logging/setLevel", json!({ "level": "debug" })).await, -32601);
        work_at(&mut without, (revision == MODERN).then_some("debug")).await;
        assert!(without.heard("notifications/message").await.is_empty());
        work_at(&mut with, (revision == MODERN).then_some("debug")).await;
        assert!(!with.heard("notifications/message").await.is_empty(), "the control");
    }
}

// covers: LOG-SETLEVEL-HONOUR, LOG-SETLEVEL-SUPPRESS, LOG-SETLEVEL-EMPTY-RESULT, LOG-LEVELS
#[tokio::test]
async fn a_session_hears_its_level_and_above() {
    for revision in LEGACY {
        let server = server().build().expect("a server");
        let mut peer = Spoken::to_built(&server, revision, json!({})).await;
        let mut other = Spoken::to_built(&server, revision, json!({})).await;
        for (at, level) in LEVELS.into_iter().enumerate() {
            let set = peer.ask("logging/setLevel", json!({ "level": level })).await;
            assert_eq!(set["result"], json!({}));
            work_at(&mut peer, None).await;
            assert_eq!(levels_heard(&mut peer).await, LEVELS[at..], "set to {level}");
        }
        work_at(&mut other, None).await;
        assert_eq!(levels_heard(&mut other).await, LEVELS[1..], "the level belongs to one session");
    }
}

// covers: LOG-DEFAULT-LEVEL, LOG-SETLEVEL
#[tokio::test]
async fn before_a_level_is_set_the_server_decides() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server().log_level(LoggingLevel::Critical), revision, json!({})).await;
        work_at(&mut peer, None).await;
        assert_eq!(levels_heard(&mut peer).await, ["critical", "alert", "emergency"]);
    }
}

#[tokio::test]
async fn a_stateless_request_brings_its_own_level() {
    let mut peer = Spoken::to(server(), MODERN, json!({})).await;
    work_at(&mut peer, Some("error")).await;
    assert_eq!(levels_heard(&mut peer).await, LEVELS[4..]);
    work_at(&mut peer, None).await;
    assert!(levels_heard(&mut peer).await.is_empty(), "nothing is remembered from one to the next");
    assert_eq!(peer.refused("logging/setLevel", json!({ "level": "debug" })).await, -32601);
    for wrong in [json!("verbose"), json!(3), json!("ERROR")] {
        let mut params = json!({ "name": "work", "arguments": {} });
        params["_meta"]["io.modelcontextprotocol/logLevel"] = wrong;
        assert_eq!(peer.refused("tools/call", params).await, -32602);
    }
}

#[tokio::test]
async fn a_level_set_while_a_call_runs_holds_for_the_rest_of_it() {
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let gone = std::sync::Arc::new(tokio::sync::Mutex::new(Some(gone)));
    let server = Server::new("test", "1.0.0").tool(tool("work").handler(move |ctx: Context| {
        let gone = std::sync::Arc::clone(&gone);
        async move {
            ctx.log(LoggingLevel::Debug, "before");
            let gone = gone.lock().await.take();
            gone.expect("called once").await.expect("goes on");
            ctx.log(LoggingLevel::Debug, "after");
            "done"
        }
    }));
    let mut peer = Spoken::to(server, "2025-06-18", json!({})).await;
    let id = peer.begin("tools/call", json!({ "name": "work", "arguments": {} })).await;
    peer.ask("logging/setLevel", json!({ "level": "debug" })).await;
    go.send(()).expect("waits");
    peer.response(&id).await.expect("a response");
    let heard = peer.heard("notifications/message").await;
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0]["params"]["data"], "after");
}

// covers: LOG-ERR-LEVEL, LOG-LEVELS
#[tokio::test]
async fn only_the_eight_levels_are_levels() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        for wrong in [json!("verbose"), json!("warn"), json!("WARNING"), json!(4), json!(null), json!({})] {
            assert_eq!(peer.refused("logging/setLevel", json!({ "level": wrong })).await, -32602, "{wrong}");
        }
        assert_eq!(peer.refused("logging/setLevel", json!({})).await, -32602);
    }
}

// covers: LOG-ERR-CONFIG
#[tokio::test]
async fn a_level_that_could_not_be_set_is_an_internal_error() {
    for revision in LEGACY {
        let server = server().layer(around(|operation, next| async move {
            match operation.request {
                Request::SetLevel(_) => Err(contexture::model::ErrorObject::internal("no such sink")),
                _ => next.call(operation).await,
            }
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        assert_eq!(peer.refused("logging/setLevel", json!({ "level": "debug" })).await, -32603);
        work_at(&mut peer, None).await;
        assert_eq!(levels_heard(&mut peer).await, LEVELS[1..], "and it was not set");
    }
}

// covers: LOG-CONTEXT, LOG-LOGGER-NAMES, SCHEMA-LOG-MESSAGE
#[tokio::test]
async fn data_is_any_json_and_a_logger_keeps_its_name() {
    let data = [json!("text"), json!(7), json!(null), json!([1, "a"]), json!({ "span": { "id": 3 } })];
    for revision in ALL {
        let sent = data.clone();
        let server = Server::new("test", "1.0.0").tool(tool("work").handler(move |ctx: Context| {
            let sent = sent.clone();
            async move {
                let logger = ctx.logger("database");
                for value in sent {
                    logger.log(LoggingLevel::Error, value);
                }
                "done"
            }
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        work_at(&mut peer, (revision == MODERN).then_some("error")).await;
        let heard = peer.heard("notifications/message").await;
        let expected: Vec<_> =
            data.iter().map(|data| json!({ "level": "error", "logger": "database", "data": data })).collect();
        assert_eq!(heard.iter().map(|message| message["params"].clone()).collect::<Vec<_>>(), expected);
    }
}

// covers: LOG-REMOVE-SENSITIVE, LOG-NO-CREDENTIALS, LOG-NO-PII, LOG-NO-INTERNALS, LOG-SEC-MONITOR
#[tokio::test]
async fn every_message_passes_the_redaction_first() {
    for revision in ALL {
        let server = Server::new("test", "1.0.0")
            .redact(|mut message| {
                let text = message.data.to_string();
                if text.contains("password") {
                    return None;
                }
                if text.contains("@") {
                    message.data = json!("[address]");
                }
                Some(message)
            })
            .tool(tool("work").handler(|ctx: Context| async move {
                ctx.log(LoggingLevel::Error, json!({ "password": "hunter2" }));
                ctx.logger("mail").log(LoggingLevel::Error, "to ann@example.com");
                ctx.log(LoggingLevel::Error, "harmless");
                "done"
            }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        work_at(&mut peer, (revision == MODERN).then_some("debug")).await;
        let heard = peer.heard("notifications/message").await;
        let data: Vec<_> = heard.iter().map(|message| message["params"]["data"].clone()).collect();
        assert_eq!(data, [json!("[address]"), json!("harmless")]);
    }
}

// covers: LOG-NO-INTERNALS, LOG-NO-PII
#[tokio::test]
async fn the_library_itself_logs_nothing_to_the_client() {
    let server = || {
        Server::new("test", "1.0.0")
            .log_level(LoggingLevel::Debug)
            .tool(tool("fails").handler(|| async { Err::<&str, _>("ann@example.com") }))
            .tool(tool("panics").handler(|| async {
                if true {
                    panic!("/srv/secret");
                }
            }))
    };
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        peer.call("fails", json!({})).await;
        peer.call("panics", json!({})).await;
        peer.send_line("rubbish").await.expect("is sent");
        assert!(peer.heard("notifications/message").await.is_empty());
    }
}

// covers: LOG-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_flood_is_cut_and_counted() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Flood {
        lines: u64,
    }
    let mut policy = Policy::default();
    policy.notifications_per_second = 10;
    let server = || {
        Server::new("test", "1.0.0").policy(policy.clone()).tool(tool("work").handler(
            |ctx: Context, Args(flood): Args<Flood>| async move {
                for line in 0..flood.lines {
                    ctx.log(LoggingLevel::Error, line);
                }
                ctx.dropped_notifications().to_string()
            },
        ))
    };
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        let answer = peer.call("work", json!({ "lines": 1000 })).await;
        assert_eq!(text_of(&answer), "990");
        assert_eq!(peer.heard("notifications/message").await.len(), 10);
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        peer.call("work", json!({ "lines": 5 })).await;
        assert_eq!(peer.heard("notifications/message").await.len(), 5, "the allowance comes back");
    }
}

// covers: LOG-SEC-ACCESS
#[tokio::test]
async fn nobody_hears_the_log_of_another() {
    for revision in ALL {
        let server = server().build().expect("a server");
        let mut one = Spoken::to_built(&server, revision, json!({})).await;
        let mut other = Spoken::to_built(&server, revision, json!({})).await;
        work_at(&mut one, (revision == MODERN).then_some("debug")).await;
        assert!(!one.heard("notifications/message").await.is_empty());
        assert!(other.heard("notifications/message").await.is_empty());
    }
}

/// A layer sees what is set, in the words of every revision.
#[tokio::test]
async fn layers_see_the_level() {
    let (seen, mut sees) = tokio::sync::mpsc::unbounded_channel();
    let server = server().layer(around(move |operation, next| {
        let seen = seen.clone();
        async move {
            let reply = next.call(operation).await;
            if let Ok(Reply::LevelSet(level)) = &reply {
                seen.send(*level).expect("somebody looks");
            }
            reply
        }
    }));
    let mut peer = Spoken::to(server, "2025-06-18", json!({})).await;
    peer.ask("logging/setLevel", json!({ "level": "alert" })).await;
    assert_eq!(sees.recv().await, Some(LoggingLevel::Alert));
}

/// Hands every event of the library to the client, as a server's author would.
struct Forward(std::sync::Arc<std::sync::Mutex<Option<Context>>>);

impl tracing::Subscriber for Forward {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let context = self.0.lock().expect("a context").clone();
        if let Some(context) = context.filter(|_| event.metadata().target().starts_with("contexture")) {
            context.log(LoggingLevel::Error, "forwarded");
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn what_the_library_traces_can_be_forwarded_to_the_client() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let kept = std::sync::Arc::default();
        let _guard = tracing::subscriber::set_default(Forward(std::sync::Arc::clone(&kept)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let keep = tool("keep").handler(move |context: Context| {
                *kept.lock().expect("a place") = Some(context.clone());
                std::future::pending::<&str>()
            });
            let embed = tool("embed").handler(|| async {
                let contents = contexture::model::ResourceContents::text("mem://a", "a");
                vec![contexture::model::Content::resource(contents)]
            });
            let server = Server::new("test", "1.0.0").tool(keep).tool(embed);
            let mut peer = super::support::Peer::session(server, "2025-11-25", json!({})).await;
            peer.start("tools/call", json!({ "name": "keep" })).await.expect("sent");
            let answer = peer.call("tools/call", json!({ "name": "embed" })).await;
            peer.expect("notifications/message").await.expect("forwarded");
            sender.send(answer).expect("the test waits");
        });
    });
    // A lock that is taken twice would be waited for without end.
    let answer = receiver.recv_timeout(std::time::Duration::from_secs(10)).expect("an answer");
    assert_eq!(answer["result"]["content"][0]["type"], "resource", "{answer}");
}
