//! One story for every revision: a client that says what its revision wants to hear, and nothing more.

use std::ops::{Deref, DerefMut};

use contexture::Server;
use contexture::server::BuiltServer;
use serde_json::{Value, json};

use super::support::{LEGACY, MODERN, Peer, with_meta};

/// Every revision, oldest first.
pub(crate) const ALL: [&str; 5] = [LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3], MODERN];

/// A raw client that keeps to one revision.
pub(crate) struct Spoken {
    peer: Peer,
    /// The revision.
    pub(crate) revision: &'static str,
    capabilities: Value,
    declared: Value,
}

impl Spoken {
    /// Connects and opens a session, where there are sessions.
    pub(crate) async fn to(server: Server, revision: &'static str, capabilities: Value) -> Self {
        Self::to_built(&server.build().expect("a correct server"), revision, capabilities).await
    }

    /// Another connection to the same server.
    pub(crate) async fn to_built(server: &BuiltServer, revision: &'static str, capabilities: Value) -> Self {
        let mut peer = Peer::of_built(server);
        let opened = if revision == MODERN {
            peer.modern("server/discover", json!({}), capabilities.clone()).await
        } else {
            peer.initialize(revision, capabilities.clone()).await.expect("a session")
        };
        let declared = opened["result"]["capabilities"].clone();
        Self { peer, revision, capabilities, declared }
    }

    /// What the server has declared.
    pub(crate) fn declared(&self) -> &Value {
        &self.declared
    }

    /// Whether the revision is stateless.
    pub(crate) fn is_modern(&self) -> bool {
        self.revision == MODERN
    }

    fn params(&self, params: Value) -> Value {
        if self.is_modern() { with_meta(params, self.capabilities.clone()) } else { params }
    }

    /// Sends a request; returns its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        json!(self.peer.start(method, params).await.expect("is sent"))
    }

    /// Sends a request and returns the response.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.peer.response(&id).await.expect("a response")
    }

    /// Calls a tool and returns the response.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The code of the error that answers this request.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("not refused: {answer}"))
    }

    /// Everything that the server has sent so far under this method and nobody looked at.
    pub(crate) async fn heard(&mut self, method: &str) -> Vec<Value> {
        let all = self.peer.settle().await.expect("an answer");
        all.into_iter().filter(|message| message["method"] == method).collect()
    }
}

impl Deref for Spoken {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

impl DerefMut for Spoken {
    fn deref_mut(&mut self) -> &mut Peer {
        &mut self.peer
    }
}

/// The text of a tool's result.
pub(crate) fn text_of(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}"))
}
