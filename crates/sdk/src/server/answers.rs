//! Who answers what: from an operation to the entry of the registry that serves it.
//!
//! This is the bottom of the stack, below all layers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use contexture_core::uri;
use serde::Serialize;
use serde_json::value::RawValue;
use tower_service::Service;

use super::completion::Completing;
use super::forwarded;
use super::gate::gate_of;
use super::listen::{Declared, List};
use super::operation::{BoxFuture, Operation, OperationResult, Reply, Request};
use super::output::Failure;
use super::registry::{CompletionTarget, Table, Tables};
use super::resource::{Definition, ResourceEntry};
use super::serving::Serving;
use super::tool::ToolEntry;
use super::{Context, Provider};
use crate::model::{
    CacheScope, CompleteParams, CompleteResult, DiscoverResult, ErrorObject, ListChangedCapability,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Method, Reference,
    ResourcesCapability, ServerCapabilities, SubscriptionFilter,
};
use crate::revision::{Lower, Revision};

/// A resource, and the variables of its URI.
type Found = (ResourceEntry, BTreeMap<String, String>);

/// The bottom of the stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bottom;

impl Service<Operation> for Bottom {
    type Response = Reply;
    type Error = ErrorObject;
    type Future = BoxFuture<OperationResult>;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, operation: Operation) -> Self::Future {
        let Operation { context, request } = operation;
        let serving = Arc::clone(&context.inner.serving);
        if serving.provider.is_none() {
            return serving.answer(&context, request);
        }
        let tool = match &request {
            Request::CallTool { name, .. } => Some(name.clone()),
            _ => None,
        };
        let work = serving.answer(&context, request);
        Box::pin(async move { forwarded::opened(&context, work.await?, tool.as_deref()) })
    }
}

/// Whether a capability that the method belongs to is among these.
fn is_declared(capabilities: &ServerCapabilities, method: Method) -> bool {
    match method {
        Method::ToolsList | Method::ToolsCall => capabilities.tools.is_some(),
        Method::PromptsList | Method::PromptsGet => capabilities.prompts.is_some(),
        Method::ResourcesList | Method::ResourcesTemplatesList | Method::ResourcesRead => {
            capabilities.resources.is_some()
        }
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            capabilities.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true))
        }
        Method::CompletionComplete => capabilities.completions.is_some(),
        Method::LoggingSetLevel => capabilities.logging.is_some(),
        Method::ServerDiscover | Method::SubscriptionsListen => true,
        _ => false,
    }
}

impl Serving {
    /// Whether this server has what the method needs. What it has not, it does not know.
    pub(super) fn answers(&self, method: Method) -> bool {
        self.answers_from(&self.registry.tables(), method)
    }

    /// The same, of one state of the offer.
    pub(super) fn answers_from(&self, tables: &Tables, method: Method) -> bool {
        if let Some(provider) = &self.provider {
            return is_declared(&provider.capabilities(), method);
        }
        let resources = tables.resources.is_offered() || tables.templates.is_offered();
        match method {
            Method::ToolsList | Method::ToolsCall => tables.tools.is_offered(),
            Method::PromptsList | Method::PromptsGet => tables.prompts.is_offered(),
            Method::ResourcesList | Method::ResourcesTemplatesList | Method::ResourcesRead => resources,
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => resources && self.offer.subscribe,
            Method::CompletionComplete => !tables.completers.is_empty(),
            Method::LoggingSetLevel => self.offer.logging,
            Method::ServerDiscover | Method::SubscriptionsListen => true,
            _ => false,
        }
    }

    /// The capabilities that follow from what is registered, or those that the provider declares.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        if let Some(provider) = &self.provider {
            return ServerCapabilities::clone(&provider.capabilities());
        }
        let list_changed = || ListChangedCapability {
            list_changed: self.offer.list_changed.then_some(true),
            ..ListChangedCapability::default()
        };
        ServerCapabilities {
            tools: self.answers(Method::ToolsList).then(list_changed),
            prompts: self.answers(Method::PromptsList).then(list_changed),
            resources: self.answers(Method::ResourcesList).then(|| ResourcesCapability {
                subscribe: self.offer.subscribe.then_some(true),
                list_changed: self.offer.list_changed.then_some(true),
                ..ResourcesCapability::default()
            }),
            completions: self.answers(Method::CompletionComplete).then(Default::default),
            logging: self.offer.logging.then(Default::default),
            ..ServerCapabilities::default()
        }
    }

    /// How to use the server, for the model.
    pub(super) fn instructions(&self) -> Option<String> {
        let provided = self.provider.as_ref().and_then(|provider| provider.instructions());
        provided.or_else(|| self.instructions.clone())
    }

    pub(super) fn answer(&self, context: &Context, request: Request) -> BoxFuture<OperationResult> {
        if let Some(provider) = &self.provider {
            return self.answer_by(&**provider, context, request);
        }
        let done = match request {
            Request::CallTool { name, arguments } => {
                return self.call_tool(context, &name, arguments.as_deref().map(RawValue::get));
            }
            Request::GetPrompt { name, arguments } => return self.get_prompt(context, &name, &arguments),
            Request::ReadResource(uri) => return self.read_resource(context, &uri),
            Request::Complete(params) => return self.complete(context, params),
            Request::ListTools(cursor) => self.list_tools(context, cursor.as_deref()),
            Request::ListPrompts(cursor) => self.list_prompts(context, cursor.as_deref()),
            Request::ListResources(cursor) => self.list_resources(context, cursor.as_deref()),
            Request::ListResourceTemplates(cursor) => self.list_templates(context, cursor.as_deref()),
            Request::Subscribe(uri) => self.known_resource(context, &uri).map(|()| Reply::Subscribed(uri)),
            Request::Unsubscribe(uri) => Ok(Reply::Unsubscribed(uri)),
            Request::Updated(uri) => Ok(Reply::MayTell(uri)),
            Request::SetLevel(level) => Ok(Reply::LevelSet(level)),
            Request::Discover => Ok(Reply::Discovered(Box::new(self.discover()))),
            Request::Listen(filter) => self.honoured(context, filter).map(Reply::Listening),
        };
        Box::pin(std::future::ready(done))
    }

    /// What belongs to the connection is answered here, everything else by the provider.
    fn answer_by(
        &self,
        provider: &dyn Provider,
        context: &Context,
        request: Request,
    ) -> BoxFuture<OperationResult> {
        let request = match request {
            Request::Discover => {
                let discovered = Reply::Discovered(Box::new(self.discover()));
                return Box::pin(std::future::ready(Ok(discovered)));
            }
            Request::Updated(uri) => return Box::pin(std::future::ready(Ok(Reply::MayTell(uri)))),
            Request::Listen(wanted) => match self.declared_part(wanted) {
                Ok(filter) => Request::Listen(filter),
                Err(error) => return refused(error),
            },
            request => request,
        };
        provider.perform(Operation { context: context.clone(), request })
    }

    pub(super) fn call_tool(
        &self,
        context: &Context,
        name: &str,
        arguments: Option<&str>,
    ) -> BoxFuture<OperationResult> {
        call_tool(self.registry.tables().tools.get(name), context, name, arguments)
    }

    fn get_prompt(
        &self,
        context: &Context,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> BoxFuture<OperationResult> {
        match self.registry.tables().prompts.get(name) {
            Some(prompt) => prompt.get(context, arguments),
            None => refused(ErrorObject::invalid_params(format!("unknown prompt: {}", shown(name)))),
        }
    }

    fn read_resource(&self, context: &Context, uri: &str) -> BoxFuture<OperationResult> {
        match self.find_resource(uri) {
            Ok(Some((resource, variables))) => resource.read(context, uri, &variables),
            Ok(None) => refused(ErrorObject::resource_not_found(context.rules().not_found_code, uri)),
            Err(error) => refused(error),
        }
    }

    fn known_resource(&self, context: &Context, uri: &str) -> Result<(), ErrorObject> {
        match self.find_resource(uri)? {
            Some((resource, _)) => resource.gate.check(context.principal()),
            None => Err(ErrorObject::resource_not_found(context.rules().not_found_code, uri)),
        }
    }

    pub(super) fn find_resource(&self, uri: &str) -> Result<Option<Found>, ErrorObject> {
        uri::check(uri).map_err(|error| ErrorObject::invalid_params(format!("not a URI: {error}")))?;
        let tables = self.registry.tables();
        if let Some(resource) = tables.resources.get(uri) {
            return Ok(Some((resource.clone(), BTreeMap::new())));
        }
        let matching =
            |template: &ResourceEntry| template.captures(uri).map(|found| (template.clone(), found));
        Ok(tables.templates.iter().find_map(matching))
    }

    fn complete(&self, context: &Context, params: CompleteParams) -> BoxFuture<OperationResult> {
        let tables = self.registry.tables();
        let found = gate_of(&tables, &params.reference);
        let target = match params.reference {
            Reference::Prompt { name, .. } => CompletionTarget::Prompt(name),
            Reference::Resource { uri } => CompletionTarget::Template(uri),
            _ => return refused(ErrorObject::invalid_params("unknown kind of reference")),
        };
        let Some(gate) = found else {
            return refused(ErrorObject::invalid_params("there is no such prompt or resource template"));
        };
        if let Err(error) = gate.check(context.principal()) {
            return refused(error);
        }
        let known = params.context.and_then(|context| context.arguments).unwrap_or_default();
        let completing = Completing { context: context.clone(), value: params.argument.value, known };
        let Some(completer) = tables.completers.get(&(target, params.argument.name)) else {
            // An argument that nobody completes has no proposals; that is no fault of the client.
            return Box::pin(std::future::ready(Ok(Reply::Completion(CompleteResult::default()))));
        };
        let (work, rules) = (completer.complete(completing), context.rules());
        Box::pin(async move {
            let completion =
                work.await.map_err(|error| Failure::from_error(error).into_protocol_error(rules))?;
            Ok(Reply::Completion(CompleteResult { completion, ..CompleteResult::default() }))
        })
    }

    fn discover(&self) -> DiscoverResult {
        let modern = |revision: &&Revision| revision.is_modern();
        DiscoverResult {
            supported_versions: self.revisions.iter().filter(modern).map(ToString::to_string).collect(),
            capabilities: self.capabilities(),
            instructions: self.instructions(),
            ttl_ms: Some(self.ttl_ms()),
            cache_scope: Some(self.cache_scope()),
            ..DiscoverResult::default()
        }
    }

    /// The part of what a client wants to listen for that this server has.
    fn honoured(
        &self,
        context: &Context,
        wanted: SubscriptionFilter,
    ) -> Result<SubscriptionFilter, ErrorObject> {
        let mut filter = self.declared_part(wanted)?;
        if let Some(uris) = &mut filter.resource_subscriptions {
            uris.retain(|uri| self.known_resource(context, uri).is_ok());
        }
        filter.resource_subscriptions = filter.resource_subscriptions.filter(|uris| !uris.is_empty());
        Ok(filter)
    }

    /// The part of what a client wants to listen for that is declared.
    fn declared_part(&self, wanted: SubscriptionFilter) -> Result<SubscriptionFilter, ErrorObject> {
        let limit = self.policy.subscriptions;
        let uris = wanted.resource_subscriptions.filter(|uris| !uris.is_empty());
        if uris.as_ref().is_some_and(|uris| uris.len() > limit) {
            return Err(ErrorObject::invalid_params(format!("a stream may watch {limit} resources")));
        }
        let declared = Declared::from(&self.capabilities());
        let lists =
            |wanted: Option<bool>, list: List| (wanted == Some(true) && list.is_in(declared)).then_some(true);
        Ok(SubscriptionFilter {
            tools_list_changed: lists(wanted.tools_list_changed, List::Tools),
            prompts_list_changed: lists(wanted.prompts_list_changed, List::Prompts),
            resources_list_changed: lists(wanted.resources_list_changed, List::Resources),
            resource_subscriptions: uris.filter(|_| self.answers(Method::ResourcesSubscribe)),
        })
    }

    fn ttl_ms(&self) -> u64 {
        u64::try_from(self.offer.cache.as_millis()).unwrap_or(u64::MAX)
    }

    fn cache_scope(&self) -> CacheScope {
        if self.offer.shared_cache { CacheScope::Public } else { CacheScope::Private }
    }
}

fn refused(error: ErrorObject) -> BoxFuture<OperationResult> {
    Box::pin(std::future::ready(Err(error)))
}

/// Names from a peer go into messages cut and escaped.
fn shown(name: &str) -> String {
    name.chars().take(100).flat_map(char::escape_debug).collect()
}

/// One list: its method, its table, and the result that carries it.
macro_rules! lists {
    ($($name:ident $method:ident $table:ident $result:ident $field:ident $reply:ident $item:expr;)*) => {
        impl Serving {
            $(fn $name(&self, context: &Context, cursor: Option<&str>) -> OperationResult {
                let tables = self.registry.tables();
                let build = |cursor| -> Result<$result, ErrorObject> {
                    let page = self.pager.page(Method::$method, &tables.$table, cursor, $item)?;
                    Ok($result {
                        $field: page.items.into_iter().flatten().collect(),
                        next_cursor: page.next,
                        ttl_ms: Some(self.ttl_ms()),
                        cache_scope: Some(self.cache_scope()),
                        ..$result::default()
                    })
                };
                if cursor.is_some() || self.stack.is_some() {
                    return build(cursor).map(Reply::$reply);
                }
                let rules = context.rules();
                let encoded = tables.encoded.get_or_encode(Method::$method, rules.revision, || {
                    let mut result = build(None)?;
                    result.lower(rules);
                    encode(&result)
                })?;
                Ok(Reply::Encoded(encoded))
            })*
        }
    };
}

lists! {
    list_tools ToolsList tools ListToolsResult tools Tools |entry| Some((*entry.definition).clone());
    list_prompts PromptsList prompts ListPromptsResult prompts Prompts |entry| Some((*entry.definition).clone());
    list_resources ResourcesList resources ListResourcesResult resources Resources |entry| match &entry.definition {
        Definition::Fixed(resource) => Some((**resource).clone()),
        Definition::Template(..) => None,
    };
    list_templates ResourcesTemplatesList templates ListResourceTemplatesResult resource_templates ResourceTemplates
        |entry| match &entry.definition {
            Definition::Template(template, _) => Some((**template).clone()),
            Definition::Fixed(_) => None,
        };
}

fn encode(result: &impl Serialize) -> Result<Vec<u8>, ErrorObject> {
    serde_json::to_vec(result).map_err(|error| ErrorObject::internal(error.to_string()))
}

impl<T: Clone> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Table")
    }
}

/// Begins a call of a tool, if there is one.
pub(super) fn call_tool(
    tool: Option<&ToolEntry>,
    context: &Context,
    name: &str,
    arguments: Option<&str>,
) -> BoxFuture<OperationResult> {
    match tool {
        Some(tool) => tool.call(context, arguments),
        None => refused(ErrorObject::invalid_params(format!("unknown tool: {}", shown(name)))),
    }
}
