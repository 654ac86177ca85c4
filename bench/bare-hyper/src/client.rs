//! The limit of a client over HTTP: hyper's HTTP/1.1 connections on one thread, as many as there are calls in flight,
//! with canned requests whose headers are ours. It has no pool, follows nothing and reads no stream.

use crate::whole;
use bytes::Bytes;
use canned::{Calls, Load, Outcome, clock};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri, body::Incoming};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Connects, makes the calls, and leaves without a word: the bare server keeps nothing.
pub fn run(runtime: &Runtime, load: Load) -> Outcome {
    let Load { calls, target, count, window } = load;
    let (host, path) = endpoint(&target).ok_or("not an endpoint on this machine")?;
    let path = Uri::try_from(path)?;
    let shared = runtime.block_on(hello(calls, host, &path))?;
    let mut lines = runtime.block_on(async {
        let mut lines = Vec::with_capacity(window);
        while lines.len() < window {
            lines.push(Line { sender: connect(host).await?, path: path.clone() });
        }
        Outcome::Ok(lines)
    })?;
    let shared = Arc::new(shared);
    clock::run(count, |count| runtime.block_on(make(&mut lines, &shared, count)))
}

/// Host and path of `http://HOST/PATH`.
fn endpoint(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    Some(rest.split_at(rest.find('/')?))
}

/// What all connections have in common.
struct Shared {
    calls: Calls,
    headers: HeaderMap,
    /// The id of the last request.
    last: AtomicUsize,
}

/// One connection.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    path: Uri,
}

async fn connect(host: &str) -> Outcome<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // What goes wrong with it is said to the sender as well.
    tokio::spawn(connection);
    Ok(sender)
}

/// The handshake, and the headers of all calls after it.
async fn hello(calls: Calls, host: &str, path: &Uri) -> Outcome<Shared> {
    let mut line = Line { sender: connect(host).await?, path: path.clone() };
    let mut headers = HeaderMap::new();
    if calls.are_modern() {
        headers.insert("mcp-method", HeaderValue::from_static("server/discover"));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    if calls.are_modern() {
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
    }
    // As long as ours.
    headers.insert(USER_AGENT, HeaderValue::from_static("bare-hyper/0.1.0"));
    headers.insert(HOST, HeaderValue::from_str(host)?);
    let answer = line.post(headers.clone(), Bytes::from_static(calls.hello().as_bytes())).await?;
    let session = answer.headers().get("mcp-session-id").cloned();
    calls.check_hello(&whole(answer.into_body()).await)?;
    if calls.are_modern() {
        headers.insert("mcp-method", HeaderValue::from_static("tools/call"));
        headers.insert("mcp-name", HeaderValue::from_static("echo"));
    } else {
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-06-18"));
        headers.extend(session.map(|id| (hyper::header::HeaderName::from_static("mcp-session-id"), id)));
    }
    if let Some(opening) = calls.opening() {
        let answer = line.post(headers.clone(), Bytes::from_static(opening.as_bytes())).await?;
        if answer.status() != StatusCode::ACCEPTED {
            return Err(format!("`initialized` was answered with {}", answer.status()).into());
        }
    }
    Ok(Shared { calls, headers, last: AtomicUsize::new(1) })
}

/// All lines at once, each with one call in flight, until all calls are made.
async fn make(lines: &mut Vec<Line>, shared: &Arc<Shared>, count: usize) -> Outcome<Vec<Duration>> {
    let end = shared.last.load(Ordering::Relaxed) + count;
    let mut callers = JoinSet::new();
    for line in lines.drain(..) {
        callers.spawn(line.make(Arc::clone(shared), end));
    }
    let mut waits = Vec::with_capacity(count);
    while let Some(caller) = callers.join_next().await {
        let (line, mut part) = caller??;
        lines.push(line);
        waits.append(&mut part);
    }
    // Each line took an id that it did not use.
    shared.last.store(end, Ordering::Relaxed);
    Ok(waits)
}

impl Line {
    /// The next call as soon as the last is answered, while ids are left.
    async fn make(mut self, shared: Arc<Shared>, end: usize) -> Outcome<(Self, Vec<Duration>)> {
        let mut waits = Vec::new();
        loop {
            let id = shared.last.fetch_add(1, Ordering::Relaxed) + 1;
            if id > end {
                return Ok((self, waits));
            }
            let start = Instant::now();
            let mut body = Vec::with_capacity(512);
            shared.calls.call(id, &mut body);
            let answer = self.post(shared.headers.clone(), body.into()).await?;
            let answer = whole(answer.into_body()).await;
            waits.push(start.elapsed());
            shared.calls.check(id, &answer)?;
        }
    }

    async fn post(&mut self, headers: HeaderMap, body: Bytes) -> Outcome<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = headers;
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}
