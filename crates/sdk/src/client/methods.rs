//! The operations of the protocol, typed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Client;
use super::call::{Call, ToolReply};
use super::payload::Payload;
use super::rounds::decode;
use crate::model::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, EmptyResult,
    GetPromptResult, LoggingLevel, Method, ReadResourceResult, Reference,
};
use crate::revision::Lower;
use crate::{Error, Result};

impl Client {
    /// Calls a tool. The arguments must be an object, or nothing (`()`).
    ///
    /// A structured result is checked against the tool's output schema. If the tools were not listed so far,
    /// the first such result leads to one listing.
    pub fn call(&self, tool: impl Into<String>, arguments: impl Serialize) -> Call<ToolReply> {
        let tool = tool.into();
        let payload = Payload::new().with("name", &tool);
        let payload = payload.and_then(|payload| payload.with_object("arguments", &arguments));
        Call::tool(self, tool, payload)
    }

    /// Reads a resource; [`Error::NotFound`] if there is none.
    pub fn read(&self, uri: impl Into<String>) -> Call<ReadResourceResult> {
        let uri = uri.into();
        let payload = Payload::new().with("uri", &uri);
        Call::new(self, Method::ResourcesRead, payload, |_, _, result| decode("resources/read", result))
            .cached(uri)
    }

    /// Fills in a prompt. The arguments are an object of strings, or nothing (`()`). If the prompt was listed,
    /// arguments that it requires are not left out.
    pub fn prompt(&self, name: impl Into<String>, arguments: impl Serialize) -> Call<GetPromptResult> {
        let payload = self.prompt_payload(&name.into(), &arguments);
        Call::new(self, Method::PromptsGet, payload, |_, _, result| decode("prompts/get", result))
    }

    /// Proposals for an argument of a prompt or a template. `context` names the arguments that have a value
    /// already.
    pub fn complete(
        &self,
        reference: Reference,
        argument: impl Into<String>,
        value: impl Into<String>,
        context: BTreeMap<String, String>,
    ) -> Call<Completion> {
        let mut params = CompleteParams {
            reference,
            argument: CompletionArgument { name: argument.into(), value: value.into() },
            context: (!context.is_empty()).then_some(CompletionContext { arguments: Some(context) }),
            meta: None,
        };
        self.with_session(|session| params.lower(session.rules));
        let key = serde_json::to_string(&params).unwrap_or_default();
        let payload = Payload::from_value(&params).map(|(payload, _)| payload);
        Call::new(self, Method::CompletionComplete, payload, |_, _, result| {
            decode::<CompleteResult>("completion/complete", result).map(|result| result.completion)
        })
        .cached(key)
    }

    /// A request that has no method of its own here, such as one of an extension.
    pub fn request(&self, method: impl Into<String>, params: impl Serialize) -> Call<Value> {
        let method = method.into();
        let of = method.clone();
        Call::custom(self, method, Payload::from_value(&params), move |_, _, result| decode(&of, result))
    }

    /// From which level on the server should send log messages. Modern servers are told with every
    /// request.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<()> {
        let live = self.live();
        let session = live.session()?;
        session.permits(Method::LoggingSetLevel)?;
        self.hub().set_log_level(level);
        if session.rules.has_set_level {
            self.log_level_call(level).await?;
        }
        Ok(())
    }

    pub(super) fn log_level_call(&self, level: LoggingLevel) -> Call<()> {
        let payload = Payload::new().with("level", &level);
        Call::new(self, Method::LoggingSetLevel, payload, empty)
    }

    /// Asks whether the server is there. In the modern era that is a discovery.
    pub async fn ping(&self) -> Result<()> {
        self.ping_call().await
    }

    pub(super) fn ping_call(&self) -> Call<()> {
        let has_ping = self.with_session(|session| session.rules.has_ping);
        let method = if has_ping { Method::Ping } else { Method::ServerDiscover };
        Call::new(self, method, Ok(Payload::new()), |_, _, result| {
            decode::<Value>("ping", result).map(|_| ())
        })
    }

    fn prompt_payload(&self, name: &str, arguments: &impl Serialize) -> Result<Payload> {
        let payload = Payload::new().with("name", name)?;
        let value = serde_json::to_value(arguments).map_err(|error| Error::Misuse(error.to_string()))?;
        self.hub().prompts.check(name, &value)?;
        match &value {
            Value::Null => Ok(payload),
            Value::Object(members) if members.values().all(Value::is_string) => {
                payload.with("arguments", members)
            }
            _ => Err(Error::Misuse("arguments of a prompt must be an object of strings".into())),
        }
    }
}

/// The end of a request that only succeeds.
pub(super) fn empty(_: &Client, _: &super::live::Live, result: &bytes::Bytes) -> Result<()> {
    decode::<EmptyResult>("a request", result).map(|_| ())
}
