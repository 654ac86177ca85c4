//! A server on a port of its own, and bytes to send to it.

use std::time::Duration;

use contexture::server::HttpServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A net, not a measure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A server that serves until this is dropped.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) server: HttpServer,
    _stop: oneshot::Sender<()>,
}

pub(crate) async fn serve(server: HttpServer) -> Served {
    let (stop, stopped) = oneshot::channel::<()>();
    let bound = server.clone().bind("127.0.0.1:0").await.expect("a port");
    let port = bound.address().port();
    tokio::spawn(bound.serve_until(async {
        let _ = stopped.await;
    }));
    Served { port, server, _stop: stop }
}

/// A request, as it is written.
#[derive(Clone)]
pub(crate) struct Ask {
    line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Ask {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self { line: format!("{method} {target}"), headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As this person.
    pub(crate) fn by(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn session(self, id: &str) -> Self {
        self.header("mcp-session-id", id)
    }

    pub(crate) fn post(target: &str, body: &Value) -> Self {
        let mut ask = Self::new("POST", target);
        ask.body = body.to_string();
        ask.header("accept", "application/json, text/event-stream").header("content-type", "application/json")
    }

    /// A modern call.
    pub(crate) fn modern(id: u32, tool: &str, arguments: Value) -> Self {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        Self::post("/mcp", &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
    }

    /// A call in a session.
    pub(crate) fn legacy(id: u32, tool: &str, arguments: Value) -> Self {
        let params = json!({"name": tool, "arguments": arguments});
        Self::post("/mcp", &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .header("mcp-protocol-version", LEGACY)
    }

    pub(crate) fn initialize() -> Self {
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
        Self::post("/mcp", &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
    }

    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target).header("accept", "text/event-stream")
    }

    pub(crate) fn bytes(&self, port: u16) -> Vec<u8> {
        let mut text = format!("{} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n", self.line);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{}", self.body.len(), self.body));
        text.into_bytes()
    }
}

/// A connection, and what has come on it.
pub(crate) struct Line {
    stream: TcpStream,
    pub(crate) read: Vec<u8>,
}

impl Line {
    pub(crate) async fn open(served: &Served) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", served.port)).await.expect("the server accepts");
        stream.set_nodelay(true).expect("small writes");
        Self { stream, read: Vec::new() }
    }

    /// Whether the server still takes it.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Reads until this is true of what came, or the server has hung up.
    pub(crate) async fn until(&mut self, enough: impl Fn(&str) -> bool) -> String {
        let reading = async {
            let mut buffer = [0; 4096];
            loop {
                let text = String::from_utf8_lossy(&self.read).into_owned();
                if enough(&text) {
                    return text;
                }
                match self.stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return text,
                    Ok(read) => self.read.extend_from_slice(&buffer[..read]),
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the server answers or hangs up")
    }

    /// Reads until a stream of events has ended; the connection may go on.
    pub(crate) async fn to_the_end_of_the_stream(&mut self) -> String {
        self.until(|text| text.ends_with("\r\n0\r\n\r\n") || text.ends_with("\n\n0\r\n\r\n")).await
    }

    /// Reads until the server hangs up.
    pub(crate) async fn to_the_end(&mut self) -> String {
        self.until(|_| false).await
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn parse(text: String) -> Self {
        let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, text }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next().unwrap_or_default();
        let mut lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The JSON in the body, from its first brace on.
    pub(crate) fn json(&self) -> Value {
        let body = self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let start = body.find('{').unwrap_or(body.len());
        let mut values = serde_json::Deserializer::from_str(&body[start..]).into_iter::<Value>();
        values.next().and_then(Result::ok).unwrap_or_default()
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.json()["error"]["code"].as_i64()
    }
}

/// Asks once, on a connection of its own, and reads all of the answer.
pub(crate) async fn ask(served: &Served, ask: &Ask) -> Got {
    let mut line = Line::open(served).await;
    line.write(&ask.clone().header("connection", "close").bytes(served.port)).await;
    Got::parse(line.to_the_end().await)
}

/// Asks, and reads only the beginning of the answer.
pub(crate) async fn begin(served: &Served, ask: &Ask) -> (Line, Got) {
    let mut line = Line::open(served).await;
    line.write(&ask.bytes(served.port)).await;
    let text = line.until(|text| text.contains("\r\n\r\n")).await;
    (line, Got::parse(text))
}

/// Opens a session for whoever the request is made to be by.
pub(crate) async fn session(served: &Served, by: impl Fn(Ask) -> Ask) -> Result<String, Got> {
    let got = ask(served, &by(Ask::initialize())).await;
    let Some(id) = got.header("mcp-session-id").map(str::to_owned) else { return Err(got) };
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = by(Ask::post("/mcp", &ready).header("mcp-protocol-version", LEGACY)).session(&id);
    assert_eq!(ask(served, &ready).await.status, 202);
    Ok(id)
}

/// Looks again and again until it is so. What it waits for happens by itself, and there is nothing to be told by.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
