//! Peers that do not read: what waits for them has a bound, and ends when they read again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use contexture::model::LoggingLevel;
use contexture::server::Session;
use contexture::testing::RawPeer;
use contexture::transport::{Incoming, LineTransport, MemoryTransport, Transport, memory};
use contexture::{Context, Policy, Server, resource, tool};
use futures_util::task::AtomicWaker;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LIMIT: usize = 4096;
/// The bound holds twice: for what the transport has, and for what waits to be handed to it.
const MOST: usize = 2 * LIMIT + 1024;

fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.unsent_bytes = LIMIT;
    policy.notifications_per_second = u32::MAX;
    policy
}

/// Whether the peer reads, and how much waits for it.
#[derive(Default)]
struct Ear {
    deaf: AtomicBool,
    unsent: AtomicUsize,
    waker: AtomicWaker,
}

impl Ear {
    fn hear(&self) {
        self.deaf.store(false, Ordering::SeqCst);
        self.waker.wake();
    }

    fn stop(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    fn unsent(&self) -> usize {
        self.unsent.load(Ordering::SeqCst)
    }
}

/// A transport whose peer does not read for a while.
struct Deaf {
    inner: MemoryTransport,
    kept: Vec<u8>,
    ear: Arc<Ear>,
}

impl Transport for Deaf {
    fn poll_receive(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<Incoming>> {
        self.inner.poll_receive(cx)
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.kept.append(lines);
        self.ear.unsent.store(self.kept.len(), Ordering::SeqCst);
    }

    fn unsent(&self) -> usize {
        self.kept.len() + self.inner.unsent()
    }

    fn poll_flush(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.ear.waker.register(cx.waker());
        if self.ear.deaf.load(Ordering::SeqCst) && !self.kept.is_empty() {
            return Poll::Pending;
        }
        if !self.kept.is_empty() {
            self.inner.send(&mut self.kept);
        }
        self.inner.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_close(cx)
    }
}

/// A session with a server, over a transport that can be made deaf.
async fn session(server: Server, revision: &str) -> (RawPeer, Arc<Ear>) {
    let (own, other) = memory(1 << 30);
    let ear = Arc::new(Ear::default());
    let transport = Deaf { inner: other, kept: Vec::new(), ear: Arc::clone(&ear) };
    tokio::spawn(async move { server.policy(policy()).serve(transport).await });
    let mut peer = RawPeer::over(own);
    peer.initialize(revision, json!({ "roots": { "listChanged": true } })).await.expect("a session");
    (peer, ear)
}

#[tokio::test]
async fn reading_goes_on_when_the_peer_has_read() {
    const PINGS: usize = 20_000;
    let mut policy = Policy::default();
    policy.unsent_bytes = 16 * 1024;
    let server = Server::new("pressed", "1").policy(policy);
    let (own, other) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(other);
    tokio::spawn(async move { server.serve(LineTransport::new(reader, writer, 1 << 20)).await });
    let (mut reader, mut writer) = tokio::io::split(own);
    let writing = tokio::spawn(async move {
        for id in 0..PINGS {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
            writer.write_all(line.as_bytes()).await.expect("written");
        }
        writer
    });
    // Everything in between is full by then.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (mut answers, mut buffer) = (0, vec![0; 128 * 1024]);
    while answers < PINGS {
        let read = tokio::time::timeout(Duration::from_secs(10), reader.read(&mut buffer));
        let read = read.await.unwrap_or_else(|_| panic!("silence after {answers} answers")).expect("read");
        answers += buffer[..read].iter().filter(|&&byte| byte == b'\n').count();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(writing.await.expect("all is written"));
}

#[tokio::test]
async fn changes_wait_for_a_peer_that_does_not_read() {
    let server = Server::new("ticking", "1").resource(resource("mem://a").handler(|| async { "a" }));
    let registry = server.registry();
    let (mut peer, ear) = session(server, "2025-11-25").await;
    peer.request("resources/subscribe", json!({ "uri": "mem://a" })).await.expect("subscribed");
    ear.stop();
    for _ in 0..10_000 {
        registry.resource_updated("mem://a");
        tokio::task::yield_now().await;
    }
    assert!(ear.unsent() < MOST, "{} bytes wait", ear.unsent());
    ear.hear();
    peer.request("ping", json!({})).await.expect("the connection lives");
    registry.resource_updated("mem://a");
    peer.expect("notifications/resources/updated").await.expect("changes are told again");
}

#[tokio::test]
async fn chatter_for_a_peer_that_does_not_read_is_dropped() {
    let server = Server::new("chatty", "1").tool(tool("talk").handler(|context: Context| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        for number in 0..10_000 {
            context.log(LoggingLevel::Error, number);
            tokio::task::yield_now().await;
        }
        "talked"
    }));
    let (mut peer, ear) = session(server, "2025-11-25").await;
    let id = peer.start("tools/call", json!({ "name": "talk" })).await.expect("sent");
    ear.stop();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(ear.unsent() < MOST, "{} bytes wait", ear.unsent());
    ear.hear();
    let answer = peer.response(&json!(id)).await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "talked", "answers are not dropped");
}

#[tokio::test]
async fn hooks_cannot_ask_a_peer_that_does_not_read_without_end() {
    let refused = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&refused);
    let server = Server::new("asking", "1").on_roots_changed(move |session: Session| {
        let seen = Arc::clone(&seen);
        async move {
            for _ in 0..10_000 {
                let asked = session.clone().timeout(Duration::ZERO).ping().await;
                if matches!(asked, Err(contexture::Error::TooMuch(_))) {
                    return seen.store(true, Ordering::SeqCst);
                }
            }
        }
    });
    let (mut peer, ear) = session(server, "2025-11-25").await;
    ear.stop();
    peer.notify("notifications/roots/list_changed", json!({})).await.expect("sent");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(refused.load(Ordering::SeqCst), "nothing more can be asked");
    assert!(ear.unsent() < MOST, "{} bytes wait", ear.unsent());
}

#[tokio::test]
async fn answers_of_a_batch_are_bounded() {
    let server =
        Server::new("large", "1").resource(resource("mem://a").handler(|| async { "a".repeat(LIMIT) }));
    let (mut peer, _) = session(server, "2025-03-26").await;
    let read = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "mem://a" } });
    peer.send((1..=50).map(read).collect()).await.expect("sent");
    let answers = peer.receive().await.expect("answers");
    let answers = answers.as_array().expect("one array");
    let busy = |answer: &&Value| answer["error"]["code"].is_i64();
    assert_eq!(answers.len(), 50, "each is answered");
    assert!(answers.iter().filter(busy).count() >= 48, "most are refused");
    let after = peer.request("resources/read", json!({ "uri": "mem://a" })).await.expect("an answer");
    assert!(after["result"].is_object(), "there is room again: {after}");
}
