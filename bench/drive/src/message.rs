//! What is sent and what must come back, in either era. Whole answers are parsed
//! only when checking; under load only the id and the payload are looked for, so
//! that the driver stays cheaper than what it measures.

use serde_json::Value;

const MODERN: &str = "2026-07-28";

/// The messages of one era with one payload.
pub struct Dialect {
    era: String,
    /// Members that every request's `params` carry: nothing in the legacy era.
    meta: String,
    payload: String,
}

impl Dialect {
    /// Messages of the revision `era` whose echoed text has `bytes` bytes.
    pub fn new(era: &str, bytes: usize) -> Self {
        let meta = if era == MODERN {
            format!(
                concat!(
                    r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}},"#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"drive","version":"1"}}}}"#
                ),
                era
            )
        } else {
            String::new()
        };
        Self { era: era.into(), meta, payload: "x".repeat(bytes) }
    }

    /// The first request, `initialize` or `server/discover`, with id 0.
    pub fn handshake(&self) -> Vec<u8> {
        let (method, params) = if self.meta.is_empty() {
            let hello = concat!(r#""capabilities":{},"#, r#""clientInfo":{"name":"drive","version":"1"}"#);
            ("initialize", format!(r#""protocolVersion":"{}",{hello}"#, self.era))
        } else {
            ("server/discover", self.meta.clone())
        };
        line(&format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{method}","params":{{{params}}}}}"#))
    }

    /// What the client owes the server before it may call, if anything.
    pub fn opening(&self) -> Option<Vec<u8>> {
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.meta.is_empty().then(|| line(notice))
    }

    /// One call of `echo`.
    pub fn call(&self, id: usize) -> Vec<u8> {
        let comma = if self.meta.is_empty() { "" } else { "," };
        line(&format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","#,
                r#""arguments":{{"message":"{}"}}{}{}}}}}"#
            ),
            id, self.payload, comma, self.meta
        ))
    }

    /// Refuses a handshake that settles on another revision than the one to be measured.
    pub fn check_handshake(&self, answer: &[u8]) -> Result<(), String> {
        let result = result(answer, 0)?;
        let settled = if self.meta.is_empty() {
            result["protocolVersion"] == self.era.as_str()
        } else {
            result["supportedVersions"]
                .as_array()
                .is_some_and(|all| all.iter().any(|v| *v == self.era.as_str()))
        };
        if settled { Ok(()) } else { Err(format!("does not speak {}: {result}", self.era)) }
    }

    /// Parses a whole answer: the id asked for, and one text block with the payload.
    pub fn check_answer(&self, answer: &[u8], id: usize) -> Result<(), String> {
        let result = result(answer, id)?;
        let complete = self.meta.is_empty() || result["resultType"] == "complete";
        let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
        match blocks {
            [block]
                if complete
                    && block["type"] == "text"
                    && block["text"] == self.payload.as_str()
                    && result["isError"] != true =>
            {
                Ok(())
            }
            _ => Err(format!("not an echo: {result}")),
        }
    }

    /// The id of an answer under load. `None` for a notification; an error for
    /// anything that does not carry the payload back.
    pub fn answered(&self, answer: &[u8]) -> Result<Option<usize>, String> {
        let Some(at) = find(answer, b"\"id\":") else { return Ok(None) };
        let digits = answer[at + 5..].iter().take_while(|b| b.is_ascii_digit());
        let id = digits.fold(0, |id, digit| id * 10 + usize::from(digit - b'0'));
        if find(answer, self.payload.as_bytes()).is_none() {
            return Err(format!("not an echo: {}", String::from_utf8_lossy(answer)));
        }
        Ok(Some(id))
    }
}

fn line(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\n"].concat()
}

fn result(answer: &[u8], id: usize) -> Result<Value, String> {
    let mut answer: Value = serde_json::from_slice(answer).map_err(|e| format!("not JSON: {e}"))?;
    if answer["id"] != id || answer["result"].is_null() {
        return Err(format!("not the result of request {id}: {answer}"));
    }
    Ok(answer["result"].take())
}

/// Jumps from first byte to first byte; answers are short and matches are early.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(step) = text[at..].iter().position(|b| *b == wanted[0]) {
        at += step;
        if text[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}
