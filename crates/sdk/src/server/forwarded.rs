//! Results of other servers on their way to a client that may speak another revision.
//!
//! In the same revision the bytes are the result, and nothing of them is read. Otherwise they are decoded by what
//! was asked, once, and go on as a reply of our own does: lowered, and stamped with what the client's revision wants.
//! A result that makes no sense is the fault of the server that gave it, and said to be so.

use serde::de::DeserializeOwned;

use super::Context;
use super::operation::{OperationResult, Reply};
use crate::model::{
    CallToolParams, CallToolResult, CompleteResult, ErrorObject, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Method, ReadResourceResult,
    ResultType,
};
use crate::revision::{Revision, StructuredOutput};

/// Makes what a provider answers a reply in the words of the client, unless it is one as it stands.
/// `tool` gives the name of the tool that was called, where that is needed.
pub(super) fn in_words_of(
    context: &Context,
    reply: Reply,
    tool: impl FnOnce() -> Option<String>,
) -> OperationResult {
    match reply {
        Reply::Forwarded { result, from } if from != context.revision() => {
            let reply = decode(context.method(), &result)?;
            Ok(lowered_by_schema(context, reply, from, tool))
        }
        Reply::Forwarded { result, .. } if !is_object(&result) => Err(blame("something that is no object")),
        reply => Ok(reply),
    }
}

/// Opens what is encoded already, for layers that want to look at it.
pub(super) fn opened(context: &Context, reply: Reply, tool: Option<&str>) -> OperationResult {
    match in_words_of(context, reply, || tool.map(str::to_owned))? {
        Reply::Forwarded { result, .. } => decode(context.method(), &result),
        Reply::Encoded(result) => decode(context.method(), &result),
        reply => Ok(reply),
    }
}

/// The name of the tool that these parameters call.
pub(super) fn called(params: &[u8]) -> Option<String> {
    serde_json::from_slice::<CallToolParams<'_>>(params).ok().map(|params| params.name.into_owned())
}

/// Whether a value is wrapped for older revisions depends on the tool's output schema.
fn lowered_by_schema(
    context: &Context,
    reply: Reply,
    from: Revision,
    tool: impl FnOnce() -> Option<String>,
) -> Reply {
    let rules = context.rules();
    let wraps = rules.structured_output == StructuredOutput::Object
        && from.rules().structured_output == StructuredOutput::Any;
    match reply {
        Reply::Tool(mut result) if wraps && result.structured_content.is_some() => {
            let provider = context.inner.serving.provider.as_ref();
            let tool = provider.zip(tool()).and_then(|(it, name)| it.tool(context.principal(), &name));
            result.lower_with(tool.as_ref().and_then(|tool| tool.output_schema.as_ref()), rules);
            Reply::Tool(result)
        }
        reply => reply,
    }
}

fn decode(method: Method, result: &[u8]) -> OperationResult {
    match method {
        Method::ToolsCall => {
            let result: CallToolResult = read(result)?;
            complete(result.result_type.as_ref())?;
            Ok(Reply::Tool(result))
        }
        Method::PromptsGet => {
            let result: GetPromptResult = read(result)?;
            complete(result.result_type.as_ref())?;
            Ok(Reply::Prompt(result))
        }
        Method::ResourcesRead => {
            let result: ReadResourceResult = read(result)?;
            complete(result.result_type.as_ref())?;
            Ok(Reply::Resource(result))
        }
        Method::CompletionComplete => read::<CompleteResult>(result).map(Reply::Completion),
        Method::ToolsList => read::<ListToolsResult>(result).map(Reply::Tools),
        Method::PromptsList => read::<ListPromptsResult>(result).map(Reply::Prompts),
        Method::ResourcesList => read::<ListResourcesResult>(result).map(Reply::Resources),
        Method::ResourcesTemplatesList => {
            read::<ListResourceTemplatesResult>(result).map(Reply::ResourceTemplates)
        }
        _ => Err(ErrorObject::internal("results of this method are not passed on")),
    }
}

fn read<T: DeserializeOwned>(result: &[u8]) -> Result<T, ErrorObject> {
    serde_json::from_slice(result)
        .map_err(|error| blame(&format!("something else than was asked for: {error}")))
}

/// What is not complete is not a result yet; whoever passes it on has to see to that.
fn complete(kind: Option<&ResultType>) -> Result<(), ErrorObject> {
    match kind {
        None | Some(ResultType::Complete) => Ok(()),
        Some(_) => Err(blame("something that is not a final result")),
    }
}

fn is_object(result: &[u8]) -> bool {
    result.trim_ascii_start().first() == Some(&b'{')
}

fn blame(what: &str) -> ErrorObject {
    ErrorObject::internal(format!("the server behind this one answered {what}"))
}
