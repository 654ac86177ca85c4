//! Which request goes where, and from whom any are taken.
//!
//! Whoever took another name for us is refused, so that no page can reach this server under a name of its own. Pages
//! may read the public documents; the endpoints for programs can also be used by pages that this machine served, as browser
//! clients in development are; what people see can be read by no page at all.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL,
    HOST, HeaderValue, ORIGIN, VARY,
};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::Value;
use url::Url;

use crate::server::Shared;
use crate::{answer, authorize, inspect, metadata, pages, redirect, registration, token, upstream};

/// Everything that is served.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let path = shared.path.clone();
    let at = |name: &str| format!("{path}/{name}");
    let document = |what: fn(&Shared) -> Value| {
        get(move |State(shared): State<Arc<Shared>>| async move { answer::json(StatusCode::OK, &what(&shared)) })
            .options(preflight)
    };
    let mut documents = Router::new()
        .route(&at("jwks"), document(metadata::keys))
        .route(&format!("/.well-known/oauth-authorization-server{path}"), document(metadata::oauth))
        .route(&format!("/.well-known/openid-configuration{path}"), document(metadata::openid));
    if !path.is_empty() {
        documents = documents.route(&at(".well-known/openid-configuration"), document(metadata::openid));
    }
    let documents = documents.layer(from_fn(shared_with_all));
    let programs = Router::new()
        .route(&at("token"), post(token::token).options(preflight))
        .route(&at("register"), post(registration::register).options(preflight))
        .route(&at("revoke"), post(inspect::revoke).options(preflight))
        .route(&at("introspect"), post(inspect::introspect))
        .layer(from_fn(shared_with_this_machine));
    let mut people = Router::new()
        .route(&at(""), get(home))
        .route(&at("authorize"), get(authorize::start))
        .route(&at("consent"), post(authorize::consent));
    // Who signs in upstream cannot do so here under any name they like.
    people = match shared.upstream {
        Some(_) => people.route(&at("upstream/callback"), get(upstream::callback)),
        None => people.route(&at("login"), post(authorize::login)),
    };
    let all = documents.merge(programs).merge(people);
    all.layer(from_fn_with_state(Arc::clone(&shared), check_host)).with_state(shared)
}

async fn home(State(shared): State<Arc<Shared>>) -> Response {
    pages::home(&shared)
}

async fn preflight() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Documents are for everyone. They do not change while we run, but the next one on this port has another key.
async fn shared_with_all(request: Request<Body>, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("mcp-protocol-version"));
    response
}

/// Refuses requests for another host: DNS can be made to say that we are it.
async fn check_host(State(shared): State<Arc<Shared>>, request: Request<Body>, next: Next) -> Response {
    match is_ours(request.headers(), shared.port) {
        true => next.run(request).await,
        false => pages::problem(&shared, StatusCode::FORBIDDEN, "This host is not served here."),
    }
}

fn is_ours(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        let whole = format!("{name}:{port}");
        host.as_bytes().eq_ignore_ascii_case(whole.as_bytes())
            || port == 80 && host.as_bytes() == name.as_bytes()
    })
}

/// Lets pages use this that a server on this machine sent, and no others. Programs name no page.
async fn shared_with_this_machine(request: Request<Body>, next: Next) -> Response {
    let Some(origin) = request.headers().get(ORIGIN).cloned() else {
        return next.run(request).await;
    };
    let local = origin.to_str().ok().and_then(|text| Url::parse(text).ok());
    if !local.is_some_and(|url| redirect::is_this_machine(&url)) {
        let refusal = serde_json::json!({ "error": "invalid_request", "error_description": "not for pages of other hosts" });
        return answer::json(StatusCode::FORBIDDEN, &refusal);
    }
    let asks_first = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if asks_first {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
        let allowed = HeaderValue::from_static("authorization, content-type, mcp-protocol-version");
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    response
}
