//! Changes in the text of JSON that leave everything else as it was written: order, numbers, members that nobody here
//! knows.
//!
//! For text that was read as part of a message, so its grammar is known to be right; text that is not ends early and
//! changes nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use contexture::json_rpc::{Members, write_string};
use serde_json::Value;
use serde_json::value::RawValue;

/// Replacements of parts of a text.
pub(super) struct Edits<'a> {
    text: &'a str,
    parts: Vec<(usize, usize, Vec<u8>)>,
}

impl<'a> Edits<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, parts: Vec::new() }
    }

    /// Puts a string in the place of a part of the text: a slice of it, and no other that overlaps.
    pub(super) fn put_string(&mut self, part: &str, string: &str) {
        let mut quoted = Vec::new();
        write_string(string, &mut quoted);
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        self.parts.push((start, start.wrapping_add(part.len()), quoted));
    }

    /// The text with its replacements.
    pub(super) fn finish(mut self) -> Cow<'a, [u8]> {
        let bytes = self.text.as_bytes();
        if self.parts.is_empty() {
            return Cow::Borrowed(bytes);
        }
        self.parts.sort_by_key(|(start, ..)| *start);
        let mut out = Vec::with_capacity(bytes.len() + 32 * self.parts.len());
        let mut done = 0;
        for (start, end, instead) in self.parts {
            let Some(kept) = bytes.get(done..start) else { continue };
            out.extend_from_slice(kept);
            out.extend_from_slice(&instead);
            done = end;
        }
        out.extend_from_slice(bytes.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// The value of a member of an object.
pub(super) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    Members::of(object).find(|member| member.name == name).map(|member| member.value)
}

/// The elements of an array.
pub(super) fn elements(array: &str) -> Vec<&str> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(array).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

/// Takes out the line breaks, which may not stand in a line or an event. Text without any is returned as it is.
pub fn compact(json: Bytes) -> Bytes {
    match without_breaks(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(compact) => compact.into(),
    }
}

/// White space is taken out wherever it is not part of a string.
pub(super) fn without_breaks(json: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', json).is_none() {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len());
    let (mut within, mut escaped) = (false, false);
    for &byte in json {
        if within {
            (within, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        } else {
            within = byte == b'"';
        }
        out.push(byte);
    }
    Cow::Owned(out)
}

/// Writes what stands in `text`, of which we know `known`, as `said`: where the two agree as it was written, without what
/// `said` lacks, and with all that is not known to us. Members that are `null` and not known go: they were taken for absent.
pub(super) fn reword(text: &str, known: &Value, said: &Value, out: &mut Vec<u8>) {
    if known == said && memchr::memmem::find(text.as_bytes(), b"null").is_none() {
        return out.extend_from_slice(text.as_bytes());
    }
    match (known, said) {
        (Value::Object(known), Value::Object(said)) => reword_object(text, known, said, out),
        (Value::Array(known), Value::Array(said)) => {
            let texts = elements(text);
            if texts.len() != known.len() || texts.len() != said.len() {
                return write(said, out);
            }
            out.push(b'[');
            for (at, ((text, known), said)) in texts.into_iter().zip(known).zip(said).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                reword(text, known, said, out);
            }
            out.push(b']');
        }
        (known, said) if known == said => out.extend_from_slice(text.as_bytes()),
        (_, said) => write(said, out),
    }
}

type Object = serde_json::Map<String, Value>;

fn reword_object(text: &str, known: &Object, said: &Object, out: &mut Vec<u8>) {
    let mut written = BTreeSet::new();
    out.push(b'{');
    for member in Members::of(text) {
        let (known, said) = (known.get(&*member.name), said.get(&*member.name));
        if said.is_none() && (known.is_some() || member.value == "null") {
            continue;
        }
        begin(&member.name, written.is_empty(), out);
        match (known, said) {
            (Some(known), Some(said)) => reword(member.value, known, said, out),
            (None, Some(said)) => write(said, out),
            (_, None) => out.extend_from_slice(member.value.as_bytes()),
        }
        written.insert(member.name);
    }
    let mut first = written.is_empty();
    for (name, value) in said.iter().filter(|(name, _)| !written.contains(name.as_str())) {
        begin(name, std::mem::take(&mut first), out);
        write(value, out);
    }
    out.push(b'}');
}

fn begin(name: &str, first: bool, out: &mut Vec<u8>) {
    if !first {
        out.push(b',');
    }
    write_string(name, out);
    out.push(b':');
}

fn write<T: serde::Serialize>(value: &T, out: &mut Vec<u8>) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // A value out of JSON is always JSON again.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
