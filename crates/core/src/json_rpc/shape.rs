//! The shape of calls: what one client repeats, byte by byte, in every call of a tool.
//!
//! A call differs from the one before in its id and its arguments, and mostly in nothing else. Where the text
//! around these two is the same, everything about it is known; only the two are read. It decides nothing: what
//! does not fit, or is wrong in any way, is read as if nothing had been remembered.

use std::borrow::Cow;
use std::ops::Range;

use super::RequestId;
use super::decode::{Limits, PlainCall, Request};
use super::scan::Scanner;

/// Bytes of a call, without its id and arguments, that are remembered.
const REMEMBERED: usize = 4 * 1024;
/// Objects around the arguments: the message and its parameters.
const AROUND: usize = 2;

/// A call without its id and its arguments.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// The text before, between and after the two.
    text: String,
    /// Where the two were cut out.
    cuts: [usize; 2],
    /// Whether the id comes before the arguments.
    id_first: bool,
    method: Range<usize>,
    params: Range<usize>,
    meta: Option<Range<usize>>,
    name: Range<usize>,
    /// Whether the last call was of another shape.
    missed: bool,
}

impl Shape {
    /// Remembers a call that was read from this text, with its id at this place.
    pub(super) fn remember(&mut self, text: &str, id: &str, request: &Request<'_>) {
        let Some(PlainCall { name, arguments: Some(arguments) }) = request.call else { return };
        let (Cow::Borrowed(method), Some(params)) = (&request.method, request.params) else { return };
        let place = |part: &str| {
            let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            (start + part.len() <= text.len()).then_some(start..start + part.len())
        };
        let places = (place(id), place(arguments), place(method), place(params), place(name));
        let (Some(id), Some(arguments), Some(method), Some(params), Some(name)) = places else { return };
        let id_first = id.start < arguments.start;
        let (first, second) = if id_first { (id, arguments) } else { (arguments, id) };
        if text.len() - first.len() - second.len() > REMEMBERED {
            return;
        }
        // Of two tools that are called in turns one is remembered, and neither over and over again.
        if !self.text.is_empty() && !std::mem::replace(&mut self.missed, true) {
            return;
        }
        self.missed = false;
        // A place in the text without the two.
        let without = |at: usize| {
            at - if at >= first.end { first.len() } else { 0 }
                - if at >= second.end { second.len() } else { 0 }
        };
        let without = |range: Range<usize>| without(range.start)..without(range.end);
        self.text.clear();
        for part in [&text[..first.start], &text[first.end..second.start], &text[second.end..]] {
            self.text.push_str(part);
        }
        self.cuts = [first.start, second.start - first.len()];
        self.id_first = id_first;
        self.method = without(method);
        self.params = without(params);
        self.meta = request.meta.and_then(place).map(without);
        self.name = without(name);
    }

    /// Reads a call of the same shape.
    pub(super) fn read<'a>(
        &mut self,
        text: &'a str,
        limits: &Limits,
        keys: &mut Vec<u64>,
    ) -> Option<Request<'a>> {
        let [before, between] = self.cuts;
        let known = self.text.as_bytes();
        if known.is_empty() || !text.as_bytes().starts_with(&known[..before]) {
            return None;
        }
        let mut scanner = Scanner::inside(text, before, AROUND, limits.depth, keys);
        let first = hole(&mut scanner, self.id_first, text)?;
        let middle = &known[before..between];
        if !text.as_bytes()[first.end..].starts_with(middle) {
            return None;
        }
        scanner.move_to(first.end + middle.len());
        let second = hole(&mut scanner, !self.id_first, text)?;
        if scanner.duplicate_depth.is_some() || text.as_bytes()[second.end..] != known[between..] {
            return None;
        }
        let (id, arguments) = if self.id_first { (&first, &second) } else { (&second, &first) };
        // Nothing else begins or ends where one of the two was: there are commas and brackets in between.
        let with = |at: usize| {
            at + if at > before { first.len() } else { 0 } + if at > between { second.len() } else { 0 }
        };
        self.missed = false;
        let part = |range: &Range<usize>| text.get(with(range.start)..with(range.end));
        Some(Request {
            id: RequestId::from_json(text.get(id.clone()).filter(|id| id.len() <= limits.id_bytes)?)?,
            method: Cow::Borrowed(part(&self.method)?),
            params: Some(part(&self.params)?),
            meta: match &self.meta {
                Some(meta) => Some(part(meta)?),
                None => None,
            },
            call: Some(PlainCall { name: part(&self.name)?, arguments: Some(&text[arguments.clone()]) }),
        })
    }
}

/// Reads the id, or the arguments.
fn hole(scanner: &mut Scanner<'_, '_>, is_id: bool, text: &str) -> Option<Range<usize>> {
    let start = scanner.position();
    let fits = match text.as_bytes().get(start)? {
        b'{' => !is_id,
        b'"' | b'-' | b'0'..=b'9' => is_id,
        _ => false,
    };
    if !fits {
        return None;
    }
    scanner.skip().ok()?;
    Some(start..scanner.position())
}
