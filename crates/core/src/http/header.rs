//! Names of the headers that the protocol defines or gives a meaning, in lower case as HTTP/2 writes them.
//!
//! Only names: what their values may be is for those who read them to say.

/// The revision that a request is written in.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of the request in the body.
pub const METHOD: &str = "mcp-method";
/// What the request in the body is about: a tool, a prompt, a resource or a task.
pub const NAME: &str = "mcp-name";
/// How the name of every mirrored argument begins.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The session that a legacy request belongs to.
pub const SESSION_ID: &str = "mcp-session-id";
/// The last event that a client has seen of the stream that it wants to resume.
pub const LAST_EVENT_ID: &str = "last-event-id";
