//! Reading messages: one decode of the envelope, which borrows everything from the input.
//!
//! Members are only located here. What `params` or `result` hold is decoded once, by whoever knows
//! the method.

use std::borrow::Cow;

use super::RequestId;
use super::scan::Scanner;
use super::shape::Shape;
use crate::model::ErrorObject;

/// Bounds on what is read at all.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// Nesting of arrays and objects.
    pub depth: usize,
    /// Bytes of an id, as it stands in the text.
    pub id_bytes: usize,
    /// Messages in a batch.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, id_bytes: 1024, batch: 100 }
    }
}

/// One frame of a transport: a message, or the elements of a batch still to be decoded one by one.
#[derive(Debug)]
pub enum Frame<'a> {
    /// A single message.
    Single(Message<'a>),
    /// A JSON array. Whether it may be one is a rule of the revision.
    Batch(Vec<&'a str>),
}

/// A message, by the keys that it has.
#[derive(Debug)]
pub enum Message<'a> {
    /// `method` and `id`.
    Request(Request<'a>),
    /// `method` without `id`.
    Notification(Notification<'a>),
    /// `result` or `error`.
    Response(Response<'a>),
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// Repeated in the answer.
    pub id: RequestId,
    /// What is asked for.
    pub method: Cow<'a, str>,
    /// The parameters, an object if they are there.
    pub params: Option<&'a str>,
    /// The member `_meta` of the parameters.
    pub meta: Option<&'a str>,
    /// The parameters once more, if they are a plain call: a name, arguments, and nothing else but `_meta`.
    pub call: Option<PlainCall<'a>>,
}

/// Parameters that hold a name, perhaps arguments, and nothing else but `_meta`.
#[derive(Debug, Clone, Copy)]
pub struct PlainCall<'a> {
    /// What is called; written without escapes.
    pub name: &'a str,
    /// The text of an object.
    pub arguments: Option<&'a str>,
}

/// A notification.
#[derive(Debug)]
pub struct Notification<'a> {
    /// What is told.
    pub method: Cow<'a, str>,
    /// The parameters, an object if they are there.
    pub params: Option<&'a str>,
    /// The member `_meta` of the parameters.
    pub meta: Option<&'a str>,
}

/// A response.
#[derive(Debug)]
pub struct Response<'a> {
    /// Absent or null where the other side could not read ours.
    pub id: Option<RequestId>,
    /// The result, an object; or the error.
    pub outcome: Result<&'a str, ErrorObject>,
}

/// Why a message was not accepted, ready to be sent back.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The id, where it could be read.
    pub id: Option<RequestId>,
    /// Code and text.
    pub error: ErrorObject,
    /// Whether it was meant as a request or notification, as far as one can tell.
    pub has_method: bool,
    /// Whether it is a notification, only a wrong one. Notifications are never answered.
    pub is_notification: bool,
}

impl Refusal {
    pub(super) fn parse(reason: &str) -> Self {
        Self { id: None, error: ErrorObject::parse_error(reason), has_method: false, is_notification: false }
    }
}

/// Keys of the objects around a place in a message, of most messages.
const KEYS: usize = 32;

/// Bytes of metadata that are remembered.
const REMEMBERED: usize = 4 * 1024;

/// Reads frames. Keeps its scratch memory between them.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: Limits,
    keys: Vec<u64>,
    /// The metadata of the last message that had any, an object: it was read under the same limits, at the same
    /// depth, and was right.
    meta: String,
    shape: Shape,
}

#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    meta: Option<&'a str>,
    call: Option<PlainCall<'a>>,
    result: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Members<'a> {
    fn read_params(&mut self, scanner: &mut Scanner<'a, '_>, meta: &str) -> Result<(), Box<Refusal>> {
        let mut known = Known::default();
        let params = scanner.span(|scanner| {
            scanner.object_with(|scanner, key| {
                match &*key.name() {
                    b"name" => known.name = Some(scanner.value()?),
                    b"arguments" => known.arguments = Some(scanner.value()?),
                    b"_meta" => known.meta = Some(scanner.value_like(meta)?),
                    _ => {
                        known.others = true;
                        scanner.skip()?;
                    }
                }
                Ok(())
            })
        })?;
        self.params = Some(params);
        self.meta = known.meta;
        self.call = known.call();
        Ok(())
    }
}

impl Decoder {
    /// A reader with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, keys: Vec::with_capacity(KEYS), meta: String::new(), shape: Shape::default() }
    }

    /// Reads one frame.
    pub fn frame<'a>(&mut self, bytes: &'a [u8]) -> Result<Frame<'a>, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refusal::parse("not valid UTF-8"))?;
        let first = text.bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if first == Some(b'[') { self.batch(text) } else { self.message(text).map(Frame::Single) }
    }

    fn batch<'a>(&mut self, text: &'a str) -> Result<Frame<'a>, Refusal> {
        let limit = self.limits.batch;
        let mut scanner = Scanner::new(text, self.limits.depth, &mut self.keys);
        let mut items = Vec::new();
        scanner.peek_value();
        scanner.array_with(|scanner| {
            let item = scanner.value()?;
            if items.len() == limit {
                return Err(Box::new(refuse(None, false, "too many messages in one batch")));
            }
            items.push(item);
            Ok(())
        })?;
        scanner.end()?;
        Ok(Frame::Batch(items))
    }

    /// Reads one message that is known not to be a batch.
    pub fn message<'a>(&mut self, text: &'a str) -> Result<Message<'a>, Refusal> {
        if let Some(request) = self.shape.read(text, &self.limits, &mut self.keys) {
            return Ok(Message::Request(request));
        }
        let mut scanner = Scanner::new(text, self.limits.depth, &mut self.keys);
        if scanner.peek_value() != Some(b'{') {
            scanner.value()?;
            scanner.end()?;
            return Err(refuse(None, false, "a message is an object"));
        }
        let mut members = Members::default();
        let known = &self.meta;
        scanner.object_with(|scanner, key| {
            let member = match &*key.name() {
                b"jsonrpc" => &mut members.jsonrpc,
                b"id" => &mut members.id,
                b"method" => &mut members.method,
                b"params" if scanner.peek_value() == Some(b'{') => {
                    return members.read_params(scanner, known);
                }
                b"params" => &mut members.params,
                b"result" => &mut members.result,
                b"error" => &mut members.error,
                _ => return scanner.skip(),
            };
            *member = Some(scanner.value()?);
            Ok(())
        })?;
        scanner.end()?;
        let duplicate = scanner.duplicate_depth;
        let message = self.classify(&members, duplicate)?;
        self.remember(members.meta);
        if let (Message::Request(request), Some(id)) = (&message, members.id) {
            self.shape.remember(text, id, request);
        }
        Ok(message)
    }

    /// Clients repeat their metadata in every message. What is the same need not be read again.
    fn remember(&mut self, meta: Option<&str>) {
        let Some(meta) = meta.filter(|meta| meta.len() <= REMEMBERED && meta.starts_with('{')) else {
            return;
        };
        if *meta != *self.meta {
            self.meta.clear();
            self.meta.push_str(meta);
        }
    }

    fn classify<'a>(&self, members: &Members<'a>, duplicate: Option<usize>) -> Result<Message<'a>, Refusal> {
        let has_method = members.method.is_some();
        if duplicate == Some(1) {
            // Which of two ids to answer to would be a guess.
            return Err(refuse(None, has_method, "a key appears twice"));
        }
        let id = match members.id {
            Some(raw) if raw.len() <= self.limits.id_bytes => RequestId::from_json(raw),
            _ => None,
        };
        if duplicate.is_some() {
            return Err(refuse(id, has_method, "a key appears twice"));
        }
        if members.jsonrpc != Some(r#""2.0""#) {
            return Err(refuse(id, has_method, "the member \"jsonrpc\" must be \"2.0\""));
        }
        match members.method {
            Some(method) => call(members, method, id),
            None => response(members, id),
        }
    }
}

fn call<'a>(members: &Members<'a>, method: &'a str, id: Option<RequestId>) -> Result<Message<'a>, Refusal> {
    if members.result.is_some() || members.error.is_some() {
        // Taken for a response: a call that waits for it fails at once, and nothing is run.
        return Err(refuse(id, false, "a message has a method or a result, not both"));
    }
    let Some(method) = text_of(method) else {
        return Err(refuse(id, true, "the member \"method\" must be a string"));
    };
    if members.id.is_some() && id.is_none() {
        return Err(refuse(None, true, "an id is a string or an integer of bounded length"));
    }
    let has_odd_params = members.params.is_some_and(|params| !params.starts_with('{'));
    if has_odd_params {
        // Over a pipe a notification is never answered, not even such a one; over HTTP its status says so.
        return Err(Refusal {
            is_notification: members.id.is_none(),
            id,
            error: ErrorObject::invalid_params("the member \"params\" must be an object"),
            has_method: true,
        });
    }
    let (params, meta, call) = (members.params, members.meta, members.call);
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, params, meta, call }),
        None => Message::Notification(Notification { method, params, meta }),
    })
}

fn response<'a>(members: &Members<'a>, id: Option<RequestId>) -> Result<Message<'a>, Refusal> {
    if members.id.is_some_and(|raw| raw != "null") && id.is_none() {
        return Err(refuse(None, false, "an id is a string or an integer of bounded length"));
    }
    match (members.result, members.error) {
        (Some(result), None) if result.starts_with('{') && id.is_some() => {
            Ok(Message::Response(Response { id, outcome: Ok(result) }))
        }
        (Some(_), None) if id.is_none() => Err(refuse(None, false, "a result without an id")),
        (Some(_), None) => Err(refuse(id, false, "a result must be an object")),
        (None, Some(error)) => match serde_json::from_str(error) {
            Ok(error) => Ok(Message::Response(Response { id, outcome: Err(error) })),
            Err(_) => Err(refuse(id, false, "an error must have an integer code and a message")),
        },
        (Some(_), Some(_)) => Err(refuse(id, false, "a response has a result or an error, not both")),
        (None, None) => Err(refuse(id, false, "neither a method nor a result nor an error")),
    }
}

fn refuse(id: Option<RequestId>, has_method: bool, reason: &str) -> Refusal {
    Refusal { id, error: ErrorObject::invalid_request(reason), has_method, is_notification: false }
}

fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

/// Members of parameters that are looked for while they are read.
#[derive(Default)]
struct Known<'a> {
    meta: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
    others: bool,
}

impl<'a> Known<'a> {
    fn call(&self) -> Option<PlainCall<'a>> {
        let name = self.name?.strip_prefix('"')?.strip_suffix('"')?;
        let plain = !self.others && !name.contains('\\');
        let object = self.arguments.is_none_or(|arguments| arguments.starts_with('{'));
        (plain && object).then_some(PlainCall { name, arguments: self.arguments })
    }
}

impl From<Box<Self>> for Refusal {
    fn from(refusal: Box<Self>) -> Self {
        *refusal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that has read something before reads as a new one does, whatever that was.
    #[test]
    fn what_was_read_before_changes_nothing() {
        let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
        let metas = [
            r#"{"a":1}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"a":1}}"#,
            r#"{"a":1}x"#,
            r#"{"a":1} "#,
            r#"{"a":1,"a":1}"#,
            "{}",
            "{",
            "1",
            r#""{}""#,
            &format!(r#"{{"a":{deep}}}"#),
        ];
        let calls = [
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"a":"x"},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"n","arguments":{},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":-8,"method":"tools/call","params":{"name":"n","arguments":{"a":{"c":[]}},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":8.5,"method":"tools/call","params":{"name":"n","arguments":{"a":"x"},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"n","arguments":{"a":"x"},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"a":1,"a":2},"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":[],"_meta":{"b":1}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"a":"x"},"_meta":{"b":1}}} "#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"a":"x"},"_meta":{"b":1}}}{"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"a":"x","_meta":{"b":1}}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"m","arguments":{"a":"x"}}}"#,
            r#"{"method":"tools/call","params":{"name":"é","arguments":{"a":"ü"}},"jsonrpc":"2.0","id":9}"#,
            r#"{"method":"tools/call","params":{"name":"é","arguments":{}},"jsonrpc":"2.0","id":"9"}"#,
            r#"{"method":"tools/call","params":{"arguments":{"id":1},"name":"é"},"jsonrpc":"2.0","id":10}"#,
        ]
        .map(str::to_owned);
        let too_deep = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"n","arguments":{{"a":{deep}}},"_meta":{{"b":1}}}}}}"#
        );
        let texts: Vec<String> = metas
            .iter()
            .flat_map(|meta| {
                [
                    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{meta}}}}}"#),
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta": {meta},"name":"n"}}}}"#
                    ),
                ]
            })
            .chain(calls)
            .chain([too_deep])
            .collect();
        for before in &texts {
            for text in &texts {
                let (mut used, mut new) = (Decoder::default(), Decoder::default());
                let _ = used.message(before);
                assert_eq!(
                    format!("{:?}", used.message(text)),
                    format!("{:?}", new.message(text)),
                    "{text} after {before}"
                );
            }
        }
    }
}
