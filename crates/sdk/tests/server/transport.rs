//! Transports that somebody else wrote: whole messages over a channel, without lines or bytes.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{Incoming, Transport, memory};
use contexture::{Args, Server, tool};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::support::{EVERY, MODERN, with_meta};

/// One end of a channel.
struct Channel {
    incoming: UnboundedReceiver<Bytes>,
    outgoing: Option<UnboundedSender<Bytes>>,
}

fn channels() -> (Channel, Channel) {
    let ((to_left, left), (to_right, right)) = (unbounded_channel(), unbounded_channel());
    (
        Channel { incoming: left, outgoing: Some(to_right) },
        Channel { incoming: right, outgoing: Some(to_left) },
    )
}

impl Transport for Channel {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        self.incoming.poll_recv(cx).map(|message| Ok(message.map_or(Incoming::End, Incoming::Message)))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        for message in
            std::mem::take(lines).split(|&byte| byte == b'\n').filter(|message| !message.is_empty())
        {
            if let Some(outgoing) = &self.outgoing {
                outgoing.send(Bytes::copy_from_slice(message)).ok();
            }
        }
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing = None;
        Poll::Ready(Ok(()))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

/// A story with everything in the wrong order, garbage and an end. Returns all that was said.
async fn story<T: Transport>(own: T, other: T, revision: &str) -> Vec<(Side, Value)> {
    let server = Server::new("anywhere", "1")
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }));
    let serving = tokio::spawn(server.serve(other));
    let transcript = Transcript::new();
    let mut peer = RawPeer::over(Recording::new(own, Side::Client, transcript.clone()));
    let meta = |params: Value| if revision == MODERN { with_meta(params, json!({})) } else { params };
    peer.request("tools/list", json!({})).await.expect("refused: not initialized");
    peer.notify("notifications/initialized", Value::Null).await.expect("too early");
    if revision != MODERN {
        peer.request("ping", Value::Null).await.expect("served");
        peer.initialize(revision, json!({})).await.expect("a session");
        peer.request("initialize", json!({ "protocolVersion": revision })).await.expect("refused");
    }
    peer.request("tools/list", meta(json!({}))).await.expect("a list");
    let call = json!({ "name": "echo", "arguments": { "message": "over\nthere 🦀" } });
    let answer = peer.request("tools/call", meta(call)).await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "over\nthere 🦀");
    peer.send_line("{").await.expect("sent");
    peer.receive().await.expect("a complaint");
    peer.request("no/such", meta(json!({}))).await.expect("refused");
    peer.finish().await.expect("closed");
    assert!(peer.receive().await.is_err(), "the server closes its end, too");
    serving.await.expect("no panic").expect("no failure");
    transcript.entries().into_iter().map(|entry| (entry.from, entry.value())).collect()
}

// covers: BASE-CUSTOM-TRANSPORT, BASE-CUSTOM-TRANSPORT-FORMAT
#[tokio::test]
async fn a_transport_of_ones_own_carries_the_same_conversation() {
    for revision in EVERY {
        let (own, other) = channels();
        let over_channel = story(own, other, revision).await;
        let (own, other) = memory(1024 * 1024);
        let over_lines = story(own, other, revision).await;
        assert_eq!(over_channel, over_lines, "{revision}");
        let mut watch = Watch::new(From::Server);
        for (side, message) in &over_channel {
            watch.message(if *side == Side::Server { From::Server } else { From::Client }, message);
        }
        assert!(watch.judged() >= 3, "{revision}: {}", watch.judged());
    }
}

// covers: BASE-CUSTOM-TRANSPORT-DOC
#[test]
fn the_contract_of_a_transport_is_written_down() {
    let source = include_str!("../../src/transport/mod.rs");
    let (before, _) = source.split_once("pub trait Transport").expect("the trait");
    let contract = before.rsplit_once("\n\n").expect("its documentation").1;
    for part in ["**Set-up.**", "**Framing.**", "**Close.**"] {
        assert!(
            contract.lines().any(|line| line.starts_with("///") && line.contains(part)),
            "{part} {contract}"
        );
    }
}

/// A transport whose peer has gone.
struct Gone(io::ErrorKind);

impl Transport for Gone {
    fn poll_receive(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        Poll::Ready(Err(self.0.into()))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        lines.clear();
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_peer_may_go_without_a_word() {
    for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset] {
        let served = contexture::Server::new("left", "1").serve(Gone(kind)).await;
        assert!(served.is_ok(), "{kind:?} {served:?}");
    }
    let served = contexture::Server::new("left", "1").serve(Gone(io::ErrorKind::InvalidData)).await;
    assert!(served.is_err(), "other faults are told");
}
