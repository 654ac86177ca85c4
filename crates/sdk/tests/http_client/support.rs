//! A server of HTTP played by hand: every request is recorded, and answered by the test.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::Client;
use contexture::client::Builder;
use contexture::revision::Revision;
use contexture_judge::{From, Watch};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The revisions that open with `initialize`.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";
/// The session that a fixture of the legacy era opens.
pub(crate) const SESSION: &str = "session-1";
/// Nothing in these tests takes that long, unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

type Log = Arc<Mutex<Vec<(From, Value)>>>;

/// A server by hand.
pub(crate) struct Fixture {
    pub(crate) origin: String,
    incoming: mpsc::UnboundedReceiver<Seen>,
    kept: VecDeque<Seen>,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
    log: Log,
}

/// One request of HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    /// The value of a header, if it came once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} came twice");
        first
    }

    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// A request that waits for its answer.
pub(crate) struct Seen {
    pub(crate) request: Request,
    stream: TcpStream,
    rest: Vec<u8>,
    back: Back,
}

#[derive(Clone)]
struct Back {
    seen: mpsc::UnboundedSender<Seen>,
    requests: Arc<Mutex<Vec<Request>>>,
    log: Log,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (seen, incoming) = mpsc::unbounded_channel();
        let (requests, log) = (Arc::default(), Log::default());
        let back = Back { seen, requests: Arc::clone(&requests), log: Arc::clone(&log) };
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(read(stream, Vec::new(), back.clone()));
            }
        });
        Self { origin, incoming, kept: VecDeque::new(), requests, connections, log }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// Everything that came so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("a lock").clone()
    }

    /// The methods of everything that was POSTed so far.
    pub(crate) fn methods(&self) -> Vec<String> {
        let posts = self.requests().into_iter().filter(|request| request.verb == "POST");
        posts.map(|request| request.method().to_owned()).collect()
    }

    /// How many connections were opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many requests with this verb came so far.
    pub(crate) fn count(&self, verb: &str) -> usize {
        self.requests().iter().filter(|request| request.verb == verb).count()
    }

    /// The next request that fits; others are kept.
    async fn wait(&mut self, what: &str, fits: impl Fn(&Request) -> bool) -> Seen {
        if let Some(at) = self.kept.iter().position(|seen| fits(&seen.request)) {
            return self.kept.remove(at).expect("found");
        }
        loop {
            let seen = tokio::time::timeout(PATIENCE, self.incoming.recv()).await;
            let seen = seen.unwrap_or_else(|_| panic!("no {what}: {:?}", self.requests())).expect("open");
            if fits(&seen.request) {
                return seen;
            }
            self.kept.push_back(seen);
        }
    }

    /// The next POST of this method.
    pub(crate) async fn post(&mut self, method: &str) -> Seen {
        self.wait(method, |request| request.verb == "POST" && request.method() == method).await
    }

    /// The next POST of a response.
    pub(crate) async fn response(&mut self) -> Seen {
        self.wait("response", |request| request.verb == "POST" && request.body["method"].is_null()).await
    }

    /// The next request with this verb.
    pub(crate) async fn verb(&mut self, verb: &str) -> Seen {
        self.wait(verb, |request| request.verb == verb).await
    }

    /// Lets whatever is on its way arrive: strangers come and go meanwhile.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..5 {
            let mut stranger =
                TcpStream::connect(self.origin.trim_start_matches("http://")).await.expect("open");
            stranger.write_all(b"HEAD / HTTP/1.1\r\n\r\n").await.expect("written");
            self.verb("HEAD").await.refuse(404, "").await;
            let mut answer = [0; 12];
            stranger.read_exact(&mut answer).await.expect("an answer");
        }
        self.requests.lock().expect("a lock").retain(|request| request.verb != "HEAD");
    }

    /// Plays the server's part of the handshake; without a stream of its own in the legacy era.
    pub(crate) async fn shake_hands(&mut self, revision: &str) {
        if revision == MODERN {
            return self.post("server/discover").await.result(discovery()).await;
        }
        self.post("initialize").await.opens(SESSION, handshake(revision)).await;
        self.post("notifications/initialized").await.accept().await;
        self.verb("GET").await.refuse(405, "").await;
    }

    /// Leaves whatever comes from here on to its fate, but lets a client say good-bye.
    pub(crate) async fn close(mut self, client: &Client) {
        let farewell = async {
            loop {
                self.verb("DELETE").await.refuse(200, "").await;
            }
        };
        tokio::select! { () = client.close() => {}, () = farewell => {} }
    }
}

/// Judges everything that the client has said.
impl Drop for Fixture {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let mut watch = Watch::new(From::Client);
        for (from, message) in self.log.lock().expect("a lock").iter() {
            watch.message(*from, message);
        }
    }
}

/// A client that speaks this revision, and its server.
pub(crate) async fn pair(builder: Builder, revision: &str) -> (Client, Fixture) {
    let mut fixture = Fixture::start().await;
    let date = Revision::parse(revision).expect("a revision");
    let connecting = builder.revisions(&[date]).connect(fixture.url());
    let (client, ()) = tokio::join!(connecting, fixture.shake_hands(revision));
    (client.expect("connected"), fixture)
}

async fn read(mut stream: TcpStream, mut bytes: Vec<u8>, back: Back) {
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).expect("ASCII");
    let mut lines = text.split("\r\n");
    let mut first = lines.next().expect("a request").split(' ');
    let (verb, path) = (first.next().expect("a verb").to_owned(), first.next().expect("a path").to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim_matches(' ').to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut rest = bytes.split_off(head + 4);
    while rest.len() < length {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => rest.extend_from_slice(&chunk[..read]),
        }
    }
    let after = rest.split_off(length);
    let body = if rest.is_empty() { Value::Null } else { serde_json::from_slice(&rest).expect("JSON") };
    let request = Request { verb, path, headers, body };
    if !request.body.is_null() {
        back.log.lock().expect("a lock").push((From::Client, request.body.clone()));
    }
    back.requests.lock().expect("a lock").push(request.clone());
    let _ = back.seen.clone().send(Seen { request, stream, rest: after, back });
}

impl Seen {
    /// Says something by hand and leaves the connection open.
    async fn write(&mut self, text: &str) {
        // The client may be gone already.
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    /// An answer in full. The connection serves on.
    pub(crate) async fn answer(mut self, status: u16, headers: &[(&str, &str)], body: &str) {
        self.write_whole(status, headers, body).await;
        tokio::spawn(read(self.stream, self.rest, self.back));
    }

    /// A result in full, after which the connection ends without a word.
    pub(crate) async fn last_result(mut self, result: Value) {
        self.whole_result(result).await;
    }

    /// A result in full. Nobody reads what comes next.
    pub(crate) async fn whole_result(&mut self, result: Value) {
        let response = self.response_with(result);
        self.back.log.lock().expect("a lock").push((From::Server, response.clone()));
        self.write_whole(200, &[("content-type", "application/json")], &response.to_string()).await;
    }

    async fn write_whole(&mut self, status: u16, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("HTTP/1.1 {status} So\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        self.write(&format!("{text}\r\n{body}")).await;
    }

    pub(crate) async fn json(self, body: &Value) {
        self.back.log.lock().expect("a lock").push((From::Server, body.clone()));
        self.answer(200, &[("content-type", "application/json")], &body.to_string()).await;
    }

    /// Answers with a result, in the words of the revision that the request speaks.
    pub(crate) async fn result(self, result: Value) {
        let response = self.response_with(result);
        self.json(&response).await;
    }

    /// A result as a message.
    pub(crate) fn response_with(&self, mut result: Value) -> Value {
        if self.request.header("mcp-protocol-version") == Some(MODERN) {
            result["resultType"] = json!("complete");
        }
        json!({ "jsonrpc": "2.0", "id": self.request.body["id"], "result": result })
    }

    /// Answers `initialize`, with a session.
    pub(crate) async fn opens(self, session: &str, result: Value) {
        let response = self.response_with(result);
        self.back.log.lock().expect("a lock").push((From::Server, response.clone()));
        let headers = [("content-type", "application/json"), ("mcp-session-id", session)];
        self.answer(200, &headers, &response.to_string()).await;
    }

    /// Answers with an error of the protocol.
    pub(crate) async fn error(self, status: u16, code: i64, data: Value) {
        let error = json!({ "code": code, "message": "no", "data": data });
        let body = json!({ "jsonrpc": "2.0", "id": self.request.body["id"], "error": error });
        self.answer(status, &[("content-type", "application/json")], &body.to_string()).await;
    }

    pub(crate) async fn accept(self) {
        self.answer(202, &[], "").await;
    }

    pub(crate) async fn refuse(self, status: u16, body: &str) {
        self.answer(status, &[("content-type", "text/plain")], body).await;
    }

    /// Answers with a stream of events.
    pub(crate) async fn stream(self) -> Sse {
        self.stream_of("text/event-stream; charset=utf-8").await
    }

    /// Answers with something that has no length.
    pub(crate) async fn stream_of(mut self, kind: &str) -> Sse {
        let head = "HTTP/1.1 200 So\r\ntransfer-encoding: chunked\r\ncontent-type";
        self.write(&format!("{head}: {kind}\r\n\r\n")).await;
        Sse(self)
    }

    /// Goes away without an answer.
    pub(crate) fn cut(self) {}

    /// Waits until the client has gone away.
    pub(crate) async fn gone(&mut self) {
        let mut buffer = [0; 64];
        let ended = async { while matches!(self.stream.read(&mut buffer).await, Ok(1..)) {} };
        tokio::time::timeout(PATIENCE, ended).await.expect("the client goes away");
    }
}

/// A stream of events.
pub(crate) struct Sse(pub(crate) Seen);

impl Sse {
    /// Bytes of the stream.
    pub(crate) async fn raw(&mut self, text: &str) {
        self.0.write(&format!("{:x}\r\n{text}\r\n", text.len())).await;
    }

    /// Bytes of the stream, unless the client is gone.
    pub(crate) async fn try_raw(&mut self, text: &str) -> bool {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.0.stream.write_all(chunk.as_bytes()).await.is_ok()
    }

    /// A message, with an id if there is one.
    pub(crate) async fn event(&mut self, id: Option<&str>, message: &Value) {
        self.0.back.log.lock().expect("a lock").push((From::Server, message.clone()));
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        self.raw(&format!("{id}data: {message}\n\n")).await;
    }

    /// Ends the stream in good order. The connection serves on.
    pub(crate) async fn end(mut self) {
        self.0.write("0\r\n\r\n").await;
        tokio::spawn(read(self.0.stream, self.0.rest, self.0.back));
    }
}

/// The capabilities of a fixture.
fn everything() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// The result of `server/discover`.
pub(crate) fn discovery() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": everything(),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "played", "version": "1" } },
    })
}

/// The result of `initialize`.
pub(crate) fn handshake(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": everything(),
        "serverInfo": { "name": "played", "version": "1" },
    })
}

/// The result of a tool.
pub(crate) fn said(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
