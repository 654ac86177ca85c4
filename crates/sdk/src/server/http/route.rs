//! Other addresses beside the MCP endpoint: health, metrics, where a login comes back to.
//!
//! They are read with GET, have no body, and belong to nobody: the authorizer is not asked. Who may come from where is
//! guarded as for MCP. A fault in them ends one answer and nothing else.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};

use super::body::Body;
use super::service::Answering;
use super::{HttpServer, reply};
use crate::server::exchange::guarded;
use crate::server::operation::BoxFuture;

type Service = dyn Fn(Request<()>) -> BoxFuture<Response<Bytes>> + Send + Sync;

/// A path, and who answers there.
#[derive(Clone)]
pub(super) struct Route {
    /// Without a slash at its end.
    prefix: String,
    service: Arc<Service>,
}

impl Route {
    /// None if it is not a path.
    pub(super) fn new(
        prefix: &str,
        service: impl Fn(Request<()>) -> BoxFuture<Response<Bytes>> + Send + Sync + 'static,
    ) -> Option<Self> {
        let path = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_path = prefix.starts_with('/') && !prefix.contains(['?', '#']);
        is_path.then(|| Self { prefix: path.to_owned(), service: Arc::new(service) })
    }

    fn covers(&self, path: &str) -> bool {
        path.strip_prefix(&*self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn answer(&self, head: Parts) -> Answering {
        let Ok(work) = guarded(|| (self.service)(Request::from_parts(head, ()))) else {
            return Box::pin(std::future::ready(Ok(failed())));
        };
        Box::pin(async move {
            let answered = AssertUnwindSafe(work).catch_unwind().await;
            Ok(answered.map_or_else(|_| failed(), |response| response.map(Body::whole)))
        })
    }
}

fn failed() -> Response<Body> {
    reply::refused(StatusCode::INTERNAL_SERVER_ERROR, "this cannot be answered now")
}

impl HttpServer {
    /// Who answers at a path that is none of MCP's: the most particular.
    pub(super) fn other(&self, path: &str) -> Option<&Route> {
        let routes = self.setup.routes.iter().filter(|route| route.covers(path));
        routes.max_by_key(|route| route.prefix.len())
    }

    /// Answers a request to one of the other addresses.
    pub(super) fn answer_other(&self, route: &Route, head: Parts) -> Answering {
        let refused = match self.setup.guard.check(&head) {
            Err(refused) => Some(*refused),
            Ok(()) if head.method != Method::GET => Some(reply::not_allowed("GET")),
            Ok(()) => None,
        };
        match refused {
            Some(refused) => Box::pin(std::future::ready(Ok(refused))),
            None => route.answer(head),
        }
    }
}
