//! From what a client names to what a server is sent: the catalog's routes, and the parameters in the server's own words.

use std::collections::BTreeMap;
use std::sync::Arc;

use contexture::Principal;
use contexture::model::{CallToolResult, CompleteParams, Content, ErrorObject, Method, Reference, Tool};
use contexture::server::{Context, OperationResult, Reply};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::calls::{Call, login_wanted};
use super::catalogs::Served;
use super::{Gateway, View};
use crate::config::ServerEntry;
use crate::consent::{Asking, Kind, NO_PIN};
use crate::operations::Seen;
use crate::upstream::Upstream;

/// Under which is kept that a call is a login, and where.
const LOGGING_IN: &str = "logging in";

/// What is to be called.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) view: Arc<View>,
    pub(super) server: usize,
    pub(super) method: Method,
    pub(super) kind: Kind,
    /// What the server calls it.
    pub(super) original: String,
    /// What it is called here.
    pub(super) shown: String,
    pub(super) definition: Option<Arc<Tool>>,
    pub(super) pin: [u8; 32],
    pub(super) arguments: Option<Box<RawValue>>,
    /// All that is sent, without metadata.
    pub(super) params: Box<RawValue>,
}

impl Target {
    pub(super) fn served(&self) -> &Served {
        &self.view.servers[self.server]
    }

    pub(super) fn upstream(&self) -> &Arc<Upstream> {
        &self.served().upstream
    }

    pub(super) fn entry(&self) -> &Arc<ServerEntry> {
        self.upstream().entry()
    }

    /// What consent is asked about, and what is written down.
    pub(super) fn asking<'a>(&'a self, principal: &'a Principal, trace: Option<&'a str>) -> Asking<'a> {
        Asking {
            principal,
            server: self.entry(),
            tool: &self.original,
            shown: &self.shown,
            definition: self.definition.as_deref(),
            pin: &self.pin,
            arguments: self.arguments.as_deref(),
            kind: self.kind,
            trace,
        }
    }

    /// Whether making it twice does no harm.
    pub(super) fn is_harmless(&self) -> bool {
        self.method != Method::ToolsCall
    }
}

#[derive(Serialize)]
struct Named<'a, A> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<A>,
}

#[derive(Serialize)]
struct At<'a> {
    uri: &'a str,
}

impl Gateway {
    pub(super) async fn call_tool(
        self: &Arc<Self>,
        seen: &Seen,
        context: &Context,
        name: String,
        arguments: Option<Box<RawValue>>,
    ) -> OperationResult {
        if let Some(server) = context.recall::<String>(LOGGING_IN) {
            // Whatever the name stands for by now.
            return self.log_in(context, &server).await;
        }
        let look = |view: &View| {
            let route = view.catalog.tool(&name)?;
            Some((route.server, route.original().to_owned(), Arc::clone(&route.definition), route.pin))
        };
        let unknown = || ErrorObject::invalid_params(format!("unknown tool {name:?}"));
        let ((server, original, definition, pin), view) =
            self.find_behind_login(context, &name, look, unknown).await?;
        if view.servers[server].only_login {
            return self.log_in(context, &view.servers[server].upstream.entry().name).await;
        }
        let params = raw(&Named { name: &original, arguments: arguments.as_deref() })?;
        let target = Target {
            view,
            server,
            method: Method::ToolsCall,
            kind: Kind::Tool,
            original,
            shown: name,
            definition: Some(definition),
            pin,
            arguments,
            params,
        };
        self.call(seen, context, &target).await
    }

    pub(super) async fn get_prompt(
        self: &Arc<Self>,
        seen: &Seen,
        context: &Context,
        name: String,
        arguments: BTreeMap<String, String>,
    ) -> OperationResult {
        let look =
            |view: &View| view.catalog.prompt(&name).map(|route| (route.server, route.original().to_owned()));
        let unknown = || ErrorObject::invalid_params(format!("unknown prompt {name:?}"));
        let ((server, original), view) = self.find_behind_login(context, &name, look, unknown).await?;
        let arguments = (!arguments.is_empty()).then(|| raw(&arguments)).transpose()?;
        let params = raw(&Named { name: &original, arguments: arguments.as_deref() })?;
        let (method, kind) = (Method::PromptsGet, Kind::Prompt);
        let target = Target::plain(view, server, method, kind, original, name, arguments, params);
        self.call(seen, context, &target).await
    }

    pub(super) async fn read_resource(
        self: &Arc<Self>,
        seen: &Seen,
        context: &Context,
        uri: String,
    ) -> OperationResult {
        let look = |view: &View| view.catalog.resource(&uri).map(|route| (route.server, route.original));
        let code = context.revision().rules().not_found_code;
        let unknown = || ErrorObject::resource_not_found(code, &uri);
        let ((server, original), view) = self.find(context, &uri, look, unknown).await?;
        let params = raw(&At { uri: &original })?;
        let (method, kind) = (Method::ResourcesRead, Kind::Resource);
        let target = Target::plain(view, server, method, kind, original, uri, None, params);
        self.call(seen, context, &target).await
    }

    pub(super) async fn complete(
        self: &Arc<Self>,
        seen: &Seen,
        context: &Context,
        params: CompleteParams,
    ) -> OperationResult {
        let named = match &params.reference {
            Reference::Prompt { name, .. } => name.clone(),
            Reference::Resource { uri } => uri.clone(),
            _ => String::new(),
        };
        let look = |view: &View| {
            view.catalog.completion(&params.reference).map(|route| (route.server, route.reference))
        };
        let unknown = || ErrorObject::invalid_params("there is no such prompt or resource template");
        let ((server, reference), view) = self.find(context, &named, look, unknown).await?;
        let (original, kind) = match &reference {
            Reference::Prompt { name, .. } => (name.clone(), Kind::Prompt),
            Reference::Resource { uri } => (uri.clone(), Kind::Resource),
            _ => return Err(unknown()),
        };
        let params = raw(&CompleteParams { reference, meta: None, ..params })?;
        let method = Method::CompletionComplete;
        let target = Target::plain(view, server, method, kind, original, named, None, params);
        self.call(seen, context, &target).await
    }

    async fn call(self: &Arc<Self>, seen: &Seen, context: &Context, target: &Target) -> OperationResult {
        let personal = target.view.servers[target.server].personal;
        let who = self.audience(context, target.entry(), personal);
        let call = Call { gateway: self, seen, context, target, who, trace: seen.trace_id() };
        call.run().await
    }

    /// The only thing that a server offers to those who are not logged in yet, or whose client nobody has agreed to.
    async fn log_in(self: &Arc<Self>, context: &Context, server: &str) -> OperationResult {
        let upstreams = self.upstreams();
        let upstream = upstreams.iter().find(|upstream| upstream.entry().name == server);
        let upstream = upstream.ok_or_else(|| {
            ErrorObject::invalid_params(format!("the server {server:?} is not here any more"))
        })?;
        if context.is_replayed() {
            let kept = context.keep(LOGGING_IN, &server);
            kept.map_err(|error| ErrorObject::internal(error.to_string()))?;
        }
        self.admit_to(context, upstream).await?;
        let done = format!("Logged in. The tools of {server:?} are listed now.");
        Ok(Reply::Tool(CallToolResult::new(vec![Content::text(done)])))
    }

    /// Finds something. Whoever names what a server would have that shows nothing before a login is asked for that first, and
    /// for the consent of the person to the client that they use: whether it is there, they learn afterwards.
    async fn find_behind_login<T>(
        self: &Arc<Self>,
        context: &Context,
        name: &str,
        look: impl Fn(&View) -> Option<T>,
        unknown: impl FnOnce() -> ErrorObject,
    ) -> Result<(T, Arc<View>), ErrorObject> {
        let view = self.view(context).await;
        if let Some(found) = look(&view) {
            return Ok((found, view));
        }
        if let Some(upstream) = view.locked(name) {
            self.admit_to(context, upstream).await?;
        }
        self.find(context, name, look, unknown).await
    }

    /// Asks for whatever is missing before this client sees what the server offers to the person.
    async fn admit_to(&self, context: &Context, upstream: &Upstream) -> Result<(), ErrorObject> {
        let (entry, principal) = (upstream.entry(), context.principal());
        let Some(logins) = &self.logins else { return Ok(()) };
        let missing = match logins.permits(entry, principal).await {
            Err(wanted) => Some(wanted),
            Ok(()) => {
                let own = logins.has_login(entry, principal).await.then(|| principal.identity());
                upstream.known_offer(&own).and_then(Result::err).as_ref().and_then(login_wanted)
            }
        };
        match missing {
            Some(wanted) => logins.needed(entry, context, &wanted).await,
            None => Ok(()),
        }
    }
}

impl Target {
    #[allow(clippy::too_many_arguments, reason = "each is another thing, and none has a default")]
    fn plain(
        view: Arc<View>,
        server: usize,
        method: Method,
        kind: Kind,
        original: String,
        shown: String,
        arguments: Option<Box<RawValue>>,
        params: Box<RawValue>,
    ) -> Self {
        Self { view, server, method, kind, original, shown, definition: None, pin: NO_PIN, arguments, params }
    }
}

fn raw(params: &impl Serialize) -> Result<Box<RawValue>, ErrorObject> {
    to_raw_value(params).map_err(|error| ErrorObject::internal(error.to_string()))
}
