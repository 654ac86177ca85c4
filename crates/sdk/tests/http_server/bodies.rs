//! Bodies in every form in which they may come, one request after the other over one connection: each is read whole,
//! each is answered, and the connection serves on.

use std::time::Duration;

use contexture::{Policy, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::{MODERN, Site, server};

/// A server that has been silent for so long will never speak.
const FOR_EVER: Duration = Duration::from_secs(20);

/// How a body is sent.
#[derive(Debug, Clone, Copy)]
enum Sent {
    /// Together with the head.
    AtOnce,
    /// When the head has long been read.
    Later,
    InPieces,
    /// In pieces whose lengths are said.
    Chunked,
    ChunkedAtOnce,
    /// Only when the server says that it wants it.
    WhenAsked,
}

const ALL: [Sent; 6] =
    [Sent::AtOnce, Sent::Later, Sent::InPieces, Sent::Chunked, Sent::ChunkedAtOnce, Sent::WhenAsked];

/// A server whose patience does not end while these tests wait: a look at the clock would wake a connection that was
/// forgotten, and hide that it was.
fn unhurried() -> Server {
    let mut policy = Policy::default();
    (policy.header_time, policy.body_time) = (10 * FOR_EVER, 10 * FOR_EVER);
    server().0.policy(policy)
}

fn call(id: usize, length: usize) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "x": "x".repeat(length),
    });
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": { "_meta": meta } });
    message.to_string().into_bytes()
}

struct Line {
    stream: TcpStream,
    host: String,
}

impl Line {
    async fn to(site: &Site) -> Self {
        let stream = TcpStream::connect(site.address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a live socket");
        Self { stream, host: site.address.to_string() }
    }

    fn head(&self, framing: &str) -> Vec<u8> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {MODERN}\r\n\
             mcp-method: tools/list\r\n{framing}\r\n\r\n",
            self.host
        );
        head.into_bytes()
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server reads");
        // Time for the server to read this much and no more; it need not take it.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }

    async fn ask(&mut self, body: &[u8], sent: Sent) {
        let length = format!("content-length: {}", body.len());
        let chunks: Vec<_> = body.chunks(body.len().div_ceil(5)).collect();
        let chunked = |chunk: &[u8]| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        match sent {
            Sent::AtOnce => self.write(&[&self.head(&length), body].concat()).await,
            Sent::Later => {
                self.write(&self.head(&length)).await;
                self.write(body).await;
            }
            Sent::InPieces => {
                self.write(&self.head(&length)).await;
                for chunk in chunks {
                    self.write(chunk).await;
                }
            }
            Sent::Chunked => {
                self.write(&self.head("transfer-encoding: chunked")).await;
                for chunk in chunks {
                    self.write(&chunked(chunk)).await;
                }
                self.write(b"0\r\n\r\n").await;
            }
            Sent::ChunkedAtOnce => {
                let mut all = self.head("transfer-encoding: chunked");
                all.extend(chunks.into_iter().flat_map(chunked));
                all.extend(b"0\r\n\r\n");
                self.write(&all).await;
            }
            Sent::WhenAsked => {
                self.write(&self.head(&format!("{length}\r\nexpect: 100-continue"))).await;
                assert_eq!(self.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
                self.write(body).await;
            }
        }
    }

    async fn read_head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = tokio::time::timeout(FOR_EVER, self.stream.read_u8()).await;
            head.push(byte.expect("the server says something").expect("the server answers"));
        }
        String::from_utf8(head).expect("text")
    }

    async fn answer(&mut self) -> Value {
        let head = self.read_head().await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.and_then(|length| length.parse().ok()).expect("a length")];
        self.stream.read_exact(&mut body).await.expect("a whole answer");
        serde_json::from_slice(&body).expect("a message")
    }
}

#[tokio::test]
async fn a_body_is_read_whole_however_it_comes() {
    let site = Site::of(unhurried()).await;
    let mut line = Line::to(&site).await;
    let mut id = 0;
    // The second is longer than what is read at once.
    for length in [0, 300_000] {
        for sent in ALL {
            id += 1;
            line.ask(&call(id, length), sent).await;
            let answer = line.answer().await;
            assert_eq!(answer["id"], id, "{sent:?} {length}: {answer}");
            assert!(answer["result"]["tools"].is_array(), "{sent:?} {length}: {answer}");
        }
    }
}

#[tokio::test]
async fn requests_that_come_together_are_answered_one_by_one() {
    let site = Site::of(unhurried()).await;
    let mut line = Line::to(&site).await;
    let mut all = Vec::new();
    for id in 1..=40 {
        let body = call(id, 0);
        all.extend(line.head(&format!("content-length: {}", body.len())));
        all.extend(body);
    }
    line.write(&all).await;
    for id in 1..=40 {
        assert_eq!(line.answer().await["id"], id);
    }
}
