//! What is asked, in either era; and that all of it is answered validly.

use contexture_judge::{From, Watch};
use serde_json::Value;

/// A revision, and for the older one whether it is spoken in a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Session,
    Legacy,
    Modern,
}

/// What is called.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// `echo` of so many bytes.
    Echo(usize),
    /// `steps`, with a token.
    Steps,
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"count","version":"1"}}}"#;
const MODERN: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"count","version":"1"}"#;

impl Work {
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Echo(_) => "echo",
            Self::Steps => "steps",
        }
    }

    /// One call.
    pub(crate) fn call(self, era: Era, id: u64) -> String {
        let arguments = match self {
            Self::Echo(bytes) => format!(r#"{{"message":"{}"}}"#, "x".repeat(bytes)),
            Self::Steps => "{}".to_owned(),
        };
        let token = match self {
            Self::Echo(_) => String::new(),
            Self::Steps => format!(r#""progressToken":{id}"#),
        };
        let meta = match (era, token.as_str()) {
            (Era::Modern, "") => MODERN.to_owned(),
            (Era::Modern, token) => format!("{MODERN},{token}"),
            (_, token) => token.to_owned(),
        };
        let meta = if meta.is_empty() { meta } else { format!(r#","_meta":{{{meta}}}"#) };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{}","arguments":{arguments}{meta}}}}}"#,
            self.tool()
        )
    }
}

/// Every request is answered in its turn, and every message is valid.
pub(crate) fn judge<'a>(asked: &[impl AsRef<[u8]>], said: impl Iterator<Item = &'a [u8]>) {
    let mut watch = Watch::new(From::Server);
    let mut said = said.map(|message| serde_json::from_slice::<Value>(message).expect("JSON"));
    for request in asked {
        let request: Value = serde_json::from_slice(request.as_ref()).expect("JSON");
        watch.message(From::Client, &request);
        loop {
            let message = said.next().expect("every request is answered");
            watch.message(From::Server, &message);
            if message.get("id").is_some() {
                assert_eq!(message["id"], request["id"], "{message}");
                assert!(message["result"].is_object(), "{message}");
                break;
            }
        }
    }
    assert!(said.next().is_none(), "nothing comes after the last answer");
}
