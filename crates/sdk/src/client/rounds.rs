//! Input rounds: what a modern server needs to know before it can finish a call.
//!
//! All questions of a round are checked before anybody is bothered with one of them. The server's state
//! goes back as the very text that came. There is a limit to rounds and to questions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;

use bytes::Bytes;
use futures_util::future::try_join_all;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::config::Config;
use super::payload::{Payload, encode};
use super::responders::{Ask, NoAnswer};
use super::session::Session;
use crate::json_rpc::{Members, plain_text};
use crate::model::{CallToolResult, InputRequest, Method, ResultType};
use crate::revision::Rules;
use crate::{Error, Policy, Result};

/// The rounds of one call.
pub(super) struct Rounds<'a> {
    session: &'a Session,
    config: &'a Config,
    method: Option<Method>,
    done: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    input_requests: Option<BTreeMap<String, InputRequest>>,
    request_state: Option<Box<RawValue>>,
}

/// What a modern server wants to know before it goes on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InputRequired {
    /// What it asks, by keys of its own.
    pub requests: BTreeMap<String, InputRequest>,
    /// What it wants back, as it was written.
    pub state: Option<Box<RawValue>>,
}

/// What the server asks in one round.
pub(super) struct Asked {
    asks: Vec<(String, Ask)>,
    state: Option<Box<RawValue>>,
}

/// What an exchange brought.
pub(super) enum Round<R> {
    Asked(Asked),
    Done(R),
}

/// A result, as whoever waits for it wants it.
pub(super) trait Reply: Sized + Send {
    fn read(rounds: &mut Rounds<'_>, result: Bytes) -> Result<Round<Self>>;
}

impl Reply for Bytes {
    fn read(rounds: &mut Rounds<'_>, result: Bytes) -> Result<Round<Self>> {
        Ok(match rounds.read(&result)? {
            Some(asked) => Round::Asked(asked),
            None => Round::Done(result),
        })
    }
}

/// It says itself of what kind it is, so that it need not be read twice.
impl Reply for CallToolResult {
    fn read(rounds: &mut Rounds<'_>, result: Bytes) -> Result<Round<Self>> {
        let has_kinds = rounds.session.rules.has_result_type;
        let is_whole = |kind: &Option<ResultType>| matches!(kind, None | Some(ResultType::Complete));
        match decode::<Self>(Method::ToolsCall.as_str(), &result) {
            Ok(read) if !has_kinds || is_whole(&read.result_type) => Ok(Round::Done(read)),
            read => match rounds.read(&result)? {
                Some(asked) => Ok(Round::Asked(asked)),
                None => read.map(Round::Done),
            },
        }
    }
}

/// What goes back.
pub(super) struct Answers {
    responses: Option<Box<RawValue>>,
    state: Option<Box<RawValue>>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(session: &'a Session, config: &'a Config, method: Option<Method>) -> Self {
        Self { session, config, method, done: 0 }
    }

    pub(super) fn config(&self) -> &'a Config {
        self.config
    }

    /// Whether nothing was asked so far.
    pub(super) fn is_first(&self) -> bool {
        self.done == 0
    }

    /// What the server asks, or nothing if this is the result.
    fn read(&mut self, result: &Bytes) -> Result<Option<Asked>> {
        let policy = &self.config.policy;
        let read = InputRequired::read(result, self.session.rules, policy, self.method)?;
        let Some(asked) = read else { return Ok(None) };
        let limit = policy.input_rounds;
        if self.done == limit {
            return Err(Error::TooMuch(format!("the server asks for input more than {limit} times")));
        }
        self.done += 1;
        let asks = asked
            .requests
            .into_iter()
            .map(|(key, request)| Ok((key, self.config.ask_in_round(self.session, request)?)))
            .collect::<Result<_>>()?;
        Ok(Some(Asked { asks, state: asked.state }))
    }
}

impl InputRequired {
    /// What a result asks; nothing if it is the result of what was wanted.
    pub(super) fn read(
        result: &Bytes,
        rules: &Rules,
        policy: &Policy,
        method: Option<Method>,
    ) -> Result<Option<Self>> {
        if !rules.has_result_type {
            return Ok(None);
        }
        match result_type(result)? {
            None | Some(ResultType::Complete) => return Ok(None),
            Some(ResultType::InputRequired) => {}
            Some(other) => {
                let what = format!("a result of unknown type {:?}", other.as_str());
                return Err(Error::PeerMisbehaved(what));
            }
        }
        if !method.is_some_and(|method| rules.has_input_rounds(method)) {
            return Err(Error::PeerMisbehaved("the server asks for input where it must not".into()));
        }
        Self::checked(decode("an input round", result)?, policy).map(Some)
    }

    fn checked(asked: Wire, policy: &Policy) -> Result<Self> {
        if asked.input_requests.is_none() && asked.request_state.is_none() {
            return Err(Error::PeerMisbehaved("an input round without requests and without state".into()));
        }
        if asked.request_state.as_ref().is_some_and(|state| !state.get().starts_with('"')) {
            return Err(Error::PeerMisbehaved("the state of an input round is not a string".into()));
        }
        let limit = policy.request_state_bytes;
        if asked.request_state.as_ref().is_some_and(|state| state_bytes(state) > limit) {
            return Err(Error::TooMuch(format!("the state of an input round is limited to {limit} bytes")));
        }
        let requests = asked.input_requests.unwrap_or_default();
        let limit = policy.input_requests;
        if requests.len() > limit {
            return Err(Error::TooMuch(format!("the server asks more than {limit} things at once")));
        }
        Ok(Self { requests, state: asked.request_state })
    }
}

/// What a result says of its kind. It stands at the front as a rule, so that no more need be looked at.
fn result_type(result: &Bytes) -> Result<Option<ResultType>> {
    let fault = |fault: &dyn Display| {
        Error::PeerMisbehaved(format!("the type of a result cannot be understood: {fault}"))
    };
    let text = str::from_utf8(result).map_err(|error| fault(&error))?;
    let Some(kind) = Members::of(text).find(|member| member.name == "resultType") else { return Ok(None) };
    if plain_text(kind.value) == Some(ResultType::Complete.as_str()) {
        return Ok(Some(ResultType::Complete));
    }
    serde_json::from_str(kind.value).map_err(|error| fault(&error))
}

/// How long the state is. Escapes count as what they stand for, so that their choice makes no difference.
fn state_bytes(state: &RawValue) -> usize {
    serde_json::from_str::<Cow<'_, str>>(state.get()).map_or(usize::MAX, |text| text.len())
}

impl Asked {
    /// Asks the responders, all at once.
    pub(super) async fn answer(self, config: &Config, session: &Session) -> Result<Answers> {
        let is_empty = self.asks.is_empty();
        let answers =
            try_join_all(self.asks.into_iter().map(|(key, ask)| async move {
                Ok::<_, NoAnswer>((key, config.respond(session, ask).await?))
            }));
        let answers: BTreeMap<String, Box<RawValue>> =
            answers.await.map_err(NoAnswer::error)?.into_iter().collect();
        let responses = if is_empty { None } else { Some(encode(&answers)?) };
        Ok(Answers { responses, state: self.state })
    }
}

impl Answers {
    /// The original parameters with the answers added.
    pub(super) fn into_payload(self, original: &Payload) -> Result<Payload> {
        let mut payload = original.clone();
        if let Some(responses) = self.responses {
            payload.push(Cow::Borrowed("inputResponses"), &responses)?;
        }
        if let Some(state) = self.state {
            payload.push(Cow::Borrowed("requestState"), &state)?;
        }
        Ok(payload)
    }
}

/// Reads a result.
pub(super) fn decode<T: DeserializeOwned>(of: &str, result: &Bytes) -> Result<T> {
    let fault = |fault: &dyn Display| {
        Error::PeerMisbehaved(format!("the result of {of} cannot be understood: {fault}"))
    };
    // Checked as a whole, which is faster than string by string.
    let text = str::from_utf8(result).map_err(|error| fault(&error))?;
    serde_json::from_str(text).map_err(|error| fault(&error))
}
