//! What is known about the server once the era is settled, and what may be asked of it.
//!
//! In the legacy era this comes from `initialize`, in the modern one from `server/discover`. It never
//! changes for the life of a connection.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::declaring::{Declaring, Declarings};
use super::payload::meta_text;
use crate::model::{
    ClientCapabilities, DiscoverResult, ElicitationCapability, Implementation, InitializeResult, JsonObject,
    ListChangedCapability, LoggingLevel, Meta, Method, SamplingCapability, ServerCapabilities, key,
};
use crate::revision::{Lower, Revision, Rules};
use crate::{Error, Result};

/// The server at the other end of a connection.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) rules: &'static Rules,
    pub(super) capabilities: ServerCapabilities,
    pub(super) instructions: Option<String>,
    pub(super) server: ServerIdentity,
    /// What we declare, in the words of the revision.
    pub(super) declared: ClientCapabilities,
    /// What every modern request says about us.
    meta: Meta,
    /// The same as JSON: alone, and with each log level.
    texts: [OnceLock<String>; 9],
    /// What single requests declare instead.
    declarings: Declarings,
}

/// Metadata of a request that nobody but its sender sets.
const OURS: [&str; 5] =
    [key::PROGRESS_TOKEN, key::PROTOCOL_VERSION, key::CLIENT_CAPABILITIES, key::CLIENT_INFO, key::LOG_LEVEL];

/// Who a server says it is, and what you call it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerIdentity {
    /// The name that this application gave it; see [`Builder::server_name`](super::Builder::server_name).
    pub name: Option<String>,
    /// What it calls itself, which proves nothing.
    pub info: Option<Implementation>,
    /// The revision that is spoken.
    pub revision: Revision,
}

impl ServerIdentity {
    /// What to show to people: your name for it, or else its own.
    pub fn display_name(&self) -> &str {
        let own = self.info.as_ref().map(Implementation::display_name);
        self.name.as_deref().or(own).unwrap_or("an unnamed server")
    }
}

impl Session {
    pub(super) fn legacy(config: &Config, revision: Revision, result: InitializeResult) -> Self {
        Self {
            rules: revision.rules(),
            capabilities: result.capabilities,
            instructions: result.instructions,
            server: ServerIdentity {
                name: config.server_name.clone(),
                info: Some(result.server_info),
                revision,
            },
            declared: capabilities(config, revision.rules()),
            meta: Meta::new(),
            texts: Default::default(),
            declarings: Declarings::default(),
        }
    }

    pub(super) fn modern(config: &Config, revision: Revision, result: DiscoverResult) -> Self {
        let info = result.meta.as_ref().and_then(Meta::server_info);
        Self {
            rules: revision.rules(),
            capabilities: result.capabilities,
            instructions: result.instructions,
            server: ServerIdentity { name: config.server_name.clone(), info, revision },
            declared: capabilities(config, revision.rules()),
            meta: modern_meta(config, revision),
            texts: Default::default(),
            declarings: Declarings::default(),
        }
    }

    /// Metadata for a request, as JSON: ours, then the caller's. A token of progress that the caller made up
    /// gives way to the request's own.
    pub(super) fn request_meta(
        &self,
        level: Option<LoggingLevel>,
        caller: &Meta,
        wants_progress: bool,
    ) -> Cow<'_, str> {
        let level = level.filter(|_| !self.rules.has_set_level);
        if caller.is_empty() {
            return Cow::Borrowed(self.own_text(level));
        }
        let mut meta = self.meta_at(level);
        for (name, value) in
            caller.iter().filter(|(name, _)| !(wants_progress && *name == key::PROGRESS_TOKEN))
        {
            meta.insert(name.clone(), value.clone());
        }
        Cow::Owned(meta_text(&meta))
    }

    /// Metadata for a request that is passed on, as JSON: ours, which counts, and what else there is of the
    /// caller's. Capabilities are those of this one request, where the revision has such.
    pub(super) fn forwarded_meta<'a>(
        &'a self,
        level: Option<LoggingLevel>,
        declaring: Option<&'a Declaring>,
        caller: &Meta,
    ) -> Cow<'a, str> {
        let level = level.filter(|_| !self.rules.has_set_level);
        let own = match declaring.filter(|_| self.meta.contains_key(key::CLIENT_CAPABILITIES)) {
            None => Cow::Borrowed(self.own_text(level)),
            Some(declaring) => {
                let text = declaring.texts[place_of(level)].get_or_init(|| {
                    let mut meta = self.meta_at(level);
                    meta.set(key::CLIENT_CAPABILITIES, &declaring.lowered);
                    meta_text(&meta)
                });
                Cow::Borrowed(text.as_str())
            }
        };
        let mut passed = caller.iter().filter(|(name, _)| !OURS.contains(&name.as_str())).peekable();
        if passed.peek().is_none() {
            return own;
        }
        let mut text = own.into_owned();
        for (name, value) in passed {
            // The brace that closes it makes room.
            match text.pop() {
                Some(_) => text.push(','),
                None => text.push('{'),
            }
            // Text and values have a JSON form.
            text.push_str(&serde_json::to_string(name).unwrap_or_default());
            text.push(':');
            text.push_str(&serde_json::to_string(value).unwrap_or_default());
            text.push('}');
        }
        Cow::Owned(text)
    }

    /// What a single request declares, in the words of the revision.
    pub(super) fn declaring(&self, capabilities: &Arc<ClientCapabilities>) -> Arc<Declaring> {
        self.declarings.of(capabilities, self.rules)
    }

    /// What we say about ourselves, as JSON; made once for each level.
    fn own_text(&self, level: Option<LoggingLevel>) -> &str {
        let text = &self.texts[place_of(level)];
        text.get_or_init(|| meta_text(&self.meta_at(level)))
    }

    fn meta_at(&self, level: Option<LoggingLevel>) -> Meta {
        let mut meta = self.meta.clone();
        if let Some(level) = level {
            meta.set(key::LOG_LEVEL, level);
        }
        meta
    }

    /// Refuses what the server has not declared; nothing goes on the wire then.
    pub(super) fn permits(&self, method: Method) -> Result<()> {
        let capabilities = &self.capabilities;
        let (declared, name) = match method {
            Method::ToolsList | Method::ToolsCall => (capabilities.tools.is_some(), "tools"),
            Method::PromptsList | Method::PromptsGet => (capabilities.prompts.is_some(), "prompts"),
            Method::ResourcesList | Method::ResourcesTemplatesList | Method::ResourcesRead => {
                (capabilities.resources.is_some(), "resources")
            }
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                let resources = capabilities.resources.as_ref();
                (resources.is_some_and(|it| it.subscribe == Some(true)), "resource subscriptions")
            }
            Method::LoggingSetLevel => (capabilities.logging.is_some(), "logging"),
            Method::CompletionComplete if self.rules.has_completions_capability => {
                (capabilities.completions.is_some(), "completions")
            }
            _ => (true, ""),
        };
        if !declared {
            return Err(Error::PeerIncompatible(format!("the server does not offer {name}")));
        }
        Ok(())
    }

    /// Refuses a method that the revision does not have.
    pub(super) fn knows(&self, method: Method) -> Result<()> {
        if self.rules.client_may_request(method) {
            return Ok(());
        }
        let revision = self.rules.revision;
        Err(Error::PeerIncompatible(format!("revision {revision} has no {}", method.as_str())))
    }
}

/// Where metadata with this log level is kept.
fn place_of(level: Option<LoggingLevel>) -> usize {
    level.map_or(0, |level| 1 + level as usize)
}

/// What a modern request must say.
pub(super) fn modern_meta(config: &Config, revision: Revision) -> Meta {
    let rules = revision.rules();
    let mut meta = Meta::new();
    meta.set(key::PROTOCOL_VERSION, revision.as_str());
    meta.set(key::CLIENT_CAPABILITIES, capabilities(config, rules));
    meta.set(key::CLIENT_INFO, client_info(config, rules));
    meta
}

/// What we can do, as far as the revision knows it.
pub(super) fn capabilities(config: &Config, rules: &Rules) -> ClientCapabilities {
    let yes = |yes: bool| yes.then(JsonObject::new);
    if let Some(responder) = &config.responder {
        let mut capabilities = responder.capabilities.clone();
        capabilities.lower(rules);
        return capabilities;
    }
    let mut capabilities = ClientCapabilities {
        roots: config.roots.as_ref().map(|_| ListChangedCapability::announced()),
        sampling: config.sampling.as_ref().map(|sampling| SamplingCapability {
            tools: yes(sampling.takes_tools()),
            ..SamplingCapability::default()
        }),
        elicitation: config.elicitation.as_ref().map(|elicitation| ElicitationCapability {
            form: yes(true),
            url: yes(elicitation.takes_urls()),
            other: JsonObject::new(),
        }),
        ..ClientCapabilities::default()
    };
    capabilities.lower(rules);
    capabilities
}

/// Who we are, as far as the revision has words for it.
pub(super) fn client_info(config: &Config, rules: &Rules) -> Implementation {
    let mut info = config.info.clone();
    info.lower(rules);
    info
}
