//! Timeouts, progress and cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::Event;
use contexture::model::ProgressParams;
use contexture::{Client, Error};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{ALL, MODERN, Played, full_pair};

const SECOND: Duration = Duration::from_secs(1);

fn done() -> Value {
    json!({ "content": [] })
}

/// The cancellation of a request, and nothing else before it.
async fn cancellation(server: &mut Played, request: &Value) -> Value {
    let notice = server.receive().await.expect("a notice");
    assert_eq!(notice["method"], "notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], request["id"]);
    notice
}

// covers: LIFE-TIMEOUT-ALL, LIFE-TIMEOUT-CANCEL, LIFE-TIMEOUT-STOP-WAITING, TOOLS-CLIENT-TIMEOUT
// covers: CANC-LATE-RESPONSE, PROG-TRACK
#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_times_out_and_is_cancelled_once() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let calls = async {
            let error = client.call("t", ()).timeout(SECOND).await.expect_err("timed out");
            assert!(matches!(error, Error::Timeout(SECOND)), "{error}");
            assert!(matches!(client.read("a:b").timeout(SECOND).await, Err(Error::Timeout(_))));
            assert!(matches!(client.tools_page(None).timeout(SECOND).await, Err(Error::Timeout(_))));
        };
        let serve = async {
            for method in ["tools/call", "resources/read", "tools/list"] {
                let call = server.asked(method).await;
                cancellation(&mut server, &call).await;
                server.complete(&call, done()).await;
            }
            server.hears_nothing().await;
        };
        tokio::join!(calls, serve);
        assert_eq!(client.waiting(), 0);
        assert_eq!(client.dropped().responses, 3, "late answers are dropped");
    }
}

// covers: LIFE-TIMEOUT-CONFIG
#[tokio::test(start_paused = true)]
async fn each_call_has_its_own_time() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let began = Instant::now();
    let short = async {
        client.call("a", ()).timeout(2 * SECOND).await.expect_err("timed out");
        began.elapsed()
    };
    let long = async {
        client.call("b", ()).timeout(5 * SECOND).await.expect_err("timed out");
        began.elapsed()
    };
    let (short, long) = tokio::join!(short, long);
    assert_eq!((short.as_secs(), long.as_secs()), (2, 5));
    server.asked("tools/call").await;
}

async fn report(server: &mut Played, token: &Value, progress: f64) {
    let params = json!({ "progressToken": token, "progress": progress, "total": 100, "message": "on it" });
    server.notify("notifications/progress", params).await.expect("sent");
}

// covers: LIFE-TIMEOUT-PROGRESS-RESET, LIFE-TIMEOUT-MAX, PROG-MESSAGE, PROG-FLOAT
#[tokio::test(start_paused = true)]
async fn progress_extends_the_time_up_to_the_maximum() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            let call = server.asked("tools/call").await;
            let token = &call["params"]["_meta"]["progressToken"];
            assert_eq!(token, &call["id"]);
            for step in 1..=8 {
                tokio::time::sleep(SECOND).await;
                report(&mut server, token, f64::from(step) / 2.0).await;
            }
            server.complete(&call, done()).await;
            let endless = server.asked("tools/call").await;
            for step in 1..=20 {
                tokio::time::sleep(SECOND).await;
                report(&mut server, &endless["id"], f64::from(step)).await;
            }
            cancellation(&mut server, &endless).await;
            let fixed = server.asked("tools/call").await;
            tokio::time::sleep(SECOND).await;
            report(&mut server, &fixed["id"], 1.0).await;
            cancellation(&mut server, &fixed).await;
        };
        let calls = async {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let log = Arc::clone(&seen);
            let call =
                client.call("t", ()).timeout(2 * SECOND).on_progress(move |progress: ProgressParams| {
                    assert_eq!(progress.message.as_deref(), Some("on it"));
                    log.lock().expect("no panic").push(progress.progress);
                });
            call.await.expect("kept alive by progress");
            assert_eq!(*seen.lock().expect("no panic"), [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
            let call = client.call("t", ()).timeout(2 * SECOND).max_time(10 * SECOND).on_progress(|_| {});
            assert!(matches!(call.await, Err(Error::Timeout(time)) if time == 10 * SECOND));
            tokio::time::sleep(15 * SECOND).await;
            let call = client.call("t", ()).timeout(2 * SECOND).fixed_timeout().on_progress(|_| {});
            assert!(matches!(call.await, Err(Error::Timeout(time)) if time == 2 * SECOND));
        };
        tokio::join!(serve, calls);
    }
}

// covers: PROG-TOKEN-ECHO, PROG-INCREASE, PROG-ACTIVE-TOKEN, PROG-NONE, PROG-FREQUENCY
// covers: PROG-OMIT-TOTAL, PROG-TRACK
#[tokio::test(start_paused = true)]
async fn progress_reaches_its_own_call_only() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let heard: [Arc<Mutex<Vec<f64>>>; 2] = Default::default();
    let call = |which: usize| {
        let log = Arc::clone(&heard[which]);
        client.call("t", ()).on_progress(move |it| log.lock().expect("no panic").push(it.progress)).start()
    };
    let (first, second) = (call(0), call(1));
    let quiet = client.call("t", ()).start();
    let asked = [server.asked("tools/call").await, server.asked("tools/call").await];
    let silent = server.asked("tools/call").await;
    assert!(silent["params"].get("_meta").is_none(), "no token without someone to listen");
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    let tokens = [
        (json!(asked[0]["id"]), 1.0),
        (json!(asked[1]["id"]), 10.0),
        (json!(asked[0]["id"]), 1.0),
        (json!(asked[0]["id"]), 0.5),
        (json!(asked[0]["id"].to_string()), 3.0),
        (json!(999), 3.0),
        (json!(silent["id"]), 4.0),
        (json!(1.5), 4.0),
        (Value::Null, 4.0),
        (json!(asked[0]["id"]), 2.0),
    ];
    for (token, progress) in tokens {
        let params = json!({ "progressToken": token, "progress": progress });
        server.notify("notifications/progress", params).await.expect("sent");
    }
    for request in asked.iter().chain([&silent]) {
        server.complete(request, done()).await;
        report(&mut server, &request["id"], 50.0).await;
    }
    for call in [first, second, quiet] {
        call.await.expect("a result");
    }
    server.ask("ping", Value::Null).await;
    assert_eq!(*heard[0].lock().expect("no panic"), [1.0, 2.0]);
    assert_eq!(*heard[1].lock().expect("no panic"), [10.0]);
    assert_eq!(client.dropped().notifications, 10);
}

// covers: PROG-TOKEN-UNIQUE
#[tokio::test(start_paused = true)]
async fn every_call_that_is_active_has_a_token_of_its_own() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let calls: Vec<_> = (0..50).map(|_| client.call("t", ()).on_progress(|_| {}).start()).collect();
        let mut tokens = std::collections::HashSet::new();
        for _ in &calls {
            let asked = server.asked("tools/call").await;
            let token = &asked["params"]["_meta"]["progressToken"];
            assert!(token.is_i64() || token.is_string(), "{revision}: {asked}");
            assert!(tokens.insert(token.to_string()), "{revision}: {token} twice");
        }
        drop(calls);
    }
}

// covers: PROG-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_flood_of_progress_is_cut_and_starves_nobody() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let call = client.call("t", ()).on_progress(|_| {}).start();
    let asked = server.asked("tools/call").await;
    for step in 1..=10_000 {
        report(&mut server, &asked["id"], f64::from(step)).await;
    }
    server.ask("ping", Value::Null).await;
    server.complete(&asked, done()).await;
    call.await.expect("a result");
    assert!(client.dropped().notifications >= 8_000);
}

// covers: CANC-IN-PROGRESS, CANC-REASON-OPTIONAL, CANC-UI, CANC-LATE-RESPONSE
#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_by_its_handle_by_dropping_and_by_a_token() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        assert!(!call.is_cancel_requested());
        call.cancel("changed my mind");
        call.cancel("twice");
        assert!(call.is_cancel_requested());
        call.cancel_requested().await;
        assert!(matches!(call.await, Err(Error::Cancelled)));
        let notice = cancellation(&mut server, &asked).await;
        assert_eq!(notice["params"]["reason"], "changed my mind");
        server.complete(&asked, done()).await;

        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        drop(call);
        let notice = cancellation(&mut server, &asked).await;
        assert!(notice["params"].get("reason").is_none());

        let token = Arc::new(tokio::sync::Notify::new());
        let wait = Arc::clone(&token);
        let call = client.call("t", ()).cancelled_by(async move { wait.notified().await }).start();
        let asked = server.asked("tools/call").await;
        token.notify_one();
        assert!(matches!(call.await, Err(Error::Cancelled)));
        cancellation(&mut server, &asked).await;

        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        server.complete(&asked, done()).await;
        tokio::task::yield_now().await;
        tokio::time::sleep(SECOND).await;
        call.cancel("too late");
        call.await.expect("the answer was first");
        server.hears_nothing().await;
        assert_eq!(client.waiting(), 0);
    }
}

// covers: CANC-RACE
#[tokio::test(start_paused = true)]
async fn answers_and_cancellations_may_cross() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    for turn in 0..200 {
        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        if turn % 2 == 0 {
            call.cancel("crossing");
            server.complete(&asked, done()).await;
        } else {
            server.complete(&asked, done()).await;
            for _ in 0..turn % 7 {
                tokio::task::yield_now().await;
            }
            call.cancel("crossing");
        }
        assert!(matches!(call.await, Ok(_) | Err(Error::Cancelled)), "one outcome");
        while let Ok(Ok(crossed)) = tokio::time::timeout(Duration::from_millis(1), server.receive()).await {
            assert_eq!(crossed["params"]["requestId"], asked["id"]);
        }
    }
    assert_eq!(client.waiting(), 0);
}

// covers: BASE-REQ-ID-UNIQUE, BASE-REQ-ID-TYPE
#[tokio::test(start_paused = true)]
async fn many_calls_at_once_have_ids_of_their_own_up_to_a_bound() {
    let mut policy = contexture::Policy::default();
    policy.pending = 50;
    let (client, mut server) = full_pair(Client::builder().policy(policy), MODERN).await;
    let mut calls: Vec<_> = (0..50).map(|_| client.call("t", ()).start()).collect();
    let mut ids = std::collections::HashSet::new();
    for _ in 0..50 {
        let asked = server.asked("tools/call").await;
        assert!(ids.insert(asked["id"].as_i64().expect("an integer")));
    }
    assert!(matches!(client.call("t", ()).await, Err(Error::TooMuch(_))));
    drop(calls.pop());
    tokio::time::sleep(SECOND).await;
    let fits = client.call("t", ()).start();
    server.asked("tools/call").await;
    drop((calls, fits));
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_fail_when_the_connection_ends() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let mut events = client.events();
    let call = client.call("t", ()).start();
    server.asked("tools/call").await;
    drop(server);
    assert!(matches!(call.await, Err(Error::Closed(_))));
    while !matches!(events.next().await.expect("an event"), Event::Closed(_)) {}
    assert!(client.is_closed());
}

#[tokio::test(start_paused = true)]
async fn progress_that_nobody_asked_for_extends_nothing() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let began = Instant::now();
        let call = client.call("t", ()).timeout(3 * SECOND).start();
        let asked = server.asked("tools/call").await;
        for step in 1..=2 {
            tokio::time::sleep(SECOND).await;
            report(&mut server, &asked["id"], f64::from(step)).await;
        }
        assert!(matches!(call.await, Err(Error::Timeout(time)) if time == 3 * SECOND));
        assert_eq!(began.elapsed().as_secs(), 3);
        assert_eq!(client.dropped().notifications, 2);
    }
}
