//! The client's end of a connection in memory. What the server sends is judged by the schema of its revision.

use std::future::poll_fn;

use contexture::Server;
use contexture::transport::{Incoming, MemoryTransport, Transport, memory};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};

/// The client's end.
pub(crate) struct Wire {
    transport: MemoryTransport,
    watch: Watch,
    last_id: u64,
}

impl Wire {
    /// Serves in the background and initializes.
    pub(crate) async fn open(server: Server) -> Self {
        let (transport, other) = memory(1 << 20);
        tokio::spawn(server.serve(other));
        let mut wire = Self { transport, watch: Watch::new(From::Server), last_id: 0 };
        wire.ask("initialize", initialize()).await;
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        wire
    }

    /// Sends a request and returns the whole answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        self.send(&request).await;
        loop {
            let message = self.receive().await;
            if message["id"] == self.last_id {
                return message;
            }
        }
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await["result"].take()
    }

    /// One entry of a list, by its name.
    pub(crate) async fn listed(&mut self, method: &str, list: &str, name: &str) -> Value {
        let answer = self.ask(method, json!({})).await;
        let entries = answer["result"][list].as_array().expect("a list");
        entries.iter().find(|entry| entry["name"] == name).expect("it is listed").clone()
    }

    async fn send(&mut self, message: &Value) {
        self.watch.message(From::Client, message);
        let mut line = format!("{message}\n").into_bytes();
        self.transport.send(&mut line);
        poll_fn(|cx| self.transport.poll_flush(cx)).await.expect("the other end reads");
    }

    async fn receive(&mut self) -> Value {
        let incoming = poll_fn(|cx| self.transport.poll_receive(cx)).await.expect("the other end is there");
        let Incoming::Message(line) = incoming else { panic!("expected a message, not {incoming:?}") };
        let message = serde_json::from_slice(&line).expect("a JSON text");
        self.watch.message(From::Server, &message);
        message
    }
}

/// Parameters of `initialize`.
pub(crate) fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "wire", "version": "1" },
    })
}
