//! A transport of one's own: whole messages through channels, without lines or bytes streams.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use contexture::Client;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{Incoming, Transport};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{everything, handshake};

struct Channel {
    receiver: mpsc::UnboundedReceiver<Bytes>,
    sender: Option<mpsc::UnboundedSender<Bytes>>,
}

impl Channel {
    fn pair() -> (Self, Self) {
        let ((left, to_left), (right, to_right)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        (Self { receiver: to_left, sender: Some(right) }, Self { receiver: to_right, sender: Some(left) })
    }
}

impl Transport for Channel {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let message = ready!(self.receiver.poll_recv(cx));
        Poll::Ready(Ok(message.map_or(Incoming::End, Incoming::Message)))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if let Some(sender) = &self.sender {
                sender.send(Bytes::copy_from_slice(line)).ok();
            }
        }
        lines.clear();
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sender = None;
        Poll::Ready(Ok(()))
    }
}

// covers: BASE-CUSTOM-TRANSPORT-DOC
#[test]
fn the_contract_of_a_transport_is_written_down() {
    let source = include_str!("../../src/transport/mod.rs");
    for part in ["/// **Set-up.**", "/// **Framing.**", "/// **Close.**", "pub trait Transport"] {
        assert!(source.contains(part), "{part}");
    }
}

// covers: BASE-CUSTOM-TRANSPORT, BASE-CUSTOM-TRANSPORT-FORMAT
#[tokio::test(start_paused = true)]
async fn a_client_works_the_same_over_a_transport_of_ones_own() {
    let (own, other) = Channel::pair();
    let transcript = Transcript::new();
    let mut server = RawPeer::over(Recording::new(own, Side::Server, transcript.clone()));
    let client = tokio::spawn(Client::connect(other));
    let probe = server.expect("server/discover").await.expect("a probe");
    let error = json!({ "code": -32601, "message": "?" });
    server.send(json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error })).await.expect("sent");
    let hello = server.expect("initialize").await.expect("a handshake");
    let early = server.request("roots/list", Value::Null).await.expect("an answer");
    assert_eq!(early["error"]["code"], -32601, "out of order is handled as on a pipe");
    server.answer(&hello, handshake("2025-06-18", everything())).await.expect("sent");
    server.expect("notifications/initialized").await.expect("in order");
    let client = client.await.expect("no panic").expect("connected");
    let call = client.call("t", json!({ "text": "a\nb" })).start();
    let asked = server.expect("tools/call").await.expect("a call");
    server.answer(&asked, json!({ "content": [] })).await.expect("sent");
    call.await.expect("a result");
    client.close().await;
    assert!(server.receive().await.is_err(), "the end");
    let mut watch = Watch::new(From::Client);
    for entry in transcript.entries() {
        let from = if entry.from == Side::Server { From::Server } else { From::Client };
        watch.message(from, &entry.value());
    }
    assert_eq!(watch.judged(), 4, "all but what came before a revision was settled");
}
