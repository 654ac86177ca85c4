//! One HTTP request on its way: guard, authorizer, then the path and the method.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION,
    CONNECTION, HOST, HeaderValue, VARY,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as HttpBody;
use tower_service::Service;

use super::body::{self, Body, Unread};
use super::needed::{self, Door};
use super::post::{Post, answer};
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

/// A request that may be served, as far as its head tells.
struct Admitted {
    route: Route,
    permit: Permit,
    /// The origin that may read the answer, where one was configured.
    shared_with: Option<HeaderValue>,
}

type Answer = Result<Response<Body>, Infallible>;
pub(super) type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl HttpServer {
    /// Everything that can be decided before anything is waited for.
    fn admit(&self, head: &Parts) -> Result<Admitted, Box<Response<Body>>> {
        let Some(route) = self.route_of(head.uri.path()) else {
            let nothing = || reply::refused(StatusCode::NOT_FOUND, "nothing is served at this path");
            return Err(Box::new(self.document(head).unwrap_or_else(nothing)));
        };
        self.setup.guard.check(head)?;
        let shared_with = self.setup.guard.shared_with(&head.headers).cloned();
        if head.method == Method::OPTIONS && shared_with.is_some() {
            return Err(Box::new(share(preflight(head), shared_with)));
        }
        let checked = self.check(route, head);
        let permit = checked.and_then(|()| {
            let busy = || reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many requests are being served");
            self.table.request().ok_or_else(|| Box::new(busy()))
        });
        match permit {
            Ok(permit) => Ok(Admitted { route, permit, shared_with }),
            Err(refused) => Err(Box::new(share(*refused, shared_with))),
        }
    }

    fn route_of(&self, path: &str) -> Option<Route> {
        if path == self.setup.path {
            return Some(Route::Mcp);
        }
        match &self.setup.pair {
            Some((stream, _)) if path == stream => Some(Route::Sse),
            Some((_, messages)) if path == messages => Some(Route::Messages),
            _ => None,
        }
    }

    /// What the authorizer tells everybody, if this path is for that.
    fn document(&self, head: &Parts) -> Option<Response<Body>> {
        let path = head.uri.path();
        let authorizer = self.setup.authorizer.as_ref().filter(|_| path.starts_with("/.well-known/"))?;
        let document = authorizer.document(path, &head.headers)?;
        if let Err(refused) = self.setup.guard.check_host(head) {
            return Some(*refused);
        }
        Some(match head.method {
            Method::GET | Method::HEAD => reply::document(document),
            Method::OPTIONS => reply::document_preflight(),
            _ => reply::not_allowed("GET"),
        })
    }

    /// Whether the path has the method, and the client speaks of what is spoken here.
    fn check(&self, route: Route, head: &Parts) -> Result<(), Box<Response<Body>>> {
        if let Some(refused) = self.unserved(route, &head.method) {
            return Err(Box::new(refused));
        }
        if head.method == Method::POST {
            guard::check_body(&head.headers, self.policy().body_bytes)?;
        }
        match route {
            Route::Mcp if head.method == Method::POST => guard::check_accept(&head.headers, &BOTH),
            Route::Mcp if head.method == Method::GET => guard::check_accept(&head.headers, &BOTH[1..]),
            Route::Sse => guard::check_accept(&head.headers, &BOTH[1..]),
            _ => Ok(()),
        }
    }

    /// Requests that are not of the usual kind.
    async fn respond<B>(self, admitted: Admitted, mut head: Parts, body: B) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let Admitted { route, permit, shared_with } = admitted;
        let principal = match &self.setup.authorizer {
            None => self.table.anonymous.clone(),
            Some(authorizer) => match authorizer.authorize(&head).await {
                Ok(principal) => principal,
                Err(no) => return share(reply::unauthorized(&no), shared_with),
            },
        };
        if self.setup.authorizer.is_some() {
            head.headers.remove(AUTHORIZATION);
        }
        let response = match route {
            Route::Mcp if head.method == Method::POST => {
                self.post_with_store(head, body, principal, permit).await
            }
            Route::Mcp if head.method == Method::DELETE => self.delete(&head, &principal).await,
            Route::Mcp => self.get(&head, &principal).await,
            Route::Sse => self.pairs.get(&self.table, principal, &self.messages_path()),
            Route::Messages => self.message(&head, body, principal).await,
        };
        share(response, shared_with)
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
            let Ok(response) = post(self.poster(head, principal, permit), body).await;
            return response;
        };
        let (table, headers) = (Arc::clone(&self.table), head.headers.clone());
        if let Err(refused) = table.consult_store(&*store, &headers, &principal).await {
            return *refused;
        }
        let Ok(response) = post(self.poster(head, principal.clone(), permit), body).await;
        table.save_changes(&*store, &headers, &principal, response).await
    }

    fn poster(&self, head: Parts, principal: Principal, permit: Permit) -> Post {
        Post {
            door: self.door(&head).map(Box::new),
            stateless: self.setup.stateless,
            table: Arc::clone(&self.table),
            head: Arc::new(head.headers),
            principal,
            permit,
        }
    }

    /// Who refuses what needs more than a caller was granted.
    fn door(&self, head: &Parts) -> Option<Door> {
        let authorizer = self.setup.authorizer.clone()?;
        Some(Door { authorizer, path: head.uri.path().to_owned() })
    }

    /// Answers one request.
    pub(super) fn answer<B>(&self, request: Request<B>) -> Answering
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
    {
        let (mut head, body) = request.into_parts();
        if !self.setup.routes.is_empty()
            && self.route_of(head.uri.path()).is_none()
            && let Some(other) = self.other(head.uri.path())
        {
            return self.answer_other(other, head);
        }
        if self.setup.authorizer.is_some() {
            name_host(&mut head);
        }
        let admitted = match self.admit(&head) {
            Ok(admitted) => admitted,
            Err(response) => return Box::pin(std::future::ready(Ok(*response))),
        };
        if self.is_usual(&admitted, &head.method) {
            let poster = self.poster(head, self.table.anonymous.clone(), admitted.permit);
            return Box::pin(post(poster, body));
        }
        let (server, is_get) = (self.clone(), head.method == Method::GET);
        let mut answering: Answering =
            Box::pin(async move { Ok(server.respond(admitted, head, body).await) });
        // Most streams can be answered without waiting. Then the head is let go before hyper reads on, which would
        // take a second buffer, and keep it for as long as the stream is open, while the head holds the first.
        let answer = if is_get { answering.as_mut().now_or_never() } else { None };
        answer.map_or(answering, |answer| Box::pin(std::future::ready(answer)))
    }

    /// Whether a request needs nothing but its body to be answered.
    fn is_usual(&self, admitted: &Admitted, method: &Method) -> bool {
        admitted.route == Route::Mcp
            && method == Method::POST
            && admitted.shared_with.is_none()
            && self.setup.authorizer.is_none()
            && self.setup.sessions.is_none()
    }

    /// Where messages are posted, as clients see it. Always from the root: not all of them resolve anything else.
    fn messages_path(&self) -> String {
        let messages = self.setup.pair.as_ref().map_or("", |(_, messages)| messages);
        format!("{}{messages}", self.setup.below)
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

    /// A message for a stream of HTTP+SSE.
    async fn message<B>(&self, head: &Parts, body: B, principal: Principal) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        let policy = self.policy();
        let query = head.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix("session="));
        let message = match body::read(body, policy.body_bytes, policy.body_time).await {
            Ok(message) => message,
            Err(unread) => return unreadable(unread, policy.body_bytes),
        };
        let scopes = || self.table.serving.scopes_for_frame(&message);
        match needed::check(self.door(head).as_ref(), &head.headers, &principal, scopes) {
            Ok(()) => self.pairs.post(id, principal, message),
            Err(refused) => *refused,
        }
    }
}

/// HTTP/2 names the host in the target. An authorizer finds it where HTTP/1.1 has it.
fn name_host(head: &mut Parts) {
    let named = head.uri.authority().filter(|_| !head.headers.contains_key(HOST));
    if let Some(Ok(host)) = named.map(|authority| HeaderValue::from_str(authority.as_str())) {
        head.headers.insert(HOST, host);
    }
}

/// Reads a body and answers it.
async fn post<B>(post: Post, body: B) -> Answer
where
    B: HttpBody<Data = Bytes>,
{
    let policy = &post.table.serving.policy;
    let read = body::read(body, policy.body_bytes, policy.body_time).await;
    let begun = match read {
        Ok(frame) => post.begin(frame),
        Err(unread) => return Ok(unreadable(unread, policy.body_bytes)),
    };
    match begun {
        Ok(mut answering) => {
            let form = poll_fn(|cx| answering.poll_form(cx)).await;
            Ok(answer(form, answering))
        }
        Err(response) => Ok(*response),
    }
}

/// What is left of the body is not read, so nothing can follow it on this connection.
fn unreadable(unread: Unread, limit: usize) -> Response<Body> {
    let mut response = match unread {
        Unread::TooLarge => guard::too_large(limit),
        Unread::TooSlow => reply::refused(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"),
        Unread::Broken => reply::refused(StatusCode::BAD_REQUEST, "the body is not whole"),
    };
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
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
    type Future = Answering;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.answer(request)
    }
}
