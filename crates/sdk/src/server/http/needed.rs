//! Which scopes a request needs, found out before any of it runs.
//!
//! A request that needs more than its caller was granted is refused by status, with what would be enough: a single
//! message, all of a batch, and a message for a stream of HTTP+SSE alike. Callers whom nobody limits are not
//! looked at.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, Response};

use super::authorize::{Authorizer, Refused};
use super::body::Body;
use super::reply;
use crate::Scopes;
use crate::json_rpc::{Decoder, Frame, Message, Request};
use crate::model::{
    CallToolParams, CompleteParams, GetPromptParams, Method, ReadResourceParams, SubscribeParams,
    SubscriptionsListenParams,
};
use crate::server::Principal;
use crate::server::gate::gate_of;
use crate::server::registry::Tables;
use crate::server::serving::Serving;

/// Who refuses, and at which path.
pub(super) struct Door {
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) path: String,
}

/// Refuses a caller who was granted less than is needed.
pub(super) fn check(
    door: Option<&Door>,
    headers: &HeaderMap,
    principal: &Principal,
    needed: impl FnOnce() -> Scopes,
) -> Result<(), Box<Response<Body>>> {
    let Some(granted) = principal.scopes() else { return Ok(()) };
    let needed = needed();
    if granted.covers(&needed) {
        return Ok(());
    }
    let insufficient = |door: &Door| door.authorizer.insufficient(&door.path, headers, principal, &needed);
    let refused = door.map_or_else(|| Refused::forbidden(None), insufficient);
    Err(Box::new(reply::unauthorized(&refused)))
}

impl Serving {
    /// The scopes that a message needs, or all messages of a batch together.
    pub(super) fn scopes_for_frame(&self, frame: &[u8]) -> Scopes {
        let mut decoder = Decoder::new(self.policy.limits);
        match decoder.frame(frame) {
            Ok(Frame::Single(Message::Request(request))) => self.scopes_for(&request),
            Ok(Frame::Batch(items)) => self.scopes_for_all(&items),
            _ => Scopes::none(),
        }
    }

    /// The scopes that the requests among these messages need, together.
    pub(super) fn scopes_for_all(&self, items: &[&str]) -> Scopes {
        let mut decoder = Decoder::new(self.policy.limits);
        let mut all = Scopes::none();
        for item in items {
            if let Ok(Message::Request(request)) = decoder.message(item) {
                all = all.union(&self.scopes_for(&request));
            }
        }
        all
    }

    /// The scopes that a request needs. One that makes no sense needs none: it is refused for that.
    pub(super) fn scopes_for(&self, request: &Request<'_>) -> Scopes {
        let Some(method) = Method::parse(&request.method) else { return Scopes::none() };
        let tables = self.registry.tables();
        let gate = self.gate(&tables, method, request);
        gate.unwrap_or_default()
    }

    fn gate(&self, tables: &Tables, method: Method, request: &Request<'_>) -> Option<Scopes> {
        let params = request.params.unwrap_or("{}");
        match method {
            Method::ToolsCall => {
                let name = match request.call {
                    Some(plain) => Cow::Borrowed(plain.name),
                    None => serde_json::from_str::<CallToolParams<'_>>(params).ok()?.name,
                };
                Some(tables.tools.get(&name)?.gate.scopes().clone())
            }
            Method::PromptsGet => {
                let wanted = serde_json::from_str::<GetPromptParams>(params).ok()?;
                Some(tables.prompts.get(&wanted.name)?.gate.scopes().clone())
            }
            Method::ResourcesRead => {
                self.scopes_of(&serde_json::from_str::<ReadResourceParams>(params).ok()?.uri)
            }
            Method::ResourcesSubscribe => {
                self.scopes_of(&serde_json::from_str::<SubscribeParams>(params).ok()?.uri)
            }
            Method::SubscriptionsListen => {
                let wanted = serde_json::from_str::<SubscriptionsListenParams>(params).ok()?.notifications;
                let watched = wanted.resource_subscriptions.unwrap_or_default();
                if watched.len() > self.policy.subscriptions {
                    return None;
                }
                let scopes = watched.iter().filter_map(|uri| self.scopes_of(uri));
                Some(scopes.fold(Scopes::none(), |all, some| all.union(&some)))
            }
            Method::CompletionComplete => {
                let wanted = serde_json::from_str::<CompleteParams>(params).ok()?;
                gate_of(tables, &wanted.reference).map(|gate| gate.scopes().clone())
            }
            _ => None,
        }
    }

    fn scopes_of(&self, uri: &str) -> Option<Scopes> {
        let (resource, _) = self.find_resource(uri).ok()??;
        Some(resource.gate.scopes().clone())
    }
}
