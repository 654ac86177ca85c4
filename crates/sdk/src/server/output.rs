//! What tools return, and how it becomes a result.
//!
//! Text is text. Numbers, booleans and [`Json`] are structured, with the same data once more as text for
//! clients that know no better. An error of any type that can be displayed is a result that the model
//! sees; only [`ErrorObject`] is an error of the protocol.

use std::any::Any;
use std::fmt::Display;

use serde::Serialize;

use crate::model::{CallToolResult, Content, ErrorObject, JsonObject};
use crate::revision::Rules;
use crate::{Capability, Error};

/// Why a handler did not return what it should.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The work failed; the model sees the text.
    Tool(String),
    /// The request failed.
    Protocol(ErrorObject),
    /// The client lacks what the handler needs.
    Unsupported(Capability),
    /// There is no such thing.
    NotFound,
}

impl Failure {
    /// Sorts out an error of a handler.
    pub fn from_error<E: Display + 'static>(error: E) -> Self {
        let known: &dyn Any = &error;
        if let Some(error) = known.downcast_ref::<ErrorObject>() {
            return Self::Protocol(error.clone());
        }
        match known.downcast_ref::<Error>() {
            Some(Error::Unsupported(capability)) => Self::Unsupported(*capability),
            Some(Error::NotFound) => Self::NotFound,
            _ => Self::Tool(error.to_string()),
        }
    }

    /// As an error of the protocol, for what is not a tool.
    pub(super) fn into_protocol_error(self, rules: &Rules) -> ErrorObject {
        match self {
            Self::Tool(message) => ErrorObject::internal(message),
            Self::Protocol(error) => error,
            Self::Unsupported(capability) => missing_capability(capability, rules),
            Self::NotFound => ErrorObject::new(rules.not_found_code, "not found"),
        }
    }
}

/// Where questions are rounds of the exchange, a client that cannot answer them is told which
/// capability to declare; elsewhere it declared its capabilities long ago.
pub(super) fn missing_capability(capability: Capability, rules: &Rules) -> ErrorObject {
    let message = format!("this needs a client that supports {capability}");
    if rules.has_server_requests { ErrorObject::internal(message) } else { lacks(capability) }
}

/// The error of the modern era for that.
pub(super) fn lacks(capability: Capability) -> ErrorObject {
    let message = format!("this needs a client that supports {capability}");
    ErrorObject::new(crate::model::code::MISSING_REQUIRED_CLIENT_CAPABILITY, message)
        .data(serde_json::json!({ "requiredCapabilities": capability.to_json() }))
}

/// A value that a tool can return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "tools return text, numbers, `Content`, `CallToolResult`, `Json<T>` for structured data, \
            or `Result<T, E>` of these with an error that implements `Display`",
    note = "structured data derives `serde::Serialize` and `schemars::JsonSchema`; under `#[tool]` it needs \
            no `Json`"
)]
pub trait IntoToolResult {
    /// The result for the client.
    ///
    /// # Errors
    /// When the work failed.
    fn into_tool_result(self) -> Result<CallToolResult, Failure>;

    /// The schema of the structured part, if there is one.
    fn output_schema() -> Option<JsonObject> {
        None
    }
}

/// Structured data: any type with a schema.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(
    /// The data.
    pub T,
);

impl<T: Serialize + schemars::JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        CallToolResult::structured(&self.0).map_err(|error| {
            Failure::Protocol(ErrorObject::internal(format!("the result cannot be encoded: {error}")))
        })
    }

    fn output_schema() -> Option<JsonObject> {
        Some(crate::schema::schema_of::<T>())
    }
}

macro_rules! structured {
    ($($kind:ty),*) => {
        $(impl IntoToolResult for $kind {
            fn into_tool_result(self) -> Result<CallToolResult, Failure> {
                Json(self).into_tool_result()
            }

            fn output_schema() -> Option<JsonObject> {
                Json::<Self>::output_schema()
            }
        })*
    };
}

structured!(bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::default())
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::new(vec![self]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(CallToolResult::new(self))
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        Ok(self)
    }
}

impl<T: IntoToolResult, E: Display + 'static> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, Failure> {
        self.map_err(Failure::from_error)?.into_tool_result()
    }

    fn output_schema() -> Option<JsonObject> {
        T::output_schema()
    }
}
