//! What a server may ask of a client: roots, the model, the person.
//!
//! The same responders answer the requests of the legacy era and the input rounds of the modern one.
//! Nothing here is answered without a decision: of a hook, or of the application that set it up.

mod elicitation;
mod form;
mod passed;
mod roots;
mod sampling;

pub use elicitation::{ElicitAnswer, Elicitation, Question};
pub(super) use passed::{Responder, declared};
pub use roots::Roots;
pub use sampling::{Sampling, SamplingApproval, SamplingQuestion, SamplingReview};

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::config::Config;
use super::payload::encode;
use super::session::Session;
use crate::Error;
use crate::json_rpc::Request;
use crate::model::{
    CreateMessageParams, ElicitParams, ErrorObject, InputRequest, ListRootsParams, Method, code,
};

/// Something that a server asks and that this client can be asked.
#[derive(Debug)]
pub(super) enum Ask {
    Roots,
    Sample(Box<CreateMessageParams>),
    Elicit(ElicitParams),
    /// Whatever it is, somebody else answers.
    Passed(Box<InputRequest>),
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// A person, or a hook in their place, said no.
    Denied(String),
    /// The responder failed.
    Failed(String),
    /// The responder's answer does not fit the question.
    Unfit(String),
    /// The server asks too often.
    TooOften,
    /// The question is not one that may be answered.
    BadQuestion(String),
    /// Whoever was to answer says this.
    Refused(ErrorObject),
}

impl NoAnswer {
    /// As a server of the legacy era gets it. Why a responder failed is nobody's business but ours.
    fn object(self) -> ErrorObject {
        match self {
            Self::Denied(reason) => ErrorObject::new(code::USER_REJECTED, reason),
            Self::Failed(_) | Self::Unfit(_) => ErrorObject::internal("the client could not answer"),
            Self::TooOften => ErrorObject::new(code::USER_REJECTED, "too many requests in a short time"),
            Self::BadQuestion(reason) => ErrorObject::invalid_params(reason),
            Self::Refused(error) => error,
        }
    }

    /// As the caller gets it whose call needed the answer.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Denied(_) => Error::Declined,
            Self::Failed(reason) => Error::Misuse(format!("a responder failed: {reason}")),
            Self::Unfit(reason) => Error::Invalid(format!("the answer of a responder: {reason}")),
            Self::TooOften => Error::TooMuch("the server asks too often".into()),
            Self::BadQuestion(reason) => Error::PeerMisbehaved(reason),
            Self::Refused(error) if error.code == code::USER_REJECTED => Error::Declined,
            Self::Refused(error) => Error::Misuse(format!("a responder failed: {error}")),
        }
    }
}

impl Config {
    /// What a request of a legacy server asks, if it may.
    pub(super) fn ask(&self, session: &Session, request: &Request<'_>) -> Result<Ask, ErrorObject> {
        let unknown = || ErrorObject::method_not_found(&request.method);
        let method = Method::parse(&request.method).ok_or_else(unknown)?;
        if !session.rules.server_may_request(method) || !self.can_be_asked(method) {
            return Err(unknown());
        }
        let ask = match method {
            _ if self.responder.is_some() => Ask::Passed(Box::new(passed::question(method, request.params)?)),
            Method::RootsList => {
                decode::<ListRootsParams>(request.params.unwrap_or("{}"))?;
                Ask::Roots
            }
            Method::SamplingCreateMessage => Ask::Sample(Box::new(decode(request.params.unwrap_or("{}"))?)),
            Method::ElicitationCreate => Ask::Elicit(decode(request.params.unwrap_or("{}"))?),
            _ => return Err(unknown()),
        };
        self.check(session, &ask).map_err(ErrorObject::invalid_params)?;
        Ok(ask)
    }

    /// What an input round asks, if it may.
    pub(super) fn ask_in_round(&self, session: &Session, request: InputRequest) -> Result<Ask, Error> {
        let method = request.method();
        if !self.can_be_asked(method) {
            let reason =
                format!("the server asked for {}, which this client did not declare", method.as_str());
            return Err(Error::PeerMisbehaved(reason));
        }
        let ask = match request {
            request if self.responder.is_some() => Ask::Passed(Box::new(request)),
            InputRequest::ListRoots(_) => Ask::Roots,
            InputRequest::CreateMessage(params) => Ask::Sample(params),
            InputRequest::Elicit(params) => Ask::Elicit(params),
            _ => return Err(Error::PeerMisbehaved("an unknown kind of question".into())),
        };
        self.check(session, &ask).map_err(Error::PeerMisbehaved)?;
        Ok(ask)
    }

    fn can_be_asked(&self, method: Method) -> bool {
        if let Some(responder) = &self.responder {
            return responder.declares(method);
        }
        match method {
            Method::RootsList => self.roots.is_some(),
            Method::SamplingCreateMessage => self.sampling.is_some(),
            Method::ElicitationCreate => self.elicitation.is_some(),
            _ => false,
        }
    }

    /// Refuses what goes beyond what was declared, before anybody sees it.
    fn check(&self, session: &Session, ask: &Ask) -> Result<(), String> {
        if let (Ask::Passed(request), Some(responder)) = (ask, &self.responder) {
            return declared(&responder.capabilities, request, session.rules);
        }
        match (ask, &self.sampling, &self.elicitation) {
            (Ask::Sample(params), Some(sampling), _) => sampling.check(params, session.rules),
            (Ask::Elicit(params), _, Some(elicitation)) => elicitation.check(params, session.rules),
            _ => Ok(()),
        }
    }

    /// Answers. A responder that panics has failed, and that is all.
    pub(super) async fn respond(&self, session: &Session, ask: Ask) -> Result<Box<RawValue>, NoAnswer> {
        let answer = AssertUnwindSafe(self.respond_unguarded(session, ask)).catch_unwind().await;
        answer.unwrap_or_else(|_| {
            tracing::error!("a responder panicked");
            Err(NoAnswer::Failed("it panicked".into()))
        })
    }

    async fn respond_unguarded(&self, session: &Session, ask: Ask) -> Result<Box<RawValue>, NoAnswer> {
        if let (Ask::Passed(request), Some(responder)) = (&ask, &self.responder) {
            return responder.answer(session, (**request).clone()).await;
        }
        let answer = match (ask, &self.roots, &self.sampling, &self.elicitation) {
            (Ask::Roots, Some(roots), _, _) => encode(&roots.answer(session).await?),
            (Ask::Sample(params), _, Some(sampling), _) => encode(&sampling.answer(session, *params).await?),
            (Ask::Elicit(params), _, _, Some(elicitation)) => {
                encode(&elicitation.answer(session, params).await?)
            }
            _ => return Err(NoAnswer::BadQuestion("not declared".into())),
        };
        answer.map_err(|error| NoAnswer::Failed(error.to_string()))
    }

    /// Answers a request of a legacy server.
    pub(super) async fn answer(&self, session: &Session, ask: Ask) -> Result<Box<RawValue>, ErrorObject> {
        self.respond(session, ask).await.map_err(|refused| {
            tracing::debug!(?refused, "no answer to the server");
            refused.object()
        })
    }
}

fn decode<T: DeserializeOwned>(params: &str) -> Result<T, ErrorObject> {
    serde_json::from_str(params).map_err(|error| ErrorObject::invalid_params(error.to_string()))
}
