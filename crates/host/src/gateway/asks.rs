//! What servers ask, and who answers: the client, a model of ours, or the configuration.
//!
//! Everything is said to come from its server, asked no oftener than the limits permit, and decided about by consent
//! first. In the modern era each question ends the exchange and all of this runs again; so what we answer ourselves is
//! kept, and asked for before anything that the client has to answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use contexture::engine::Peer;
use contexture::model::{
    CreateMessageParams, CreateMessageResult, ElicitResult, ElicitationCapability, ErrorObject, InputRequest,
    ListRootsResult, Method, code,
};
use contexture::server::{Context, Session};
use contexture::{Error, Principal};
use futures_util::future::join_all;
use serde_json::Value;

use super::{Gateway, faults};
use crate::config::{RootsFor, ServerEntry};
use crate::consent::{Answer, Asking, Kind, NO_PIN, PersonQuestion, Verdict, review};
use crate::operations::Decision;
use crate::upstream::{Answered, Desk, wire};

/// The way to those who can be asked.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// In the course of a call.
    Call(&'a Context),
    /// Outside of any, where a session is open.
    Session(&'a Session, &'a Principal),
}

/// Keys of servers that are passed on as they are have at most so many characters.
const LONGEST_KEY: usize = 64;

/// The key under which a client is asked what a server asks under its own. That one, unless it was used before (the client
/// would not be asked again) or could be taken for one of ours, which all begin with a word and a space or a colon. Never does
/// one that is passed on: it is plain, or begins with a number.
pub(super) fn passed_key(key: &str, number: u32, used: &BTreeSet<String>) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let fits = !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(plain);
    if fits && !used.contains(key) { key.to_owned() } else { format!("{number}:{key}") }
}

/// A server asks something outside of any call.
pub(super) async fn outside(gateway: &Arc<Gateway>, desk: &Desk, request: InputRequest) -> Answered {
    let (Some(session), Some(principal)) = (desk.sessions().pop(), &desk.principal) else {
        return Err(ErrorObject::new(code::USER_REJECTED, "there is nobody to ask outside of a call"));
    };
    Way::Session(&session, principal).answer(gateway, &desk.entry, "outside", request).await
}

impl Way<'_> {
    fn peer(&self) -> &Peer {
        match self {
            Self::Call(context) => context.peer(),
            Self::Session(session, _) => session.peer(),
        }
    }

    fn principal(&self) -> &Principal {
        match self {
            Self::Call(context) => context.principal(),
            Self::Session(_, principal) => principal,
        }
    }

    async fn pass_on(&self, key: &str, request: InputRequest) -> Result<Value, Error> {
        match self {
            Self::Call(context) => context.pass_on(key, request).await,
            Self::Session(session, _) => session.pass_on(request).await,
        }
    }

    fn recall<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        match self {
            Self::Call(context) => context.recall(key),
            Self::Session(..) => None,
        }
    }

    /// Keeps what must not be done again, where it would be.
    fn keep<T: serde::Serialize>(&self, key: &str, value: &T) -> Result<(), ErrorObject> {
        match self {
            Self::Call(context) if context.is_replayed() => {
                context.keep(key, value).map_err(|error| ErrorObject::internal(error.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn has_form(&self) -> bool {
        let peer = self.peer();
        let elicitation =
            peer.capabilities.elicitation.as_ref().filter(|_| peer.revision.rules().has_elicitation());
        elicitation.is_some_and(ElicitationCapability::has_form)
    }

    fn has_sampling(&self) -> bool {
        self.peer().capabilities.sampling.is_some()
    }

    /// Answers several questions: first those that are answered here, one after the other, and then those that are the
    /// client's, together.
    pub(super) async fn answer_all<K>(
        &self,
        gateway: &Arc<Gateway>,
        entry: &ServerEntry,
        asked: Vec<(K, String, InputRequest)>,
    ) -> Vec<(K, Method, Answered)> {
        let (here, passed): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|(_, _, request)| self.is_ours(request));
        let mut answers = Vec::new();
        for (id, key, request) in here {
            let method = request.method();
            answers.push((id, method, self.answer(gateway, entry, &key, request).await));
        }
        let passed = passed.into_iter().map(|(id, key, request)| async move {
            let method = request.method();
            (id, method, self.answer(gateway, entry, &key, request).await)
        });
        answers.extend(join_all(passed).await);
        answers
    }

    /// A model of ours is asked, which takes time.
    fn is_ours(&self, request: &InputRequest) -> bool {
        matches!(request, InputRequest::CreateMessage(_)) && !self.has_sampling()
    }

    /// Answers one question of a server.
    pub(super) async fn answer(
        &self,
        gateway: &Arc<Gateway>,
        entry: &ServerEntry,
        key: &str,
        request: InputRequest,
    ) -> Answered {
        let asked = format!("asked {key}");
        if self.recall::<bool>(&asked).is_none() {
            gateway.consent.admit_question(&entry.name)?;
            self.keep(&asked, &true)?;
        }
        match request {
            InputRequest::ListRoots(params) => match &entry.roots {
                RootsFor::Fixed(roots) => wire(&ListRootsResult { roots: roots.clone().into(), meta: None }),
                RootsFor::Client => {
                    let asking = self.asking(entry, Kind::Roots);
                    self.permitted(gateway, &format!("consent of {key}"), &asking).await?;
                    self.pass_on(key, InputRequest::ListRoots(params)).await.map_err(faults::unanswered)
                }
                RootsFor::None => Err(ErrorObject::method_not_found(Method::RootsList.as_str())),
            },
            InputRequest::Elicit(params) => {
                let asking = self.asking(entry, Kind::Elicitation);
                self.permitted(gateway, &format!("consent of {key}"), &asking).await?;
                let params = gateway.attributed(entry, params);
                self.pass_on(key, InputRequest::Elicit(params)).await.map_err(faults::unanswered)
            }
            InputRequest::CreateMessage(params) => self.sample(gateway, entry, key, *params).await,
            _ => Err(ErrorObject::invalid_params("an unknown kind of question")),
        }
    }

    fn asking<'a>(&'a self, entry: &'a ServerEntry, kind: Kind) -> Asking<'a> {
        Asking {
            principal: self.principal(),
            server: entry,
            tool: "",
            shown: "",
            definition: None,
            pin: &NO_PIN,
            arguments: None,
            kind,
            trace: None,
        }
    }

    /// Asks a model, with whoever is to see it first.
    async fn sample(
        &self,
        gateway: &Arc<Gateway>,
        entry: &ServerEntry,
        key: &str,
        mut params: CreateMessageParams,
    ) -> Answered {
        if gateway.only().is_none() {
            // To the client we are one server: what it added would be of all servers behind us.
            params.include_context = None;
        }
        let asking = self.asking(entry, Kind::Sampling);
        let rejected = |reason| ErrorObject::new(code::USER_REJECTED, reason);
        let reviewed = match gateway.consent.decide(&asking) {
            Verdict::Allow => false,
            Verdict::Deny { reason } => return Err(rejected(reason)),
            Verdict::Ask(_) => true,
        };
        if reviewed {
            let question = review::request(&entry.name, &params);
            let Some(answer) = self.ask(gateway, &format!("review of {key}"), &question).await else {
                return Err(match gateway.consent.nobody(&asking) {
                    Verdict::Deny { reason } => rejected(reason),
                    _ => rejected("nobody can be asked".into()),
                });
            };
            if let Verdict::Deny { reason } = gateway.consent.answered(&asking, Answer::from(&answer)) {
                return Err(rejected(reason));
            }
            params = review::edited_request(params, &answer)?;
        }
        let mut result = self.ask_model(gateway, key, params).await?;
        if reviewed {
            let question = review::result(&entry.name, &result);
            let answer = self.ask(gateway, &format!("result of {key}"), &question).await;
            let answer = answer.ok_or_else(|| rejected("nobody can be asked".into()))?;
            result = review::edited_result(result, &answer)?;
        }
        wire(&result)
    }

    async fn ask_model(
        &self,
        gateway: &Gateway,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        if self.has_sampling() {
            let answer = self.pass_on(key, InputRequest::CreateMessage(Box::new(params))).await;
            let answer = answer.map_err(faults::unanswered)?;
            return serde_json::from_value(answer)
                .map_err(|error| ErrorObject::internal(format!("the client's answer is none: {error}")));
        }
        let kept = format!("model {key}");
        if let Some(result) = self.recall(&kept) {
            return Ok(result);
        }
        let result = gateway.models().create(params).await?;
        self.keep(&kept, &result)?;
        Ok(result)
    }

    /// Whether something may be done, asking whoever is to say.
    ///
    /// # Errors
    /// It may not.
    pub(super) async fn permitted(
        &self,
        gateway: &Arc<Gateway>,
        key: &str,
        asking: &Asking<'_>,
    ) -> Result<(), ErrorObject> {
        let (metrics, server) = (&gateway.metrics, &asking.server.name);
        let verdict = match gateway.consent.decide(asking) {
            Verdict::Ask(question) => {
                metrics.decided(server, Decision::Asked);
                match self.ask(gateway, key, &question.question()).await {
                    Some(answer) => gateway.consent.answered(asking, Answer::from(&answer)),
                    None => gateway.consent.nobody(asking),
                }
            }
            verdict => verdict,
        };
        match verdict {
            Verdict::Allow => {
                metrics.decided(server, Decision::Allowed);
                Ok(())
            }
            Verdict::Deny { reason } => {
                metrics.decided(server, Decision::Denied);
                Err(faults::denied(asking.server, reason))
            }
            Verdict::Ask(_) => Err(faults::denied(asking.server, "no answer was one".into())),
        }
    }

    /// Asks a person, unless we are ending: then no answer has come, and none is waited for. `None` if there is nobody.
    async fn ask(&self, gateway: &Gateway, key: &str, question: &PersonQuestion) -> Option<ElicitResult> {
        let mut ending = gateway.ending.subscribe();
        tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => Some(ElicitResult::cancel()),
            answer = self.ask_person(gateway, key, question) => answer,
        }
    }

    /// Through the client, or else at the terminal.
    async fn ask_person(
        &self,
        gateway: &Gateway,
        key: &str,
        question: &PersonQuestion,
    ) -> Option<ElicitResult> {
        if self.has_form() {
            let answer = self.pass_on(key, InputRequest::Elicit(question.elicitation())).await;
            // What is no answer is none: whatever went wrong, nobody said yes.
            let dismissed = || ElicitResult::cancel();
            return Some(match answer {
                Ok(answer) => serde_json::from_value(answer).unwrap_or_else(|_| dismissed()),
                Err(_) => dismissed(),
            });
        }
        match &gateway.person {
            Some(person) => Some(person.ask(question.clone()).await),
            None => None,
        }
    }
}
