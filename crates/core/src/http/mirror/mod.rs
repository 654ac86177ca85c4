//! Arguments and names mirrored into headers: how they are written, and whether header and body agree.
//!
//! Nothing here validates arguments against their schema; a value that does not fit its annotation is for
//! the schema to refuse. No reference of a schema is followed.

mod argument;
mod decimal;
mod schema;

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::header::PARAM_PREFIX;
use decimal::Decimal;
pub use schema::annotations;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Writes a value so that it is safe in a header: as it is, or wrapped as base64.
pub fn encode(value: &str) -> Cow<'_, str> {
    let edge = |byte: Option<&u8>| byte == Some(&b' ');
    let bytes = value.as_bytes();
    let plain = bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
        && !edge(bytes.first())
        && !edge(bytes.last())
        && !looks_wrapped(value);
    if plain { Cow::Borrowed(value) } else { Cow::Owned([PREFIX, &STANDARD.encode(value), SUFFIX].concat()) }
}

/// Wider than what [`decode`] unwraps: a peer that ignores case, or lets the two ends overlap, reads the same.
fn looks_wrapped(value: &str) -> bool {
    value.ends_with(SUFFIX)
        && value.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Reads the value of a header that [`encode`] or a peer wrote; none if it is malformed.
///
/// What is wrapped must be strict, padded base64 of UTF-8. What is not is taken literally, but only if it
/// could be sent plain: visible ASCII, blanks and tabs.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    match value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok().map(Cow::Owned),
        None => {
            let plain = value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
            plain.then_some(Cow::Borrowed(value))
        }
    }
}

/// What is wrong with an annotation, a value, or a header that should mirror it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// The beginning of somebody else's text, quoted and escaped: faults end up in logs and answers.
fn quoted(text: &str) -> String {
    const CHARACTERS: usize = 80;
    let end = text.char_indices().nth(CHARACTERS).map_or(text.len(), |(end, _)| end);
    format!("{:?}", &text[..end])
}

/// What an annotated argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// A whole number of at most 53 bits.
    Integer,
    /// `true` or `false`.
    Boolean,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Boolean => "a boolean",
        })
    }
}

/// One argument of a tool that is mirrored into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The header as the schema names it, without its prefix.
    pub header: String,
    /// The names of the properties that lead to the argument; at least one.
    pub path: Vec<String>,
    /// What the argument is.
    pub kind: Kind,
}

impl Annotation {
    /// The header's whole name, in lower case.
    pub fn header_name(&self) -> String {
        [PARAM_PREFIX, &self.header.to_ascii_lowercase()].concat()
    }

    /// The header's value for these arguments (JSON text), ready to send; none if the argument is absent or
    /// null.
    pub fn value(&self, arguments: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(raw) = argument::find(&self.path, arguments)? else { return Ok(None) };
        match self.kind {
            Kind::String if raw.starts_with('"') => Ok(Some(encode(&argument::text(raw)?).into_owned())),
            Kind::Boolean if matches!(raw, "true" | "false") => Ok(Some(raw.to_owned())),
            Kind::Integer => {
                let number = Decimal::parse(raw).filter(Decimal::is_integer);
                let number = number.ok_or_else(|| self.misfit())?;
                let integer = number.to_safe_integer().ok_or_else(|| self.too_large())?;
                Ok(Some(integer.to_string()))
            }
            _ => Err(self.misfit()),
        }
    }

    /// Whether a request's header (if it has one) agrees with its arguments (JSON text).
    pub fn check(&self, header: Option<&str>, arguments: Option<&str>) -> Result<(), Fault> {
        match (header, argument::find(&self.path, arguments)?) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(self.disagrees("is missing: mirror the argument")),
            (Some(_), None) => Err(self.disagrees("has a value but the argument is absent or null")),
            (Some(header), Some(raw)) => {
                let header = decode(header).ok_or_else(|| {
                    self.disagrees("is malformed: send visible ASCII, or padded base64 of UTF-8")
                })?;
                if self.agrees(&header, raw)? { Ok(()) } else { Err(self.disagrees("differs")) }
            }
        }
    }

    /// Compares by what the argument is, not by what it should be: whether it fits is for the schema to say.
    fn agrees(&self, header: &str, raw: &str) -> Result<bool, Fault> {
        Ok(match raw.as_bytes().first() {
            Some(b'"') => argument::text(raw)? == header || (self.kind != Kind::String && raw == header),
            Some(b'-' | b'0'..=b'9') => match (Decimal::parse(raw), Decimal::parse(header)) {
                (Some(argument), Some(header)) => argument == header,
                _ => raw == header,
            },
            _ => raw == header,
        })
    }

    fn disagrees(&self, what: &str) -> Fault {
        Fault::new(format!("header {} {what} (argument {})", quoted(&self.header_name()), self.place()))
    }

    fn misfit(&self) -> Fault {
        let place = self.place();
        Fault::new(format!("argument {place} must be {} to be mirrored into a header", self.kind))
    }

    fn too_large(&self) -> Fault {
        let place = self.place();
        Fault::new(format!("argument {place} is beyond 53 bits and cannot be mirrored into a header"))
    }

    fn place(&self) -> String {
        quoted(&self.path.join("."))
    }
}
