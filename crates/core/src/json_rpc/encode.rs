//! Writing messages: one line each, straight into the output buffer.
//!
//! It writes compact JSON without raw line breaks; framing (the newline itself) is the transport's.

use serde::Serialize;

use super::RequestId;
use super::text::write_string;
use crate::model::ErrorObject;

/// Appends a request.
pub fn request_line<P: Serialize>(id: &RequestId, method: &str, params: Option<&P>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    method_and_params(method, params, out);
}

/// Appends a notification.
pub fn notification_line<P: Serialize>(method: &str, params: Option<&P>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    method_and_params(method, params, out);
}

/// Appends a successful response. On failure nothing stays in the buffer.
pub fn result_line<R: Serialize>(
    id: &RequestId,
    result: &R,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    result_line_with(id, |out| serde_json::to_writer(out, result), out)
}

/// Appends a successful response whose result `write` appends. On failure nothing stays in the buffer.
pub fn result_line_with(
    id: &RequestId,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
    let written = write(out);
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    out.push(b'}');
    Ok(())
}

/// Appends an error response. `null_id` decides what stands for an id that could not be read.
pub fn error_line(id: Option<&RequestId>, null_id: bool, error: &ErrorObject, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    match id {
        Some(id) => {
            out.extend_from_slice(br#","id":"#);
            id.write(out);
        }
        None if null_id => out.extend_from_slice(br#","id":null"#),
        None => {}
    }
    out.extend_from_slice(br#","error":"#);
    write_json(error, out);
    out.push(b'}');
}

fn method_and_params<P: Serialize>(method: &str, params: Option<&P>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#","method":"#);
    write_string(method, out);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        write_json(params, out);
    }
    out.push(b'}');
}

/// Our own types cannot fail to serialize into memory; should one ever, an empty object stands in its
/// place rather than half a value.
fn write_json<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}

pub(super) fn write_integer(value: i64, out: &mut Vec<u8>) {
    write_json(&value, out);
}
