//! A server behind the gateway at an address: it notes every request and answers as a test wants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) method: String,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// What it does about a request.
pub(crate) enum Does {
    /// Answers with this result.
    Result(Value),
    /// Answers with this status and body.
    Status(u16, String),
    /// Hangs up without a word.
    HangsUp,
}

type Manners = Arc<dyn Fn(&Heard, usize) -> Option<Does> + Send + Sync>;

/// A legacy server of 2025-11-25, with sessions.
#[derive(Clone)]
pub(crate) struct Website {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Website {
    /// `manners` may take a request over; it is told how many came before of the same JSON-RPC method.
    pub(crate) async fn start(
        manners: impl Fn(&Heard, usize) -> Option<Does> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let site = Self { url, heard: Arc::default() };
        let (heard, manners) = (Arc::clone(&site.heard), Arc::new(manners) as Manners);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&heard), Arc::clone(&manners)));
            }
        });
        site
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.heard().iter().filter(|heard| heard.body["method"] == method).count()
    }
}

async fn serve(stream: TcpStream, all: Arc<Mutex<Vec<Heard>>>, manners: Manners) {
    let mut stream = BufReader::new(stream);
    while let Some(heard) = request(&mut stream).await {
        let before = {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let before = all.iter().filter(|it| it.body["method"] == heard.body["method"]).count();
            all.push(heard.clone());
            before
        };
        let does = manners(&heard, before).unwrap_or_else(|| as_usual(&heard));
        let answer = match does {
            Does::HangsUp => return,
            Does::Status(status, body) => whole(status, "text/plain", &body),
            Does::Result(result) => {
                let body = json!({ "jsonrpc": "2.0", "id": heard.body["id"], "result": result });
                whole(200, "application/json\r\nMcp-Session-Id: the-session", &body.to_string())
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn whole(status: u16, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<Heard> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let method = line.split(' ').next()?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Heard { method, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

fn as_usual(heard: &Heard) -> Does {
    if heard.method != "POST" {
        return Does::Status(405, String::new());
    }
    let result = match heard.body["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "website", "version": "0" },
        }),
        Some("tools/list") => {
            json!({ "tools": [{ "name": "pay", "inputSchema": { "type": "object" } }, { "name": "look", "inputSchema": { "type": "object" } }] })
        }
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": "paid" }] }),
        Some("ping") => json!({}),
        _ if heard.body["id"].is_null() => return Does::Status(202, String::new()),
        _ => return Does::Status(400, String::new()),
    };
    Does::Result(result)
}
