//! A server played by hand, whose client is judged when the test is over.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use contexture::Client;
use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{MemoryTransport, memory};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};

/// The revisions that open with `initialize`.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";
/// All of them.
pub(crate) const ALL: [&str; 5] = contexture_judge::REVISIONS;

/// A server by hand.
pub(crate) struct Played {
    peer: RawPeer<Recording<MemoryTransport>>,
    transcript: Transcript,
    pub(crate) revision: &'static str,
}

impl Played {
    /// A server that has said nothing yet, and the transport for its client.
    pub(crate) fn new() -> (Self, MemoryTransport) {
        let (own, other) = memory(64 * 1024 * 1024);
        let transcript = Transcript::new();
        let peer = RawPeer::over(Recording::new(own, Side::Server, transcript.clone()));
        (Self { peer, transcript, revision: MODERN }, other)
    }

    /// Plays the server's part of the handshake.
    pub(crate) async fn shake_hands(&mut self, capabilities: Value) {
        if self.revision == MODERN {
            let probe = self.expect("server/discover").await.expect("a probe");
            self.answer(&probe, discovery(capabilities)).await.expect("sent");
            return;
        }
        let hello = self.expect("initialize").await.expect("a handshake");
        let answer = handshake(self.revision, capabilities);
        self.answer(&hello, answer).await.expect("sent");
        self.expect("notifications/initialized").await.expect("the end of the handshake");
    }

    /// Answers with a complete result, in the words of the revision.
    pub(crate) async fn complete(&mut self, request: &Value, mut result: Value) {
        if self.revision == MODERN {
            result["resultType"] = json!("complete");
        }
        self.answer(request, result).await.expect("sent");
    }

    /// Answers with an error.
    pub(crate) async fn refuse(&mut self, request: &Value, code: i64) {
        let error = json!({ "code": code, "message": "no" });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await.expect("sent");
    }

    /// Waits for a request of this method.
    pub(crate) async fn asked(&mut self, method: &str) -> Value {
        self.expect(method).await.unwrap_or_else(|error| panic!("no {method}: {error}"))
    }

    /// Sends a request to the client and waits for its response.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params).await.unwrap_or_else(|error| panic!("no answer to {method}: {error}"))
    }

    /// Nothing comes. Only under a clock that is paused.
    pub(crate) async fn hears_nothing(&mut self) {
        let heard = tokio::time::timeout(Duration::from_millis(100), self.peer.receive()).await;
        assert!(heard.is_err(), "unexpected: {heard:?}");
    }

    /// Everything that the client has sent.
    pub(crate) fn sent_by_client(&self) -> Vec<Value> {
        self.transcript.sent_by(Side::Client)
    }

    /// Everything that was sent, as it was written.
    pub(crate) fn transcript_text(&self) -> String {
        self.transcript.entries().iter().map(|entry| entry.message.get().to_owned() + "\n").collect()
    }

    /// The methods of everything that the client has sent.
    pub(crate) fn methods(&self) -> Vec<String> {
        let sent = self.sent_by_client();
        sent.iter().filter_map(|message| message["method"].as_str().map(str::to_owned)).collect()
    }
}

/// Parameters of a form that asks for a name.
pub(crate) fn form_params() -> Value {
    let name = json!({ "type": "string", "title": "Name", "minLength": 2 });
    let schema = json!({ "type": "object", "properties": { "name": name }, "required": ["name"] });
    json!({ "message": "Who?", "requestedSchema": schema })
}

/// Asks, and expects an error with a code.
pub(crate) async fn code_of(server: &mut Played, method: &str, params: Value) -> i64 {
    let answer = server.ask(method, params).await;
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("not an error: {answer}"))
}

/// A message behind a byte order mark was not JSON to the record, but it is one to the client.
fn without_mark(message: Value) -> Value {
    let marked = message.as_str().and_then(|line| line.strip_prefix('\u{feff}'));
    marked.and_then(|line| serde_json::from_str(line).ok()).unwrap_or(message)
}

/// A connected pair that speaks this revision.
pub(crate) async fn pair(builder: Builder, revision: &'static str, capabilities: Value) -> (Client, Played) {
    let (mut server, transport) = Played::new();
    server.revision = revision;
    let date = Revision::parse(revision).expect("a revision");
    let connecting = builder.revisions(&[date]).connect(transport);
    let (client, ()) = tokio::join!(connecting, server.shake_hands(capabilities));
    (client.expect("connected"), server)
}

/// A connected pair with everything that a server can offer.
pub(crate) async fn full_pair(builder: Builder, revision: &'static str) -> (Client, Played) {
    pair(builder, revision, everything()).await
}

/// All capabilities of a server.
pub(crate) fn everything() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// The result of `server/discover`.
pub(crate) fn discovery(capabilities: Value) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": capabilities,
        "instructions": "be kind",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "played", "version": "1" } },
    })
}

/// The result of `initialize`.
pub(crate) fn handshake(revision: &str, capabilities: Value) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": capabilities,
        "serverInfo": { "name": "played", "version": "1" },
        "instructions": "be kind",
    })
}

impl Deref for Played {
    type Target = RawPeer<Recording<MemoryTransport>>;

    fn deref(&self) -> &Self::Target {
        &self.peer
    }
}

impl DerefMut for Played {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.peer
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}", self.transcript);
            return;
        }
        let mut watch = Watch::new(From::Client);
        for entry in self.transcript.entries() {
            let from = if entry.from == Side::Server { From::Server } else { From::Client };
            watch.message(from, &without_mark(entry.value()));
        }
    }
}
