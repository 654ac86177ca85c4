//! A record over HTTP: requests go to the server as they came, answers to the client as they come.
//!
//! Only what belongs to a single connection is left out: who is called (`Host`), how bytes are packed. Headers of ours, such as
//! a token, are added on the way to the server and kept nowhere.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use contexture::Policy;
use contexture::transport::Side;
use contexture_host::config::TransportSpec;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::door;
use crate::exit::Failure;
use crate::options::Recording;
use crate::place::Place;
use crate::terminal::note;
use crate::transcript::{Kind, Recorder, Refusal};

const ANYWHERE: &str = "127.0.0.1:0";
/// Sessions that are told apart.
const MOST: usize = 10_000;
const SESSION: &str = "mcp-session-id";
/// What is between two neighbours, and for nobody behind them.
const LEFT_OUT: [HeaderName; 5] = [HOST, CONNECTION, TRANSFER_ENCODING, CONTENT_LENGTH, ACCEPT_ENCODING];

pub(super) async fn serve(
    url: &str,
    recording: &Recording,
    place: &Place,
    recorder: &Recorder,
) -> Result<(), Failure> {
    let url: reqwest::Url = url.parse().map_err(|error| Failure::usage(format!("{url}: {error}")))?;
    contexture_host::choose_cryptography();
    let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    if url.scheme() == "http" {
        // No certificate will be looked at, so none need be loaded.
        client = client.tls_certs_only(std::iter::empty());
    }
    let client = client.build().map_err(|error| Failure::usage(error.to_string()))?;
    let (listener, address) = door::bind(recording.listen.as_deref().unwrap_or(ANYWHERE)).await?;
    note(&format!("listening on http://{address}{}", url.path()));
    let proxy = Arc::new(Proxy {
        client,
        url,
        address,
        headers: headers(recording, place)?,
        recorder: recorder.clone(),
        connections: Mutex::default(),
    });
    let router = Router::new().fallback(pass_on).with_state(proxy);
    axum::serve(listener, router).await.map_err(|error| Failure::usage(error.to_string()))
}

/// What the person and the configuration add.
fn headers(recording: &Recording, place: &Place) -> Result<HeaderMap, Failure> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    if let Place::Configured(entry) = place
        && let TransportSpec::Http { headers, .. } = &entry.transport
    {
        pairs.extend(headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
    }
    pairs.extend(recording.target.headers.iter().cloned());
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let unfit = || Failure::usage(format!("the header {name:?} cannot be sent"));
        let key: HeaderName = name.parse().map_err(|_| unfit())?;
        map.insert(key, HeaderValue::from_str(&value).map_err(|_| unfit())?);
    }
    Ok(map)
}

struct Proxy {
    client: reqwest::Client,
    url: reqwest::Url,
    address: SocketAddr,
    headers: HeaderMap,
    recorder: Recorder,
    /// Numbers of connections, by session; those without one share the empty name.
    connections: Mutex<HashMap<String, u32>>,
}

impl Proxy {
    fn connection(&self, session: &str) -> u32 {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let session = if connections.len() < MOST { session } else { "" };
        *connections.entry(session.to_owned()).or_insert_with(|| self.recorder.connection())
    }

    /// The connection that a request belongs to; one that opens a session has a new one.
    fn connection_of(&self, headers: &HeaderMap, asked: &Asked) -> u32 {
        match (asked.opens, session(headers)) {
            (true, None) => self.recorder.connection(),
            (_, session) => self.connection(session.unwrap_or_default()),
        }
    }

    fn named(&self, session: &str, connection: u32) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() < MOST {
            connections.insert(session.to_owned(), connection);
        }
    }
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|id| id.to_str().ok())
}

/// What a request of the client is about.
#[derive(Debug, Clone, Default)]
struct Asked {
    id: Option<Value>,
    opens: bool,
}

impl Asked {
    fn of(body: &Bytes) -> Self {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        match Kind::of(&message) {
            Kind::Request { id, method } => Self { id: Some(id), opens: method == "initialize" },
            _ => Self::default(),
        }
    }
}

async fn pass_on(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if let Err(refused) = door::guard(&head.headers, proxy.address) {
        return *refused;
    }
    let Ok(body) = axum::body::to_bytes(body, Policy::default().line_bytes).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = Asked::of(&body);
    let connection = proxy.connection_of(&head.headers, &asked);
    if !body.is_empty() {
        let pairs = head.headers.iter().filter(|(name, _)| name.as_str().starts_with("mcp-param-"));
        let pairs: Vec<(String, String)> = pairs
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect();
        proxy.recorder.message(connection, (Side::Client, &body), None, &pairs);
    }
    let mut url = proxy.url.clone();
    url.set_path(head.uri.path());
    if let Some(query) = head.uri.query() {
        url.set_query(Some(query));
    }
    let mut headers = without_hops(&head.headers);
    headers.extend(proxy.headers.clone().into_iter().filter_map(|(name, value)| Some((name?, value))));
    match proxy.client.request(head.method, url).headers(headers).body(body).send().await {
        Ok(answer) => answered(&proxy, connection, asked, answer).await,
        Err(error) => {
            let why = format!("the server cannot be reached: {}", error.without_url());
            if let Some(of) = asked.id {
                proxy
                    .recorder
                    .failed(connection, Refusal { of, status: None, error: None, why: why.clone() });
            }
            (StatusCode::BAD_GATEWAY, why).into_response()
        }
    }
}

fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in LEFT_OUT {
        headers.remove(name);
    }
    headers
}

async fn answered(proxy: &Arc<Proxy>, connection: u32, asked: Asked, answer: reqwest::Response) -> Response {
    let (status, headers) = (answer.status(), without_hops(answer.headers()));
    if let Some(session) = session(&headers).filter(|_| asked.opens) {
        proxy.named(session, connection);
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    let mut response = if kind.starts_with("text/event-stream") && status.is_success() {
        let mut ear = Events { proxy: Arc::clone(proxy), connection, asked, kept: Vec::new() };
        let bytes = answer.bytes_stream().map(move |chunk| {
            if let Ok(chunk) = &chunk {
                ear.hear(chunk);
            }
            chunk
        });
        Body::from_stream(bytes).into_response()
    } else {
        let body = match whole(answer).await {
            Ok(body) => body,
            Err(why) => return (StatusCode::BAD_GATEWAY, why).into_response(),
        };
        keep(proxy, connection, &asked, status, &body);
        body.into_response()
    };
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// All of an answer, if it is no larger than a message may be.
async fn whole(mut answer: reqwest::Response) -> Result<Bytes, String> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
        body.extend_from_slice(&chunk);
        if body.len() > Policy::default().line_bytes {
            return Err("the answer of the server is too large".to_owned());
        }
    }
    Ok(body.into())
}

/// An answer that came whole.
fn keep(proxy: &Proxy, connection: u32, asked: &Asked, status: StatusCode, body: &Bytes) {
    if status.is_success() {
        if !body.is_empty() && asked.id.is_some() {
            proxy.recorder.message(connection, (Side::Server, body), None, &[]);
        }
        return;
    }
    let Some(of) = asked.id.clone() else { return };
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = message.get("error").filter(|error| error.get("code").is_some()).cloned();
    let why = format!("the server answered with status {}", status.as_u16());
    proxy.recorder.failed(connection, Refusal { of, status: Some(status.as_u16()), error, why });
}

/// Listens to a stream of events as it passes.
struct Events {
    proxy: Arc<Proxy>,
    connection: u32,
    asked: Asked,
    kept: Vec<u8>,
}

impl Events {
    fn hear(&mut self, chunk: &[u8]) {
        self.kept.extend_from_slice(chunk);
        if self.kept.len() > Policy::default().line_bytes {
            self.kept.clear();
        }
        while let Some((end, next)) = end_of_event(&self.kept) {
            let event: Vec<u8> = self.kept.drain(..next).take(end).collect();
            self.event(&String::from_utf8_lossy(&event));
        }
    }

    fn event(&self, event: &str) {
        let field = |name: &'static str| {
            event.lines().filter_map(move |line| {
                let value = line.strip_prefix(name)?.strip_prefix(':')?;
                Some(value.strip_prefix(' ').unwrap_or(value))
            })
        };
        let data = field("data").collect::<Vec<_>>().join("\n");
        if data.is_empty() || field("event").next_back().is_some_and(|name| name != "message") {
            return;
        }
        let message: Value = serde_json::from_str(&data).unwrap_or_default();
        let is_answer =
            matches!(Kind::of(&message), Kind::Answer { id } if Some(&id) == self.asked.id.as_ref());
        let of = if is_answer { None } else { self.asked.id.clone() };
        self.proxy.recorder.message(self.connection, (Side::Server, data.as_bytes()), of, &[]);
    }
}

/// Where the first event ends, and where the next begins.
fn end_of_event(bytes: &[u8]) -> Option<(usize, usize)> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
    let found = ends.iter().filter_map(|end| {
        let at = bytes.windows(end.len()).position(|window| window == *end)?;
        Some((at, at + end.len()))
    });
    found.min()
}
