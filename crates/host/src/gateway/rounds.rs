//! Calls of modern servers: a row of exchanges, each of which may end with questions.
//!
//! Nothing is remembered here: what the next exchange needs travels with the client, sealed, where its era has rounds too.
//! A client of the older era is asked in place, between the exchanges.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contexture::Error;
use contexture::client::{Forwarded, InputRequired};
use contexture::model::{ErrorObject, InputRequest, JsonObject, Method};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::asks::{Way, passed_key};
use super::calls::{BEGUN, Call, Failure};
use crate::upstream::{Lease, Voice};

/// Under which what a round asks is kept.
pub(super) const ROUND: &str = "round";
/// Rounds of one call.
const ROUNDS: u32 = 10;

/// What the server asked last, and wants back.
#[derive(Serialize, Deserialize)]
struct Round {
    number: u32,
    requests: BTreeMap<String, InputRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Box<RawValue>>,
    /// Keys under which the client was asked in earlier rounds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    used: BTreeSet<String>,
}

impl Round {
    /// The server's keys, with those that the client sees.
    fn keys(&self) -> impl Iterator<Item = (&String, String)> {
        self.requests.keys().map(|key| (key, passed_key(key, self.number, &self.used)))
    }

    fn all_used(self) -> BTreeSet<String> {
        let now: Vec<String> = self.keys().map(|(_, passed)| passed).collect();
        self.used.into_iter().chain(now).collect()
    }
}

impl Call<'_> {
    pub(super) async fn in_rounds(&self, lease: Lease) -> Result<Forwarded, Failure> {
        let wants_voice = self.context.wants_progress() || self.context.log_level().is_some();
        let voice = wants_voice.then(|| Voice::new(self.context));
        let mut round: Option<Round> = self.context.recall(ROUND);
        loop {
            let forwarded = self.once(&lease, voice.as_ref(), round.as_ref()).await?;
            let Some(asked) = &forwarded.asked else { return Ok(forwarded) };
            let number = round.as_ref().map_or(0, |round| round.number) + 1;
            if number > ROUNDS {
                let why = format!("the server {:?} asks again and again", self.target.entry().name);
                return Err(ErrorObject::internal(why).into());
            }
            let InputRequired { requests, state, .. } = asked.clone();
            let used = round.take().map(Round::all_used).unwrap_or_default();
            let next = Round { number, requests, state, used };
            if self.context.is_replayed() {
                let kept =
                    self.context.keep(ROUND, &next).and_then(|()| self.context.keep(BEGUN, &self.what()));
                kept.map_err(|error| ErrorObject::internal(error.to_string()))?;
            }
            round = Some(next);
        }
    }

    /// One exchange, with the answers to what was asked before it.
    async fn once(
        &self,
        lease: &Lease,
        voice: Option<&Arc<Voice>>,
        round: Option<&Round>,
    ) -> Result<Forwarded, Failure> {
        let answers = match round {
            Some(round) => self.answers(round).await?,
            None => None,
        };
        let call = self.counted();
        let mut forward = self.forward(lease, &call, voice);
        if let Some(round) = round {
            forward = forward.input(answers.as_deref(), round.state.as_deref());
        }
        let outcome = forward.await;
        lease.ended(&outcome);
        Self::count(call, &outcome);
        if let Err(error) = &outcome {
            self.target.upstream().suspect(lease, error);
        }
        match outcome {
            // What was answered may have been done with it: this is not begun anew.
            Err(error) if round.is_some() => Err(self.fault(error).into()),
            outcome => Ok(outcome?),
        }
    }

    async fn answers(&self, round: &Round) -> Result<Option<Box<RawValue>>, Failure> {
        if round.requests.is_empty() {
            return Ok(None);
        }
        let asked = round
            .keys()
            .zip(round.requests.values())
            .map(|((key, passed), request)| (key.clone(), passed, request.clone()));
        let way = Way::Call(self.context);
        let mut answers = JsonObject::new();
        let entry = self.target.entry();
        for (key, method, answer) in way.answer_all(self.gateway, entry, asked.collect()).await {
            let answer = match answer {
                Ok(answer) => answer,
                // In this era there is no other word for a question that came to nothing.
                Err(error) if method == Method::ElicitationCreate => {
                    tracing::debug!(server = entry.name, %error, "a question was not answered");
                    json!({ "action": "cancel" })
                }
                Err(error) => return Err(error.into()),
            };
            answers.insert(key, answer);
        }
        let answers =
            to_raw_value(&Value::Object(answers)).map_err(|error| Error::Misuse(error.to_string()))?;
        Ok(Some(answers))
    }
}
