//! Telling clients about changes: to legacy sessions as they come, to the others over the streams that
//! they opened with `subscriptions/listen`.
//!
//! Nobody is told what they did not ask for, or may not know.

use std::sync::Arc;

use super::Context;
use super::connection::Connection;
use super::exchange::guarded;
use super::operation::Request;
use super::provider::WatchGuard;
use super::wire::{Changes, Wire};
use crate::engine::{self, Exchange};
use crate::json_rpc::{self, RequestId};
use crate::model::{
    CancelledParams, EmptyParams, ErrorObject, Meta, Method, ResourceUpdatedParams, ServerCapabilities,
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenResult, key,
};
use crate::revision::Lower;
use crate::transport::Transport;

/// The streams of one connection.
#[derive(Debug)]
pub(super) struct Listens {
    limit: usize,
    open: Vec<Listen>,
}

/// One stream of changes.
#[derive(Debug)]
pub(super) struct Listen {
    exchange: Exchange,
    filter: SubscriptionFilter,
    /// What a provider wants to be dropped with this.
    _guards: Vec<WatchGuard>,
}

impl Listen {
    /// Opens a stream: the acknowledgement is the first that is heard of it.
    pub(super) fn open(context: &Context, filter: SubscriptionFilter, wire: &Wire) -> Self {
        let (exchange, serving) = (context.inner.exchange.clone(), &context.inner.serving);
        let mut guards = Vec::new();
        for uri in filter.resource_subscriptions.iter().flatten() {
            wire.watch(uri);
            guards.extend(serving.watch(context, uri));
        }
        let params =
            SubscriptionsAcknowledgedParams { notifications: filter.clone(), meta: tagged(&exchange.id) };
        notify(wire, Method::SubscriptionsAcknowledged, &params);
        Self { exchange, filter, _guards: guards }
    }

    pub(super) fn watches(&self, uri: &str) -> bool {
        self.filter.resource_subscriptions.iter().flatten().any(|watched| watched == uri)
    }

    /// Tells of a changed list, if that was asked for.
    pub(super) fn tell_list(&self, list: List, wire: &Wire) {
        let wanted = match list {
            List::Tools => self.filter.tools_list_changed,
            List::Prompts => self.filter.prompts_list_changed,
            List::Resources => self.filter.resources_list_changed,
        };
        if wanted == Some(true) {
            notify(wire, list.notification(), &EmptyParams { meta: tagged(&self.exchange.id) });
        }
    }

    /// Tells of a changed resource, if that was asked for.
    pub(super) fn tell_updated(&self, uri: &str, wire: &Wire) {
        if self.watches(uri) {
            let params = ResourceUpdatedParams { uri: uri.to_owned(), meta: tagged(&self.exchange.id) };
            notify(wire, Method::ResourcesUpdated, &params);
        }
    }

    /// Answers the request at last: the server ends the stream.
    pub(super) fn end(&self, wire: &Wire) {
        let mut result = SubscriptionsListenResult::new(&self.exchange.id);
        result.lower(self.exchange.rules);
        wire.write(|out| drop(json_rpc::result_line(&self.exchange.id, &result, out)));
    }

    /// On whose behalf a change of a resource is told.
    pub(super) fn on_behalf(&self) -> Exchange {
        Exchange { method: Method::ResourcesUpdated, ..self.exchange.clone() }
    }
}

/// A list that can change.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
}

impl List {
    fn notification(self) -> Method {
        match self {
            Self::Tools => Method::ToolsListChanged,
            Self::Prompts => Method::PromptsListChanged,
            Self::Resources => Method::ResourcesListChanged,
        }
    }

    pub(super) fn is_in(self, declared: Declared) -> bool {
        match self {
            Self::Tools => declared.tools,
            Self::Prompts => declared.prompts,
            Self::Resources => declared.resources,
        }
    }
}

/// The lists whose changes a session was told to expect.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Declared {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl From<&ServerCapabilities> for Declared {
    fn from(capabilities: &ServerCapabilities) -> Self {
        Self {
            tools: announces(capabilities.tools.as_ref().map(|tools| tools.list_changed)),
            prompts: announces(capabilities.prompts.as_ref().map(|prompts| prompts.list_changed)),
            resources: announces(capabilities.resources.as_ref().map(|resources| resources.list_changed)),
        }
    }
}

fn announces(list_changed: Option<Option<bool>>) -> bool {
    list_changed.flatten() == Some(true)
}

impl Changes {
    /// The lists that have changed.
    pub(super) fn lists(&self) -> impl Iterator<Item = List> + use<> {
        let changed =
            [(self.tools, List::Tools), (self.prompts, List::Prompts), (self.resources, List::Resources)];
        changed.into_iter().filter(|(changed, _)| *changed).map(|(_, list)| list)
    }
}

/// Tells a session of a changed list, if it knows of that list and may be told.
pub(super) fn tell_session(list: List, session: &engine::Session, declared: Declared, wire: &Wire) {
    if session.is_ready() && list.is_in(declared) {
        wire.write(|out| json_rpc::notification_line::<()>(list.notification().as_str(), None, out));
    }
}

/// Tells a session of a changed resource that it watches.
pub(super) fn tell_session_updated(uri: &str, session: &engine::Session, wire: &Wire) {
    if session.watches(uri) {
        notify(wire, Method::ResourcesUpdated, &ResourceUpdatedParams { uri: uri.to_owned(), meta: None });
    }
}

/// On whose behalf a session is told of a changed resource.
pub(super) fn on_behalf_of(session: &engine::Session) -> Exchange {
    Exchange {
        id: RequestId::from(""),
        method: Method::ResourcesUpdated,
        rules: session.rules(),
        peer: Arc::clone(session.peer()),
        progress_token: None,
        log_level: None,
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

fn notify<P: serde::Serialize>(wire: &Wire, method: Method, params: &P) {
    wire.write(|out| json_rpc::notification_line(method.as_str(), Some(params), out));
}

impl<T: Transport> Connection<T> {
    /// Opens a stream.
    pub(super) fn listen(
        &mut self,
        context: &Context,
        filter: SubscriptionFilter,
    ) -> Result<(), ErrorObject> {
        if self.listens.open.len() >= self.listens.limit {
            return Err(ErrorObject::invalid_params(format!(
                "a connection may listen {} times",
                self.listens.limit
            )));
        }
        self.listens.open.push(Listen::open(context, filter, &self.wire));
        Ok(())
    }

    /// The server ends all streams: it takes the request back, and answers it.
    pub(super) fn end_listens(&mut self) {
        for listen in std::mem::take(&mut self.listens.open) {
            let params =
                CancelledParams::new(listen.exchange.id.clone()).reason("the server is shutting down");
            notify(&self.wire, Method::Cancelled, &params);
            listen.end(&self.wire);
        }
    }

    pub(super) fn tell_changes(&mut self) {
        let changes = self.wire.take_changes();
        for list in changes.lists().filter(|_| self.serving.offer.list_changed) {
            if let Some(session) = &self.session {
                tell_session(list, session, self.declared, &self.wire);
            }
            for listen in &self.listens.open {
                listen.tell_list(list, &self.wire);
            }
        }
        self.tell_resources(changes);
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
        let listening = || self.listens.open.iter().find(|listen| listen.watches(uri));
        session.map(on_behalf_of).or_else(|| listening().map(Listen::on_behalf))
    }

    pub(super) fn tell_updated(&self, uri: &str) {
        if let Some(session) = &self.session {
            tell_session_updated(uri, session, &self.wire);
        }
        for listen in &self.listens.open {
            listen.tell_updated(uri, &self.wire);
        }
    }
}
