//! A client of HTTP/1.1 that says exactly what it is told to, and shows exactly what comes back.
//!
//! One connection for each request. It follows nothing, retries nothing and keeps nothing.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contexture_core::http::sse;
use contexture_judge::{From, Watch};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Judges everything that the server says to one client.
pub(crate) type Judged = Arc<Mutex<Watch>>;

/// A server that has been silent for so long will never speak: better a failure than a test that hangs.
const FOR_EVER: Duration = Duration::from_secs(20);

fn note(judged: Option<&Judged>, from: From, message: &Value) {
    if let Some(judged) = judged {
        judged.lock().unwrap_or_else(PoisonError::into_inner).message(from, message);
    }
}

/// A request that is being written.
#[derive(Clone)]
pub(crate) struct Ask {
    address: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    judged: Option<Judged>,
}

impl Ask {
    /// A request with nothing but its host.
    pub(crate) fn new(address: SocketAddr, method: &str, target: &str) -> Self {
        let host = ("host".to_owned(), address.to_string());
        let (method, target) = (method.to_owned(), target.to_owned());
        Self { address, method, target, headers: vec![host], body: Vec::new(), judged: None }
    }

    /// Adds a header, even if there is one already.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Has exactly this header.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Has no such header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    /// Goes to another path.
    pub(crate) fn to(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// Carries these bytes.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// What is said and answered is judged.
    pub(crate) fn judged(mut self, judged: &Judged) -> Self {
        self.judged = Some(Arc::clone(judged));
        self
    }

    /// What is said is too much to be judged.
    pub(crate) fn unjudged(mut self) -> Self {
        self.judged = None;
        self
    }

    /// Sends it and waits for the head of the response.
    pub(crate) async fn send(self) -> Reply {
        self.send_before(&[]).await
    }

    /// Sends it, and these bytes right after it.
    pub(crate) async fn send_before(self, more: &[u8]) -> Reply {
        if let Ok(message) = serde_json::from_slice::<Value>(&self.body) {
            note(self.judged.as_ref(), From::Client, &message);
        }
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method != "GET" {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a live socket");
        // A server may refuse before it has read everything, and close: what it said counts.
        let all = [head.as_bytes(), &self.body, more].concat();
        stream.write_all(&all).await.ok();
        let reply = tokio::time::timeout(FOR_EVER, Reply::read(stream, self.judged)).await;
        reply.expect("the server says something")
    }

    /// The status that it is answered with.
    pub(crate) async fn status(self) -> u16 {
        self.send().await.status
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    Ended,
}

/// A response, as far as it has come. Letting go of it closes the connection.
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    stream: TcpStream,
    bytes: Vec<u8>,
    framing: Framing,
    events: sse::Reader,
    judged: Option<Judged>,
}

impl Reply {
    async fn read(stream: TcpStream, judged: Option<Judged>) -> Self {
        let mut reply = Self {
            status: 0,
            headers: Vec::new(),
            stream,
            bytes: Vec::new(),
            framing: Framing::Ended,
            events: sse::Reader::new(64 * 1024 * 1024),
            judged,
        };
        let status = reply.line().await;
        reply.status = status.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        loop {
            let line = reply.line().await;
            let Some((name, value)) = line.split_once(':') else { break };
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        reply.framing = match (reply.header("content-length"), reply.header("transfer-encoding")) {
            (Some(length), _) => Framing::Length(length.parse().expect("a length")),
            (None, Some("chunked")) => Framing::Chunked,
            _ => Framing::Ended,
        };
        reply
    }

    /// A header that is there once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }

    pub(crate) fn is_events(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    pub(crate) fn is_json(&self) -> bool {
        self.header("content-type") == Some("application/json")
    }

    async fn fill(&mut self) {
        let read = self.stream.read_buf(&mut self.bytes).await.expect("the connection holds");
        assert!(read > 0, "the connection was cut in the middle of a response");
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8(self.bytes.drain(..end + 2).collect()).expect("text");
                return line.trim_end().to_owned();
            }
            self.fill().await;
        }
    }

    async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.bytes.len() < count {
            self.fill().await;
        }
        self.bytes.drain(..count).collect()
    }

    /// The next piece of the body; none at its end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Ended => None,
            Framing::Length(length) => {
                self.framing = Framing::Ended;
                Some(self.exactly(length).await)
            }
            Framing::Chunked => {
                let size = self.line().await;
                let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
                let mut chunk = self.exactly(size + 2).await;
                chunk.truncate(size);
                if size == 0 {
                    self.framing = Framing::Ended;
                    return None;
                }
                Some(chunk)
            }
        }
    }

    /// The whole body.
    pub(crate) async fn bytes(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await {
            all.extend(piece);
        }
        all
    }

    /// The whole body, as text.
    pub(crate) async fn text(&mut self) -> String {
        String::from_utf8(self.bytes().await).expect("text")
    }

    /// The whole body, as a message.
    pub(crate) async fn json(&mut self) -> Value {
        assert!(self.is_json(), "{}: {:?}", self.status, self.header("content-type"));
        let message = serde_json::from_slice(&self.bytes().await).expect("JSON");
        note(self.judged.as_ref(), From::Server, &message);
        message
    }

    /// The next event, whatever it says; none at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<sse::Event> {
        assert!(self.is_events(), "{}: {:?}", self.status, self.header("content-type"));
        let event = tokio::time::timeout(FOR_EVER, self.event_in_time()).await;
        event.expect("the server says something")
    }

    async fn event_in_time(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.events.next() {
                let event = event.expect("a short event");
                if event.name == "message" && !event.data.is_empty() {
                    let message = serde_json::from_str(&event.data).expect("JSON");
                    note(self.judged.as_ref(), From::Server, &message);
                }
                return Some(event);
            }
            let piece = self.piece().await?;
            self.events.feed(&piece);
        }
    }

    /// The next event that has something to say, and its message.
    pub(crate) async fn named(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                assert_eq!(event.name, "message");
                return Some((event.id, serde_json::from_str(&event.data).expect("JSON")));
            }
        }
    }

    /// The next message of a stream; none at its end.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        self.named().await.map(|(_, message)| message)
    }

    /// The next message, which must be there.
    pub(crate) async fn next(&mut self) -> Value {
        self.message().await.expect("the stream goes on")
    }

    /// All messages to the end of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.message().await {
            all.push(message);
        }
        all
    }

    /// The answer, in whichever form it came; what was said before it is passed over.
    pub(crate) async fn answer(&mut self) -> Value {
        if self.is_events() {
            return self.rest().await.pop().expect("an answer");
        }
        self.json().await
    }
}
