//! Parameters on their way out: members in order, and metadata last.
//!
//! Members are encoded once and then only copied, so that what was approved is what is sent, and every
//! input round repeats the original bytes.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::json_rpc::{Member, Members, RequestId, request_line};
use crate::model::Meta;
use crate::{Error, Result};

/// Enough for most parameters, and for what stands around them in a line.
const ROOM: usize = 128;

/// The members of `params`, without `_meta`.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload {
    /// What stands between the braces.
    text: Vec<u8>,
    /// Where in it the values are.
    values: Vec<(Cow<'static, str>, Range<usize>)>,
}

/// Metadata of a request.
pub(super) struct Metadata<'a> {
    /// An object as JSON, or nothing.
    pub(super) text: Cow<'a, str>,
    /// Whether the request's id goes with it, as the token of its progress.
    pub(super) wants_progress: bool,
}

impl Payload {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a member.
    pub(super) fn with(mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<Self> {
        self.push(Cow::Borrowed(name), value)?;
        Ok(self)
    }

    /// Adds a member if there is a value for it.
    pub(super) fn with_some(self, name: &'static str, value: Option<&impl Serialize>) -> Result<Self> {
        match value {
            Some(value) => self.with(name, value),
            None => Ok(self),
        }
    }

    /// Adds a member that must be an object; nothing (`null`) is left out.
    pub(super) fn with_object(mut self, name: &'static str, value: &impl Serialize) -> Result<Self> {
        let before = self.text.len();
        let value = self.push(Cow::Borrowed(name), value)?;
        match self.text.get(value.start) {
            Some(b'{') => Ok(self),
            Some(b'n') => {
                self.text.truncate(before);
                self.values.pop();
                Ok(self)
            }
            _ => Err(Error::Misuse(format!("{name} must be an object"))),
        }
    }

    /// The text of a member.
    pub(super) fn member(&self, name: &str) -> Option<&str> {
        let (_, value) = self.values.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(self.text.get(value.clone())?).ok()
    }

    /// Adds a member. After a failure nothing of the payload is of use.
    pub(super) fn push(
        &mut self,
        name: Cow<'static, str>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Range<usize>> {
        if self.text.is_empty() {
            self.text.reserve(ROOM);
        } else {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, &*name).map_err(not_json)?;
        self.text.push(b':');
        let start = self.text.len();
        serde_json::to_writer(&mut self.text, value).map_err(not_json)?;
        let value = start..self.text.len();
        self.values.push((name, value.clone()));
        Ok(value)
    }

    /// The members of an object of the caller's; `null` is none at all.
    pub(super) fn from_value(value: &impl Serialize) -> Result<(Self, Meta)> {
        let value = serde_json::to_value(value).map_err(not_json)?;
        let members = match value {
            serde_json::Value::Null => return Ok((Self::new(), Meta::new())),
            serde_json::Value::Object(members) => members,
            _ => return Err(Error::Misuse("parameters must be an object".into())),
        };
        let (mut payload, mut meta) = (Self::new(), Meta::new());
        for (name, value) in members {
            match value {
                serde_json::Value::Object(members) if name == "_meta" => meta = Meta(members),
                value => {
                    payload.push(Cow::Owned(name), &value)?;
                }
            }
        }
        Ok((payload, meta))
    }

    /// The members of an object that is text, copied as they stand. Those that are given in other ways (see
    /// [`Forward`](super::Forward)) are left out.
    pub(super) fn from_text(text: &str) -> Result<Self> {
        let mut payload = Self { text: Vec::with_capacity(text.len() + ROOM), values: Vec::new() };
        let mut end = text.find('{').map_or(text.len(), |at| at + 1);
        for Member { name, value } in Members::of(text) {
            end = value.as_ptr() as usize - text.as_ptr() as usize + value.len();
            if !["_meta", "inputResponses", "requestState"].contains(&&*name) {
                payload.push_text(kept(name), value)?;
            }
        }
        // Reading ends early where something is wrong, and half of what was wanted must not be sent.
        if text.get(end..).is_none_or(|rest| rest.trim() != "}") {
            return Err(Error::Misuse("parameters must be an object, and not nested without end".into()));
        }
        Ok(payload)
    }

    /// Adds a member whose value is JSON already.
    pub(super) fn push_text(&mut self, name: Cow<'static, str>, value: &str) -> Result<()> {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, &*name).map_err(not_json)?;
        self.text.push(b':');
        let start = self.text.len();
        self.text.extend_from_slice(value.as_bytes());
        // Outside of strings, where they cannot be, line breaks are as good as spaces; a message has none.
        while let Some(at) = self.text.get(start..).and_then(|it| memchr::memchr2(b'\n', b'\r', it)) {
            self.text[start + at] = b' ';
        }
        self.values.push((name, start..self.text.len()));
        Ok(())
    }

    /// The line of a request. Requests without parameters leave them out.
    pub(super) fn request(&self, id: i64, method: &str, meta: &Metadata<'_>) -> Vec<u8> {
        let id = RequestId::from(id);
        let mut line = Vec::with_capacity(ROOM + method.len() + self.text.len() + meta.text.len());
        request_line::<()>(&id, method, None, &mut line);
        if !self.text.is_empty() || !meta.is_empty() {
            // The brace that closes the message makes room.
            line.pop();
            line.extend_from_slice(br#","params":{"#);
            line.extend_from_slice(&self.text);
            if !meta.is_empty() {
                line.extend_from_slice(if self.text.is_empty() { br#""_meta":"# } else { br#","_meta":"# });
                meta.write(&id, &mut line);
            }
            line.extend_from_slice(b"}}");
        }
        line.push(b'\n');
        line
    }
}

impl Metadata<'_> {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.wants_progress
    }

    fn write(&self, id: &RequestId, line: &mut Vec<u8>) {
        if !self.wants_progress {
            return line.extend_from_slice(self.text.as_bytes());
        }
        line.extend_from_slice(br#"{"progressToken":"#);
        id.write(line);
        match self.text.strip_prefix('{') {
            Some(rest) => {
                line.push(b',');
                line.extend_from_slice(rest.as_bytes());
            }
            None => line.push(b'}'),
        }
    }
}

/// A name of the caller's; those that most requests have are here already.
fn kept(name: Cow<'_, str>) -> Cow<'static, str> {
    const USUAL: [&str; 3] = ["name", "arguments", "uri"];
    match USUAL.into_iter().find(|usual| *usual == name) {
        Some(usual) => Cow::Borrowed(usual),
        None => Cow::Owned(name.into_owned()),
    }
}

/// Metadata as [`Metadata`] has it.
pub(super) fn meta_text(meta: &Meta) -> String {
    // A map of JSON values has a JSON form.
    if meta.is_empty() { String::new() } else { serde_json::to_string(meta).unwrap_or_default() }
}

/// As JSON, kept as text.
pub(super) fn encode(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> Error {
    Error::Misuse(format!("a value cannot be written as JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(payload: &Payload, meta: &str, wants_progress: bool) -> String {
        let meta = Metadata { text: Cow::Borrowed(meta), wants_progress };
        String::from_utf8(payload.request(7, "x", &meta)).expect("text")
    }

    #[test]
    fn members_come_in_order_and_metadata_last() {
        let payload = Payload::new().with("name", "a\"b").expect("text");
        let payload = payload.with_object("arguments", &serde_json::json!({ "a": 1 })).expect("an object");
        assert_eq!(payload.member("arguments"), Some(r#"{"a":1}"#));
        let start = r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"name":"a\"b","arguments":{"a":1}"#;
        assert_eq!(line(&payload, "", false), format!("{start}}}}}\n"));
        assert_eq!(line(&payload, r#"{"k":1}"#, false), format!("{start},\"_meta\":{{\"k\":1}}}}}}\n"));
    }

    #[test]
    fn a_token_stands_alone_or_with_other_metadata() {
        let start = r#"{"jsonrpc":"2.0","id":7,"method":"x""#;
        let none = Payload::new();
        assert_eq!(line(&none, "", false), format!("{start}}}\n"));
        let params = r#","params":{"_meta":{"progressToken":7"#;
        assert_eq!(line(&none, "", true), format!("{start}{params}}}}}}}\n"));
        assert_eq!(line(&none, r#"{"k":1}"#, true), format!("{start}{params},\"k\":1}}}}}}\n"));
    }

    #[test]
    fn nothing_is_left_out_and_everything_else_but_objects_refused() {
        let payload = Payload::new().with("name", "a").and_then(|it| it.with_object("arguments", &()));
        let payload = payload.expect("nothing is fine");
        assert_eq!(payload.member("arguments"), None);
        assert_eq!(payload.text, br#""name":"a""#);
        assert!(matches!(Payload::new().with_object("arguments", &[1]), Err(Error::Misuse(_))));
    }
}
