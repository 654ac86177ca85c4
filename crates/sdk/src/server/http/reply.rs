//! Responses: small functions, so that every answer of one kind looks the same.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW,
    CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderName, Response, StatusCode};

use super::authorize::{Document, Refused};
use super::body::{Body, Events};
use crate::json_rpc::{self, RequestId};
use crate::model::ErrorObject;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const FOR_A_WHILE: HeaderValue = HeaderValue::from_static("max-age=300");
const ANY: HeaderValue = HeaderValue::from_static("*");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// In seconds.
const SOON: HeaderValue = HeaderValue::from_static("1");
const NO: HeaderValue = HeaderValue::from_static("no");

/// A message.
pub(super) fn json(status: StatusCode, message: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::whole(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(RETRY_AFTER, SOON);
    }
    response
}

/// A stream, which nobody on the way may keep back.
pub(super) fn events(events: impl Events + 'static) -> Response<Body> {
    event_stream(Body::events(events))
}

/// A stream that is over before it begins: all of its events.
pub(super) fn all_events(events: Bytes) -> Response<Body> {
    event_stream(Body::whole(events))
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, NO_CACHE);
    headers.insert(BUFFERING, NO);
    response
}

/// A notification or an answer was taken.
pub(super) fn accepted() -> Response<Body> {
    empty(StatusCode::ACCEPTED)
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// What is wrong with a request as such, in words.
pub(super) fn refused(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = Response::new(Body::whole(why.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response
}

/// This path does not have this method.
pub(super) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "this method is not served here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Too much at once.
pub(super) fn busy(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = refused(status, why);
    response.headers_mut().insert(RETRY_AFTER, SOON);
    response
}

/// An error as a message. Without an id it answers something whose id could not be read.
pub(super) fn error(
    status: StatusCode,
    id: Option<&RequestId>,
    null_id: bool,
    error: &ErrorObject,
) -> Response<Body> {
    let mut line = Vec::new();
    json_rpc::error_line(id, null_id, error, &mut line);
    json(status, line)
}

/// What everybody may read, pages of any origin among them.
pub(super) fn document(document: Document) -> Response<Body> {
    let mut response = json(StatusCode::OK, document.0);
    response.headers_mut().insert(CACHE_CONTROL, FOR_A_WHILE);
    for_everybody(response)
}

/// What a page asks before it asks for that.
pub(super) fn document_preflight() -> Response<Body> {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ANY);
    for_everybody(response)
}

fn for_everybody(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    response
}

/// The authorizer said no.
pub(super) fn unauthorized(no: &Refused) -> Response<Body> {
    let why = match no.status {
        StatusCode::BAD_REQUEST => "one header Authorization, with one token",
        StatusCode::SERVICE_UNAVAILABLE => "who makes this request cannot be found out now",
        _ => "this request is not authorized",
    };
    let mut response = refused(no.status, why);
    let headers = response.headers_mut();
    // A challenge that cannot be a header is left out: better none than one that was split.
    if let Some(Ok(challenge)) = no.challenge.as_deref().map(HeaderValue::from_str) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    if let Some(seconds) = no.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
