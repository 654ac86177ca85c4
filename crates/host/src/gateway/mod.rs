//! The host's server face: clients of any era in front, servers of any era behind.
//!
//! A call is routed by the catalog, decided about by consent, and passed on as the bytes that came. What servers ask on the
//! way is passed on to the client whose call it is: in place where both eras wait, in rounds where the client's does not,
//! with the call parked meanwhile if its server cannot be asked again. No token of a client is ever passed on,
//! and nothing is tried twice that may have been done.

mod asks;
mod calls;
mod catalogs;
mod faults;
mod legacy;
mod named;
mod parked;
mod rounds;
mod targets;
mod views;
mod watches;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use contexture::Principal;
use contexture::model::{
    ElicitParams, ErrorObject, InputRequest, JsonObject, ListChangedCapability, Method, ResourcesCapability,
    ServerCapabilities, Tool,
};
use contexture::server::{
    BoxFuture, Context, Mirrors, Operation, OperationResult, Provider, Registry, Reply, Request, Session,
};

use tokio::sync::watch;

use crate::catalog::{PAGE_ITEMS, compact};
use crate::config::{Limits, Scope, ServerEntry};
use crate::consent::{Consent, Person, attributed};
use crate::login::Logins;
use crate::names;
use crate::operations::{Metrics, Seen};
use crate::sampling::Models;
use crate::upstream::{Answered, Audience, Desk, Observer, Upstream, lock};
pub(crate) use catalogs::View;
use parked::Parked;
use views::Catalogs;
use watches::Watches;

/// The code of "this was not allowed". Outside the range that JSON-RPC and MCP reserve.
pub const DENIED: i64 = -31403;

/// Everything that answers need.
pub(crate) struct Gateway {
    pub(crate) upstreams: RwLock<Arc<Vec<Arc<Upstream>>>>,
    catalogs: Catalogs,
    pub(crate) consent: Consent,
    models: RwLock<Models>,
    limits: RwLock<Arc<Limits>>,
    person: Option<Arc<dyn Person>>,
    pub(crate) logins: Option<Arc<Logins>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) parked: Parked,
    watches: Watches,
    /// Of every server that shows this face.
    registries: Mutex<Vec<Registry>>,
    /// With one server whose names are left alone: what that one says about itself.
    transparent: RwLock<Option<Declared>>,
    /// What is declared otherwise.
    everything: Arc<ServerCapabilities>,
    /// Whether people are not to be asked any more.
    ending: watch::Sender<bool>,
    this: Weak<Self>,
}

/// What a server says about itself.
pub(crate) struct Declared {
    pub(crate) capabilities: Arc<ServerCapabilities>,
    pub(crate) instructions: Option<String>,
}

/// What a gateway is made of.
pub(crate) struct Parts {
    pub(crate) consent: Consent,
    pub(crate) models: Models,
    pub(crate) limits: Limits,
    pub(crate) person: Option<Arc<dyn Person>>,
    pub(crate) logins: Option<Arc<Logins>>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Gateway {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let gateway = Arc::new_cyclic(|this: &Weak<Self>| Self {
            upstreams: RwLock::default(),
            catalogs: Catalogs::default(),
            consent: parts.consent,
            models: RwLock::new(parts.models),
            limits: RwLock::new(Arc::new(parts.limits)),
            person: parts.person,
            logins: parts.logins,
            metrics: parts.metrics,
            parked: Parked::default(),
            watches: Watches::new(this.clone()),
            registries: Mutex::default(),
            transparent: RwLock::default(),
            everything: Arc::new(everything()),
            ending: watch::channel(false).0,
            this: this.clone(),
        });
        if let Some(logins) = &gateway.logins {
            let this = Arc::downgrade(&gateway);
            logins.tell(move |person, url| {
                if let Some(gateway) = this.upgrade() {
                    gateway.logged_in(person, url);
                }
            });
        }
        gateway
    }

    /// Who hears what upstreams say by themselves.
    pub(crate) fn observer(self: &Arc<Self>) -> Weak<dyn Observer> {
        let observer: Arc<dyn Observer> = Arc::<Self>::clone(self);
        Arc::downgrade(&observer)
    }

    pub(crate) fn upstreams(&self) -> Arc<Vec<Arc<Upstream>>> {
        Arc::clone(&self.upstreams.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on these, in this order. Whoever has taken hold of another goes on with it.
    pub(crate) fn replace(&self, upstreams: Vec<Arc<Upstream>>, models: Models, limits: Limits) {
        *self.upstreams.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(upstreams);
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = models;
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(limits);
        self.changed(catalogs::Changed::ALL);
        // What is watched at a server that was replaced is watched at the new one.
        self.upstreams().iter().for_each(|upstream| self.watches.lost(&upstream.entry().name));
    }

    pub(crate) fn declare(&self, declared: Option<Declared>) {
        *self.transparent.write().unwrap_or_else(PoisonError::into_inner) = declared;
    }

    /// The one server, where there is one only and its names are left alone: to clients we are that one.
    pub(crate) fn only(&self) -> Option<Arc<Upstream>> {
        let upstreams = self.upstreams();
        let mut enabled = upstreams.iter().filter(|upstream| upstream.entry().enabled());
        enabled.next().filter(|upstream| !upstream.entry().prefix && enabled.next().is_none()).cloned()
    }

    pub(crate) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn models(&self) -> Models {
        self.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn has_models(&self) -> bool {
        self.models.read().unwrap_or_else(PoisonError::into_inner).is_configured()
    }

    /// What a server asks, said to come from it. A single one that was named on the command line has no name that anybody
    /// gave it, and clients take us for it.
    fn attributed(&self, entry: &ServerEntry, params: ElicitParams) -> ElicitParams {
        let is_nameless = entry.origin.scope == Scope::CommandLine && self.only().is_some();
        if is_nameless { params } else { attributed(&entry.name, params) }
    }

    /// Takes back what people are asked, and asks nothing more: nobody has said yes.
    pub(crate) fn ask_no_more(&self) {
        self.ending.send_replace(true);
    }

    /// Those on whose behalf a server is used.
    fn audience(&self, context: &Context, entry: &ServerEntry, personal: bool) -> Audience {
        Audience::of(context, entry, self.has_models(), personal)
    }

    /// The roots of a client have changed.
    pub(crate) fn roots_changed(&self, session: &Session) {
        if let Some(number) = session.number() {
            self.upstreams().iter().for_each(|upstream| upstream.roots_changed(number));
        }
    }

    /// Another server that shows this face.
    pub(crate) fn register(&self, registry: Registry) {
        lock(&self.registries).push(registry);
    }

    /// Tells clients that lists have changed, if any of them has seen one.
    fn changed(&self, changed: catalogs::Changed) {
        if !self.catalogs.forget(changed) {
            return;
        }
        for registry in &*lock(&self.registries) {
            if changed.tools {
                registry.tools_changed();
            }
            if changed.prompts {
                registry.prompts_changed();
            }
            if changed.resources {
                registry.resources_changed();
            }
        }
    }

    async fn answer(self: &Arc<Self>, seen: &Seen, operation: Operation) -> OperationResult {
        let Operation { context, request } = operation;
        match request {
            Request::ListTools(cursor) => self.list(&context, Method::ToolsList, cursor).await,
            Request::ListPrompts(cursor) => self.list(&context, Method::PromptsList, cursor).await,
            Request::ListResources(cursor) => self.list(&context, Method::ResourcesList, cursor).await,
            Request::ListResourceTemplates(cursor) => {
                self.list(&context, Method::ResourcesTemplatesList, cursor).await
            }
            Request::CallTool { name, arguments } => self.call_tool(seen, &context, name, arguments).await,
            Request::GetPrompt { name, arguments } => self.get_prompt(seen, &context, name, arguments).await,
            Request::ReadResource(uri) => self.read_resource(seen, &context, uri).await,
            Request::Complete(params) => self.complete(seen, &context, params).await,
            Request::Subscribe(uri) => {
                self.begin_watching(&context, &uri).await?;
                Ok(Reply::Subscribed(uri))
            }
            // Whoever kept count drops what was kept.
            Request::Unsubscribe(uri) => Ok(Reply::Unsubscribed(uri)),
            Request::Listen(filter) => self.listen(&context, filter).await,
            Request::SetLevel(level) => {
                self.set_level(&context, level);
                Ok(Reply::LevelSet(level))
            }
            _ => Err(ErrorObject::method_not_found("an unknown method")),
        }
    }

    async fn list(
        self: &Arc<Self>,
        context: &Context,
        list: Method,
        cursor: Option<String>,
    ) -> OperationResult {
        let view = self.view_of_one(context).await?;
        let page = view.catalog.list(list, context.revision(), cursor.as_deref(), PAGE_ITEMS)?;
        Ok(Reply::Encoded(page))
    }

    /// Servers that are there are told at once; others when they are next used.
    fn set_level(self: &Arc<Self>, context: &Context, level: contexture::model::LoggingLevel) {
        let (gateway, context) = (Arc::clone(self), context.clone());
        tokio::spawn(async move {
            let viewer = gateway.viewer(context.principal());
            for upstream in &*gateway.upstreams() {
                let entry = upstream.entry();
                if gateway.may_use(&context, entry).await.is_err() {
                    continue;
                }
                let personal = gateway.catalogs.is_personal(&viewer, &entry.name);
                if let Some(lease) = upstream.existing(&gateway.audience(&context, entry, personal)) {
                    tokio::spawn(async move { lease.log_from(Some(level)).await });
                }
            }
        });
    }
}

impl Observer for Gateway {
    fn offer_changed(&self, changed: catalogs::Changed) {
        self.changed(changed);
    }

    fn resource_updated(&self, entry: &ServerEntry, who: Option<&Principal>, uri: &str) {
        if who.is_some_and(|principal| self.conceals(principal, entry, uri)) {
            // Other rules may hold by now than when they began to watch it.
            return;
        }
        let uri =
            if entry.prefix { names::outward_uri(uri, &names::slug(&entry.name)) } else { uri.to_owned() };
        for registry in &*lock(&self.registries) {
            match who {
                Some(principal) => registry.resource_updated_for(principal, &uri),
                None => registry.resource_updated(&uri),
            }
        }
    }

    fn asked_outside(&self, desk: Arc<Desk>, request: InputRequest) -> BoxFuture<Answered> {
        let gateway = self.this.upgrade();
        Box::pin(async move {
            match gateway {
                Some(gateway) => asks::outside(&gateway, &desk, request).await,
                None => Err(ErrorObject::internal("the gateway is ending")),
            }
        })
    }

    fn watching_lost(&self, server: &str) {
        self.watches.lost(server);
    }

    fn restarted(&self, server: &str) {
        self.metrics.restarted(server);
    }
}

/// The face that clients see.
pub(crate) struct Face(pub(crate) Arc<Gateway>);

impl Provider for Face {
    fn capabilities(&self) -> Arc<ServerCapabilities> {
        let transparent = self.0.transparent.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(transparent.as_ref().map_or(&self.0.everything, |declared| &declared.capabilities))
    }

    fn instructions(&self) -> Option<String> {
        let transparent = self.0.transparent.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(declared) = &*transparent {
            return declared.instructions.clone();
        }
        drop(transparent);
        let upstreams = self.0.upstreams();
        // Everybody's; and those of whoever started us, who is alone here then.
        let circles = [None, Some(Principal::local())];
        let known = upstreams.iter().filter_map(|upstream| {
            let offer = circles.iter().find_map(|circle| upstream.known_offer(circle)?.ok())?;
            Some((Arc::clone(upstream.entry()), offer))
        });
        let known: Vec<_> = known.collect();
        crate::catalog::instructions(known.iter().map(|(entry, offer)| (&**entry, &**offer)))
    }

    fn perform(&self, operation: Operation) -> BoxFuture<OperationResult> {
        let gateway = Arc::clone(&self.0);
        Box::pin(async move {
            let seen = gateway.metrics.exchange(&operation.context, &operation.request);
            let result = gateway.answer(&seen, operation).await;
            seen.end(&result);
            result
        })
    }

    fn tool(&self, principal: &Principal, name: &str) -> Option<Arc<Tool>> {
        let viewer = self.0.viewer(principal);
        let view = self.0.catalogs.known(&viewer, self.0.consent.tells_callers_apart())?;
        view.catalog.tool(name).map(|route| Arc::clone(&route.definition))
    }

    fn mirrors(&self, principal: &Principal, name: &str) -> Option<Mirrors> {
        let viewer = self.0.viewer(principal);
        let view = self.0.catalogs.known(&viewer, self.0.consent.tells_callers_apart())?;
        view.catalog.tool(name).map(|route| route.mirrors().clone())
    }

    fn watch(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        self.0.watches.hold(context, uri)
    }
}

/// All that a server may turn out to offer that joins later.
fn everything() -> ServerCapabilities {
    ServerCapabilities {
        tools: Some(ListChangedCapability::announced()),
        prompts: Some(ListChangedCapability::announced()),
        resources: Some(ResourcesCapability {
            subscribe: Some(true),
            list_changed: Some(true),
            ..ResourcesCapability::default()
        }),
        completions: Some(JsonObject::new()),
        logging: Some(JsonObject::new()),
        ..ServerCapabilities::default()
    }
}

/// A result as it goes to the client, with the names that things have here.
fn outward(slug: Option<&str>, method: Method, result: bytes::Bytes) -> bytes::Bytes {
    match slug {
        Some(slug) => crate::catalog::outward(result, method, slug),
        None => compact(result),
    }
}

/// In milliseconds, for people and programs.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
