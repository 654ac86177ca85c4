//! A collector of OTLP, on loopback: it keeps what it is sent.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What it was sent, and how it answers.
#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The head of each POST, in lower case.
    heads: Vec<String>,
    spans: Vec<Value>,
    resources: Vec<Value>,
    /// So many POSTs are answered with this first.
    refusals: (usize, u16),
}

impl Collector {
    pub(crate) async fn start() -> Self {
        Self::refusing(0, 200).await
    }

    /// Answers the first POSTs with this status.
    pub(crate) async fn refusing(times: usize, status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Seen { refusals: (times, status), ..Seen::default() }));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept)));
            }
        });
        Self { endpoint, seen }
    }

    pub(crate) fn spans(&self) -> Vec<Value> {
        self.seen.lock().expect("no panic").spans.clone()
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").heads.clone()
    }

    pub(crate) fn resources(&self) -> Vec<Value> {
        self.seen.lock().expect("no panic").resources.clone()
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Seen>>) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|text| text.trim().parse().ok()).expect("a length");
        while buffer.len() < end + length {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let body: Value = serde_json::from_slice(&buffer[end..end + length]).expect("JSON");
        buffer.drain(..end + length);
        let status = keep(&seen, head, &body);
        let answer =
            format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn keep(seen: &Mutex<Seen>, head: String, body: &Value) -> u16 {
    let mut seen = seen.lock().expect("no panic");
    seen.heads.push(head);
    let (left, status) = seen.refusals;
    if left > 0 {
        seen.refusals.0 -= 1;
        return status;
    }
    for resource in body["resourceSpans"].as_array().expect("resources") {
        seen.resources.push(resource["resource"].clone());
        for scope in resource["scopeSpans"].as_array().expect("scopes") {
            seen.spans.extend(scope["spans"].as_array().expect("spans").iter().cloned());
        }
    }
    200
}
