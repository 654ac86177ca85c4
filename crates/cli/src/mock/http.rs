//! A transcript as a server over HTTP: Streamable HTTP of every revision, at /mcp.
//!
//! Each session of an older client plays from the beginning; requests without a session share one player.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use contexture::Policy;
use serde_json::Value;
use tokio::sync::mpsc;

use super::book::Book;
use super::player::{Player, Said};
use crate::door;
use crate::exit::Failure;
use crate::terminal::note;
use crate::transcript::Kind;

const PATH: &str = "/mcp";
const SESSION: &str = "mcp-session-id";
/// Sessions at once; the oldest go first.
const SESSIONS: usize = 64;
/// What waits for a stream that nobody has opened.
const KEPT: usize = 1024;

/// Serves until the future is dropped.
pub(crate) async fn listen(book: Arc<Book>, address: &str) -> Result<(), Failure> {
    let (listener, address) = door::bind(address).await?;
    note(&format!("listening on http://{address}{PATH}"));
    let stage = Arc::new(Stage { book, address, sessions: Mutex::default() });
    let router = Router::new().fallback(answer).with_state(stage);
    axum::serve(listener, router).await.map_err(|error| Failure::usage(error.to_string()))
}

struct Stage {
    book: Arc<Book>,
    address: SocketAddr,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    begun: usize,
    /// By their ids; the empty one is for those without.
    open: HashMap<String, Session>,
    order: VecDeque<String>,
}

struct Session {
    player: Player,
    /// Answers in the making, by the ids of their requests.
    streams: HashMap<String, mpsc::UnboundedSender<String>>,
    /// The stream for what is said unasked.
    unasked: Option<mpsc::UnboundedSender<String>>,
    kept: VecDeque<String>,
}

impl Session {
    fn new(book: &Arc<Book>) -> Self {
        let mut player = Player::new(Arc::clone(book));
        let kept = player.begin().into_iter().map(|said| said.text).collect();
        Self { player, streams: HashMap::new(), unasked: None, kept }
    }

    fn deliver(&mut self, said: Said) {
        let stream = said.of.as_ref().map(Value::to_string);
        if let Some(stream) = stream.as_ref().and_then(|id| self.streams.get(id)) {
            let gone = stream.send(said.text.clone()).is_err();
            if said.is_answer || gone {
                self.streams.remove(&said.of.unwrap_or_default().to_string());
            }
            return;
        }
        if self.unasked.as_ref().is_some_and(|stream| stream.send(said.text.clone()).is_ok()) {
            return;
        }
        self.unasked = None;
        self.kept.push_back(said.text);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(State(stage): State<Arc<Stage>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if let Err(refused) = door::guard(&head.headers, stage.address) {
        return *refused;
    }
    if head.uri.path() != PATH {
        return StatusCode::NOT_FOUND.into_response();
    }
    match head.method {
        Method::POST => {
            let Ok(body) = axum::body::to_bytes(body, Policy::default().line_bytes).await else {
                return StatusCode::PAYLOAD_TOO_LARGE.into_response();
            };
            post(&stage, &head.headers, &body)
        }
        Method::GET => get(&stage, &head.headers),
        Method::DELETE => {
            let ended = session(&head.headers).and_then(|id| stage.lock().open.remove(&id));
            if ended.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND }.into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

fn post(stage: &Stage, headers: &HeaderMap, body: &Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return (StatusCode::BAD_REQUEST, "this is no JSON").into_response();
    };
    let kind = Kind::of(&message);
    let mut sessions = stage.lock();
    let opens = kind.method() == Some("initialize");
    let id = if opens { Some(sessions.begin()) } else { session(headers) };
    let name = id.clone().unwrap_or_default();
    if opens || name.is_empty() {
        sessions.open.entry(name.clone()).or_insert_with(|| Session::new(&stage.book));
    }
    let Some(session) = sessions.open.get_mut(&name) else {
        return (StatusCode::NOT_FOUND, "there is no such session").into_response();
    };
    let response = match &kind {
        Kind::Request { id, .. } => request(session, id, body),
        Kind::Other if message.is_array() => batch(session, body),
        _ => {
            for said in session.player.hear(body) {
                session.deliver(said);
            }
            StatusCode::ACCEPTED.into_response()
        }
    };
    drop(sessions);
    match id.filter(|_| opens) {
        Some(id) => ([(SESSION, id)], response).into_response(),
        None => response,
    }
}

impl Sessions {
    fn begin(&mut self) -> String {
        self.begun += 1;
        let id = format!("mock-{}", self.begun);
        self.order.push_back(id.clone());
        if self.order.len() > SESSIONS {
            let oldest = self.order.pop_front().unwrap_or_default();
            self.open.remove(&oldest);
        }
        id
    }
}

/// The answer alone is JSON; one with company, or that is still to come, a stream.
fn request(session: &mut Session, id: &Value, body: &Bytes) -> Response {
    let mut said = session.player.hear(body);
    if let [only] = said.as_slice()
        && only.is_answer
        && only.of.as_ref() == Some(id)
    {
        let text = said.remove(0).text;
        return ([(CONTENT_TYPE, "application/json")], text).into_response();
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    // Who waits no more leaves nothing behind.
    session.streams.retain(|_, stream| !stream.is_closed());
    session.streams.insert(id.to_string(), sender);
    for said in said {
        session.deliver(said);
    }
    stream(receiver)
}

/// Batches are answered as they were, on the spot.
fn batch(session: &mut Session, body: &Bytes) -> Response {
    let said = session.player.hear(body);
    match said.as_slice() {
        [] => StatusCode::ACCEPTED.into_response(),
        [only] => ([(CONTENT_TYPE, "application/json")], only.text.clone()).into_response(),
        several => {
            let events: String = several.iter().map(|said| event(&said.text)).collect();
            ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
        }
    }
}

/// The stream for what is said unasked.
fn get(stage: &Stage, headers: &HeaderMap) -> Response {
    let mut sessions = stage.lock();
    let Some(session) = session(headers).and_then(|id| sessions.open.get_mut(&id)) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    for text in session.kept.drain(..) {
        let _ = sender.send(text);
    }
    session.unasked = Some(sender);
    stream(receiver)
}

fn stream(mut lines: mpsc::UnboundedReceiver<String>) -> Response {
    let events = futures_util::stream::poll_fn(move |cx| {
        lines.poll_recv(cx).map(|line| line.map(|line| Ok::<_, Infallible>(Bytes::from(event(&line)))))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn event(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}
