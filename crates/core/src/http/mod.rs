//! What HTTP adds to the protocol, as pure functions: names of headers, statuses, events, mirrored arguments.
//!
//! It opens no socket and knows no HTTP library: callers bring header values and bytes. It judges no Host,
//! Origin or token; that is the guard's work.

pub mod header;
pub mod mirror;
pub mod sse;

use crate::engine::BUSY;
use crate::model::code;

/// The HTTP status of a modern error that is answered as JSON.
///
/// Only the code is looked at. Invalid parameters are 200 here; where they mean that the request's own
/// metadata is missing or wrong, the caller knows and answers 400.
pub fn status_of(code: i64) -> u16 {
    match code {
        code::HEADER_MISMATCH
        | code::MISSING_REQUIRED_CLIENT_CAPABILITY
        | code::UNSUPPORTED_PROTOCOL_VERSION
        | code::PARSE_ERROR
        | code::INVALID_REQUEST => 400,
        code::METHOD_NOT_FOUND => 404,
        BUSY => 429,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_the_code() {
        let table = [
            (code::HEADER_MISMATCH, 400),
            (code::MISSING_REQUIRED_CLIENT_CAPABILITY, 400),
            (code::UNSUPPORTED_PROTOCOL_VERSION, 400),
            (code::PARSE_ERROR, 400),
            (code::INVALID_REQUEST, 400),
            (code::METHOD_NOT_FOUND, 404),
            (BUSY, 429),
            (code::INVALID_PARAMS, 200),
            (code::INTERNAL_ERROR, 200),
            (code::RESOURCE_NOT_FOUND, 200),
            (0, 200),
            (i64::MIN, 200),
        ];
        for (code, status) in table {
            assert_eq!(status_of(code), status, "{code}");
        }
    }
}
