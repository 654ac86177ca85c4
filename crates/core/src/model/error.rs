//! Errors of the protocol, as JSON-RPC has them.
//!
//! A tool's own failure is not one of these: it is a result with `isError`. Which code a revision uses is
//! its rules' business; here are only the names.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ClientCapabilities, ElicitUrlParams};

/// The codes, by name.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is JSON but not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// There is no such resource (until 2025-11-25).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A person must visit a URL first (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// Headers and body differ (from 2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs (from 2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The server does not speak the revision of the request (from 2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// A person refused a sampling request.
    pub const USER_REJECTED: i64 = -1;
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Which kind.
    pub code: i64,
    /// One sentence about it.
    pub message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Characters of what somebody else wrote that are repeated to them.
const MAX_DETAIL: usize = 500;

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    setters! {
        /// More about it.
        data: Value,
    }

    /// The message is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// The message is JSON but not a request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// There is no such method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, "method not found").data(json!({ "method": excerpt(method) }))
    }

    /// The parameters are wrong.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// The parameters of this method cannot be decoded. Why is for people, and quotes the peer, so it is
    /// data, and cut.
    pub fn bad_params(method: &str, why: impl fmt::Display) -> Self {
        let why: String = why.to_string().chars().take(MAX_DETAIL).collect();
        Self::invalid_params(format!("the parameters of {method} do not fit")).data(why)
    }

    /// The receiver failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// There is no such resource; the code is `Rules::not_found_code`.
    pub fn resource_not_found(code: i64, uri: &str) -> Self {
        Self::new(code, "resource not found").data(json!({ "uri": uri }))
    }

    /// Headers and body differ.
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// The client lacks these capabilities.
    pub fn missing_client_capability(required: &ClientCapabilities) -> Self {
        Self::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, "missing required client capability")
            .data(json!({ "requiredCapabilities": required }))
    }

    /// The server speaks only these revisions.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        Self::new(code::UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version")
            .data(json!({ "requested": excerpt(requested), "supported": supported }))
    }

    /// A person must visit these URLs first.
    pub fn url_elicitation_required(elicitations: &[ElicitUrlParams]) -> Self {
        Self::new(code::URL_ELICITATION_REQUIRED, "a URL must be visited first")
            .data(json!({ "elicitations": elicitations }))
    }
}

/// The beginning of what the peer sent: it knows the rest, and an error is no place to repeat it.
fn excerpt(text: &str) -> &str {
    const CHARACTERS: usize = 200;
    text.char_indices().nth(CHARACTERS).map_or(text, |(end, _)| &text[..end])
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}
