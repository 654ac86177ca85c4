//! Callers who leave: in the modern era that ends their call, in the legacy era it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::{Context, Server, tool};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Ask, Line, Served, begin, eventually, serve, session};

/// What became of the calls of a tool that goes on until it is told.
#[derive(Default)]
struct Fate {
    begun: AtomicUsize,
    dropped: AtomicUsize,
    finished: AtomicUsize,
    go_on: Notify,
}

/// Counts when it is dropped before its time.
struct Running(Arc<Fate>, bool);

impl Drop for Running {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn watched() -> (Served, Arc<Fate>) {
    let fate = Arc::new(Fate::default());
    let of_calls = Arc::clone(&fate);
    let run = tool("run").handler(move |context: Context| {
        let fate = Arc::clone(&of_calls);
        async move {
            let mut running = Running(Arc::clone(&fate), false);
            fate.begun.fetch_add(1, Ordering::SeqCst);
            context.progress(1.0, None);
            fate.go_on.notified().await;
            running.1 = true;
            fate.finished.fetch_add(1, Ordering::SeqCst);
            "ran"
        }
    });
    let server = Server::new("fate", "0").tool(run).into_http().expect("a server");
    (serve(server).await, fate)
}

/// C01, rmcp #967: the handler of a modern call is dropped with its connection, in whatever state that is.
#[tokio::test]
async fn rmcp_967_modern_callers_who_leave() {
    let (served, fate) = watched().await;
    // Before the answer has begun: nothing was said yet.
    let mut line = Line::open(&served).await;
    line.write(&Ask::modern(1, "run", json!({})).bytes(served.port)).await;
    eventually("it runs", async || fate.begun.load(Ordering::SeqCst) == 1).await;
    drop(line);
    eventually("C01: it is cancelled", async || fate.dropped.load(Ordering::SeqCst) == 1).await;

    // After it has begun: progress was asked for, so there is a stream.
    let mut call = Ask::modern(2, "run", json!({}));
    call.body = call.body.replace(r#""_meta":{"#, r#""_meta":{"progressToken":7,"#);
    let (line, got) = begin(&served, &call).await;
    assert_eq!(got.status, 200, "C01: {got:?}");
    drop(line);
    eventually("C01: it is cancelled", async || fate.dropped.load(Ordering::SeqCst) == 2).await;
    assert_eq!(fate.finished.load(Ordering::SeqCst), 0, "C01");
}

/// C01: a legacy call goes on without its caller.
#[tokio::test]
async fn legacy_callers_who_leave() {
    let (served, fate) = watched().await;
    let id = session(&served, |ask| ask).await.expect("a session");
    let mut line = Line::open(&served).await;
    line.write(&Ask::legacy(1, "run", json!({})).session(&id).bytes(served.port)).await;
    eventually("it runs", async || fate.begun.load(Ordering::SeqCst) == 1).await;
    drop(line);
    fate.go_on.notify_one();
    eventually("C01: it finishes", async || fate.finished.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fate.dropped.load(Ordering::SeqCst), 0, "C01");
}

/// D03: the end of a session is the end of its calls.
#[tokio::test]
async fn sessions_that_end_under_their_calls() {
    let (served, fate) = watched().await;
    let id = session(&served, |ask| ask).await.expect("a session");
    let mut line = Line::open(&served).await;
    line.write(&Ask::legacy(1, "run", json!({})).session(&id).bytes(served.port)).await;
    eventually("it runs", async || fate.begun.load(Ordering::SeqCst) == 1).await;
    let over = crate::support::ask(&served, &Ask::new("DELETE", "/mcp").session(&id)).await;
    assert!([200, 204].contains(&over.status), "D03: {over:?}");
    eventually("D03: it is cancelled", async || fate.dropped.load(Ordering::SeqCst) == 1).await;
    assert_eq!(served.server.sessions(), 0, "D03");
}
