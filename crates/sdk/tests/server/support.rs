//! A raw client whose server is judged when the test is over.

use std::ops::{Deref, DerefMut};

use contexture::Server;
use contexture::server::Registry;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{MemoryTransport, memory};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};

/// The revisions that open with `initialize`.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";
/// All revisions, oldest first.
pub(crate) const EVERY: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

/// A raw client, connected to a server that runs on a task of its own.
pub(crate) struct Peer {
    peer: RawPeer<Recording<MemoryTransport>>,
    transcript: Transcript,
    registry: Registry,
    /// What [`speaking`](Self::speaking) speaks, and declares where every request has to.
    modern: Option<Value>,
    /// What the server declared.
    declared: Value,
}

impl Peer {
    /// Connects; says nothing yet.
    pub(crate) fn of(server: Server) -> Self {
        Self::of_built(&server.build().expect("a server that is put together correctly"))
    }

    /// Another connection to the same server.
    pub(crate) fn of_built(server: &contexture::server::BuiltServer) -> Self {
        let (own, other) = memory(64 * 1024 * 1024);
        let transcript = Transcript::new();
        let (server, registry) = (server.clone(), server.registry());
        tokio::spawn(async move { server.serve(other).await.expect("serves") });
        let peer = RawPeer::over(Recording::new(own, Side::Client, transcript.clone()));
        Self { peer, transcript, registry, modern: None, declared: Value::Null }
    }

    /// Connects and opens a legacy session.
    pub(crate) async fn session(server: Server, revision: &str, capabilities: Value) -> Self {
        let mut peer = Self::of(server);
        let response = peer.initialize(revision, capabilities).await.expect("a session");
        assert_eq!(response["result"]["protocolVersion"], revision, "{response}");
        peer.declared = response["result"]["capabilities"].clone();
        peer
    }

    /// Connects and speaks any revision: opens a session where there are sessions.
    pub(crate) async fn speaking(server: Server, revision: &str, capabilities: Value) -> Self {
        if revision != MODERN {
            return Self::session(server, revision, capabilities).await;
        }
        let mut peer = Self::of(server);
        peer.modern = Some(capabilities);
        peer.declared = peer.call("server/discover", json!({})).await["result"]["capabilities"].clone();
        peer
    }

    /// A request in the revision that this peer speaks, and its response.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        match self.modern.clone() {
            Some(capabilities) => self.modern(method, params, capabilities).await,
            None => self.request(method, params).await.expect("a response"),
        }
    }

    /// What the server has declared.
    pub(crate) fn capabilities(&self) -> &Value {
        &self.declared
    }

    /// The handle to change what the server offers.
    pub(crate) fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// A modern request: `_meta` is added to the parameters.
    pub(crate) async fn modern(&mut self, method: &str, params: Value, capabilities: Value) -> Value {
        self.request(method, with_meta(params, capabilities)).await.expect("a response")
    }

    /// Everything that either side has sent.
    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }
}

/// Parameters with the metadata of a modern request.
pub(crate) fn with_meta(mut params: Value, capabilities: Value) -> Value {
    if params.is_null() {
        params = json!({});
    }
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "raw", "version": "0" });
    params
}

/// A schema as tools take it.
pub(crate) fn schema(schema: Value) -> contexture::model::JsonObject {
    serde_json::from_value(schema).expect("an object")
}

impl Deref for Peer {
    type Target = RawPeer<Recording<MemoryTransport>>;

    fn deref(&self) -> &Self::Target {
        &self.peer
    }
}

impl DerefMut for Peer {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.peer
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}", self.transcript);
            return;
        }
        let mut watch = Watch::new(From::Server);
        for entry in self.transcript.entries() {
            let from = if entry.from == Side::Server { From::Server } else { From::Client };
            watch.message(from, &entry.value());
        }
    }
}
