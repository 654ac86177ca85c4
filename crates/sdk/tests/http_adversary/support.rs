//! A server that does as a test says, byte for byte, and remembers what it was sent.
//!
//! It reads HTTP/1.1 as our client writes it and nothing else. What it writes is the test's business.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::{Client, Policy};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A net, not a measure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const SESSION: &str = "session-7f3a";
/// What the client was told to keep to itself.
pub(crate) const SECRET: &str = "secret-51c9";

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) verb: String,
    pub(crate) path: String,
    /// The head as it was written.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Heard {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// What is done about a request.
pub(crate) enum Act {
    /// Writes these pieces, one by one, and hangs up.
    Say(Vec<Vec<u8>>),
    /// Writes this, and then goes on with the next request.
    Answer(Vec<u8>),
    /// Writes this, then says nothing more until the client hangs up.
    Stall(Vec<u8>),
    /// Writes the first, then the second again and again until the client hangs up.
    Flood(Vec<u8>, Vec<u8>),
    /// Writes the first, then the second at this interval until the client hangs up.
    Trickle(Vec<u8>, Vec<u8>, Duration),
}

/// The head of an answer that is closed at its end.
pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// A whole answer, after which the connection goes on.
pub(crate) fn whole(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Act {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    Act::Answer([text.as_bytes(), body].concat())
}

pub(crate) fn json_answer(value: &Value) -> Act {
    whole(200, &[("content-type", "application/json")], value.to_string().as_bytes())
}

/// The result of a call of a tool.
pub(crate) fn said(id: &Value, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": content, "resultType": "complete"}})
}

/// An answer that is a stream with these bytes, and ends.
pub(crate) fn stream(bytes: impl AsRef<[u8]>) -> Act {
    Act::Say(vec![head(200, &[("content-type", "text/event-stream")]), bytes.as_ref().to_vec()])
}

/// A message as an event.
pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// What a well-behaved server of this revision does about everything that is not a call.
pub(crate) fn manners(revision: &str, heard: &Heard) -> Act {
    let id = &heard.body["id"];
    let tools = json!({"tools": {"listChanged": true}});
    match (heard.verb.as_str(), heard.method()) {
        ("POST", "server/discover") if revision == MODERN => {
            json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": {
            "supportedVersions": [MODERN], "capabilities": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "rude", "version": "0"}}}}))
        }
        ("POST", "initialize") if revision != MODERN => {
            let result = json!({"protocolVersion": revision, "capabilities": tools, "serverInfo": {"name": "rude", "version": "0"}});
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            whole(200, &[("content-type", "application/json"), ("mcp-session-id", SESSION)], body.as_bytes())
        }
        ("POST", "tools/list") => json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": {
            "tools": [], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}})),
        ("POST", "tools/call") => json_answer(&said(id, "fine")),
        ("POST", _) if id.is_null() || heard.method().is_empty() => whole(202, &[], b""),
        ("POST", _) => whole(400, &[], b""),
        ("DELETE", _) => whole(200, &[], b""),
        _ => whole(405, &[("allow", "POST")], b""),
    }
}

type Script = dyn Fn(&Heard) -> Option<Act> + Send + Sync;

/// A server on a port of its own.
#[derive(Clone)]
pub(crate) struct Rude {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
    connections: Arc<AtomicUsize>,
    /// Bytes of floods that were taken.
    pub(crate) flooded: Arc<AtomicUsize>,
}

impl Rude {
    /// Does as the script says, and has manners where it says nothing.
    pub(crate) async fn start(
        revision: &'static str,
        script: impl Fn(&Heard) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let rude = Self { port, heard: Arc::default(), connections: Arc::default(), flooded: Arc::default() };
        let (server, script) = (rude.clone(), Arc::<Script>::from(Box::new(script) as Box<Script>));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                server.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(server.clone().serve(stream, revision, Arc::clone(&script)));
            }
        });
        rude
    }

    /// Nobody should ever come here.
    pub(crate) async fn canary() -> Self {
        Self::start(MODERN, |_| None).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Whether anybody connected at all.
    pub(crate) fn untouched(&self) -> bool {
        self.connections.load(Ordering::SeqCst) == 0
    }

    /// Everything that came.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("nobody panicked").clone()
    }

    /// How often this verb and method came.
    pub(crate) fn count(&self, verb: &str, method: &str) -> usize {
        self.heard().iter().filter(|heard| heard.verb == verb && heard.method() == method).count()
    }

    async fn serve(self, mut stream: TcpStream, revision: &str, script: Arc<Script>) {
        let _ = stream.set_nodelay(true);
        let mut rest = Vec::new();
        while let Some(heard) = read(&mut stream, &mut rest).await {
            self.heard.lock().expect("nobody panicked").push(heard.clone());
            let act = script(&heard).unwrap_or_else(|| manners(revision, &heard));
            match act {
                Act::Answer(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Say(pieces) => return say(&mut stream, &pieces).await,
                Act::Stall(bytes) => {
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.read(&mut [0]).await;
                    return;
                }
                Act::Flood(first, again) => {
                    let _ = stream.write_all(&first).await;
                    while stream.write_all(&again).await.is_ok() {
                        self.flooded.fetch_add(again.len(), Ordering::SeqCst);
                    }
                    return;
                }
                Act::Trickle(first, again, every) => {
                    let _ = stream.write_all(&first).await;
                    while stream.write_all(&again).await.is_ok() {
                        tokio::time::sleep(every).await;
                    }
                    return;
                }
            }
        }
    }
}

/// Each piece in a segment of its own, as far as that can be had.
async fn say(stream: &mut TcpStream, pieces: &[Vec<u8>]) {
    for piece in pieces {
        if stream.write_all(piece).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<Heard> {
    let end = loop {
        if let Some(at) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        more(stream, rest).await?;
    };
    let head = String::from_utf8_lossy(&rest[..end]).into_owned();
    rest.drain(..end + 4);
    let mut words = head.lines().next()?.split(' ');
    let (verb, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut heard = Heard { verb, path, head, body: Value::Null };
    let length: usize =
        heard.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    while rest.len() < length {
        more(stream, rest).await?;
    }
    heard.body = serde_json::from_slice(&rest[..length]).unwrap_or_default();
    rest.drain(..length);
    Some(heard)
}

async fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 16 << 10];
    match stream.read(&mut buffer).await {
        Ok(0) | Err(_) => None,
        Ok(read) => {
            bytes.extend_from_slice(&buffer[..read]);
            Some(())
        }
    }
}

/// The beginnings of a client that speaks this revision, has a secret, and little patience.
pub(crate) fn setup(revision: &str) -> Builder {
    let mut policy = Policy::default();
    policy.line_bytes = 1 << 20;
    policy.connect_time = Duration::from_secs(5);
    policy.patience.idle = Duration::from_secs(10);
    policy.patience.total = Duration::from_secs(20);
    let revision = Revision::parse(revision).expect("a revision");
    Client::builder().revisions(&[revision]).policy(policy).header("x-api-key", SECRET)
}

/// A client that is connected to such a server.
pub(crate) async fn client(revision: &str, rude: &Rude) -> Client {
    within(setup(revision).connect(rude.url())).await.unwrap_or_else(|error| panic!("{revision}: {error}"))
}

/// A net: nothing takes this long.
pub(crate) async fn within<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future.into_future()).await.expect("it settles")
}

/// Calls of tools go wrong as told; everything else goes well.
pub(crate) async fn calls(
    revision: &'static str,
    act: impl Fn(&Heard) -> Act + Send + Sync + 'static,
) -> (Rude, Client) {
    let rude = Rude::start(revision, move |heard| (heard.method() == "tools/call").then(|| act(heard))).await;
    let client = client(revision, &rude).await;
    (rude, client)
}
