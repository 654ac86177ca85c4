//! Progress: under the token that was given, upwards only, and never after the end.

use contexture::{Context, Policy, Server, tool};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::spoken::{ALL, Spoken};
use super::support::LEGACY;

fn reporting(steps: &'static [(f64, Option<f64>)]) -> Server {
    Server::new("test", "1.0.0").tool(tool("work").handler(move |ctx: Context| async move {
        for (done, total) in steps {
            ctx.progress(*done, *total);
        }
        "done"
    }))
}

fn work(token: Value) -> Value {
    json!({ "name": "work", "arguments": {}, "_meta": { "progressToken": token } })
}

async fn heard(peer: &mut Spoken) -> Vec<Value> {
    let heard = peer.heard("notifications/progress").await;
    heard.into_iter().map(|message| message["params"].clone()).collect()
}

// covers: PROG-TOKEN-ECHO, PROG-SEND, PROG-FREQUENCY, PROG-FLOAT, PROG-OMIT-TOTAL
#[tokio::test]
async fn progress_comes_under_the_token_that_was_given() {
    for revision in ALL {
        let mut peer =
            Spoken::to(reporting(&[(0.2, Some(1.0)), (0.5, None), (50.0, Some(100.0))]), revision, json!({}))
                .await;
        for token in [json!(7), json!("7"), json!(""), json!(-3)] {
            let answer = peer.ask("tools/call", work(token.clone())).await;
            assert!(answer["result"].is_object());
            let heard = heard(&mut peer).await;
            assert_eq!(heard.len(), 3);
            assert!(heard.iter().all(|report| report["progressToken"] == token), "{heard:?}");
            let numbers = |key: &str| heard.iter().map(|report| report[key].as_f64()).collect::<Vec<_>>();
            assert_eq!(numbers("progress"), [Some(0.2), Some(0.5), Some(50.0)]);
            assert_eq!(numbers("total"), [Some(1.0), None, Some(100.0)]);
            assert_eq!(heard[1].get("total"), None, "absent rather than null");
        }
        let answer = peer.call("work", json!({})).await;
        assert!(answer["result"].is_object());
        assert!(heard(&mut peer).await.is_empty(), "no token, no progress");
    }
}

// covers: PROG-TOKEN-TYPE
#[tokio::test]
async fn a_token_is_text_or_a_whole_number() {
    for revision in ALL {
        let mut peer = Spoken::to(reporting(&[]), revision, json!({})).await;
        for wrong in [json!(1.5), json!({}), json!([1]), json!(true), json!(null)] {
            assert_eq!(peer.refused("tools/call", work(wrong.clone())).await, -32602, "{wrong}");
        }
    }
}

// covers: PROG-INCREASE
#[tokio::test]
async fn progress_only_grows() {
    let steps: &[(f64, Option<f64>)] = &[
        (1.0, None),
        (1.0, None),
        (0.5, None),
        (f64::NAN, None),
        (2.0, Some(f64::INFINITY)),
        (f64::INFINITY, None),
        (1.9, None),
        (3.0, Some(2.0)),
    ];
    for revision in ALL {
        let mut peer = Spoken::to(reporting(steps), revision, json!({})).await;
        peer.ask("tools/call", work(json!("t"))).await;
        let done: Vec<_> = heard(&mut peer)
            .await
            .iter()
            .map(|report| report["progress"].as_f64().expect("a number"))
            .collect();
        assert_eq!(done, [1.0, 2.0, 3.0]);
    }
}

// covers: PROG-MESSAGE
#[tokio::test]
async fn a_word_about_it_where_the_revision_has_room() {
    for revision in ALL {
        let server = Server::new("test", "1.0.0").tool(tool("work").handler(|ctx: Context| async move {
            ctx.progress_message(1.0, Some(2.0), "half way");
            "done"
        }));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        peer.ask("tools/call", work(json!(1))).await;
        let heard = heard(&mut peer).await;
        let message = if revision == LEGACY[0] { Value::Null } else { json!("half way") };
        assert_eq!(heard[0]["message"], message);
    }
}

// covers: PROG-NONE
#[tokio::test]
async fn a_handler_need_not_report() {
    for revision in ALL {
        let mut peer = Spoken::to(reporting(&[]), revision, json!({})).await;
        assert!(peer.ask("tools/call", work(json!(1))).await["result"].is_object());
        assert!(heard(&mut peer).await.is_empty());
    }
}

/// A server whose handlers hand out their contexts, and wait.
struct Leaking {
    contexts: tokio::sync::mpsc::UnboundedReceiver<(Context, oneshot::Sender<()>)>,
    server: Server,
}

fn leaking() -> Leaking {
    let (sender, contexts) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new("test", "1.0.0").tool(tool("work").handler(move |ctx: Context| {
        let (go, gone) = oneshot::channel();
        sender.send((ctx, go)).expect("the test waits for it");
        async move {
            gone.await.ok();
            "done"
        }
    }));
    Leaking { contexts, server }
}

// covers: PROG-IN-PROGRESS, PROG-STOP, PROG-ACTIVE-TOKEN
#[tokio::test]
async fn nothing_is_reported_after_the_end() {
    for revision in ALL {
        let Leaking { mut contexts, server } = leaking();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let finished = peer.begin("tools/call", work(json!("finished"))).await;
        let (context, go) = contexts.recv().await.expect("is called");
        context.progress(1.0, None);
        peer.expect("notifications/progress").await.expect("while it runs");
        go.send(()).expect("waits");
        peer.response(&finished).await.expect("a response");
        context.progress(2.0, None);
        assert!(heard(&mut peer).await.is_empty(), "it has been answered");

        let cancelled = peer.begin("tools/call", work(json!("cancelled"))).await;
        let (context, _go) = contexts.recv().await.expect("is called");
        peer.notify("notifications/cancelled", json!({ "requestId": cancelled })).await.expect("is sent");
        context.cancelled().await;
        context.progress(1.0, None);
        assert!(heard(&mut peer).await.is_empty(), "it has been cancelled");
    }
}

#[tokio::test]
async fn concurrent_calls_report_under_their_own_tokens() {
    for revision in ALL {
        let Leaking { mut contexts, server } = leaking();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let mut running = Vec::new();
        for token in [json!(1), json!("1")] {
            let id = peer.begin("tools/call", work(token.clone())).await;
            let (context, go) = contexts.recv().await.expect("is called");
            running.push((id, token, context, go));
        }
        for (_, token, context, _) in &running {
            context.progress(1.0, None);
            let report = peer.expect("notifications/progress").await.expect("a report");
            assert_eq!(&report["params"]["progressToken"], token);
        }
        for (id, _, _, go) in running {
            go.send(()).expect("waits");
            peer.response(&id).await.expect("a response");
        }
    }
}

// covers: PROG-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_flood_of_reports_is_cut() {
    let mut policy = Policy::default();
    policy.notifications_per_second = 20;
    for revision in ALL {
        let server = Server::new("test", "1.0.0").policy(policy.clone()).tool(tool("work").handler(
            |ctx: Context| async move {
                (1..=10_000).for_each(|step| ctx.progress(f64::from(step), None));
                "done"
            },
        ));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        peer.ask("tools/call", work(json!(1))).await;
        assert_eq!(heard(&mut peer).await.len(), 20);
    }
}

/// A client may report nothing to us; what it sends is ignored, whatever it names.
#[tokio::test]
async fn progress_from_the_client_disturbs_nothing() {
    for revision in LEGACY {
        let mut peer = Spoken::to(reporting(&[]), revision, json!({})).await;
        for params in [
            json!({ "progressToken": 99, "progress": 1 }),
            json!({ "progressToken": "x" }),
            json!({ "progress": "much" }),
            json!({}),
        ] {
            peer.notify("notifications/progress", params).await.expect("is sent");
        }
        peer.notify("notifications/progress", Value::Null).await.expect("is sent");
        assert_eq!(peer.settle().await.expect("lives"), Vec::<Value>::new());
    }
}
