//! What becomes of what a tool returns: checked, lowered, and made a reply.
//!
//! A tool's own failure is a result that the model sees, not an error.

use std::sync::Arc;

use serde_json::Value;

use super::Context;
use super::operation::{OperationResult, Reply};
use super::output::{Failure, lacks, missing_capability};
use crate::model::{CallToolResult, ErrorObject, Tool};
use crate::revision::Rules;
use crate::schema::Checker;

pub(super) type ToolOutcome = Result<CallToolResult, Failure>;

/// How a call of a tool ends.
pub(super) struct Ending {
    rules: &'static Rules,
    /// The client passes answers on, also to where a missing capability is an error.
    passes_on: bool,
    /// The definition of a tool with structured results, and what they are checked with.
    structured: Option<(Arc<Tool>, Option<Arc<Checker>>)>,
}

impl Ending {
    pub(super) fn new(context: &Context, structured: Option<(Arc<Tool>, Option<Arc<Checker>>)>) -> Self {
        let passes_on = context.peer().capabilities.wants_question_keys();
        Self { rules: context.rules(), passes_on, structured }
    }

    /// The reply to the client.
    pub(super) fn end(self, outcome: ToolOutcome) -> OperationResult {
        let outcome = match outcome {
            Err(Failure::Unsupported(capability)) if self.passes_on => {
                Err(Failure::Protocol(lacks(capability)))
            }
            outcome => outcome,
        };
        let Some((definition, output)) = self.structured else { return reply(outcome, self.rules) };
        let outcome = outcome.and_then(|result| match output {
            Some(output) => check_output(result, &output),
            None => Ok(result),
        });
        let outcome = outcome.map(|mut result| {
            // Whether a value is wrapped for older revisions depends on the schema, so it is done here.
            result.lower_with(definition.output_schema.as_ref(), self.rules);
            result
        });
        reply(outcome, self.rules)
    }
}

fn check_output(result: CallToolResult, output: &Checker) -> ToolOutcome {
    if result.is_error {
        return Ok(result);
    }
    let bad = |fault: String| {
        Failure::Protocol(ErrorObject::internal(format!("the tool's result is not valid: {fault}")))
    };
    let structured =
        result.structured_content.as_ref().ok_or_else(|| bad("structured content is missing".into()))?;
    let value: Value = serde_json::from_str(structured.get()).map_err(|error| bad(error.to_string()))?;
    output.check(&value).map_err(bad)?;
    Ok(result)
}

fn reply(outcome: ToolOutcome, rules: &Rules) -> OperationResult {
    match outcome {
        Ok(result) => Ok(Reply::Tool(result)),
        Err(Failure::Tool(message)) => Ok(Reply::Tool(CallToolResult::error(message))),
        Err(Failure::NotFound) => Ok(Reply::Tool(CallToolResult::error("not found"))),
        Err(Failure::Protocol(error)) => Err(error),
        Err(Failure::Unsupported(capability)) if rules.has_server_requests => {
            Ok(Reply::Tool(CallToolResult::error(format!("this needs a client that supports {capability}"))))
        }
        Err(Failure::Unsupported(capability)) => Err(missing_capability(capability, rules)),
    }
}
