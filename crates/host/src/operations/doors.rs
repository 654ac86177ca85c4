//! The addresses beside the endpoint: `/healthz`, `/readyz` and `/metrics`.
//!
//! They answer to whoever may reach the endpoint, and say nothing that is not in the configuration: names and states, never
//! the words of a server, a path or a variable.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::metrics::{Metrics, UpstreamReport};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers them.
#[derive(Debug, Clone)]
pub struct Doors(Arc<Metrics>);

impl Doors {
    /// All paths that there are.
    pub const PATHS: [&'static str; 3] = ["/healthz", "/readyz", "/metrics"];

    /// For the gateway that these metrics are of.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self(metrics)
    }

    /// What is at this path.
    pub fn answer(&self, path: &str) -> Response<Bytes> {
        match path {
            "/healthz" => respond(StatusCode::OK, JSON, json!({ "alive": true }).to_string()),
            "/readyz" => self.readiness(),
            "/metrics" => respond(StatusCode::OK, TEXT, self.0.render()),
            _ => respond(
                StatusCode::NOT_FOUND,
                JSON,
                json!({ "error": "nothing is served at this path" }).to_string(),
            ),
        }
    }

    /// Ready unless it is about to end. Servers that do not work are named and change nothing: the others do.
    fn readiness(&self) -> Response<Bytes> {
        let draining = self.0.is_draining();
        let upstreams = self.0.source().map(|source| source.upstreams()).unwrap_or_default();
        let degraded: Vec<Value> =
            upstreams.iter().filter(|report| !report.is_usable).map(degraded).collect();
        let status = if draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        let body = json!({
            "ready": !draining,
            "draining": draining,
            "servers": upstreams.len(),
            "degraded": degraded,
        });
        respond(status, JSON, body.to_string())
    }
}

fn degraded(report: &UpstreamReport) -> Value {
    json!({ "server": report.server, "state": report.state })
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
