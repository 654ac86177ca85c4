//! Answers in JSON, and the errors of OAuth. Nothing that is answered here may be kept by a cache.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::form::Repeated;

/// An answer that is for the one who asked only.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// An error of OAuth, as the token endpoint and its neighbours say it.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: &'static str,
    description: String,
    /// The client tried to prove itself in the `Authorization` header.
    basic: bool,
}

impl Refusal {
    /// One of the errors that are the client's: 400.
    pub(crate) fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error, description: description.into(), basic: false }
    }

    /// The request has not the form that it should have.
    pub(crate) fn malformed(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    /// The code or token is not good: not for this client, not for this, or not any more. Which, a thief need not know.
    pub(crate) fn grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }

    /// The client did not prove that it is the one it says: 401.
    pub(crate) fn client(description: impl Into<String>, basic: bool) -> Self {
        let refusal = Self::new("invalid_client", description);
        Self { status: StatusCode::UNAUTHORIZED, basic, ..refusal }
    }

    /// There is no room now: 503.
    pub(crate) fn busy() -> Self {
        let refusal = Self::new("temporarily_unavailable", "there is no room for more at the moment");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, ..refusal }
    }
}

impl From<Repeated> for Refusal {
    fn from(Repeated(name): Repeated) -> Self {
        Self::malformed(format!("{name} is there twice"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.error, "error_description": self.description });
        let mut response = json(self.status, &body);
        if self.basic {
            let challenge = HeaderValue::from_static("Basic realm=\"authorization server for development\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
        }
        response
    }
}
