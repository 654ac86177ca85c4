//! The messages of either era, as compact JSON text: the bare servers find things by their neighbours, and
//! under load a message is copied, not made.

use crate::work::Work;
use serde_json::Value;

/// The revision of the modern era that is measured.
pub const MODERN: &str = "2026-07-28";
/// The revision of the legacy era that is measured.
pub const LEGACY: &str = "2025-06-18";

/// How one revision is spoken.
#[derive(Clone)]
pub struct Dialect {
    /// The revision.
    pub era: String,
}

impl Dialect {
    /// The dialect of a revision.
    pub fn new(era: &str) -> Self {
        Self { era: era.into() }
    }

    /// Whether requests carry their own metadata.
    pub fn is_modern(&self) -> bool {
        self.era == MODERN
    }

    /// `"_meta":{…}` of a request, or nothing where there is nothing to say.
    fn meta(&self, token: Option<usize>) -> String {
        let mut members = Vec::new();
        if self.is_modern() {
            members.push(format!(
                concat!(
                    r#""io.modelcontextprotocol/protocolVersion":"{}","#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}},"#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"drive","version":"1"}}"#
                ),
                self.era
            ));
        }
        members.extend(token.map(|token| format!(r#""progressToken":{token}"#)));
        if members.is_empty() { String::new() } else { format!(r#""_meta":{{{}}}"#, members.join(",")) }
    }

    /// The first request, `initialize` or `server/discover`, with id 0.
    pub fn handshake(&self) -> String {
        let hello = r#""capabilities":{},"clientInfo":{"name":"drive","version":"1"}"#;
        let (method, params) = if self.is_modern() {
            ("server/discover", self.meta(None))
        } else {
            ("initialize", format!(r#""protocolVersion":"{}",{hello}"#, self.era))
        };
        format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{method}","params":{{{params}}}}}"#)
    }

    /// What the client owes the server before it may call, if anything.
    pub fn opening(&self) -> Option<&'static str> {
        (!self.is_modern()).then_some(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
    }

    /// The request for some work.
    pub fn request(&self, work: Work, id: usize) -> String {
        let tool = work.tool().map(|name| format!(r#""name":"{name}","arguments":{}"#, work.arguments()));
        let meta = Some(self.meta(work.has_progress().then_some(id))).filter(|meta| !meta.is_empty());
        let params = [tool, meta].into_iter().flatten().collect::<Vec<_>>().join(",");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{{{params}}}}}"#, work.method())
    }

    /// The request for a stream of changes; the modern era only.
    pub fn listen(&self, id: usize) -> String {
        let meta = self.meta(None);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{meta}}}}}"#
        )
    }

    /// Refuses a handshake that settles on another revision than the one to be measured.
    pub fn check_handshake(&self, answer: &Value) -> Result<(), String> {
        let result = &answer["result"];
        let settled = if self.is_modern() {
            let versions = result["supportedVersions"].as_array();
            versions.is_some_and(|all| all.iter().any(|version| *version == self.era.as_str()))
        } else {
            result["protocolVersion"] == self.era.as_str()
        };
        let shown: String = answer.to_string().chars().take(200).collect();
        if settled { Ok(()) } else { Err(format!("does not speak {}: {shown}", self.era)) }
    }

    /// Refuses anything but the right answer to a request.
    pub fn check(&self, work: Work, id: usize, messages: &[Value]) -> Result<usize, String> {
        let Some((answer, told)) = messages.split_last() else { return Err("no answer".into()) };
        let result = &answer["result"];
        if answer["id"] != id || result.is_null() || (self.is_modern() && result["resultType"] != "complete")
        {
            let shown: String = answer.to_string().chars().take(200).collect();
            return Err(format!("not the result of request {id}: {shown}"));
        }
        work.check(id, told, result)
    }
}
