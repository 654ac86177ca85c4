//! JSON-RPC 2.0 as MCP uses it: the envelope, its ids, and a strict reader with limits.
//!
//! A message is classified by the keys that it has, never by trying types in turn. What is not plainly
//! a request, a notification or a response is refused with a reason; nothing is guessed or repaired.

mod decode;
mod encode;
mod id;
mod members;
mod scan;
mod shape;
mod text;

pub use decode::{Decoder, Frame, Limits, Message, Notification, PlainCall, Refusal, Request, Response};
pub use encode::{error_line, notification_line, request_line, result_line, result_line_with};
pub use id::RequestId;
pub use members::{Member, Members, plain_text, string_text};
pub use text::{lines, write_string};
