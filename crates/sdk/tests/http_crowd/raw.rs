//! As little of an HTTP client as a crowd needs: requests one after the other on a connection that stays open.
//!
//! Answers have to come whole and with their length; what comes as a stream is read in `streams`.

use std::io;

use contexture::revision::Revision;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    host: String,
    next_id: u64,
}

/// A session that the server opened.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) revision: Revision,
}

/// The head of an answer.
pub(crate) struct Head {
    pub(crate) status: u16,
    session: Option<String>,
    length: usize,
}

pub(crate) fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

/// The headers that name a session.
fn named(session: &Session) -> String {
    format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: {}\r\n", session.id, session.revision)
}

impl Connection {
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(1024, stream), host: address.into(), next_id: 0 })
    }

    /// Sends a request; with a body if there is one.
    pub(crate) async fn send(&mut self, verb: &str, headers: &str, body: Option<&Value>) -> io::Result<()> {
        let host = &self.host;
        let mut text = format!("{verb} /mcp HTTP/1.1\r\nHost: {host}\r\n{headers}");
        match body.map(Value::to_string) {
            Some(body) => {
                let length = body.len();
                text.push_str("Accept: application/json, text/event-stream\r\n");
                text.push_str("Content-Type: application/json\r\n");
                text.push_str(&format!("Content-Length: {length}\r\n\r\n{body}"));
            }
            None => text.push_str("Accept: text/event-stream\r\n\r\n"),
        }
        self.stream.write_all(text.as_bytes()).await
    }

    pub(crate) async fn head(&mut self) -> io::Result<Head> {
        let mut head = Head { status: 0, session: None, length: 0 };
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let line = line.trim_end();
            if head.status == 0 {
                let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
                head.status = status.ok_or_else(|| wrong(format!("no status: {line:?}")))?;
            } else if line.is_empty() {
                return Ok(head);
            } else if let Some((name, value)) = line.split_once(": ") {
                match name.to_ascii_lowercase().as_str() {
                    "mcp-session-id" => head.session = Some(value.into()),
                    "content-length" => head.length = value.parse().map_err(|_| wrong(line))?,
                    _ => {}
                }
            }
        }
    }

    async fn exchange(
        &mut self,
        verb: &str,
        headers: &str,
        body: Option<&Value>,
    ) -> io::Result<(Head, Value)> {
        self.send(verb, headers, body).await?;
        let head = self.head().await?;
        let mut text = vec![0; head.length];
        self.stream.read_exact(&mut text).await?;
        let value = if text.is_empty() { Value::Null } else { serde_json::from_slice(&text)? };
        Ok((head, value))
    }

    fn message(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params })
    }

    /// Opens a session: two requests.
    pub(crate) async fn initialize(&mut self, revision: Revision) -> io::Result<Session> {
        let info = json!({ "name": "crowd", "version": "1" });
        let params =
            json!({ "protocolVersion": revision.to_string(), "capabilities": {}, "clientInfo": info });
        let message = self.message("initialize", params);
        let (head, answer) = self.exchange("POST", "", Some(&message)).await?;
        let id = head.session.ok_or_else(|| wrong(format!("no session: {} {answer}", head.status)))?;
        let session = Session { id, revision };
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let (head, answer) = self.exchange("POST", &named(&session), Some(&message)).await?;
        if head.status == 202 { Ok(session) } else { Err(wrong(format!("{} {answer}", head.status))) }
    }

    /// A request of a session.
    pub(crate) async fn request(
        &mut self,
        session: &Session,
        method: &str,
        params: Value,
    ) -> io::Result<Value> {
        let message = self.message(method, params);
        let (head, answer) = self.exchange("POST", &named(session), Some(&message)).await?;
        let is_answered = head.status == 200 && answer.get("result").is_some();
        if is_answered { Ok(answer) } else { Err(wrong(format!("{} {answer}", head.status))) }
    }

    pub(crate) async fn delete(&mut self, session: &Session) -> io::Result<()> {
        let (head, answer) = self.exchange("DELETE", &named(session), None).await?;
        if head.status == 204 { Ok(()) } else { Err(wrong(format!("{} {answer}", head.status))) }
    }

    /// Asks for a session's own stream.
    pub(crate) async fn get(&mut self, session: &Session) -> io::Result<()> {
        self.send("GET", &named(session), None).await
    }

    /// Sends a request that needs no session.
    pub(crate) async fn send_modern(
        &mut self,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> io::Result<()> {
        let version = Revision::NEWEST_MODERN;
        let mut message = self.message(method, params);
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version.to_string(),
            "io.modelcontextprotocol/clientInfo": { "name": "crowd", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut headers = format!("MCP-Protocol-Version: {version}\r\nMcp-Method: {method}\r\n");
        if let Some(name) = name {
            headers.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        self.send("POST", &headers, Some(&message)).await
    }

    pub(crate) async fn modern(
        &mut self,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> io::Result<Value> {
        self.send_modern(method, name, params).await?;
        let head = self.head().await?;
        let mut text = vec![0; head.length];
        self.stream.read_exact(&mut text).await?;
        Ok(serde_json::from_slice(&text)?)
    }
}
