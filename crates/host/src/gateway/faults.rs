//! What clients are told when something behind us fails: who is to blame, and what to do.
//!
//! What a server itself answers goes through as it is. Everything else is an error of the protocol, never a tool's result,
//! so that nobody takes our words for the tool's.

use contexture::model::{ElicitParams, ErrorObject, Method, code};
use contexture::{Context, Error};
use serde_json::{Value, json};
use url::Url;

use super::{DENIED, Gateway, milliseconds};
use crate::config::ServerEntry;
use crate::consent::Outcome;
use crate::upstream::{Unavailable, shortened};

/// How a call that failed is told and recorded.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: ErrorObject,
    pub(super) audit: Outcome,
}

impl From<ErrorObject> for Fault {
    fn from(error: ErrorObject) -> Self {
        let audit = Outcome::Error(error.code);
        Self { error, audit }
    }
}

/// The server is not there.
pub(super) fn unavailable(unavailable: &Unavailable) -> Fault {
    let mut data = json!({ "server": unavailable.server, "state": unavailable.state.word() });
    if let (Some(after), Value::Object(data)) = (unavailable.retry_after, &mut data) {
        data.insert("retryAfterMs".into(), milliseconds(after).into());
    }
    let error = ErrorObject::internal(unavailable.to_string()).data(data);
    Fault { error, audit: Outcome::Unavailable }
}

/// A call did not come to an answer.
pub(super) fn of(
    gateway: &Gateway,
    entry: &ServerEntry,
    context: &Context,
    method: Method,
    failure: Error,
) -> Fault {
    let name = &entry.name;
    let told = |state: &str, message: String| {
        ErrorObject::internal(shortened(message)).data(json!({ "server": name, "state": state }))
    };
    let (error, audit) = match failure {
        Error::Remote(mut error) => {
            if method == Method::ResourcesRead && is_not_found(&error) {
                error.code = context.revision().rules().not_found_code;
            }
            let audit = Outcome::Error(error.code);
            if error.code == code::URL_ELICITATION_REQUIRED && !introduce(gateway, entry, &mut error) {
                let message = format!("the server {name:?} sends people to an address that is no web page");
                error = told("misbehaved", message);
            }
            (error, audit)
        }
        Error::Timeout(time) => {
            let message = format!(
                "the server {name:?} did not answer within {time:?}; it may have done what was asked"
            );
            (told("timed-out", message), Outcome::Unknown)
        }
        Error::Interrupted(how) => {
            let message = format!("the server {name:?} was lost; it may have done what was asked: {how}");
            (told("lost", message), Outcome::Unknown)
        }
        Error::Http(refusal) => {
            let message = format!("the server {name:?} refused: {refusal}");
            let after = refusal.retry_after.map(milliseconds);
            let mut error = told("refused", message);
            if let (Some(after), Some(Value::Object(data))) = (after, &mut error.data) {
                data.insert("retryAfterMs".into(), after.into());
            }
            let audit = Outcome::Error(error.code);
            (error, audit)
        }
        Error::PeerMisbehaved(what) => {
            let message = format!("the server {name:?} broke the protocol: {what}");
            (told("misbehaved", message), Outcome::Unknown)
        }
        Error::PeerIncompatible(what) => {
            let message = format!("the server {name:?} cannot do this: {what}");
            (told("incompatible", message), Outcome::Error(code::INTERNAL_ERROR))
        }
        other => {
            let message = format!("the server {name:?} is not available: {other}");
            (told("failed", message), Outcome::Unavailable)
        }
    };
    Fault { error, audit }
}

/// Says which server it is that wants people to visit an address first; `false` if that is not one for people.
fn introduce(gateway: &Gateway, entry: &ServerEntry, error: &mut ErrorObject) -> bool {
    let Some(wanted) = error.data.as_mut().and_then(|data| data.get_mut("elicitations")) else { return true };
    let Ok(asked) = serde_json::from_value::<Vec<ElicitParams>>(wanted.take()) else { return false };
    if !asked.iter().all(is_for_people) {
        return false;
    }
    let introduced: Vec<ElicitParams> =
        asked.into_iter().map(|params| gateway.attributed(entry, params)).collect();
    *wanted = json!(introduced);
    true
}

/// A page of the web that hides nothing about where it is.
fn is_for_people(params: &ElicitParams) -> bool {
    let ElicitParams::Url(params) = params else { return false };
    let is_plain = params.url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain
        && Url::parse(&params.url).is_ok_and(|url| {
            matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none()
        })
}

/// Whether a server says that there is no such resource, in the words of any revision.
fn is_not_found(error: &ErrorObject) -> bool {
    let names_it = || error.data.as_ref().is_some_and(|data| data.get("uri").is_some());
    error.code == code::RESOURCE_NOT_FOUND || (error.code == code::INVALID_PARAMS && names_it())
}

/// Consent was not given. The reason is the message, and said once.
pub(super) fn denied(entry: &ServerEntry, reason: String) -> ErrorObject {
    ErrorObject::new(DENIED, reason).data(json!({ "server": entry.name }))
}

/// What could not be asked of the client, in the words of an answer.
pub(super) fn unanswered(error: Error) -> ErrorObject {
    match error {
        Error::Remote(error) => error,
        Error::Unsupported(what) => {
            ErrorObject::invalid_params(format!("the client does not support {what}"))
        }
        Error::Timeout(time) => ErrorObject::internal(format!("the client did not answer within {time:?}")),
        other => ErrorObject::internal(other.to_string()),
    }
}
