//! A server as it serves: one value, shared by all connections, that turns exchanges into work.
//!
//! It decodes parameters, once and by method, and finds who answers. It does not know connections.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tower_service::Service as _;

use super::answers::call_tool;
use super::asks::Asks;
use super::exchange::{Run, binding, guarded};
use super::hooks::Hooks;
use super::mirrored::{self, Head};
use super::operation::{BoxFuture, Operation, OperationResult, Request, Stack};
use super::pages::Pager;
use super::provider::WatchGuard;
use super::registry::Tables;
use super::seal::Seal;
use super::wire::Wire;
use super::{Context, KeepAlive, Principal, Provider, Registry};
use crate::Policy;
use crate::engine::Exchange;
use crate::json_rpc::{self, PlainCall};
use crate::model::{
    CallToolParams, CompleteParams, ErrorObject, GetPromptParams, Implementation, InputResponses,
    LoggingLevel, LoggingMessageParams, Method, PaginatedParams, ReadResourceParams, SetLevelParams,
    SubscribeParams, SubscriptionsListenParams,
};
use crate::revision::{Lower, Revision, Rules};

/// What a server is, once it serves.
pub(crate) struct Serving {
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) registry: Registry,
    /// Who answers instead of the registry.
    pub(super) provider: Option<Arc<dyn Provider>>,
    pub(super) policy: Policy,
    pub(super) seal: Seal,
    pub(super) stack: Option<Stack>,
    pub(super) pager: Pager,
    pub(super) hooks: Hooks,
    pub(super) states: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(super) revisions: Vec<Revision>,
    pub(super) offer: Offer,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) rehearse: bool,
    /// `,"_meta":{…serverInfo…}}}`: the end of a modern result.
    pub(super) result_end: Vec<u8>,
}

/// What is declared beside what was registered.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) logging: bool,
    pub(super) log_level: LoggingLevel,
    pub(super) list_changed: bool,
    pub(super) subscribe: bool,
    pub(super) cache: Duration,
    pub(super) shared_cache: bool,
}

/// A request as it came, and who it came from.
pub(super) struct Arrival<'a> {
    pub(super) params: Option<&'a str>,
    pub(super) meta: Option<&'a str>,
    /// The parameters once more, if they are a plain call.
    pub(super) call: Option<PlainCall<'a>>,
    /// The message that the two are parts of.
    pub(super) frame: &'a Bytes,
    pub(super) principal: &'a Principal,
    pub(super) wire: &'a Arc<Wire>,
    /// Over HTTP: the headers.
    pub(super) head: Option<&'a Head>,
}

impl Arrival<'_> {
    fn decode<T: DeserializeOwned>(&self, method: Method) -> Result<T, ErrorObject> {
        serde_json::from_str(self.params.unwrap_or("{}")).map_err(|error| bad_params(method, &error))
    }

    /// What is asked for by name is also named in a header, where the revision wants that.
    fn check_name(&self, exchange: &Exchange, request: &Request) -> Result<(), ErrorObject> {
        let Some(head) = self.head.filter(|_| exchange.rules.has_header_mirroring) else { return Ok(()) };
        match request {
            Request::GetPrompt { name, .. } => mirrored::check_name(head, name),
            Request::ReadResource(uri) => mirrored::check_name(head, uri),
            _ => Ok(()),
        }
    }

    /// The tool and its arguments, as they stand in the message.
    fn call(&self, method: Method) -> Result<(ToolCall<'_>, Round), ErrorObject> {
        if let Some(PlainCall { name, arguments }) = self.call {
            return Ok((ToolCall { name: Cow::Borrowed(name), arguments }, Round::default()));
        }
        let params: CallToolParams<'_> =
            serde_json::from_str(self.params.unwrap_or("{}")).map_err(|error| bad_params(method, &error))?;
        let round = Round { responses: params.input_responses, state: params.request_state };
        let arguments = params.arguments.map(RawValue::get);
        Ok((ToolCall { name: params.name, arguments }, round))
    }

    fn part(&self, text: Option<&str>) -> Bytes {
        text.map_or_else(Bytes::new, |text| self.frame.slice_ref(text.as_bytes()))
    }
}

/// Which tool, with the text of its arguments.
struct ToolCall<'a> {
    name: Cow<'a, str>,
    arguments: Option<&'a str>,
}

/// Checks `Mcp-Param-*` of a tool that a provider has.
fn check_provided(
    provider: &dyn Provider,
    head: &Head,
    call: &ToolCall<'_>,
    principal: &Principal,
) -> Result<(), ErrorObject> {
    let Some(mirrors) = provider.mirrors(principal, &call.name) else { return Ok(()) };
    mirrored::check_arguments(head, &mirrors.0, call.arguments)
}

fn raw(method: Method, text: &str) -> Result<Box<RawValue>, ErrorObject> {
    RawValue::from_string(text.to_owned()).map_err(|error| bad_params(method, &error))
}

fn bad_params(method: Method, error: &serde_json::Error) -> ErrorObject {
    ErrorObject::bad_params(method.as_str(), error)
}

impl Serving {
    pub(super) fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.states.get(&TypeId::of::<T>()).cloned().and_then(|state| state.downcast().ok())
    }

    pub(super) fn has_logging(&self) -> bool {
        match &self.provider {
            Some(provider) => provider.capabilities().logging.is_some(),
            None => self.offer.logging,
        }
    }

    /// Lets the provider know who watches what. Nothing of it may run while anything is locked.
    pub(super) fn watch(&self, context: &Context, uri: &str) -> Option<WatchGuard> {
        let provider = self.provider.as_ref()?;
        guarded(|| provider.watch(context, uri)).ok().flatten()
    }

    fn redact(&self, message: LoggingMessageParams) -> Option<LoggingMessageParams> {
        match &self.hooks.redact {
            Some(redact) => redact(message),
            None => Some(message),
        }
    }

    /// Sends a log message whose level is wanted.
    pub(super) fn send_log(&self, wire: &Wire, message: LoggingMessageParams, rules: &Rules) {
        if let Some(mut message) = self.redact(message) {
            message.lower(rules);
            wire.chat(Method::LogMessage, &message);
        }
    }

    /// Begins the work for a request.
    pub(super) fn begin(
        self: &Arc<Self>,
        exchange: Exchange,
        arrival: &Arrival<'_>,
    ) -> Result<Run, ErrorObject> {
        let method = exchange.method;
        let tables = self.registry.tables();
        if !self.answers_from(&tables, method) {
            return Err(ErrorObject::method_not_found(method.as_str()));
        }
        if method == Method::ToolsCall {
            return self.begin_call(exchange, arrival, &tables);
        }
        let (request, round) = self.read(method, arrival)?;
        arrival.check_name(&exchange, &request)?;
        let context = self.context(exchange, arrival, round)?;
        if self.rehearses(&context) {
            let (serving, again) = (Arc::clone(self), context.clone());
            let again = move || serving.perform(again.clone(), request.clone());
            return Ok(Run::rehearsed(context, Box::new(again), Bytes::new()));
        }
        let params = self.params_for_seal(&context, arrival);
        let work = self.perform(context.clone(), request);
        Ok(Run::new(context, work, params))
    }

    /// The hot path: the tool gets the raw arguments as they stand in the message.
    fn begin_call(
        self: &Arc<Self>,
        exchange: Exchange,
        arrival: &Arrival<'_>,
        tables: &Tables,
    ) -> Result<Run, ErrorObject> {
        let method = exchange.method;
        let (call, round) = arrival.call(method)?;
        let tool = tables.tools.get(&call.name);
        if let Some(head) = arrival.head.filter(|_| exchange.rules.has_header_mirroring) {
            mirrored::check_name(head, &call.name)?;
            match (&self.provider, tool) {
                (Some(provider), _) => check_provided(&**provider, head, &call, arrival.principal)?,
                (None, Some(tool)) => mirrored::check_arguments(head, &tool.mirrors, call.arguments)?,
                (None, None) => {}
            }
        }
        let context = self.context(exchange, arrival, round)?;
        if self.stack.is_some() || self.provider.is_some() || self.rehearses(&context) {
            let request = Request::CallTool {
                name: call.name.into_owned(),
                arguments: call.arguments.map(|text| raw(method, text)).transpose()?,
            };
            let bytes = self.params_for_seal(&context, arrival);
            if self.rehearses(&context) {
                let (serving, again) = (Arc::clone(self), context.clone());
                let again = move || serving.perform(again.clone(), request.clone());
                return Ok(Run::rehearsed(context, Box::new(again), bytes));
            }
            return Ok(Run::new(context.clone(), self.perform(context, request), bytes));
        }
        let work = call_tool(tool, &context, &call.name, call.arguments);
        let bytes = self.params_for_seal(&context, arrival);
        Ok(Run::new(context, work, bytes))
    }

    fn rehearses(&self, context: &Context) -> bool {
        self.rehearse && context.rules().has_server_requests
    }

    /// What a question is bound to, and what names the tool whose result is passed on.
    fn params_for_seal(&self, context: &Context, arrival: &Arrival<'_>) -> Bytes {
        let may_ask = context.rules().has_input_rounds(context.method());
        if may_ask || self.provider.is_some() { arrival.part(arrival.params) } else { Bytes::new() }
    }

    /// Through the layers, if there are any, to the registry.
    fn perform(self: &Arc<Self>, context: Context, request: Request) -> BoxFuture<OperationResult> {
        match &self.stack {
            Some(stack) => stack.clone().call(Operation { context, request }),
            None => self.answer(&context, request),
        }
    }

    /// Asks the layers about something that is not a request of the client.
    pub(super) fn consult(
        self: &Arc<Self>,
        exchange: Exchange,
        wire: &Arc<Wire>,
        principal: Principal,
        request: Request,
    ) -> Run {
        let context = self.aside(exchange, wire, principal);
        let work = self.perform(context.clone(), request);
        Run::new(context, work, Bytes::new())
    }

    /// The context of something that is not a request of the client.
    pub(super) fn aside(
        self: &Arc<Self>,
        exchange: Exchange,
        wire: &Arc<Wire>,
        principal: Principal,
    ) -> Context {
        let (serving, wire, asks) = (Arc::clone(self), Arc::clone(wire), Asks::default());
        Context::new(exchange, serving, wire, principal, Bytes::new(), None, asks)
    }

    fn context(
        self: &Arc<Self>,
        exchange: Exchange,
        arrival: &Arrival<'_>,
        round: Round,
    ) -> Result<Context, ErrorObject> {
        let asks = self.asks(&exchange, arrival, round)?;
        let meta = arrival.part(arrival.meta);
        let (wire, principal) = (Arc::clone(arrival.wire), arrival.principal.clone());
        let head = arrival.head.cloned();
        Ok(Context::new(exchange, Arc::clone(self), wire, principal, meta, head, asks))
    }

    /// What earlier rounds left behind.
    fn asks(&self, exchange: &Exchange, arrival: &Arrival<'_>, round: Round) -> Result<Asks, ErrorObject> {
        let rounds = exchange.rules.has_input_rounds(exchange.method);
        let replay = rounds || (self.rehearse && exchange.rules.has_server_requests);
        let mut kept = match round.state.filter(|_| rounds) {
            Some(state) => {
                let binding =
                    binding(arrival.principal, exchange.method, arrival.params.unwrap_or("").as_bytes());
                let fits = state.len() <= self.policy.request_state_bytes;
                let kept = if fits { self.seal.open(&state, &binding) } else { None };
                let invalid =
                    || ErrorObject::invalid_params("this requestState is not valid here, or no longer");
                Some(kept.ok_or_else(invalid)?)
            }
            None => None,
        };
        if let Some(responses) = round.responses.filter(|_| rounds) {
            if responses.0.len() > self.policy.input_requests {
                return Err(ErrorObject::invalid_params("too many inputResponses"));
            }
            kept.get_or_insert_default().answers.extend(responses.0);
        }
        Ok(Asks::new(replay, kept))
    }

    fn read(&self, method: Method, arrival: &Arrival<'_>) -> Result<(Request, Round), ErrorObject> {
        let cursor = || arrival.decode::<PaginatedParams>(method).map(|params| params.cursor);
        let uri = || arrival.decode::<SubscribeParams>(method).map(|params| params.uri);
        let request = match method {
            Method::ToolsList => Request::ListTools(cursor()?),
            Method::PromptsList => Request::ListPrompts(cursor()?),
            Method::ResourcesList => Request::ListResources(cursor()?),
            Method::ResourcesTemplatesList => Request::ListResourceTemplates(cursor()?),
            Method::PromptsGet => {
                let params: GetPromptParams = arrival.decode(method)?;
                let round = Round { responses: params.input_responses, state: params.request_state };
                let arguments = params.arguments.unwrap_or_default();
                return Ok((Request::GetPrompt { name: params.name, arguments }, round));
            }
            Method::ResourcesRead => {
                let params: ReadResourceParams = arrival.decode(method)?;
                let round = Round { responses: params.input_responses, state: params.request_state };
                return Ok((Request::ReadResource(params.uri), round));
            }
            Method::ResourcesSubscribe => Request::Subscribe(uri()?),
            Method::ResourcesUnsubscribe => Request::Unsubscribe(uri()?),
            Method::CompletionComplete => Request::Complete(arrival.decode::<CompleteParams>(method)?),
            Method::LoggingSetLevel => Request::SetLevel(arrival.decode::<SetLevelParams>(method)?.level),
            Method::ServerDiscover => Request::Discover,
            Method::SubscriptionsListen => {
                Request::Listen(arrival.decode::<SubscriptionsListenParams>(method)?.notifications)
            }
            _ => return Err(ErrorObject::method_not_found(method.as_str())),
        };
        Ok((request, Round::default()))
    }
}

/// What a client sends when it tries again.
#[derive(Default)]
struct Round {
    responses: Option<InputResponses>,
    state: Option<String>,
}

/// `,"_meta":{"io.modelcontextprotocol/serverInfo":{…}}}}`
pub(super) fn result_end(info: &Implementation) -> Vec<u8> {
    let mut end = b",\"_meta\":{".to_vec();
    json_rpc::write_string(crate::model::key::SERVER_INFO, &mut end);
    end.push(b':');
    end.extend(serde_json::to_vec(info).unwrap_or_else(|_| b"{}".to_vec()));
    end.extend(b"}}}");
    end
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("info", &self.info.name)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
