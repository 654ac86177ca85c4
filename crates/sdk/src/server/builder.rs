//! Putting a server together.
//!
//! Every method takes the server and gives it back. What was wrong on the way is kept and reported when the
//! server is completed, so that a chain of registrations reads as one.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;
use tower_service::Service;

use super::answers::Bottom;
use super::built::terminated;
use super::completeness;
use super::hooks::Hooks;
use super::pages::Pager;
use super::registry::CompletionTarget;
use super::seal::Seal;
use super::serving::{self, Offer, Serving};
use super::{
    BuiltServer, Completer, IntoPrompt, IntoResource, IntoTool, KeepAlive, Operation, Provider, Registry,
    Reply, Session, Stack,
};
use crate::model::{ErrorObject, Icon, Implementation, LoggingLevel, LoggingMessageParams};
use crate::revision::Revision;
use crate::transport::{StdioTransport, Transport};
use crate::{Error, Policy, Result};

/// A group of tools, prompts and resources that share state. `#[handlers]` implements it for an `impl`
/// block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no handlers",
    label = "no handlers",
    note = "put `#[handlers]` on its `impl` block, and `#[tool]`, `#[prompt]` or `#[resource(\"…\")]` on methods"
)]
pub trait Handlers {
    /// Registers them all.
    fn register(self, server: Server) -> Server;
}

/// A server that is being put together.
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    registry: Registry,
    provider: Option<Arc<dyn Provider>>,
    policy: Policy,
    key: Option<[u8; 32]>,
    layers: Vec<Box<dyn FnOnce(Stack) -> Stack + Send>>,
    page_size: Option<usize>,
    hooks: Hooks,
    states: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    revisions: Vec<Revision>,
    offer: Offer,
    keep_alive: Option<KeepAlive>,
    rehearse: bool,
    /// The first thing that went wrong while putting it together.
    fault: Option<Error>,
}

impl Server {
    /// A server with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            registry: Registry::new(),
            provider: None,
            policy: Policy::default(),
            key: None,
            layers: Vec::new(),
            page_size: None,
            hooks: Hooks::default(),
            states: HashMap::new(),
            revisions: Revision::ALL.to_vec(),
            offer: Offer {
                logging: true,
                log_level: LoggingLevel::Info,
                list_changed: true,
                subscribe: true,
                cache: Duration::ZERO,
                shared_cache: false,
            },
            keep_alive: None,
            rehearse: false,
            fault: None,
        }
    }

    fn noting(mut self, done: Result<()>) -> Self {
        if let Err(error) = done {
            self.fault.get_or_insert(error);
        }
        self
    }

    /// Offers a tool.
    #[must_use]
    pub fn tool(self, tool: impl IntoTool) -> Self {
        let done = self.registry.add_tool(tool);
        self.noting(done)
    }

    /// Offers a prompt.
    #[must_use]
    pub fn prompt(self, prompt: impl IntoPrompt) -> Self {
        let done = self.registry.add_prompt(prompt);
        self.noting(done)
    }

    /// Offers a resource or a resource template.
    #[must_use]
    pub fn resource(self, resource: impl IntoResource) -> Self {
        let done = self.registry.add_resource(resource);
        self.noting(done)
    }

    /// Offers everything of an `impl` block with `#[handlers]`.
    #[must_use]
    pub fn handlers(self, handlers: impl Handlers) -> Self {
        handlers.register(self)
    }

    /// Offers what somebody else has: a gateway. Such a server has no tools, prompts and resources of its own.
    #[must_use]
    pub fn provided_by(mut self, provider: impl Provider) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Completes an argument of a prompt.
    #[must_use]
    pub fn complete_prompt(self, prompt: &str, argument: &str, completer: impl Completer) -> Self {
        let target = CompletionTarget::Prompt(prompt.to_owned());
        self.registry.add_completer(target, argument.to_owned(), Arc::new(completer));
        self
    }

    /// Completes a variable of a resource template.
    #[must_use]
    pub fn complete_resource(self, template: &str, variable: &str, completer: impl Completer) -> Self {
        let target = CompletionTarget::Template(template.to_owned());
        self.registry.add_completer(target, variable.to_owned(), Arc::new(completer));
        self
    }

    /// Shares a value with handlers, which take it as [`State<T>`](super::State).
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(TypeId::of::<T>(), Arc::new(state));
        self
    }

    /// How to use the server, for the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// What the server is.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Pictures of it.
    #[must_use]
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.info.icons = Some(icons);
        self
    }

    /// Where to read about it.
    #[must_use]
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// Bounds on what clients may cost.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Entries on one page of a list. Without it, lists have one page.
    #[must_use]
    pub fn page_size(mut self, entries: usize) -> Self {
        self.page_size = Some(entries);
        self
    }

    /// The revisions to speak; all, if nothing is said.
    #[must_use]
    pub fn revisions(mut self, revisions: &[Revision]) -> Self {
        self.revisions = Revision::ALL.into_iter().filter(|known| revisions.contains(known)).collect();
        self
    }

    /// Wraps every operation in a tower layer. The layer that was added last sees operations first.
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Stack> + Send + 'static,
        L::Service: Service<Operation, Response = Reply, Error = ErrorObject> + Clone + Send + 'static,
        <L::Service as Service<Operation>>::Future: Send + 'static,
    {
        self.layers.push(Box::new(move |stack| stack.wrap(&layer)));
        self
    }

    /// How long clients may keep lists, and whether others may share what one of them was given.
    #[must_use]
    pub fn cache(mut self, lists: Duration, shared: bool) -> Self {
        self.offer.cache = lists;
        self.offer.shared_cache = shared;
        self
    }

    /// Sends no log messages.
    #[must_use]
    pub fn without_logging(mut self) -> Self {
        self.offer.logging = false;
        self
    }

    /// The level of log messages before a session sets its own.
    #[must_use]
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.offer.log_level = level;
        self
    }

    /// Sees every log message before it leaves: may change it, or keep it back. Log messages must not
    /// contain secrets, personal data or what helps an attacker.
    #[must_use]
    pub fn redact(
        mut self,
        redact: impl Fn(LoggingMessageParams) -> Option<LoggingMessageParams> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.redact = Some(Arc::new(redact));
        self
    }

    /// Declares tools, prompts and resources even while there are none: for servers that add them later.
    #[must_use]
    pub fn empty_lists(self) -> Self {
        self.registry.offer_all();
        self
    }

    /// Does not announce changes of lists.
    #[must_use]
    pub fn without_list_changed(mut self) -> Self {
        self.offer.list_changed = false;
        self
    }

    /// Lets nobody subscribe to resources.
    #[must_use]
    pub fn without_subscriptions(mut self) -> Self {
        self.offer.subscribe = false;
        self
    }

    /// Called when a legacy client has initialized: from then on a server may speak first.
    #[must_use]
    pub fn on_initialized<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Session) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.initialized = Some(Arc::new(move |session| Box::pin(hook(session))));
        self
    }

    /// Called when a legacy client's roots have changed.
    #[must_use]
    pub fn on_roots_changed<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Session) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.roots_changed = Some(Arc::new(move |session| Box::pin(hook(session))));
        self
    }

    /// Keeps the roots of legacy clients up to date: asks for them when a client has initialized, and again
    /// whenever they have changed.
    #[must_use]
    pub fn track_roots(self) -> Self {
        async fn refresh(session: Session) {
            if let Err(error) = session.roots().await {
                tracing::debug!(%error, "the client's roots are not known");
            }
        }
        self.on_initialized(refresh).on_roots_changed(refresh)
    }

    /// Asks legacy clients now and then whether they are there.
    #[must_use]
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// The key that seals the state of calls between input rounds. Give the same one to all instances that
    /// serve the same clients; without it, each process has its own.
    #[must_use]
    pub fn sealing_key(mut self, key: [u8; 32]) -> Self {
        self.key = Some(key);
        self
    }

    /// For tests: runs handlers again after each question on legacy connections as well, so that those
    /// that cannot be repeated are found.
    #[must_use]
    pub fn rehearse(mut self) -> Self {
        self.rehearse = true;
        self
    }

    /// A handle to change the offer while serving.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// Completes the server, so that it can serve any number of connections.
    ///
    /// # Errors
    /// The first thing that was wrong with what was registered.
    pub fn build(self) -> Result<BuiltServer> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let tables = self.registry.tables();
        if self.provider.is_some() && tables.offers_anything() {
            return Err(Error::Misuse("what a provider offers is all that its server offers".into()));
        }
        completeness::check(&tables, |state| self.states.contains_key(&state))?;
        let stack = self
            .layers
            .into_iter()
            .fold(None, |stack, layer| Some(layer(stack.unwrap_or_else(|| Stack::new(Bottom)))));
        let serving = Serving {
            result_end: serving::result_end(&self.info),
            seal: Seal::new(self.key, self.policy.request_state_age)?,
            pager: Pager::new(self.page_size, self.policy.cursor_bytes),
            info: self.info,
            instructions: self.instructions,
            registry: self.registry,
            provider: self.provider,
            policy: self.policy,
            stack,
            hooks: self.hooks,
            states: self.states,
            revisions: self.revisions,
            offer: self.offer,
            keep_alive: self.keep_alive,
            rehearse: self.rehearse,
        };
        Ok(BuiltServer::new(serving))
    }

    /// Serves over standard input and output until the client closes it, or the process is asked to
    /// terminate. From then on what other code prints goes to standard error.
    ///
    /// # Errors
    /// When the server was not put together correctly, or reading or writing fails.
    pub async fn serve_stdio(self) -> Result<()> {
        let server = self.build()?;
        let transport = StdioTransport::open(server.line_bytes())?;
        server.serve_until(transport, terminated()).await
    }

    /// A tower service that serves every revision over HTTP: mount it, or [serve](super::HttpServer::serve) it.
    ///
    /// # Errors
    /// When the server was not put together correctly.
    #[cfg(feature = "http-server")]
    pub fn into_http(self) -> Result<super::HttpServer> {
        Ok(self.build()?.into_http())
    }

    /// Serves over HTTP on this address, at `/mcp`, until the process is asked to terminate. It answers to
    /// this machine only; [`into_http`](Self::into_http) has more to choose from.
    ///
    /// # Errors
    /// When the server was not put together correctly, or the address cannot be had.
    #[cfg(feature = "http-server")]
    pub async fn serve_http(self, address: &str) -> Result<()> {
        self.into_http()?.serve(address).await
    }

    /// Serves one connection.
    ///
    /// # Errors
    /// As [`serve_stdio`](Self::serve_stdio).
    pub async fn serve(self, transport: impl Transport) -> Result<()> {
        self.build()?.serve(transport).await
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.info.name)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
