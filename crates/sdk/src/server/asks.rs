//! Questions: to the person, to the model, for the roots. One line of code in every era.
//!
//! On a legacy connection a question is a request and its answer is awaited in place. In the modern era
//! it resolves at once if this round carries the answer; otherwise it does not resolve, the exchange ends
//! by asking, and the handler runs again with the answers. A handler may therefore run several times:
//! work that must not be repeated belongs into [`Context::once`].

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Context;
use super::context::lock;
use super::form::form_of;
use super::seal::{Kept, fresh_id};
use super::together::Leaving;
use super::wire::Wire;
use crate::engine::{Patience, Peer};
use crate::model::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult, ElicitSchema,
    ElicitValue, ErrorObject, InputRequest, InputRequests, ListRootsResult, Method, Root,
};
use crate::revision::Lower;
use crate::revision::lower::unaskable_field;
use crate::schema::Checker;
use crate::{Capability, Error, Result};

/// What is known and what is wanted in this round. Most handlers ask nothing, and pay for nothing.
#[derive(Debug, Default)]
pub(super) struct Asks {
    /// The handler is run again with the answers, instead of waiting for them.
    pub(super) replay: bool,
    round: Option<Box<Round>>,
}

impl Asks {
    pub(super) fn new(replay: bool, kept: Option<Kept>) -> Self {
        let round = |kept| Box::new(Round { kept, ..Round::default() });
        Self { replay, round: kept.map(round) }
    }

    pub(super) fn round(&mut self) -> &mut Round {
        self.round.get_or_insert_default()
    }

    /// If anything was asked.
    pub(super) fn begun(&mut self) -> Option<&mut Round> {
        self.round.as_deref_mut()
    }
}

/// One round of questions and answers.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) kept: Kept,
    pub(super) wanted: InputRequests,
    /// Questions that leave when the handler cannot go on.
    pub(super) leaving: Leaving,
    /// Keys of questions that this run of the handler has asked.
    pub(super) asked: BTreeSet<String>,
    /// An answer of this round that is none: the fault of the request, not of the handler.
    pub(super) fault: Option<ErrorObject>,
}

impl Context {
    /// Asks the person to fill in a form: one field for each field of `T`, described by its documentation.
    ///
    /// **The handler may run again after this.** In the modern era (2026-07-28) the question ends the exchange,
    /// and the handler is run from its beginning when the answer is there: with two questions it runs three
    /// times. In older revisions it waits in place. Put work that must happen once, such as a payment, into
    /// [`once`](Self::once) or behind the last question; `Server::rehearse` makes tests find the rest.
    ///
    /// `key` names the question within this handler; two questions need two keys, and a key that is used
    /// twice in one run is [`Error::Misuse`]. Never ask for secrets.
    ///
    /// # Errors
    /// [`Error::Declined`] and [`Error::Dismissed`] are the person's; [`Error::Unsupported`] is the client's.
    pub async fn elicit<T>(&self, key: &str, message: impl Into<String>) -> Result<T>
    where
        T: DeserializeOwned + schemars::JsonSchema,
    {
        let answers = self.elicit_form(key, message, form_of::<T>()?).await?;
        let answers = serde_json::to_value(answers).map_err(|error| Error::Invalid(error.to_string()))?;
        serde_json::from_value(answers)
            .map_err(|error| Error::Invalid(format!("the person's answer: {error}")))
    }

    /// Asks the person to fill in a form that is made at run time.
    ///
    /// The handler may run again after this, from its beginning: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// As [`elicit`](Self::elicit).
    pub async fn elicit_form(
        &self,
        key: &str,
        message: impl Into<String>,
        form: ElicitSchema,
    ) -> Result<BTreeMap<String, ElicitValue>> {
        let schema = serde_json::to_value(&form).map_err(|error| Error::Misuse(error.to_string()))?;
        let mut params = ElicitParams::form(message, form);
        prepare(&mut params, self.peer())?;
        self.claim(key)?;
        let answer: ElicitResult = self.ask(key, InputRequest::Elicit(params)).await?;
        let answers = accepted(&answer)?.unwrap_or_default();
        let checker = Checker::compile(schema.as_object().unwrap_or(&serde_json::Map::new()))?;
        let value = serde_json::to_value(&answers).map_err(|error| Error::Invalid(error.to_string()))?;
        checker.check(&value).map_err(|fault| Error::Invalid(format!("the person's answer: {fault}")))?;
        Ok(answers)
    }

    /// Asks the person to visit a URL, for what must not pass through the client. Returning means that they
    /// agreed, not that they are done.
    ///
    /// The handler may run again after this, from its beginning: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// As [`elicit`](Self::elicit).
    pub async fn elicit_url(
        &self,
        key: &str,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<()> {
        let mut params = ElicitParams::url(message, url);
        prepare(&mut params, self.peer())?;
        self.claim(key)?;
        let answer: ElicitResult = self.ask(key, InputRequest::Elicit(params)).await?;
        accepted(&answer).map(drop)
    }

    /// Asks the model.
    ///
    /// The handler may run again after this, from its beginning: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client has no model to ask; [`Error::Remote`] if it refused.
    pub async fn sample(&self, key: &str, request: CreateMessageParams) -> Result<CreateMessageResult> {
        self.need(needed_for(&request))?;
        self.claim(key)?;
        self.ask(key, InputRequest::CreateMessage(Box::new(request))).await
    }

    /// The directories that the client lets this server work in.
    ///
    /// The handler may run again after this, from its beginning: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client has no roots.
    pub async fn roots(&self, key: &str) -> Result<Arc<[Root]>> {
        self.need(Capability::Roots)?;
        self.claim(key)?;
        let may_cache = self.peer().capabilities.roots.as_ref().is_some_and(|roots| roots.announces());
        let talk = self.inner.wire.talk().filter(|_| may_cache && self.rules().has_server_requests);
        if let Some(roots) = talk.and_then(|talk| talk.roots()) {
            return Ok(roots);
        }
        let asked_at = talk.map_or(0, |talk| talk.roots_changes());
        let answer: ListRootsResult = self.ask(key, InputRequest::ListRoots(None)).await?;
        let roots = super::roots::valid_roots(answer.roots.into_vec());
        if let Some(talk) = talk {
            talk.remember_roots(&roots, asked_at);
        }
        Ok(roots)
    }

    /// Does work once for the whole call, however often questions make the handler run again. The result
    /// travels with the call, sealed, so it must be something that can be serialized.
    ///
    /// In the modern era every unanswered question makes the handler run again from its beginning. Whatever
    /// it does before a question and must not repeat belongs in here.
    pub async fn once<T, F, Fut>(&self, key: &str, work: F) -> T
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let known = lock(&self.inner.asks).round().kept.memo.get(key).cloned();
        if let Some(done) = known.and_then(|value| serde_json::from_value(value).ok()) {
            return done;
        }
        let done = work().await;
        if let Ok(value) = serde_json::to_value(&done) {
            lock(&self.inner.asks).round().kept.memo.insert(key.to_owned(), value);
        }
        done
    }

    /// Passes on a question of another server: elicitation, sampling or roots, as [`elicit`](Self::elicit),
    /// [`sample`](Self::sample) and [`roots`](Self::roots) ask them, but with the request and the answer as they are
    /// on the wire.
    ///
    /// The handler may run again after this, from its beginning: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the client cannot be asked this, or not in its revision; [`Error::Remote`] if it
    /// refused, which it can only where it is asked in place.
    pub async fn pass_on(&self, key: &str, mut request: InputRequest) -> Result<Value> {
        prepare_any(&mut request, self.peer())?;
        self.claim(key)?;
        let method = request.method();
        let answer = self.answer_to(key, request).await?;
        match readable(method, &answer) {
            Ok(()) => Ok(answer),
            Err(error) => self.unreadable(key, &error).await,
        }
    }

    /// Whether a question ends this exchange, and the handler is run again with the answer; otherwise it waits in
    /// place.
    pub fn is_replayed(&self) -> bool {
        lock(&self.inner.asks).replay
    }

    /// What an earlier run of this handler [kept](Self::keep), or did [`once`](Self::once), under this key.
    pub fn recall<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let known = lock(&self.inner.asks).begun()?.kept.memo.get(key).cloned();
        known.and_then(|value| serde_json::from_value(value).ok())
    }

    /// Keeps a value for the rest of the call, however often questions make the handler run again. It travels with
    /// the call, sealed, in place of what was kept under the key before.
    ///
    /// # Errors
    /// [`Error::TooMuch`] when more would be kept than the policy allows; then nothing has changed.
    pub fn keep<T: Serialize>(&self, key: &str, value: &T) -> Result<()> {
        let value = serde_json::to_value(value).map_err(|error| Error::Misuse(error.to_string()))?;
        let limit = self.inner.serving.policy.request_state_bytes;
        let mut asks = lock(&self.inner.asks);
        let kept = &mut asks.round().kept;
        let before = kept.memo.insert(key.to_owned(), value);
        if kept.sealed_bytes() <= limit {
            return Ok(());
        }
        match before {
            Some(before) => kept.memo.insert(key.to_owned(), before),
            None => kept.memo.remove(key),
        };
        Err(Error::TooMuch(format!("a call keeps at most {limit} bytes between its rounds")))
    }

    /// Fails unless the client can be asked for this.
    pub(super) fn need(&self, capability: Capability) -> Result<()> {
        need(capability, self.peer())
    }

    /// A key is one question. Where answers are replayed, the second would get the answer to the first; so
    /// it is refused where they are not, too.
    fn claim(&self, key: &str) -> Result<()> {
        if lock(&self.inner.asks).round().asked.insert(key.to_owned()) {
            return Ok(());
        }
        Err(Error::Misuse(format!("two questions have the key {key:?}")))
    }

    async fn ask<T: DeserializeOwned>(&self, key: &str, request: InputRequest) -> Result<T> {
        match serde_json::from_value(self.answer_to(key, request).await?) {
            Ok(answer) => Ok(answer),
            Err(error) => self.unreadable(key, &error).await,
        }
    }

    /// An answer that is none: in the modern era a fault of the request that carries it.
    async fn unreadable<T>(&self, key: &str, error: &serde_json::Error) -> Result<T> {
        if self.rules().has_server_requests {
            return Err(Error::PeerMisbehaved(format!("its answer: {error}")));
        }
        self.refuse_answer(key, error).await
    }

    /// The answer as it came.
    async fn answer_to(&self, key: &str, mut request: InputRequest) -> Result<Value> {
        if !matches!(self.method(), Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead) {
            return Err(Error::Misuse("questions can be asked by tools, prompts and resources only".into()));
        }
        request.lower(self.rules());
        if self.is_replayed() {
            return self.replayed(key, request).await;
        }
        if self.peer().capabilities.wants_question_keys() {
            return self.ask_together(key, request).await;
        }
        request_now(self, &request).await
    }

    /// Ends the exchange, as an unanswered question does.
    async fn refuse_answer<T>(&self, key: &str, error: &serde_json::Error) -> T {
        let fault = ErrorObject::invalid_params("an inputResponse does not answer what was asked")
            .data(serde_json::json!({ "key": key, "fault": error.to_string() }));
        lock(&self.inner.asks).round().fault = Some(fault);
        self.inner.life.wake();
        std::future::pending().await
    }

    /// The recorded answer, or no answer in this round.
    async fn replayed(&self, key: &str, request: InputRequest) -> Result<Value> {
        std::future::poll_fn(|_| {
            let mut asks = lock(&self.inner.asks);
            let round = asks.round();
            if let Some(answer) = round.kept.answers.get(key) {
                return Poll::Ready(Ok(answer.clone()));
            }
            // A client that answered more of them at once would be refused.
            let limit = self.inner.serving.policy.input_requests;
            if round.wanted.len() >= limit && !round.wanted.contains_key(key) {
                return Poll::Ready(Err(Error::TooMuch(format!("{limit} questions can be asked at once"))));
            }
            round.wanted.insert(key.to_owned(), request.clone());
            drop(asks);
            // Whoever drives the exchange looks at what is wanted when the handler cannot go on.
            self.inner.life.wake();
            Poll::Pending
        })
        .await
    }
}

/// Fails unless this client can be asked for this.
pub(super) fn need(capability: Capability, peer: &Peer) -> Result<()> {
    let (rules, client) = (peer.revision.rules(), &peer.capabilities);
    let elicitation = client.elicitation.as_ref().filter(|_| rules.has_elicitation());
    let can = match capability {
        Capability::Elicitation => elicitation.is_some_and(|elicitation| elicitation.has_form()),
        Capability::UrlElicitation => {
            rules.has_url_elicitation && elicitation.is_some_and(|elicitation| elicitation.has_url())
        }
        Capability::Sampling => client.sampling.is_some(),
        Capability::SamplingTools => {
            rules.has_sampling_tools
                && client.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
        }
        Capability::Roots => client.roots.is_some(),
    };
    if can { Ok(()) } else { Err(Error::Unsupported(capability)) }
}

/// What asking the model this way takes.
pub(super) fn needed_for(request: &CreateMessageParams) -> Capability {
    if request.tools.is_some() { Capability::SamplingTools } else { Capability::Sampling }
}

/// Fails unless a person can be asked this through this client; completes it for the client's revision.
pub(super) fn prepare(params: &mut ElicitParams, peer: &Peer) -> Result<()> {
    let rules = peer.revision.rules();
    match params {
        ElicitParams::Url(url) => {
            need(Capability::UrlElicitation, peer)?;
            if rules.has_elicitation_ids && url.elicitation_id.is_none() {
                url.elicitation_id = Some(fresh_id()?);
            }
            Ok(())
        }
        ElicitParams::Form(form) => {
            need(Capability::Elicitation, peer)?;
            // Lowered, it would ask the person for something else, and the answer would not fit.
            match unaskable_field(&form.requested_schema, rules) {
                Some(_) => Err(Error::Unsupported(Capability::Elicitation)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The same, for whatever is asked.
pub(super) fn prepare_any(request: &mut InputRequest, peer: &Peer) -> Result<()> {
    match request {
        InputRequest::Elicit(params) => prepare(params, peer),
        InputRequest::CreateMessage(params) => need(needed_for(params), peer),
        _ => need(Capability::Roots, peer),
    }
}

/// Sends the question over a legacy connection and waits.
pub(super) async fn request_now(context: &Context, request: &InputRequest) -> Result<Value> {
    send(&context.inner.wire, request, context.inner.serving.policy.patience).await
}

/// Sends a question and waits for the answer.
pub(super) async fn send(wire: &Arc<Wire>, request: &InputRequest, patience: Patience) -> Result<Value> {
    let answer = match request {
        InputRequest::Elicit(params) => wire.request(Method::ElicitationCreate, Some(params), patience).await,
        InputRequest::CreateMessage(params) => {
            wire.request(Method::SamplingCreateMessage, Some(params), patience).await
        }
        InputRequest::ListRoots(params) => wire.request(Method::RootsList, params.as_ref(), patience).await,
        _ => return Err(Error::Misuse("an unknown kind of question".into())),
    }?;
    serde_json::from_str(answer.get()).map_err(|error| Error::PeerMisbehaved(error.to_string()))
}

/// Whether an answer to this method is one.
fn readable(method: Method, answer: &Value) -> serde_json::Result<()> {
    match method {
        Method::ElicitationCreate => ElicitResult::deserialize(answer).map(drop),
        Method::SamplingCreateMessage => CreateMessageResult::deserialize(answer).map(drop),
        _ => ListRootsResult::deserialize(answer).map(drop),
    }
}

fn accepted(answer: &ElicitResult) -> Result<Option<BTreeMap<String, ElicitValue>>> {
    match answer.action {
        ElicitAction::Accept => Ok(answer.content.clone()),
        ElicitAction::Decline => Err(Error::Declined),
        ElicitAction::Cancel => Err(Error::Dismissed),
    }
}
