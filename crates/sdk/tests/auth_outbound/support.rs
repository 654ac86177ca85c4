//! A canary, a server played by hand, and a resolver that says what a test wants.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use contexture::auth::outbound::{Resolver, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Listens on every address of this machine and counts who comes.
pub(crate) struct Canary {
    pub(crate) port: u16,
    seen: mpsc::UnboundedReceiver<SocketAddr>,
}

impl Canary {
    pub(crate) async fn start() -> Self {
        let v4 = TcpListener::bind("0.0.0.0:0").await.expect("a port");
        let port = v4.local_addr().expect("an address").port();
        let (sender, seen) = mpsc::unbounded_channel();
        tokio::spawn(count(v4, sender.clone()));
        // Not every machine has IPv6.
        if let Ok(v6) = TcpListener::bind(("::1", port)).await {
            tokio::spawn(count(v6, sender));
        }
        Self { port, seen }
    }

    /// Nobody has come before the one who comes now. Connections are accepted in order.
    pub(crate) async fn assert_alone(&mut self) {
        for host in ["127.0.0.1", "::1"] {
            let Ok(control) = TcpStream::connect((host, self.port)).await else { continue };
            let own = control.local_addr().expect("an address");
            assert_eq!(self.seen.recv().await, Some(own), "somebody came to the canary");
        }
    }

    /// Somebody has come, or comes now.
    pub(crate) async fn assert_found(&mut self) {
        self.seen.recv().await.expect("a connection");
    }
}

/// Connections are closed at once.
async fn count(listener: TcpListener, seen: mpsc::UnboundedSender<SocketAddr>) {
    while let Ok((_, from)) = listener.accept().await {
        if seen.send(from).is_err() {
            return;
        }
    }
}

/// A private address of this machine, if it has one. No packet is sent.
pub(crate) fn private_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    matches!(address, IpAddr::V4(v4) if v4.is_private()).then_some(address)
}

/// What a server by hand answers.
pub(crate) enum Reply {
    /// This, and the end.
    Whole(String),
    /// This, and then nothing for as long as anybody waits.
    Stalls(String),
    /// This, and then this for as long as anybody reads.
    Endless(String, String),
}

/// An answer with a status, headers and a body.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Whole(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// A document.
pub(crate) fn document(body: &str) -> Reply {
    reply("200 OK", "content-type: application/json\r\n", body)
}

/// A redirect.
pub(crate) fn redirect(status: u16, to: &str) -> Reply {
    reply(&format!("{status} Elsewhere"), &format!("location: {to}\r\n"), "")
}

/// A server by hand.
pub(crate) struct Played {
    pub(crate) origin: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Played {
    /// Answers every request, by its whole text.
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let (answer, log) = (Arc::new(answer), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                tokio::spawn(async move {
                    // Whoever has had enough goes away.
                    let _ = serve(stream, &*answer, &log).await;
                });
            }
        });
        Self { origin, requests }
    }

    /// An address of it.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Every request so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the log").clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: &(dyn Fn(&str) -> Reply + Send + Sync),
    log: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut text = Vec::new();
    while !is_whole(&text) {
        if stream.read_buf(&mut text).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    log.lock().expect("the log").push(text.clone());
    match answer(&text) {
        Reply::Whole(reply) => stream.write_all(reply.as_bytes()).await,
        Reply::Stalls(begin) => {
            stream.write_all(begin.as_bytes()).await?;
            // Until the other side closes.
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        }
        Reply::Endless(begin, more) => {
            stream.write_all(begin.as_bytes()).await?;
            loop {
                stream.write_all(more.as_bytes()).await?;
            }
        }
    }
}

/// Whether a request has come with all of its body.
fn is_whole(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

/// Knows some names; every lookup is counted. A list of several answers is gone through, the last one stays.
#[derive(Clone, Default)]
pub(crate) struct Names {
    known: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    /// A name and what it leads to, the first time, the second time, and so on.
    pub(crate) fn with(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().expect(text)).collect();
        self.known.insert(name.into(), answers.iter().map(parse).collect());
        self
    }

    /// How often a name was looked up.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.asked.lock().expect("the log").iter().filter(|asked| *asked == name).count()
    }
}

impl Resolver for Names {
    fn resolve(&self, name: &str) -> Resolving {
        let before = self.asked(name);
        self.asked.lock().expect("the log").push(name.into());
        let answers = self.known.get(name).cloned().unwrap_or_default();
        let answer = answers.get(before).or(answers.last()).cloned();
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}
