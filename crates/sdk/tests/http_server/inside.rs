//! The service itself, without a socket: for what must happen at a known moment, and for time that is ours.

use std::pin::Pin;
use std::task::Poll;

use axum::body::Body as Sent;
use contexture::Server;
use contexture::server::HttpServer;
use contexture::server::http::Body;
use http::{Request, Response};
use http_body::Body as _;
use serde_json::{Value, json};
use tower_service::Service;

use super::support::{hello, notification, request};

/// A server that is called directly.
pub(crate) struct Inside {
    pub(crate) http: HttpServer,
}

/// What a session's requests carry.
pub(crate) struct InSession {
    id: String,
}

impl Inside {
    pub(crate) fn of(server: Server, change: impl FnOnce(HttpServer) -> HttpServer) -> Self {
        Self { http: change(server.into_http().expect("a server that is put together correctly")) }
    }

    pub(crate) async fn send(&self, request: Request<Sent>) -> Response<Body> {
        let Ok(response) = self.http.clone().call(request).await;
        response
    }

    /// Opens a session.
    pub(crate) async fn session(&self, revision: &str) -> InSession {
        let mut unopened = InSession { id: String::new() };
        let opened =
            self.send(unopened.post(&request("hello", "initialize", hello(revision, json!({}))))).await;
        assert_eq!(opened.status(), 200);
        let id = opened.headers().get("mcp-session-id").expect("an id").to_str().expect("text");
        id.clone_into(&mut unopened.id);
        let ready = self.send(unopened.post(&notification("notifications/initialized"))).await;
        assert_eq!(ready.status(), 202);
        unopened
    }
}

impl InSession {
    fn head(&self, method: &str) -> http::request::Builder {
        let head = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if self.id.is_empty() { head } else { head.header("mcp-session-id", &self.id) }
    }

    pub(crate) fn post(&self, message: &Value) -> Request<Sent> {
        self.head("POST").body(Sent::from(message.to_string())).expect("a request")
    }

    pub(crate) fn get(&self) -> Request<Sent> {
        self.head("GET").body(Sent::empty()).expect("a request")
    }
}

/// The next piece of a body, as text; none at its end.
pub(crate) async fn piece(body: &mut Body) -> Option<String> {
    let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    let Ok(frame) = frame;
    let bytes = frame.into_data().expect("no trailers");
    Some(String::from_utf8(bytes.to_vec()).expect("text"))
}

/// Lets a future work once. Says whether it is not done.
pub(crate) async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}
