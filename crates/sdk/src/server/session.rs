//! A legacy session as a server's own code sees it: a way to speak outside of any call.
//!
//! It exists from `initialized` to the end of the connection. The modern era has nothing like it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::asks::{need, needed_for, prepare, prepare_any, send};
use super::serving::Serving;
use super::wire::Wire;
use crate::engine::{Patience, Peer};
use crate::model::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCompleteParams,
    EmptyResult, InputRequest, ListRootsResult, LoggingMessageParams, Method, Root,
};
use crate::revision::{Lower, Rules};
use crate::{Capability, Error, Result};

/// A session with one client.
#[derive(Debug, Clone)]
pub struct Session {
    wire: Arc<Wire>,
    peer: Arc<Peer>,
    patience: Patience,
    /// Not for its sake: what keeps sessions may be part of the server.
    serving: Weak<Serving>,
}

impl Session {
    pub(super) fn new(wire: Arc<Wire>, peer: Arc<Peer>, serving: &Arc<Serving>) -> Self {
        Self { wire, peer, patience: serving.policy.patience, serving: Arc::downgrade(serving) }
    }

    /// A number that no other session of this process has; the same as that of its calls
    /// ([`Context::session_number`](super::Context::session_number)). `None` where no session is kept.
    pub fn number(&self) -> Option<u64> {
        self.wire.talk().map(|talk| talk.number())
    }

    /// Whether the client may still be spoken to. Where no session is kept, it never may.
    pub fn is_open(&self) -> bool {
        self.wire.talk().is_some_and(|talk| talk.is_open())
    }

    /// Waits until the session is over: its client has ended it or gone away, or it has expired.
    pub async fn closed(&self) {
        if let Some(talk) = self.wire.talk() {
            talk.closed().await;
        }
    }

    /// The client, as it describes itself.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The same session with another patience for what it asks.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.patience.idle = timeout;
        self
    }

    /// Asks whether the client is there.
    ///
    /// # Errors
    /// [`Error::Timeout`] if it does not answer.
    pub async fn ping(&self) -> Result<()> {
        self.request::<_, EmptyResult>(Method::Ping, None::<&Value>).await.map(drop)
    }

    /// The directories that the client lets this server work in, asked anew and remembered.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client has no roots.
    pub async fn roots(&self) -> Result<Arc<[Root]>> {
        need(Capability::Roots, &self.peer)?;
        let talk = self.wire.talk().map(Arc::clone);
        let asked_at = talk.as_ref().map_or(0, |talk| talk.roots_changes());
        let answer: ListRootsResult = self.request(Method::RootsList, None::<&Value>).await?;
        let roots = super::roots::valid_roots(answer.roots.into_vec());
        if let Some(talk) = talk {
            talk.remember_roots(&roots, asked_at);
        }
        Ok(roots)
    }

    /// Asks the model.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client has none; [`Error::Remote`] if it refused.
    pub async fn sample(&self, mut request: CreateMessageParams) -> Result<CreateMessageResult> {
        need(needed_for(&request), &self.peer)?;
        request.lower(self.rules());
        self.request(Method::SamplingCreateMessage, Some(&request)).await
    }

    /// Asks the person.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client cannot.
    pub async fn elicit(&self, mut request: ElicitParams) -> Result<ElicitResult> {
        prepare(&mut request, &self.peer)?;
        request.lower(self.rules());
        self.request(Method::ElicitationCreate, Some(&request)).await
    }

    /// Says that the person is done at the URL that was elicited under this id, where the revision has a word for it.
    pub fn url_visited(&self, elicitation_id: &str) {
        if self.rules().has_elicitation_ids {
            let params = ElicitationCompleteParams { elicitation_id: elicitation_id.to_owned(), meta: None };
            self.wire.chat(Method::ElicitationComplete, &params);
        }
    }

    /// Passes on a question of another server, with the answer as it is on the wire.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client cannot be asked this; [`Error::Remote`] if it refused.
    pub async fn pass_on(&self, mut request: InputRequest) -> Result<Value> {
        prepare_any(&mut request, &self.peer)?;
        request.lower(self.rules());
        send(&self.wire, &request, self.patience).await
    }

    /// Sends a log message that another server made, if the client wants this level.
    pub fn pass_log(&self, message: LoggingMessageParams) {
        let (Some(serving), Some(talk)) = (self.serving.upgrade(), self.wire.talk()) else { return };
        let wanted = talk.log_level().unwrap_or(serving.offer.log_level);
        if message.level >= wanted && serving.has_logging() {
            serving.send_log(&self.wire, message, self.rules());
        }
    }

    fn rules(&self) -> &'static Rules {
        self.peer.revision.rules()
    }

    async fn request<P: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        params: Option<&P>,
    ) -> Result<T> {
        let answer = self.wire.request(method, params, self.patience).await?;
        serde_json::from_str(answer.get())
            .map_err(|error| Error::PeerMisbehaved(format!("its answer: {error}")))
    }
}
