//! Passing on what somebody else asks: one exchange with the server, as it is on the wire.
//!
//! Parameters are copied as text and results handed over as the bytes that came; only what a proxy cannot leave to
//! its client is made here: the id, the metadata that says who asks, and the headers that repeat arguments. Nothing
//! is approved, cached, checked or answered. Nothing is sent twice that a server may have seen.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;

use super::Client;
use super::call::raise;
use super::link::{Aside, Hears, Outgoing};
use super::live::Live;
use super::payload::{Metadata, Payload};
use super::responders::declared;
use super::rounds::InputRequired;
use super::session::Session;
use crate::engine::Patience;
use crate::model::{
    ClientCapabilities, LoggingLevel, LoggingMessageParams, Meta, Method, ProgressParams, Tool, code,
};
use crate::revision::Revision;
use crate::{Error, Result};

impl Client {
    /// One exchange, for those who pass on what others ask: no approval, no cache, no checks of results, and input
    /// rounds are not answered here.
    ///
    /// `params` is an object, whose members are sent as they stand. `_meta`, `inputResponses` and `requestState`
    /// are left out of it: what of them is to be sent is given with [`meta`](Forward::meta) and
    /// [`input`](Forward::input).
    ///
    /// If there is no answer, the error says what that means: after [`Error::Interrupted`] and
    /// [`Error::Timeout`] the server may have done what was asked; after [`Error::Closed`],
    /// [`Error::Transport`], [`Error::SessionEnded`], [`Error::Redirected`] and [`Error::Authorization`] it has
    /// not. A session that the server has forgotten is opened anew, and the request, which it has not taken, is
    /// sent there.
    pub fn forward(&self, method: Method, params: Option<&RawValue>) -> Forward {
        let payload = params.map_or_else(|| Ok(Payload::new()), |params| Payload::from_text(params.get()));
        Forward {
            client: self.clone(),
            method,
            payload,
            patience: self.policy().patience,
            meta: Meta::new(),
            capabilities: None,
            level: None,
            on_progress: None,
            on_log: None,
            is_alone: false,
        }
    }

    /// Tells of tools that another connection to the same server has listed, so that the headers of a call can
    /// repeat its arguments where they must.
    pub fn know_tools(&self, tools: &[Tool]) {
        self.hub().tools.learn(tools);
    }

    /// Tells the server that the roots changed, where its revision wants to know. For those who answer with a
    /// [`responder`](super::Builder::responder).
    pub fn roots_changed(&self) {
        let live = self.live();
        if live.session().is_ok_and(|session| session.rules.has_roots_list_changed) {
            live.link.notify(Method::RootsListChanged);
        }
    }
}

/// A request that is about to be passed on. Await it, or set options first; dropping the future cancels it at the
/// server.
#[must_use = "nothing is sent before this is awaited"]
pub struct Forward {
    client: Client,
    method: Method,
    payload: Result<Payload>,
    patience: Patience,
    meta: Meta,
    capabilities: Option<Arc<ClientCapabilities>>,
    level: Option<LoggingLevel>,
    on_progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    on_log: Option<Box<dyn FnMut(LoggingMessageParams) + Send>>,
    is_alone: bool,
}

/// What a server answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Forwarded {
    /// The revision that it speaks.
    pub revision: Revision,
    /// The text of the result, an object.
    pub result: Bytes,
    /// What the server wants to know first; then `result` is not what was asked for.
    pub asked: Option<InputRequired>,
}

impl Forward {
    /// How long the server may be silent. Progress starts the time anew.
    pub fn timeout(mut self, idle: Duration) -> Self {
        self.patience.idle = idle;
        self
    }

    /// How long it may take altogether, whatever progress is reported.
    pub fn max_time(mut self, total: Duration) -> Self {
        self.patience.total = total;
        self
    }

    /// Asks for progress, and is called with it, in order. The token is this client's own.
    pub fn on_progress(mut self, on_progress: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Is called with the log messages of this exchange, which then are no [events](super::Event::Log). Over a pipe
    /// nothing says which of several exchanges a message belongs to: one of a modern server is given to this one if
    /// no other hears any; one of a legacy server stays an event, because it may belong to none, unless this one is
    /// [alone](Self::alone).
    pub fn on_log(mut self, on_log: impl FnMut(LoggingMessageParams) + Send + 'static) -> Self {
        self.on_log = Some(Box::new(on_log));
        self
    }

    /// Nobody else uses this connection: all that the server logs until this one is answered is for it, if no other
    /// exchange hears log messages.
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Passes on this metadata. What only the sender of a request can say (token of progress, revision, client,
    /// capabilities, log level) is this client's own.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = meta;
        self
    }

    /// Modern servers: what this one request declares, in place of what the client does. Nothing else may be asked
    /// in answer to it.
    pub fn capabilities(mut self, capabilities: impl Into<Arc<ClientCapabilities>>) -> Self {
        self.capabilities = Some(capabilities.into());
        self
    }

    /// Modern servers: from which level on this exchange has log messages.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Modern servers: a further round, with the answers to what was asked (`inputResponses`) and what the server
    /// wanted back (`requestState`), as they stand.
    pub fn input(mut self, responses: Option<&RawValue>, state: Option<&RawValue>) -> Self {
        let added = [("inputResponses", responses), ("requestState", state)];
        self.payload = self.payload.and_then(|mut payload| {
            for (name, value) in added {
                if let Some(value) = value {
                    payload.push_text(name.into(), value.get())?;
                }
            }
            Ok(payload)
        });
        self
    }

    /// What the server has certainly not done is tried once more: where it has forgotten the session, and where it
    /// knows the tool otherwise than it was listed.
    async fn run(mut self) -> Result<Forwarded> {
        let payload = std::mem::replace(&mut self.payload, Ok(Payload::new()))?;
        if matches!(self.method, Method::Initialize | Method::SubscriptionsListen) {
            let what = format!("{} is the client's own and cannot be passed on", self.method.as_str());
            return Err(Error::Misuse(what));
        }
        let client = self.client.clone();
        let mut live = client.live();
        let (mut renews, mut learns) = (true, self.method == Method::ToolsCall);
        loop {
            // What is rare is in boxes: the room for it would be moved with every call.
            match self.once(&live, &payload).await {
                Err(Error::SessionEnded) if std::mem::take(&mut renews) => {
                    live = Box::pin(client.session_after(&live)).await?;
                }
                Err(Error::Remote(error))
                    if error.code == code::HEADER_MISMATCH
                        && live.mirrors()
                        && std::mem::take(&mut learns) =>
                {
                    if Box::pin(client.learn_tools_anew()).await.is_err() {
                        return Err(Error::Remote(error));
                    }
                }
                outcome => return outcome,
            }
        }
    }

    async fn once(&mut self, live: &Arc<Live>, payload: &Payload) -> Result<Forwarded> {
        let session = live.session()?;
        session.knows(self.method)?;
        session.permits(self.method)?;
        let declaring = self.capabilities.as_ref().map(|capabilities| session.declaring(capabilities));
        let text = session.forwarded_meta(self.level, declaring.as_deref(), &self.meta);
        let mut waiting = live.link.open(Outgoing {
            method: self.method.as_str(),
            payload,
            meta: Metadata { text, wants_progress: self.on_progress.is_some() },
            patience: self.patience,
            cancellable: true,
            hears: match (&self.on_log, self.is_alone || !session.rules.has_set_level) {
                (None, _) => Hears::Nothing,
                (Some(_), false) => Hears::Own,
                (Some(_), true) => Hears::Unclaimed,
            },
            must_know: true,
            acknowledged: None,
            headers: self.client.mirrored(live, Some(self.method), payload)?,
        })?;
        let (on_progress, on_log) = (&mut self.on_progress, &mut self.on_log);
        let told = |aside| match (aside, &mut *on_progress, &mut *on_log) {
            (Aside::Progress(progress), Some(call), _) => call(progress),
            (Aside::Log(message), _, Some(call)) => call(message),
            _ => {}
        };
        let result = waiting.result(told).await.map_err(|error| raise(None, session.rules, error))?;
        let capabilities = declaring.as_ref().map_or(&session.declared, |declaring| &declaring.lowered);
        let asked = self.asked(session, capabilities, &result)?;
        Ok(Forwarded { revision: session.rules.revision, result, asked })
    }

    /// What the server asks, which must have been declared.
    fn asked(
        &self,
        session: &Session,
        capabilities: &ClientCapabilities,
        result: &Bytes,
    ) -> Result<Option<InputRequired>> {
        let policy = self.client.policy();
        let asked = InputRequired::read(result, session.rules, policy, Some(self.method))?;
        for request in asked.iter().flat_map(|asked| asked.requests.values()) {
            declared(capabilities, request, session.rules)
                .map_err(|what| Error::PeerMisbehaved(format!("the server asks something, but {what}")))?;
        }
        Ok(asked)
    }
}

impl IntoFuture for Forward {
    type Output = Result<Forwarded>;
    type IntoFuture = BoxFuture<'static, Result<Forwarded>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward").field("method", &self.method).finish_non_exhaustive()
    }
}
