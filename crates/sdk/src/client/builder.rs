//! Setting up a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::approval::{Approval, ResourceRead, ToolCall};
use super::call::ToolReply;
use super::config::Config;
use super::keep_alive::KeepAlive;
use super::responders::{Elicitation, Responder, Roots, Sampling};
use super::session::ServerIdentity;
use super::source::{Source, Target};
use super::{Client, KnownEra};
use crate::model::{
    ClientCapabilities, ErrorObject, Implementation, InputRequest, LoggingMessageParams, Method,
};
use crate::revision::Revision;
#[cfg(feature = "http-client")]
use crate::transport::http::Proof;
use crate::transport::{ChildCommand, PersonTime, Tap, Transport};
use crate::{Policy, Result};

/// A client in the making.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    config: Config,
}

impl Builder {
    /// Name and version of this application, as servers see them.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.config.info = Implementation::new(name, version);
        self
    }

    /// All that servers are told about this application.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.config.info = info;
        self
    }

    /// What you call the server; responders and hooks see it.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.config.server_name = Some(name.into());
        self
    }

    /// Speaks only these revisions. Without a modern one there is no probe, without a legacy one no
    /// falling back.
    #[must_use]
    pub fn revisions(mut self, revisions: &[Revision]) -> Self {
        self.config.revisions = revisions.to_vec();
        self
    }

    /// What an earlier connection to the same server found out: saves the probe.
    #[must_use]
    pub fn known_era(mut self, known: KnownEra) -> Self {
        self.config.known = Some(known.0);
        self
    }

    /// Bounds on what the server may cost.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.config.policy = policy;
        self
    }

    /// How long the probe for the modern era may take before the older handshake is tried as well; 10 seconds
    /// by default. A server that is slower than that is neither restarted nor taken for an old one: whichever
    /// answer comes first counts.
    #[must_use]
    pub fn probe_timeout(mut self, probe: Duration) -> Self {
        self.config.probe = probe;
        self
    }

    /// Connecting fails if the server does not offer what this method needs.
    #[must_use]
    pub fn require(mut self, method: Method) -> Self {
        self.config.required.push(method);
        self
    }

    /// Lets the server ask for these roots.
    #[must_use]
    pub fn roots(mut self, roots: Roots) -> Self {
        self.config.roots = Some(roots);
        self
    }

    /// Lets the server ask the model.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.config.sampling = Some(sampling);
        self
    }

    /// Lets the server ask the person.
    #[must_use]
    pub fn elicitation(mut self, elicitation: Elicitation) -> Self {
        self.config.elicitation = Some(elicitation);
        self
    }

    /// Answers whatever the server asks, as it is on the wire, instead of [`roots`](Self::roots),
    /// [`sampling`](Self::sampling) and [`elicitation`](Self::elicitation): for those who pass it on. Only what the
    /// capabilities declare is asked; answers are put into the words of the server's revision.
    #[must_use]
    pub fn responder<F>(
        mut self,
        capabilities: ClientCapabilities,
        respond: impl Fn(ServerIdentity, InputRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, ErrorObject>> + Send + 'static,
    {
        self.config.responder = Some(Responder::new(capabilities, respond));
        self
    }

    /// Decides about every tool call before it is sent; a denied one never reaches the server.
    ///
    /// Without it every call is allowed: the code that calls is the host, and the decision is its own.
    #[must_use]
    pub fn approve_tools<F>(mut self, approve: impl Fn(ToolCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Approval> + Send + 'static,
    {
        self.config.approve = Some(Arc::new(move |call| Box::pin(approve(call))));
        self
    }

    /// Decides about every resource before it is read; a denied one is neither asked for nor taken from what was
    /// kept.
    ///
    /// Without it every read is allowed, as tool calls are.
    #[must_use]
    pub fn approve_reads<F>(mut self, approve: impl Fn(ResourceRead) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Approval> + Send + 'static,
    {
        self.config.approve_reads = Some(Arc::new(move |read| Box::pin(approve(read))));
        self
    }

    /// Says which tools are sensitive; approval hooks see it. Without it every tool is, unless the server
    /// is trusted and says that the tool changes nothing.
    #[must_use]
    pub fn sensitivity(mut self, sensitive: impl Fn(&ToolCall) -> bool + Send + Sync + 'static) -> Self {
        self.config.sensitivity = Some(Arc::new(sensitive));
        self
    }

    /// Looks at every result of a tool before the caller gets it, and may change or refuse it.
    #[must_use]
    pub fn filter_results(
        mut self,
        filter: impl Fn(&ToolCall, ToolReply) -> Result<ToolReply> + Send + Sync + 'static,
    ) -> Self {
        self.config.filter = Some(Arc::new(filter));
        self
    }

    /// Trusts what the server says about its tools. Hints of other servers decide nothing.
    #[must_use]
    pub fn trust_annotations(mut self) -> Self {
        self.config.trusted = true;
        self
    }

    /// Sees every log message of the server.
    #[must_use]
    pub fn on_log(
        mut self,
        on_log: impl Fn(&ServerIdentity, &LoggingMessageParams) + Send + Sync + 'static,
    ) -> Self {
        self.config.on_log = Some(Arc::new(on_log));
        self
    }

    /// Asks the server now and then whether it is still there.
    #[must_use]
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.config.keep_alive = Some(keep_alive);
        self
    }

    /// Subscribes to changes of the server's lists as soon as it is connected. Legacy servers tell of them
    /// anyway.
    #[must_use]
    pub fn watch_lists(mut self) -> Self {
        self.config.watch_lists = true;
        self
    }

    /// Remembers completions for so long.
    #[must_use]
    pub fn cache_completions(mut self, ttl: Duration) -> Self {
        self.config.completion_ttl = ttl;
        self
    }

    /// Clocks stand still while this person is asked: no call runs out of time because somebody thinks about what the server
    /// wants to know. Responders say when they ask, with [`PersonTime::ask`].
    #[must_use]
    pub fn person_time(mut self, person: PersonTime) -> Self {
        self.config.person = Some(person);
        self
    }

    /// Sends this header with every request to a server that is reached by URL.
    #[cfg(feature = "http-client")]
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.http.header(name.into(), value.into());
        self
    }

    /// Proves to a server that is reached by URL who asks. What is shown goes to no other origin than the URL's.
    #[cfg(feature = "http-client")]
    #[must_use]
    pub fn credentials(mut self, credentials: impl super::Credentials) -> Self {
        self.config.http.proof = Proof::Given(Arc::new(credentials));
        self
    }

    /// Logs in, if a server that is reached by URL wants it.
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn authorization(mut self, authorization: crate::auth::Authorization) -> Self {
        self.config.http.proof = Proof::Policy(Box::new(authorization));
        self
    }

    /// Reaches the server by this Unix socket; the URL only names it.
    #[cfg(feature = "http-client")]
    #[must_use]
    pub fn unix_socket(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.config.http.unix_socket = Some(path.into());
        self
    }

    /// Lets somebody listen to what passes: called for every connection that is opened, also those that are given up
    /// before or after the handshake.
    #[must_use]
    pub fn tap(mut self, taps: impl Fn() -> Box<dyn Tap> + Send + Sync + 'static) -> Self {
        self.config.taps = Some(Arc::new(taps));
        self
    }

    /// The way to a server and nothing more, for those who speak the protocol themselves: no handshake, no responders.
    /// `older` is for URLs, and means HTTP+SSE.
    pub async fn open(self, target: impl Into<Target>, older: bool) -> Result<Box<dyn Transport>> {
        Ok(target.into().0.transport(&self.config, older).await?.transport)
    }

    /// Connects to a server at a URL, or over a transport.
    ///
    /// A URL may belong to a server of any revision, HTTP+SSE included. Proxies are those of the environment,
    /// certificates those of the platform. Redirects to other origins are not followed.
    pub async fn connect(self, target: impl Into<Target>) -> Result<Client> {
        Client::establish(self.config, target.into().0).await
    }

    /// Starts a server and connects to it.
    pub async fn spawn(self, command: impl Into<ChildCommand>) -> Result<Client> {
        Client::establish(self.config, Source::Child(command.into())).await
    }
}

impl fmt::Display for KnownEra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
