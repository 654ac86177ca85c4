//! A server on this machine that answers as it is told and remembers what it was sent.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// What it does with every request.
#[derive(Debug, Clone)]
pub(crate) enum Script {
    /// Answers so.
    Says(u16, String),
    /// Sends them elsewhere.
    Redirects(String),
    /// Says nothing and stays.
    Sleeps,
    /// Begins an answer that has no end.
    Floods,
    /// Breaks off in the middle.
    Breaks,
}

pub(crate) struct Scripted {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Scripted {
    pub(crate) async fn new(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let ears = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), Arc::clone(&ears)));
            }
        });
        Self { url, heard, task }
    }

    /// Answers with this document.
    pub(crate) async fn saying(answer: Value) -> Self {
        Self::new(Script::Says(200, answer.to_string())).await
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("nobody panicked").clone()
    }

    pub(crate) fn only(&self) -> Heard {
        let heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard[0].clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Script, heard: Arc<Mutex<Vec<Heard>>>) {
    let Some(request) = read(&mut stream).await else { return };
    heard.lock().expect("nobody panicked").push(request);
    let _ = match script {
        Script::Says(status, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).await
        }
        Script::Redirects(to) => {
            let head =
                format!("HTTP/1.1 307 X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Script::Sleeps => std::future::pending().await,
        Script::Floods => flood(&mut stream).await,
        Script::Breaks => stream.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\n{").await,
    };
}

async fn flood(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 X\r\nconnection: close\r\n\r\n").await?;
    loop {
        stream.write_all(&[b' '; 64 * 1024]).await?;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Heard> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let mut lines = head.lines();
            let line = lines.next()?.to_owned();
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok()?;
                return Some(Heard { line, headers, body });
            }
        }
        let mut part = [0; 8192];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
    }
}
