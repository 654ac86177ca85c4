//! Pings, in both directions. Time is the test's own.

use std::time::Duration;

use contexture::server::KeepAlive;
use contexture::{Context, Error, Server, tool};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::spoken::{ALL, Spoken};
use super::support::LEGACY;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("forever").handler(|_ctx: Context| std::future::pending::<&str>()))
}

fn alive(interval: u64, timeout: u64, failures: u32) -> Server {
    server().keep_alive(KeepAlive { interval: secs(interval), timeout: secs(timeout), failures })
}

// covers: PING-RESPOND, PING-NO-PARAMS, SCHEMA-EMPTY-RESULT
#[tokio::test]
async fn a_ping_is_answered_whatever_else_is_going_on() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        peer.begin("tools/call", json!({ "name": "forever", "arguments": {} })).await;
        for params in [Value::Null, json!({}), json!({ "_meta": { "a": 1 } })] {
            assert_eq!(peer.ask("ping", params).await["result"], json!({}));
        }
    }
}

#[tokio::test]
async fn the_stateless_revision_has_no_ping() {
    let mut peer = Spoken::to(server(), ALL[4], json!({})).await;
    assert_eq!(peer.refused("ping", json!({})).await, -32601);
}

// covers: PING-PERIODIC, PING-FREQ-CONFIG, PING-NO-PARAMS
#[tokio::test(start_paused = true)]
async fn pings_come_at_the_interval_that_was_set() {
    for revision in LEGACY {
        for interval in [2, 7] {
            let mut peer = Spoken::to(alive(interval, 1, 3), revision, json!({})).await;
            peer.settle().await.expect("is ready");
            let mut last = Instant::now();
            for _ in 0..3 {
                let ping = peer.expect("ping").await.expect("a ping");
                assert_eq!(ping.get("params"), None);
                assert_eq!(last.elapsed().as_secs(), interval);
                last = Instant::now();
                peer.answer(&ping, json!({})).await.expect("is sent");
            }
        }
    }
}

// covers: PING-FREQ-CONFIG
#[tokio::test(start_paused = true)]
async fn nobody_is_pinged_who_cannot_be_or_need_not_be() {
    let mut modern = Spoken::to(alive(1, 1, 1), ALL[4], json!({})).await;
    let mut without = Spoken::to(server(), "2025-06-18", json!({})).await;
    tokio::time::sleep(secs(100)).await;
    assert!(modern.heard("ping").await.is_empty());
    assert!(without.heard("ping").await.is_empty());
}

// covers: PING-NOT-EXCESSIVE, PING-TIMEOUT-APPROPRIATE
#[tokio::test(start_paused = true)]
async fn one_question_at_a_time_and_not_too_often() {
    for revision in LEGACY {
        let mut peer = Spoken::to(alive(0, 10, 0), revision, json!({})).await;
        peer.settle().await.expect("is ready");
        let began = Instant::now();
        let first = peer.expect("ping").await.expect("a ping");
        assert_eq!(began.elapsed().as_secs(), 1, "an interval of nothing is a second");
        tokio::time::sleep(secs(9)).await;
        assert!(peer.heard("ping").await.is_empty(), "the first is not answered yet");
        let given_up = peer.expect("notifications/cancelled").await.expect("is given up");
        assert_eq!(given_up["params"]["requestId"], first["id"]);
        assert_eq!(began.elapsed().as_secs(), 11);
        peer.expect("ping").await.expect("and asked again");
    }
}

// covers: PING-UNANSWERED-TERMINATE, PING-RESET, PING-TIMEOUT-FAILURE, PING-LOG-FAILURE
#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_is_given_up() {
    for revision in LEGACY {
        let events = contexture_judge::Events::on_this_thread();
        let mut peer = Spoken::to(alive(5, 2, 3), revision, json!({})).await;
        for failures in 1..=2 {
            peer.expect("ping").await.expect("a ping");
            peer.expect("notifications/cancelled").await.expect("is given up");
            peer.settle().await.expect("the connection is kept");
            assert_eq!(events.containing("does not answer pings").len(), failures);
        }
        let answered = peer.expect("ping").await.expect("a ping");
        peer.answer(&answered, json!({})).await.expect("is sent");
        for _ in 1..=3 {
            peer.expect("ping").await.expect("an answer makes good for all");
        }
        let end = loop {
            if let Err(error) = peer.receive().await {
                break error;
            }
        };
        assert!(matches!(end, Error::Closed(_)), "{end}");
        assert_eq!(events.containing("does not answer pings").len(), 5, "each failure is told");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_may_ping_by_itself() {
    for revision in LEGACY {
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let server = server().on_initialized(move |session| {
            let told = told.clone();
            async move {
                told.send(session.ping().await.map_err(|error| error.to_string())).expect("is told");
                let impatient = session.timeout(secs(3));
                told.send(impatient.ping().await.map_err(|error| error.to_string())).expect("is told");
            }
        });
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let ping = peer.expect("ping").await.expect("a ping");
        peer.answer(&ping, json!({})).await.expect("is sent");
        assert_eq!(tells.recv().await, Some(Ok(())));
        let ignored = peer.expect("ping").await.expect("a ping");
        let given_up = peer.expect("notifications/cancelled").await.expect("is given up");
        assert_eq!(given_up["params"]["requestId"], ignored["id"]);
        assert_eq!(tells.recv().await, Some(Err("no answer within 3s".to_owned())));
    }
}
