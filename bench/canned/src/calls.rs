//! What a client says, for the limits of both transports: requests made by copying an id between texts that were
//! there before, byte for byte as ours says them. Of an answer it looks for the id and the echo and parses nothing.

use crate::find::Key;
use crate::put;

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1.0.0"},"protocolVersion":"2025-06-18"}}"#
);
const OPENING: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// The metadata of every request in the modern era, and the end of the request.
macro_rules! meta {
    () => {
        concat!(
            r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{},"#,
            r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        )
    };
}
const DISCOVER: &str = concat!(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"#, meta!());
/// The 64 bytes that are said back.
macro_rules! message {
    () => {
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    };
}
/// Before the id of a call and behind it; the two ends of it.
const BEFORE: &str = r#"{"jsonrpc":"2.0","id":"#;
const AFTER: &str = concat!(
    r#","method":"tools/call","params":{"name":"echo","arguments":{"message":""#,
    message!(),
    r#""}"#
);
const LEGACY: &str = "}}";
const MODERN: &str = concat!(",", meta!());

/// The calls of one revision.
pub struct Calls {
    modern: bool,
    id: Key,
    echo: Key,
}

impl Calls {
    /// Nothing if the revision is not one that is measured.
    pub fn of(era: &str) -> Option<Self> {
        let modern = match era {
            "2025-06-18" => false,
            "2026-07-28" => true,
            _ => return None,
        };
        let echo = Key::new(concat!(r#""text":""#, message!(), r#"""#));
        Some(Self { modern, id: Key::new(r#""id""#), echo })
    }

    /// Whether it is the modern era's.
    pub fn are_modern(&self) -> bool {
        self.modern
    }

    /// The first request, with id 1.
    pub fn hello(&self) -> &'static str {
        if self.modern { DISCOVER } else { HELLO }
    }

    /// What the server is owed after its answer, if anything.
    pub fn opening(&self) -> Option<&'static str> {
        (!self.modern).then_some(OPENING)
    }

    /// Appends a call.
    pub fn call(&self, id: usize, out: &mut Vec<u8>) {
        let end = if self.modern { MODERN } else { LEGACY };
        put(out, &[BEFORE.as_bytes(), id.to_string().as_bytes(), AFTER.as_bytes(), end.as_bytes()]);
    }

    /// Refuses anything but the answer to the hello.
    pub fn check_hello(&self, answer: &[u8]) -> Result<(), String> {
        let result = Key::new(r#""result""#).is_in(answer);
        if result && self.id.raw(answer) == Some(b"1") { Ok(()) } else { Err(strange(answer)) }
    }

    /// Refuses anything but the echo that belongs to this call.
    pub fn check(&self, id: usize, answer: &[u8]) -> Result<(), String> {
        let of = self.id.raw(answer).and_then(crate::number);
        if of == Some(id) && self.echo.is_in(answer) { Ok(()) } else { Err(strange(answer)) }
    }
}

fn strange(answer: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(answer).chars().take(200).collect();
    format!("not the answer to this: {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Canned, LINES};

    #[test]
    fn what_the_limits_say_to_one_another_is_understood() {
        let canned = Canned::new(LINES, 0);
        for era in ["2025-06-18", "2026-07-28"] {
            let calls = Calls::of(era).expect("a revision that is measured");
            let (mut request, mut answer) = (Vec::new(), Vec::new());
            canned.answer(calls.hello().as_bytes(), &mut answer);
            assert_eq!(calls.check_hello(&answer), Ok(()));
            answer.clear();
            calls.call(42, &mut request);
            canned.answer(&request, &mut answer);
            assert_eq!(calls.check(42, &answer), Ok(()));
            assert!(calls.check(41, &answer).is_err());
            assert!(calls.check(42, b"{\"jsonrpc\":\"2.0\",\"id\":42,\"result\":{}}").is_err());
        }
        assert!(Calls::of("2025-11-25").is_none());
    }
}
