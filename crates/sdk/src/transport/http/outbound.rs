//! What HTTP needs to know about a message that we send, and about what comes back.
//!
//! It looks, and decides nothing: whoever the message is for reads it properly.

use std::borrow::Cow;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use contexture_core::http::{header, mirror};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::json_rpc::{Member, Members, RequestId, string_text};
use crate::model::{ErrorObject, Method};
use crate::revision::{Revision, Rules};

/// A message on its way out.
pub(super) struct Outbound {
    pub(super) line: Bytes,
    /// Of a request.
    pub(super) id: Option<RequestId>,
    pub(super) method: Option<Method>,
    /// The rules that the message itself names.
    pub(super) rules: Option<&'static Rules>,
    /// Headers that say again what the message says.
    headers: HeaderMap,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
}

/// So many headers has a request of most applications.
const HEADERS: usize = 16;
const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);

impl Outbound {
    /// A request of ours after the handshake, with headers for its arguments. It begins as all of them do, and is
    /// read no further than need be.
    pub(super) fn request(line: Bytes, mirrored: Vec<(String, String)>, agreed: &'static Rules) -> Self {
        let Some((id, method, params)) = head(&line) else { return Self::new(line, mirrored) };
        let mut headers = HeaderMap::with_capacity(HEADERS);
        if agreed.has_header_mirroring {
            headers.insert(METHOD, HeaderValue::from_static(method.as_str()));
            let subject = subject(method).and_then(|subject| {
                Members::of(params).find(|member| member.name == subject).map(|member| member.value)
            });
            mirror_all(&mut headers, subject, mirrored);
        }
        Self { id: Some(id), method: Some(method), rules: Some(agreed), headers, line }
    }

    /// One of our own messages, with headers for its arguments.
    pub(super) fn new(line: Bytes, mirrored: Vec<(String, String)>) -> Self {
        let envelope: Option<Envelope<'_>> = serde_json::from_slice(&line).ok();
        let Some(Envelope { id, method: Some(name), params }) = envelope else {
            return Self { line, id: None, method: None, rules: None, headers: HeaderMap::new() };
        };
        let params = params.unwrap_or_default();
        let version = params.meta.and_then(|meta| meta.version);
        let rules = version.and_then(|version| Revision::parse(&version)).map(Revision::rules);
        let method = Method::parse(&name);
        let id = id.and_then(|id| RequestId::from_json(id.get()));
        let mut headers = HeaderMap::new();
        if rules.is_some_and(|rules| rules.has_header_mirroring) {
            insert(&mut headers, header::METHOD, &name);
            let subject = match method.and_then(subject) {
                Some("uri") => params.uri,
                Some(_) => params.name,
                None => None,
            };
            mirror_all(&mut headers, subject.map(RawValue::get), mirrored);
        }
        Self { line, id, method, rules, headers }
    }

    /// All headers of the protocol that the POST has; `agreed` are the rules of the connection.
    pub(super) fn take_headers(
        &mut self,
        agreed: Option<&'static Rules>,
        session: Option<&HeaderValue>,
    ) -> HeaderMap {
        let mut headers = std::mem::take(&mut self.headers);
        headers.insert(::http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(::http::header::ACCEPT, both);
        identify(&mut headers, self.rules.or(agreed), session);
        headers
    }
}

/// Id, method and the text from the parameters on, of a request as `json_rpc` writes them.
fn head(line: &Bytes) -> Option<(RequestId, Method, &str)> {
    let text = str::from_utf8(line).ok()?.strip_prefix(r#"{"jsonrpc":"2.0","id":"#)?;
    let (id, text) = text.split_once(',')?;
    let (method, rest) = text.strip_prefix(r#""method":""#)?.split_once('"')?;
    let params = rest.strip_prefix(r#","params":"#).unwrap_or_default();
    Some((RequestId::from_json(id)?, Method::parse(method)?, params))
}

/// The parameter that is said again in a header.
fn subject(method: Method) -> Option<&'static str> {
    match method {
        Method::ToolsCall | Method::PromptsGet => Some("name"),
        Method::ResourcesRead => Some("uri"),
        _ => None,
    }
}

fn mirror_all(headers: &mut HeaderMap, subject: Option<&str>, mirrored: Vec<(String, String)>) {
    if let Some(subject) = subject.and_then(string_text) {
        match HeaderValue::from_str(&mirror::encode(&subject)) {
            Ok(subject) => drop(headers.insert(NAME, subject)),
            Err(_) => tracing::warn!("the name of what is asked for cannot be sent as a header"),
        }
    }
    for (name, value) in mirrored {
        insert(headers, &name, &value);
    }
}

/// Says which revision and which session a request belongs to.
pub(super) fn identify(
    headers: &mut HeaderMap,
    rules: Option<&'static Rules>,
    session: Option<&HeaderValue>,
) {
    if let Some(rules) = rules.filter(|rules| rules.has_version_header) {
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(rules.revision.as_str()));
    }
    if let Some(session) = session {
        headers.insert(SESSION_ID, session.clone());
    }
}

/// Whatever is not fit for a header was encoded or refused before; what is left is not sent.
fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
        (Ok(name), Ok(value)) => drop(headers.insert(name, value)),
        _ => tracing::warn!(name, "a header cannot be sent"),
    }
}

/// What a message that came for a request is to it.
pub(super) enum Inbound {
    /// Its answer.
    Answer,
    /// An error about a request that the server could not read: this one.
    Unread(ErrorObject),
    /// The answer to something else.
    Foreign,
    /// A notification or a request of the server, or something that only its reader can judge.
    Other,
    /// Several at once.
    Batch(Vec<Bytes>),
    /// No message at all.
    Garbage(String),
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<IgnoredAny>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Inbound {
    /// Looks at a message that came in answer to the request with this id.
    pub(super) fn look(message: &Bytes, asked: &RequestId) -> Self {
        if is_answer(message, asked) {
            return Self::Answer;
        }
        if message.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return match serde_json::from_slice::<Vec<&RawValue>>(message) {
                Ok(items) => {
                    Self::Batch(items.iter().map(|it| message.slice_ref(it.get().as_bytes())).collect())
                }
                Err(error) => Self::Garbage(error.to_string()),
            };
        }
        let head: Head<'_> = match serde_json::from_slice(message) {
            Ok(head) => head,
            Err(error) => return Self::Garbage(error.to_string()),
        };
        if head.method.is_some() {
            return Self::Other;
        }
        match head.id.and_then(|id| RequestId::from_json(id.get())) {
            Some(id) if id == *asked => Self::Answer,
            Some(_) => Self::Foreign,
            None => match head.error.and_then(|error| serde_json::from_str(error.get()).ok()) {
                Some(error) => Self::Unread(error),
                None => Self::Garbage("it is neither a response nor a notification".into()),
            },
        }
    }
}

/// Whether a message is plainly the answer to this request, as most are. Of others, more has to be known.
fn is_answer(message: &Bytes, asked: &RequestId) -> bool {
    let Ok(text) = str::from_utf8(message) else { return false };
    let (mut is_ours, mut end) = (false, 0);
    for Member { name, value } in Members::of(text) {
        match &*name {
            "method" => return false,
            "id" => is_ours = RequestId::from_json(value).is_some_and(|id| id == *asked),
            _ => {}
        }
        end = value.as_ptr() as usize - text.as_ptr() as usize + value.len();
    }
    // Where something is wrong, its members end early.
    is_ours && text.get(end..).is_some_and(|rest| rest.trim_ascii() == "}")
}

/// Whether this is a response, to whatever.
pub(super) fn is_response(message: &Bytes) -> bool {
    serde_json::from_slice::<Head<'_>>(message).is_ok_and(|head| head.method.is_none())
}

/// The error of the protocol in the body of a refusal.
pub(super) fn error_in(body: &[u8]) -> Option<ErrorObject> {
    #[derive(Deserialize)]
    struct Body {
        error: ErrorObject,
    }
    serde_json::from_slice::<Body>(body).ok().map(|body| body.error)
}
