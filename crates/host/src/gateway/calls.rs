//! One call on its way to a server: what it is, whether it may be made, and what came of it.
//!
//! What consent sees is what is sent: the server's own name for the thing, and the arguments as they came. A call is made
//! again only if the server has certainly not had it, or if it changes nothing; a tool's call never otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use contexture::Error;
use contexture::client::{Forward, Forwarded};
use contexture::model::{CallToolResult, CompleteParams, Content, ErrorObject, Meta, Method, Tool, key};
use contexture::revision::Era;
use contexture::server::{Context, OperationResult, Reply};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::asks::Way;
use super::faults::{self, Fault};
use super::{Gateway, View, outward};
use crate::config::{ServerEntry, TransportSpec};
use crate::consent::{Asking, Kind, NO_PIN, Outcome, Record};
use crate::login;
use crate::operations::{self, Seen, UpstreamCall};
use crate::upstream::{Audience, LONGEST_CALL, Lease, Unavailable, Upstream, Voice};

/// What is to be called.
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
    pub(super) fn upstream(&self) -> &Arc<Upstream> {
        &self.view.servers[self.server].upstream
    }

    pub(super) fn entry(&self) -> &Arc<ServerEntry> {
        self.upstream().entry()
    }

    /// Whether making it twice does no harm.
    fn is_harmless(&self) -> bool {
        self.method != Method::ToolsCall
    }
}

/// A call at work.
pub(super) struct Call<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) seen: &'a Seen,
    pub(super) context: &'a Context,
    pub(super) target: &'a Target,
    pub(super) who: Audience,
    trace: Option<String>,
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
        let look = |view: &View| {
            let route = view.catalog.tool(&name)?;
            Some((route.server, route.original().to_owned(), Arc::clone(&route.definition), route.pin))
        };
        let unknown = || ErrorObject::invalid_params(format!("unknown tool {name:?}"));
        let ((server, original, definition, pin), view) = self.find(context, &name, look, unknown).await?;
        if view.servers[server].only_login {
            return self.log_in(context, &view, server).await;
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
        let ((server, original), view) = self.find(context, &name, look, unknown).await?;
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
            contexture::model::Reference::Prompt { name, .. } => name.clone(),
            contexture::model::Reference::Resource { uri } => uri.clone(),
            _ => String::new(),
        };
        let look = |view: &View| {
            view.catalog.completion(&params.reference).map(|route| (route.server, route.reference))
        };
        let unknown = || ErrorObject::invalid_params("there is no such prompt or resource template");
        let ((server, reference), view) = self.find(context, &named, look, unknown).await?;
        let (original, kind) = match &reference {
            contexture::model::Reference::Prompt { name, .. } => (name.clone(), Kind::Prompt),
            contexture::model::Reference::Resource { uri } => (uri.clone(), Kind::Resource),
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

    /// The only thing that a server offers to those who are not logged in yet.
    async fn log_in(self: &Arc<Self>, context: &Context, view: &View, server: usize) -> OperationResult {
        let upstream = &view.servers[server].upstream;
        let wanted = view.servers[server].unavailable.as_ref().and_then(login_wanted);
        if let (Some(logins), Some(wanted)) = (&self.logins, wanted) {
            logins.needed(upstream.entry(), context, &wanted).await?;
        }
        upstream.forget_offer(&None);
        self.login_changed(context.principal(), upstream);
        let done = format!("Logged in. The tools of {:?} are listed now.", upstream.entry().name);
        Ok(Reply::Tool(CallToolResult::new(vec![Content::text(done)])))
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

impl Call<'_> {
    async fn run(&self) -> OperationResult {
        let entry = self.target.entry();
        let _admission = self.gateway.consent.admit(self.context.principal(), &entry.name)?;
        let asking = self.asking();
        if !self.was_begun()
            && let Err(error) =
                Way::Call(self.context).permitted(self.gateway, "call: consent", &asking).await
        {
            self.seen.denied();
            return Err(error);
        }
        let mut recorded = Recorded { call: self, began: Instant::now(), outcome: None };
        let outcome = self.exchange().await;
        recorded.outcome = Some(match &outcome {
            Ok(forwarded) if self.is_tool_error(&forwarded.result) => Outcome::ToolError,
            Ok(_) => Outcome::Done,
            Err(fault) => fault.audit,
        });
        drop(recorded);
        let Forwarded { revision, result, .. } = outcome.map_err(|fault| fault.error)?;
        Ok(Reply::Forwarded { result: outward(entry, self.target.method, result), from: revision })
    }

    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            principal: self.context.principal(),
            server: self.target.entry(),
            tool: &self.target.original,
            shown: &self.target.shown,
            definition: self.target.definition.as_deref(),
            pin: &self.target.pin,
            arguments: self.target.arguments.as_deref(),
            kind: self.target.kind,
            trace: self.trace.as_deref(),
        }
    }

    /// An earlier round of this call was let through and reached its server.
    fn was_begun(&self) -> bool {
        self.context.recall::<serde::de::IgnoredAny>(super::rounds::ROUND).is_some()
            || self.context.recall::<String>(super::parked::HANDLE).is_some()
    }

    /// Until there is an answer, or none to be had.
    async fn exchange(&self) -> Result<Forwarded, Fault> {
        if let Some(handle) = self.context.recall::<String>(super::parked::HANDLE) {
            return self.resume(&handle).await;
        }
        let mut logs_in = true;
        let mut again = true;
        loop {
            self.may_use_login(&mut logs_in).await?;
            let lease = match self.target.upstream().lease(&self.who).await {
                Ok(lease) => lease,
                Err(unavailable) => match login_wanted(&unavailable).filter(|_| std::mem::take(&mut logs_in))
                {
                    Some(wanted) => {
                        self.log_in(&wanted).await?;
                        continue;
                    }
                    None => return Err(faults::unavailable(&unavailable)),
                },
            };
            let failure = match self.attempt(lease).await {
                Ok(forwarded) => return Ok(forwarded),
                Err(Failure::Told(fault)) => return Err(fault),
                Err(Failure::Of(error)) => error,
            };
            if let Some(wanted) = login::wanted(&failure).filter(|_| std::mem::take(&mut logs_in)) {
                self.log_in(&wanted).await?;
                continue;
            }
            if self.may_be_made_again(&failure) && std::mem::take(&mut again) {
                continue;
            }
            return Err(faults::of(self.target.entry(), self.context, self.target.method, failure));
        }
    }

    async fn attempt(&self, lease: Lease) -> Result<Forwarded, Failure> {
        match lease.client().era() {
            Era::Modern => self.in_rounds(lease).await,
            Era::Legacy => self.in_place(lease).await,
        }
    }

    /// Where the server has certainly not had it, or would not mind.
    fn may_be_made_again(&self, failure: &Error) -> bool {
        match failure {
            Error::Closed(_) | Error::Transport(_) | Error::SessionEnded => true,
            Error::Interrupted(_) => self.target.is_harmless() && !self.was_begun(),
            _ => false,
        }
    }

    /// Whether this client may use the login that this person has at the server.
    async fn may_use_login(&self, logs_in: &mut bool) -> Result<(), Fault> {
        let entry = self.target.entry();
        let (Some(logins), TransportSpec::Http { .. }) = (&self.gateway.logins, &entry.transport) else {
            return Ok(());
        };
        match logins.permits(entry, self.context.principal()).await {
            Err(wanted) if std::mem::take(logs_in) => self.log_in(&wanted).await,
            Err(_) => Err(faults::denied(entry, "this client may not use your login there".into()).into()),
            Ok(()) => Ok(()),
        }
    }

    async fn log_in(&self, wanted: &login::Wanted) -> Result<(), Fault> {
        let entry = self.target.entry();
        let Some(logins) = &self.gateway.logins else {
            let why = format!("the server {:?} wants a login, and nobody here can log in", entry.name);
            return Err(ErrorObject::internal(why).into());
        };
        logins.needed(entry, self.context, wanted).await?;
        self.gateway.login_changed(self.context.principal(), self.target.upstream());
        Ok(())
    }

    /// The request, as it is passed on.
    pub(super) fn forward(&self, lease: &Lease, call: &UpstreamCall, voice: Option<&Arc<Voice>>) -> Forward {
        let mut meta = self.meta();
        call.carry(&mut meta);
        let client = lease.client();
        let mut forward = client
            .forward(self.target.method, Some(&self.target.params))
            .meta(meta)
            .timeout(self.target.entry().call_time)
            .max_time(LONGEST_CALL);
        if let Some(voice) = voice.filter(|_| self.context.wants_progress()) {
            let voice = Arc::clone(voice);
            forward = forward.on_progress(move |progress| voice.progress(&progress));
        }
        if client.era() == Era::Modern {
            forward = forward.capabilities(self.who.declares().capabilities());
            if let (Some(level), Some(voice)) = (self.context.log_level(), voice) {
                let voice = Arc::clone(voice);
                forward = forward.log_level(level).on_log(move |message| voice.log(message));
            }
        }
        forward
    }

    /// What the client said beside its request, without what only concerns the two of us.
    fn meta(&self) -> Meta {
        const OURS: [&str; 5] = [
            key::PROGRESS_TOKEN,
            key::PROTOCOL_VERSION,
            key::CLIENT_CAPABILITIES,
            key::CLIENT_INFO,
            key::LOG_LEVEL,
        ];
        let mut meta = self.context.meta();
        for ours in OURS {
            meta.remove(ours);
        }
        meta
    }

    /// One exchange with the server, counted.
    pub(super) fn counted(&self) -> UpstreamCall {
        self.seen.upstream(&self.target.entry().name, self.target.method, Some(&self.target.original))
    }

    /// How it ended, for those who count.
    pub(super) fn count(call: UpstreamCall, outcome: &Result<Forwarded, Error>) {
        call.end(match outcome {
            Ok(forwarded) if forwarded.asked.is_some() => operations::Outcome::Asked,
            Ok(_) => operations::Outcome::Ok,
            Err(Error::Timeout(_)) => operations::Outcome::TimedOut,
            Err(Error::Closed(_) | Error::Transport(_) | Error::Interrupted(_)) => {
                operations::Outcome::Unavailable
            }
            Err(_) => operations::Outcome::Error,
        });
    }

    fn is_tool_error(&self, result: &Bytes) -> bool {
        #[derive(Deserialize)]
        struct Failed {
            #[serde(default, rename = "isError")]
            is_error: bool,
        }
        self.target.method == Method::ToolsCall
            && memchr::memmem::find(result, b"\"isError\"").is_some()
            && serde_json::from_slice::<Failed>(result).is_ok_and(|failed| failed.is_error)
    }
}

/// Why an attempt came to nothing: what the client is told, or what may be reason for another.
pub(super) enum Failure {
    Told(Fault),
    Of(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Of(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Told(fault)
    }
}

impl From<ErrorObject> for Failure {
    fn from(error: ErrorObject) -> Self {
        Self::Told(error.into())
    }
}

/// Writes down how a call ended, also if nobody waited for it.
struct Recorded<'a> {
    call: &'a Call<'a>,
    began: Instant,
    outcome: Option<Outcome>,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        // A call that asks its client something is dropped, too; it goes on in another exchange.
        let asks = self.call.context.is_replayed() && !self.call.context.is_cancelled();
        let outcome = self.outcome.or((!asks).then_some(Outcome::Cancelled));
        if let Some(outcome) = outcome {
            let asking = self.call.asking();
            self.call.gateway.consent.record(Record {
                asking: &asking,
                outcome,
                duration: self.began.elapsed(),
            });
        }
    }
}

pub(super) fn login_wanted(unavailable: &Unavailable) -> Option<login::Wanted> {
    unavailable.error.as_deref().and_then(login::wanted)
}

fn raw(params: &impl Serialize) -> Result<Box<RawValue>, ErrorObject> {
    to_raw_value(params).map_err(|error| ErrorObject::internal(error.to_string()))
}
