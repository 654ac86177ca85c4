//! Just enough of an HTTP/1.1 client to check answers with: one connection, one request at a time, bodies with a
//! length or in chunks, events. It follows nothing, retries nothing and is not what measures time.

use crate::message::Dialect;
use crate::work::Work;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Where every server of the benchmark answers.
pub const PATH: &str = "/mcp";
const PATIENCE: Duration = Duration::from_secs(10);

/// A whole answer.
pub struct Response {
    pub status: u16,
    pub session: Option<String>,
    /// The JSON-RPC messages that it carries, in order.
    pub messages: Vec<Value>,
    /// Bytes that went over the wire.
    pub length: usize,
}

/// The head of an answer.
struct Head {
    status: u16,
    session: Option<String>,
    events: bool,
    chunked: bool,
    content_length: Option<usize>,
    length: usize,
}

/// One connection to a server on this machine.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects.
    pub fn open(port: u16) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|e| format!("cannot connect: {e}"))?;
        let ready = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        ready.map_err(|e| format!("cannot connect: {e}"))?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream) })
    }

    /// Sends a request and reads the whole answer.
    pub fn exchange(&mut self, request: &[u8]) -> Result<Response, String> {
        self.send(request)?;
        let head = self.head()?;
        let (body, raw) = self.body(&head)?;
        if head.status >= 300 {
            let said: String = String::from_utf8_lossy(&body).chars().take(160).collect();
            return Err(format!("answered with {}: {said}", head.status));
        }
        let messages = messages(&body, head.events)?;
        Ok(Response { status: head.status, session: head.session, messages, length: head.length + raw })
    }

    /// Sends a request that is answered with a stream, and reads until the stream says something; only its
    /// head if `silent`.
    pub fn stream(&mut self, request: &[u8], silent: bool) -> Result<(), String> {
        self.send(request)?;
        let head = self.head()?;
        if head.status != 200 || !head.events {
            let (body, _) = self.body(&head)?;
            let said: String = String::from_utf8_lossy(&body).chars().take(160).collect();
            return Err(format!("no stream but {}: {said}", head.status));
        }
        let mut line = String::new();
        while !silent && !line.starts_with("data:") {
            self.line(&mut line)?;
        }
        Ok(())
    }

    fn send(&mut self, request: &[u8]) -> Result<(), String> {
        self.stream.get_mut().write_all(request).map_err(|e| format!("cannot send: {e}"))
    }

    fn line(&mut self, line: &mut String) -> Result<usize, String> {
        line.clear();
        match self.stream.read_line(line) {
            Ok(0) => Err("the connection was closed".into()),
            Ok(length) => Ok(length),
            Err(error) => Err(format!("cannot read: {error}")),
        }
    }

    fn head(&mut self) -> Result<Head, String> {
        let mut line = String::new();
        let mut length = self.line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut head = Head {
            status: status.ok_or(format!("not HTTP: {line}"))?,
            session: None,
            events: false,
            chunked: false,
            content_length: None,
            length: 0,
        };
        loop {
            length += self.line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => head.session = Some(value.into()),
                "content-type" => head.events = value.starts_with("text/event-stream"),
                "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
                "content-length" => head.content_length = value.parse().ok(),
                _ => {}
            }
        }
        head.length = length;
        Ok(head)
    }

    /// The body, and how many bytes it was on the wire.
    fn body(&mut self, head: &Head) -> Result<(Vec<u8>, usize), String> {
        let mut body = Vec::new();
        if !head.chunked {
            let length = head.content_length.unwrap_or(0);
            self.take(length, &mut body)?;
            return Ok((body, length));
        }
        let (mut raw, mut line) = (0, String::new());
        loop {
            raw += self.line(&mut line)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).map_err(|_| format!("an odd chunk: {line}"))?;
            self.take(size, &mut body)?;
            raw += size + self.line(&mut line)?;
            if size == 0 {
                return Ok((body, raw));
            }
        }
    }

    fn take(&mut self, length: usize, body: &mut Vec<u8>) -> Result<(), String> {
        let start = body.len();
        body.resize(start + length, 0);
        self.stream.read_exact(&mut body[start..]).map_err(|e| format!("cannot read: {e}"))
    }
}

/// The messages in a body: one, or one for each event that has data.
fn messages(body: &[u8], events: bool) -> Result<Vec<Value>, String> {
    let parse = |text: &[u8]| serde_json::from_slice(text).map_err(|e| format!("not JSON: {e}"));
    if !events {
        return if body.is_empty() { Ok(Vec::new()) } else { Ok(vec![parse(body)?]) };
    }
    let data = body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    data.map(<[u8]>::trim_ascii).filter(|data| !data.is_empty()).map(parse).collect()
}

/// Where requests of one caller go, and as whom.
#[derive(Clone)]
pub struct Address {
    pub port: u16,
    pub dialect: Dialect,
    pub session: Option<String>,
}

impl Address {
    /// A whole request for some work.
    pub fn work(&self, work: Work, id: usize) -> Vec<u8> {
        self.post(&self.dialect.request(work, id), Some((work.method(), work.tool())))
    }

    /// A whole POST. `named` is what the modern era mirrors in headers; nothing before a session is open.
    pub fn post(&self, body: &str, named: Option<(&str, Option<&str>)>) -> Vec<u8> {
        let mut head = self.head("POST", "application/json, text/event-stream", named.is_some());
        if let Some((method, tool)) = named.filter(|_| self.dialect.is_modern()) {
            head += &format!("Mcp-Method: {method}\r\n");
            head += &tool.map_or(String::new(), |tool| format!("Mcp-Name: {tool}\r\n"));
        }
        head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body.as_bytes()].concat()
    }

    /// A request for the session's stream.
    pub fn get(&self) -> Vec<u8> {
        (self.head("GET", "text/event-stream", true) + "\r\n").into_bytes()
    }

    fn head(&self, method: &str, accept: &str, versioned: bool) -> String {
        let mut head =
            format!("{method} {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: {accept}\r\n", self.port);
        if versioned {
            head += &format!("MCP-Protocol-Version: {}\r\n", self.dialect.era);
        }
        head += &self.session.as_ref().map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        head
    }
}
