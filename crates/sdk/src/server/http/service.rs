//! One HTTP request on its way: guard, authorizer, then the path and the method.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue, VARY,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as HttpBody;
use tower_service::Service;

use super::body::{self, Body, Unread};
use super::post::Post;
use super::table::Permit;
use super::{HttpServer, get, guard, reply, store};
use crate::server::Principal;

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Mcp,
    /// Streams of HTTP+SSE.
    Sse,
    /// Messages for them.
    Messages,
}

const BOTH: [&str; 2] = ["application/json", "text/event-stream"];

impl HttpServer {
    async fn respond<B>(self, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let (head, body) = request.into_parts();
        let Some(route) = self.route(head.uri.path()) else {
            return reply::refused(StatusCode::NOT_FOUND, "nothing is served at this path");
        };
        if let Err(refused) = self.setup.guard.check(&head) {
            return *refused;
        }
        let shared_with = self.setup.guard.shared_with(&head.headers).cloned();
        if head.method == Method::OPTIONS && shared_with.is_some() {
            return share(preflight(&head), shared_with);
        }
        share(self.admit(route, head, body).await, shared_with)
    }

    fn route(&self, path: &str) -> Option<Route> {
        if path == self.setup.path {
            return Some(Route::Mcp);
        }
        match &self.setup.pair {
            Some((stream, _)) if path == stream => Some(Route::Sse),
            Some((_, messages)) if path == messages => Some(Route::Messages),
            _ => None,
        }
    }

    async fn admit<B>(self, route: Route, head: Parts, body: B) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        if let Some(refused) = self.unserved(route, &head.method) {
            return refused;
        }
        let Some(permit) = self.table.request() else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many requests are being served");
        };
        let principal = match &self.setup.authorizer {
            None => self.table.anonymous.clone(),
            Some(authorizer) => match authorizer.authorize(&head).await {
                Ok(principal) => principal,
                Err(no) => return reply::unauthorized(&no),
            },
        };
        match (route, head.method == Method::POST) {
            (Route::Mcp, true) if self.setup.sessions.is_some() => {
                self.post_with_store(head, body, principal, permit).await
            }
            (Route::Mcp, true) => self.post(head, body, principal, permit).await,
            (Route::Mcp, false) if head.method == Method::DELETE => self.delete(&head, &principal).await,
            (Route::Mcp, false) => match guard::check_accept(&head.headers, &BOTH[1..]) {
                Ok(()) => self.get(&head, &principal).await,
                Err(refused) => *refused,
            },
            (Route::Sse, _) => match guard::check_accept(&head.headers, &BOTH[1..]) {
                Ok(()) => self.pairs.get(&self.table, principal, &self.messages_path()),
                Err(refused) => *refused,
            },
            (Route::Messages, _) => self.message(&head, body, &principal).await,
        }
    }

    async fn get(&self, head: &Parts, principal: &Principal) -> Response<Body> {
        if let Some(store) = &self.setup.sessions
            && let Err(refused) = self.table.consult_store(&**store, &head.headers, principal).await
        {
            return *refused;
        }
        get::get(&self.table, &head.headers, principal).await
    }

    async fn delete(&self, head: &Parts, principal: &Principal) -> Response<Body> {
        if let Some(store) = &self.setup.sessions {
            if let Err(refused) = self.table.consult_store(&**store, &head.headers, principal).await {
                return *refused;
            }
            if let Some(id) = get::owned(&self.table, &head.headers, principal)
                && let Err(error) = store.remove(&id).await
            {
                return store::unavailable(&error);
            }
        }
        get::delete(&self.table, &head.headers, principal)
    }

    async fn post_with_store<B>(
        self,
        head: Parts,
        body: B,
        principal: Principal,
        permit: Permit,
    ) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let Some(store) = self.setup.sessions.clone() else {
            return self.post(head, body, principal, permit).await;
        };
        let (table, headers) = (Arc::clone(&self.table), head.headers.clone());
        if let Err(refused) = table.consult_store(&*store, &headers, &principal).await {
            return *refused;
        }
        let response = self.post(head, body, principal.clone(), permit).await;
        table.save_changes(&*store, &headers, &principal, response).await
    }

    fn messages_path(&self) -> String {
        self.setup.pair.as_ref().map(|(_, messages)| messages.clone()).unwrap_or_default()
    }

    /// Refuses methods that a path does not have.
    fn unserved(&self, route: Route, method: &Method) -> Option<Response<Body>> {
        let has_sessions = self.table.serving.has_legacy() && !self.setup.stateless;
        let served = match route {
            Route::Mcp if has_sessions => [Method::POST, Method::GET, Method::DELETE].contains(method),
            Route::Mcp | Route::Messages => method == Method::POST,
            Route::Sse => method == Method::GET,
        };
        let allowed = match route {
            Route::Mcp if has_sessions => "POST, GET, DELETE",
            Route::Mcp | Route::Messages => "POST",
            Route::Sse => "GET",
        };
        (!served).then(|| reply::not_allowed(allowed))
    }

    async fn post<B>(self, head: Parts, body: B, principal: Principal, permit: Permit) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let policy = &self.table.serving.policy;
        let checked = guard::check_body(&head.headers, policy.body_bytes)
            .and_then(|()| guard::check_accept(&head.headers, &BOTH));
        if let Err(refused) = checked {
            return *refused;
        }
        let frame = match body::read(body, policy.body_bytes, policy.body_time).await {
            Ok(frame) => frame,
            Err(unread) => return unreadable(unread, policy.body_bytes),
        };
        let post = Post {
            stateless: self.setup.stateless,
            table: self.table,
            head: Arc::new(head.headers),
            principal,
            permit,
        };
        post.respond(frame).await
    }

    /// A message for a stream of HTTP+SSE.
    async fn message<B>(&self, head: &Parts, body: B, principal: &Principal) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let policy = &self.table.serving.policy;
        if let Err(refused) = guard::check_body(&head.headers, policy.body_bytes) {
            return *refused;
        }
        let query = head.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix("session="));
        match body::read(body, policy.body_bytes, policy.body_time).await {
            Ok(message) => self.pairs.post(id, principal, message),
            Err(unread) => unreadable(unread, policy.body_bytes),
        }
    }
}

fn unreadable(unread: Unread, limit: usize) -> Response<Body> {
    match unread {
        Unread::TooLarge => guard::too_large(limit),
        Unread::TooSlow => reply::refused(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"),
        Unread::Broken => reply::refused(StatusCode::BAD_REQUEST, "the body is not whole"),
    }
}

/// What a page of a configured origin asks before it asks.
fn preflight(head: &Parts) -> Response<Body> {
    let mut response = reply::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    if let Some(wanted) = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets a page read the answer, if its origin was configured.
fn share(mut response: Response<Body>, origin: Option<HeaderValue>) -> Response<Body> {
    if let Some(origin) = origin {
        let exposed = HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate");
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

impl<B> Service<Request<B>> for HttpServer
where
    B: HttpBody<Data = Bytes> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.respond(request).await) })
    }
}
