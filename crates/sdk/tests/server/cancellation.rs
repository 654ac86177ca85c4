//! Cancellation: work stops, nothing is answered, and what comes too late changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::{Args, Context, Policy, Server, tool};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::spoken::{ALL, Spoken};
use super::support::{LEGACY, Peer};

/// Tells when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell.send(()).ok();
        }
    }
}

/// One call of the tool `wait`.
struct Waiting {
    context: Context,
    /// Lets it finish.
    go: oneshot::Sender<()>,
    /// Resolves when the handler is gone.
    dropped: oneshot::Receiver<()>,
    /// Holds a message if the handler went on.
    finished: mpsc::UnboundedReceiver<()>,
}

/// A server that works on one request at a time, so that one that leaks is noticed.
fn server() -> (Server, mpsc::UnboundedReceiver<Waiting>) {
    let mut policy = Policy::default();
    policy.in_flight = 1;
    let (calls, called) = mpsc::unbounded_channel();
    let wait = tool("wait").handler(move |context: Context| {
        let ((go, gone), (tell, dropped)) = (oneshot::channel(), oneshot::channel());
        let (finish, finished) = mpsc::unbounded_channel();
        calls.send(Waiting { context, go, dropped, finished }).expect("the test waits for it");
        async move {
            let _guard = Dropped(Some(tell));
            gone.await.ok();
            finish.send(()).ok();
            "done"
        }
    });
    (Server::new("test", "1.0.0").policy(policy).tool(wait), called)
}

fn wait() -> Value {
    json!({ "name": "wait", "arguments": {} })
}

// covers: CANC-STOP, CANC-FREE, CANC-NO-RESPONSE, CANC-REASON-OPTIONAL
#[tokio::test]
async fn a_cancelled_call_stops_and_is_not_answered() {
    for revision in ALL {
        for reason in [Some("changed my mind"), None] {
            let (server, mut called) = server();
            let mut peer = Spoken::to(server, revision, json!({})).await;
            let id = peer.begin("tools/call", wait()).await;
            let mut waiting = called.recv().await.expect("is called");
            let mut params = json!({ "requestId": id });
            if let Some(reason) = reason {
                params["reason"] = json!(reason);
            }
            peer.notify("notifications/cancelled", params).await.expect("is sent");
            waiting.context.cancelled().await;
            waiting.dropped.await.expect("the handler is dropped");
            assert_eq!(waiting.context.cancel_reason(), reason);
            assert!(waiting.go.send(()).is_err(), "nobody waits");
            assert_eq!(waiting.finished.recv().await, None, "the rest of the handler does not run");

            let next = peer.begin("tools/call", wait()).await;
            let waiting = called.recv().await.expect("there is room again");
            waiting.go.send(()).expect("waits");
            assert!(peer.response(&next).await.expect("a response")["result"].is_object());
            let rest = peer.settle().await.expect("lives");
            assert!(rest.iter().all(|message| message["id"] != id), "{rest:?}");
        }
    }
}

// covers: CANC-IGNORE-UNKNOWN, CANC-IGNORE-COMPLETED, CANC-IGNORE-MALFORMED
#[tokio::test]
async fn what_cannot_be_cancelled_is_ignored() {
    for revision in ALL {
        let (server, mut called) = server();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let done = peer.begin("tools/call", wait()).await;
        called.recv().await.expect("is called").go.send(()).expect("waits");
        peer.response(&done).await.expect("a response");
        let running = peer.begin("tools/call", wait()).await;
        let waiting = called.recv().await.expect("is called");
        for params in [
            json!({ "requestId": done }),
            json!({ "requestId": 12345 }),
            json!({ "requestId": running.to_string() }),
            json!({ "requestId": null }),
            json!({ "requestId": [running] }),
            json!({ "reason": "none" }),
            json!({ "requestId": running, "reason": 7 }),
            json!([running]),
            Value::Null,
        ] {
            peer.notify("notifications/cancelled", params).await.expect("is sent");
        }
        let unasked = peer.settle().await.expect("lives");
        let answers: Vec<_> = unasked.iter().filter(|message| message.get("id").is_some()).collect();
        assert!(answers.is_empty(), "{answers:?}");
        assert!(!waiting.context.is_cancelled());
        waiting.go.send(()).expect("still waits");
        assert!(peer.response(&running).await.expect("a response")["result"].is_object());
    }
}

// covers: CANC-IGNORE-UNCANCELLABLE
#[tokio::test]
async fn the_handshake_cannot_be_cancelled() {
    for revision in LEGACY {
        let mut peer = Peer::of(server().0);
        let info = json!({ "name": "raw", "version": "0" });
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": info });
        let id = peer.start("initialize", params).await.expect("is sent");
        peer.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("is sent");
        assert_eq!(peer.response(&json!(id)).await.expect("opens")["result"]["protocolVersion"], revision);
        peer.notify("notifications/initialized", Value::Null).await.expect("is sent");
        assert!(peer.request("tools/list", json!({})).await.expect("a response")["result"].is_object());
    }
}

/// A tool that asks the model before it answers.
fn asking() -> Server {
    use contexture::model::{CreateMessageParams, SamplingContent, SamplingMessage};
    Server::new("test", "1.0.0").tool(tool("ask").handler(|ctx: Context| async move {
        let message = SamplingMessage::user(SamplingContent::text("hello?"));
        let answer = ctx.sample("model", CreateMessageParams::new(vec![message], 10)).await?;
        Ok::<_, contexture::Error>(answer.model)
    }))
}

fn answer() -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" })
}

// covers: CANC-SAME-DIRECTION
#[tokio::test]
async fn a_client_cannot_cancel_what_it_was_asked() {
    for revision in LEGACY {
        let mut peer = Spoken::to(asking(), revision, json!({ "sampling": {} })).await;
        let id = peer.begin("tools/call", json!({ "name": "ask", "arguments": {} })).await;
        let question = peer.expect("sampling/createMessage").await.expect("a question");
        assert_ne!(question["id"], id, "or this test shows nothing");
        peer.notify("notifications/cancelled", json!({ "requestId": question["id"] }))
            .await
            .expect("is sent");
        peer.settle().await.expect("lives");
        peer.answer(&question, answer()).await.expect("is sent");
        let response = peer.response(&id).await.expect("a response");
        assert_eq!(response["result"]["content"][0]["text"], "m");
    }
}

// covers: CANC-SAME-DIRECTION, CANC-LATE-RESPONSE, CANC-IN-PROGRESS
#[tokio::test]
async fn a_cancelled_call_takes_its_questions_back() {
    for revision in LEGACY {
        let mut peer = Spoken::to(asking(), revision, json!({ "sampling": {} })).await;
        peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "ask", "arguments": {} } }))
            .await
            .expect("is sent");
        let question = peer.expect("sampling/createMessage").await.expect("a question");
        peer.notify("notifications/cancelled", json!({ "requestId": 1 })).await.expect("is sent");
        assert_eq!(question["id"], 1, "the same id in both directions");
        let taken_back = peer.expect("notifications/cancelled").await.expect("is taken back");
        assert_eq!(taken_back["params"]["requestId"], question["id"]);
        peer.answer(&question, answer()).await.expect("is sent");
        assert_eq!(peer.settle().await.expect("lives"), Vec::<Value>::new(), "a late answer is nobody's");

        let id = peer.begin("tools/call", json!({ "name": "ask", "arguments": {} })).await;
        let next = peer.expect("sampling/createMessage").await.expect("a question");
        assert_ne!(next["id"], question["id"], "ids are not used again");
        peer.answer(&next, answer()).await.expect("is sent");
        peer.response(&id).await.expect("a response");
        assert!(peer.heard("notifications/cancelled").await.is_empty(), "what is answered is not cancelled");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Turns {
    turns: usize,
}

// covers: CANC-RACE
#[tokio::test]
async fn races_are_harmless() {
    let mut policy = Policy::default();
    policy.in_flight = 1;
    for revision in ALL {
        let server = Server::new("test", "1.0.0").policy(policy.clone()).tool(tool("turn").handler(
            |Args(turns): Args<Turns>| async move {
                for _ in 0..turns.turns {
                    tokio::task::yield_now().await;
                }
                "done"
            },
        ));
        let mut peer = Spoken::to(server, revision, json!({})).await;
        for (turns, pause) in (0..8).flat_map(|turns| (0..8).map(move |pause| (turns, pause))) {
            let id =
                peer.begin("tools/call", json!({ "name": "turn", "arguments": { "turns": turns } })).await;
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
            peer.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("is sent");
            let heard = peer.settle().await.expect("lives");
            let answers: Vec<_> = heard.iter().filter(|message| message["id"] == id).collect();
            assert!(answers.len() <= 1, "{answers:?}");
            assert!(answers.iter().all(|answer| answer["result"].is_object()), "{answers:?}");
        }
        let last = peer.call("turn", json!({ "turns": 3 })).await;
        assert!(last["result"].is_object(), "nothing was left behind: {last}");
    }
}

/// Ids need be unique only among requests that are open, and a cancelled one is not.
#[tokio::test]
async fn an_id_is_free_as_soon_as_its_call_is_cancelled() {
    for revision in ALL {
        let (server, mut called) = server();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let id = peer.begin("tools/call", wait()).await;
        let first = called.recv().await.expect("is called");
        let mut again = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": wait() });
        if peer.is_modern() {
            again["params"] = super::support::with_meta(wait(), json!({}));
        }
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        // Both arrive before the server has dropped the first call.
        peer.send_line(&format!("{cancel}\n{again}")).await.expect("is sent");
        let second = called.recv().await.expect("is called again");
        first.dropped.await.expect("the first is dropped");
        second.go.send(()).expect("waits");
        assert!(peer.response(&id).await.expect("a response")["result"].is_object());
    }
}

// covers: CANC-LOG-REASON
#[tokio::test]
async fn the_operator_can_read_why() {
    let events = contexture_judge::Events::on_this_thread();
    for revision in ALL {
        let (server, mut called) = server();
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let id = peer.begin("tools/call", wait()).await;
        let waiting = called.recv().await.expect("is called");
        let reason = format!("bored of {revision}");
        peer.notify("notifications/cancelled", json!({ "requestId": id, "reason": reason }))
            .await
            .expect("is sent");
        waiting.context.cancelled().await;
        let told = events.containing(&reason);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(&format!("id={id}")), "{told:?}");
    }
}

#[tokio::test]
async fn who_waits_for_the_end_of_a_call_hears_of_every_end() {
    let waiting = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&waiting);
    let watch = move |context: Context| {
        counted.fetch_add(1, Ordering::SeqCst);
        let counted = Arc::clone(&counted);
        tokio::spawn(async move {
            context.cancelled().await;
            counted.fetch_sub(1, Ordering::SeqCst);
        });
    };
    let again = watch.clone();
    let server = Server::new("watched", "1")
        .tool(tool("ends").handler(move |context: Context| {
            watch(context);
            async { "done" }
        }))
        .tool(tool("stays").handler(move |context: Context| {
            again(context);
            std::future::pending::<&str>()
        }));
    let (own, other) = contexture::transport::memory(1 << 20);
    let serving = tokio::spawn(async move { server.serve(other).await });
    let mut peer = contexture::testing::RawPeer::over(own);
    peer.initialize("2025-11-25", json!({})).await.expect("a session");
    for _ in 0..10 {
        peer.request("tools/call", json!({ "name": "ends" })).await.expect("an answer");
    }
    peer.start("tools/call", json!({ "name": "stays" })).await.expect("sent");
    peer.settle().await.expect("ready");
    assert_eq!(waiting.load(Ordering::SeqCst), 1, "answered calls are over");
    serving.abort();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(waiting.load(Ordering::SeqCst), 0, "so are those of a connection that ended");
}
