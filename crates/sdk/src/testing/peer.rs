//! A peer without manners: sends any line, and shows every line that comes back.
//!
//! It keeps to no lifecycle and checks nothing, which is what tests of the other side need.

use std::time::Duration;

use serde_json::{Value, json};

use crate::transport::{Incoming, MemoryTransport, Transport, memory};
use crate::{Error, Result};

/// Long enough for a busy machine; only a test that fails ever waits for it.
const PATIENCE: Duration = Duration::from_secs(20);
const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// One end of a connection, by hand.
#[derive(Debug)]
pub struct RawPeer<T = MemoryTransport> {
    transport: T,
    next_id: i64,
    /// Messages that came while another was waited for.
    seen: Vec<Value>,
}

impl RawPeer {
    /// A peer in memory, and the other end for what is to be tested.
    pub fn new() -> (Self, MemoryTransport) {
        let (own, other) = memory(LINE_LIMIT);
        (Self::over(own), other)
    }

    /// A client without manners, connected to a server that runs on a task of its own.
    #[cfg(feature = "server")]
    pub fn client_of(server: crate::server::Server) -> Self {
        let (peer, transport) = Self::new();
        tokio::spawn(async move {
            if let Err(error) = server.serve(transport).await {
                tracing::error!(%error, "the server under test failed");
            }
        });
        peer
    }
}

impl<T: Transport> RawPeer<T> {
    /// A peer over any transport.
    pub fn over(transport: T) -> Self {
        Self { transport, next_id: 0, seen: Vec::new() }
    }

    /// Sends a line, whatever it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn send_line(&mut self, line: &str) -> Result<()> {
        self.send_bytes(line.as_bytes()).await
    }

    /// Sends a line that need not even be text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn send_bytes(&mut self, line: &[u8]) -> Result<()> {
        let mut bytes = line.to_vec();
        bytes.push(b'\n');
        self.transport.send(&mut bytes);
        std::future::poll_fn(|cx| self.transport.poll_flush(cx)).await?;
        Ok(())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn send(&mut self, message: Value) -> Result<()> {
        self.send_line(&message.to_string()).await
    }

    /// The next message.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end, [`Error::Timeout`] after a long silence.
    pub async fn receive(&mut self) -> Result<Value> {
        if !self.seen.is_empty() {
            return Ok(self.seen.remove(0));
        }
        self.receive_new().await
    }

    async fn receive_new(&mut self) -> Result<Value> {
        let received = std::future::poll_fn(|cx| self.transport.poll_receive(cx));
        match tokio::time::timeout(PATIENCE, received).await {
            Ok(Ok(Incoming::Message(line) | Incoming::Beside { message: line, .. })) => {
                serde_json::from_slice(&line).map_err(|error| {
                    Error::PeerMisbehaved(format!("{error}: {}", String::from_utf8_lossy(&line)))
                })
            }
            Ok(Ok(Incoming::TooLong { limit })) => Err(Error::TooMuch(format!("a line over {limit} bytes"))),
            Ok(Ok(Incoming::Failed { failure, .. })) => Err(failure.into()),
            Ok(Ok(Incoming::End)) => Err(Error::Closed("the end".into())),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Timeout(PATIENCE)),
        }
    }

    /// Sends a request and waits for its response; everything else that comes meanwhile is kept for
    /// [`receive`](Self::receive).
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.start(method, params).await?;
        self.response(&json!(id)).await
    }

    /// Sends a request and returns its id.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn start(&mut self, method: &str, params: Value) -> Result<i64> {
        self.next_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await?;
        Ok(self.next_id)
    }

    /// Waits for the response to a request.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn response(&mut self, id: &Value) -> Result<Value> {
        let is_response = |message: &Value| message.get("method").is_none() && message.get("id") == Some(id);
        self.wait_for(is_response).await
    }

    /// Waits for a request or notification of this method.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn expect(&mut self, method: &str) -> Result<Value> {
        self.wait_for(|message| message.get("method").and_then(Value::as_str) == Some(method)).await
    }

    async fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(at) = self.seen.iter().position(&wanted) {
            return Ok(self.seen.remove(at));
        }
        loop {
            let message = self.receive_new().await?;
            if wanted(&message) {
                return Ok(message);
            }
            self.seen.push(message);
        }
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await
    }

    /// Answers a request of the other side.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn answer(&mut self, request: &Value, result: Value) -> Result<()> {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await
    }

    /// Opens a legacy session as a client would, in this revision and with these capabilities.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn initialize(&mut self, revision: &str, capabilities: Value) -> Result<Value> {
        let info = json!({ "name": "raw", "version": "0" });
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": info });
        let response = self.request("initialize", params).await?;
        self.notify("notifications/initialized", Value::Null).await?;
        Ok(response)
    }

    /// Everything that has come and was not looked at, after all that is under way has been answered: sends
    /// a request of no meaning and waits for the answer to it.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn settle(&mut self) -> Result<Vec<Value>> {
        self.request("test/settle", Value::Null).await?;
        Ok(std::mem::take(&mut self.seen))
    }

    /// Says that nothing more will come.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub async fn finish(&mut self) -> Result<()> {
        std::future::poll_fn(|cx| self.transport.poll_close(cx)).await?;
        Ok(())
    }
}
