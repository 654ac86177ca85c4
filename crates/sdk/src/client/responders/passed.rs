//! Questions that are passed on: somebody else answers, in the words of the wire.
//!
//! What was not declared is refused here, before anybody is bothered with it, and an answer leaves only as the
//! server's revision has it. Whether somebody may be asked at all is not decided here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::elicitation::safe_host;
use super::{NoAnswer, decode};
use crate::client::payload::encode;
use crate::client::session::{ServerIdentity, Session};
use crate::model::{
    ClientCapabilities, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCapability, ErrorObject,
    InputRequest, ListRootsResult, Method,
};
use crate::revision::{Lower, Rules};

type Respond =
    dyn Fn(ServerIdentity, InputRequest) -> BoxFuture<'static, Result<Value, ErrorObject>> + Send + Sync;

/// Answers whatever a server asks.
#[derive(Clone)]
pub(in crate::client) struct Responder {
    pub(in crate::client) capabilities: ClientCapabilities,
    respond: Arc<Respond>,
}

impl Responder {
    pub(in crate::client) fn new<F>(
        capabilities: ClientCapabilities,
        respond: impl Fn(ServerIdentity, InputRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, ErrorObject>> + Send + 'static,
    {
        Self { capabilities, respond: Arc::new(move |server, request| Box::pin(respond(server, request))) }
    }

    pub(super) fn declares(&self, method: Method) -> bool {
        match method {
            Method::RootsList => self.capabilities.roots.is_some(),
            Method::SamplingCreateMessage => self.capabilities.sampling.is_some(),
            Method::ElicitationCreate => self.capabilities.elicitation.is_some(),
            _ => false,
        }
    }

    pub(super) async fn answer(
        &self,
        session: &Session,
        request: InputRequest,
    ) -> Result<Box<RawValue>, NoAnswer> {
        let method = request.method();
        let answer = (self.respond)(session.server.clone(), request).await.map_err(NoAnswer::Refused)?;
        match method {
            Method::SamplingCreateMessage => lowered::<CreateMessageResult>(answer, session.rules),
            Method::ElicitationCreate => lowered::<ElicitResult>(answer, session.rules),
            _ => lowered::<ListRootsResult>(answer, session.rules),
        }
    }
}

/// An answer of another revision, in the words of this one.
fn lowered<T: DeserializeOwned + Serialize + Lower>(
    answer: Value,
    rules: &Rules,
) -> Result<Box<RawValue>, NoAnswer> {
    let mut answer: T = serde_json::from_value(answer).map_err(|error| NoAnswer::Unfit(error.to_string()))?;
    answer.lower(rules);
    encode(&answer).map_err(|error| NoAnswer::Failed(error.to_string()))
}

/// What a request of a legacy server asks.
pub(super) fn question(method: Method, params: Option<&str>) -> Result<InputRequest, ErrorObject> {
    let given = params.unwrap_or("{}");
    match method {
        Method::RootsList => Ok(InputRequest::ListRoots(params.map(decode).transpose()?)),
        Method::SamplingCreateMessage => Ok(InputRequest::CreateMessage(Box::new(decode(given)?))),
        Method::ElicitationCreate => Ok(InputRequest::Elicit(decode(given)?)),
        _ => Err(ErrorObject::method_not_found(method.as_str())),
    }
}

/// Refuses what these capabilities do not declare, and addresses that nobody is to be shown.
pub(in crate::client) fn declared(
    capabilities: &ClientCapabilities,
    request: &InputRequest,
    rules: &Rules,
) -> Result<(), String> {
    let elicitation = capabilities.elicitation.as_ref();
    let (is_declared, what) = match request {
        InputRequest::ListRoots(_) => (capabilities.roots.is_some(), "roots"),
        InputRequest::CreateMessage(params) if params.tools.is_some() || params.tool_choice.is_some() => {
            let sampling = capabilities.sampling.as_ref();
            let takes_tools = sampling.is_some_and(|sampling| sampling.tools.is_some());
            (takes_tools && rules.has_sampling_tools, "sampling with tools")
        }
        InputRequest::CreateMessage(_) => (capabilities.sampling.is_some(), "sampling"),
        InputRequest::Elicit(ElicitParams::Url(_)) => {
            let takes_urls = elicitation.is_some_and(|elicitation| elicitation.url.is_some());
            (takes_urls && rules.has_url_elicitation, "elicitation by URL")
        }
        InputRequest::Elicit(_) => (elicitation.is_some_and(ElicitationCapability::has_form), "elicitation"),
        _ => (false, "an unknown kind of question"),
    };
    match request {
        _ if !is_declared => Err(format!("{what} was not declared")),
        InputRequest::Elicit(ElicitParams::Url(params)) => safe_host(&params.url).map(drop),
        _ => Ok(()),
    }
}
