//! Telling clients about changes: to legacy sessions as they come, to the others over the streams that
//! they opened with `subscriptions/listen`.
//!
//! Nobody is told what they did not ask for, or may not know.

use std::sync::Arc;

use super::Context;
use super::connection::Connection;
use super::exchange::guarded;
use super::operation::Request;
use super::wire::{Changes, Wire};
use crate::engine::Exchange;
use crate::json_rpc::{self, RequestId};
use crate::model::{
    CancelledParams, EmptyParams, ErrorObject, Meta, Method, ResourceUpdatedParams, SubscriptionFilter,
    SubscriptionsAcknowledgedParams, SubscriptionsListenResult, key,
};
use crate::revision::Lower;
use crate::transport::Transport;

/// The streams of one connection.
#[derive(Debug)]
pub(super) struct Listens {
    limit: usize,
    open: Vec<Listen>,
}

#[derive(Debug)]
struct Listen {
    exchange: Exchange,
    filter: SubscriptionFilter,
}

impl Listen {
    fn watches(&self, uri: &str) -> bool {
        self.filter.resource_subscriptions.iter().flatten().any(|watched| watched == uri)
    }
}

impl Listens {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Vec::new() }
    }

    /// Whether a stream was opened with this id.
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.open.iter().any(|listen| listen.exchange.id == *id)
    }

    /// Closes a stream that its client cancelled. Says whether there was one.
    pub(super) fn close(&mut self, id: &RequestId, wire: &Wire) -> bool {
        let Some(at) = self.open.iter().position(|listen| listen.exchange.id == *id) else { return false };
        let listen = self.open.swap_remove(at);
        for uri in listen.filter.resource_subscriptions.iter().flatten() {
            wire.unwatch(uri);
        }
        true
    }
}

fn tagged(id: &RequestId) -> Option<Meta> {
    let mut meta = Meta::new();
    meta.set(key::SUBSCRIPTION_ID, id);
    Some(meta)
}

impl<T: Transport> Connection<T> {
    /// Opens a stream: the acknowledgement is the first that is heard of it.
    pub(super) fn listen(
        &mut self,
        context: &Context,
        filter: SubscriptionFilter,
    ) -> Result<(), ErrorObject> {
        let exchange = &context.inner.exchange;
        if self.listens.open.len() >= self.listens.limit {
            return Err(ErrorObject::invalid_params(format!(
                "a connection may listen {} times",
                self.listens.limit
            )));
        }
        for uri in filter.resource_subscriptions.iter().flatten() {
            self.wire.watch(uri);
        }
        let params =
            SubscriptionsAcknowledgedParams { notifications: filter.clone(), meta: tagged(&exchange.id) };
        self.notify(Method::SubscriptionsAcknowledged, &params);
        self.listens.open.push(Listen { exchange: exchange.clone(), filter });
        Ok(())
    }

    /// The server ends all streams: it takes the request back, and answers it.
    pub(super) fn end_listens(&mut self) {
        for listen in std::mem::take(&mut self.listens.open) {
            let id = &listen.exchange.id;
            self.notify(
                Method::Cancelled,
                &CancelledParams::new(id.clone()).reason("the server is shutting down"),
            );
            let mut result = SubscriptionsListenResult::new(id);
            result.lower(listen.exchange.rules);
            self.wire.write(|out| drop(json_rpc::result_line(id, &result, out)));
        }
    }

    pub(super) fn tell_changes(&mut self) {
        let changes = self.wire.take_changes();
        let lists = [
            (changes.tools, Method::ToolsListChanged, Method::ToolsList),
            (changes.prompts, Method::PromptsListChanged, Method::PromptsList),
            (changes.resources, Method::ResourcesListChanged, Method::ResourcesList),
        ];
        for (changed, notification, list) in lists {
            if changed && self.serving.offer.list_changed {
                self.tell_list(notification, list);
            }
        }
        self.tell_resources(changes);
    }

    fn tell_list(&mut self, notification: Method, list: Method) {
        let declared = match list {
            Method::ToolsList => self.declared.tools.is_some(),
            Method::PromptsList => self.declared.prompts.is_some(),
            _ => self.declared.resources.is_some(),
        };
        if declared && self.session.as_ref().is_some_and(|session| session.is_ready()) {
            self.wire.write(|out| json_rpc::notification_line::<()>(notification.as_str(), None, out));
        }
        for listen in &self.listens.open {
            let wanted = match list {
                Method::ToolsList => listen.filter.tools_list_changed,
                Method::PromptsList => listen.filter.prompts_list_changed,
                _ => listen.filter.resources_list_changed,
            };
            if wanted == Some(true) {
                self.notify(notification, &EmptyParams { meta: tagged(&listen.exchange.id) });
            }
        }
    }

    fn tell_resources(&mut self, changes: Changes) {
        for uri in changes.updated {
            let Some(exchange) = self.example_exchange(&uri) else { continue };
            if self.serving.stack.is_some() {
                // Who was allowed to subscribe may not be allowed to know any more.
                let principal = self.principal.clone();
                let consult = || self.serving.consult(exchange, &self.wire, principal, Request::Updated(uri));
                if let Ok(run) = guarded(consult) {
                    self.consult(run);
                }
            } else {
                self.tell_updated(&uri);
            }
        }
    }

    /// An exchange on whose behalf a change of this resource would be told.
    fn example_exchange(&self, uri: &str) -> Option<Exchange> {
        let session = self.session.as_ref().filter(|session| session.watches(uri));
        let from_session = session.map(|session| Exchange {
            id: RequestId::from(""),
            method: Method::ResourcesUpdated,
            rules: session.rules(),
            peer: Arc::clone(session.peer()),
            progress_token: None,
            log_level: None,
        });
        let listening = || self.listens.open.iter().find(|listen| listen.watches(uri));
        from_session.or_else(|| {
            listening().map(|listen| Exchange { method: Method::ResourcesUpdated, ..listen.exchange.clone() })
        })
    }

    pub(super) fn tell_updated(&self, uri: &str) {
        let told = |meta| ResourceUpdatedParams { uri: uri.to_owned(), meta };
        if self.session.as_ref().is_some_and(|session| session.watches(uri)) {
            self.notify(Method::ResourcesUpdated, &told(None));
        }
        for listen in self.listens.open.iter().filter(|listen| listen.watches(uri)) {
            self.notify(Method::ResourcesUpdated, &told(tagged(&listen.exchange.id)));
        }
    }

    fn notify<P: serde::Serialize>(&self, method: Method, params: &P) {
        self.wire.write(|out| json_rpc::notification_line(method.as_str(), Some(params), out));
    }
}
