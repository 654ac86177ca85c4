//! JSON-RPC 2.0 as MCP uses it: the envelope, its ids, and a strict reader with limits.
//!
//! A message is classified by the keys that it has, never by trying types in turn. What is not plainly
//! a request, a notification or a response is refused with a reason; nothing is guessed or repaired.

mod decode;
mod encode;
mod id;
mod scan;

pub use decode::{Decoder, Frame, Limits, Message, Notification, PlainCall, Refusal, Request, Response};
pub use encode::{error_line, notification_line, request_line, result_line, write_string};
pub use id::RequestId;
