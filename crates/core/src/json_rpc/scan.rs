//! One strict pass over a JSON text: grammar, depth, duplicate keys, lone surrogates.
//!
//! It builds nothing. Values are handed out as slices of the input; the depth of nesting is bounded, so
//! is the recursion, and memory is one hash per key of the objects that are open.

use std::borrow::Cow;

use super::decode::Refusal;
use super::members::Member;
use super::text::plain_run;

/// What stands between a reader and text that it should not trust.
pub(super) struct Scanner<'a, 'k> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limit: usize,
    depth: usize,
    /// Hashes of the keys of all open objects, innermost last.
    keys: &'k mut Vec<u64>,
    /// Depth of the shallowest object with a repeated key.
    pub(super) duplicate_depth: Option<usize>,
}

/// A key as it stands in the text, without its quotes.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Key<'a> {
    /// The name that is meant.
    #[inline]
    pub(super) fn name(&self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(self.decoded()) } else { Cow::Borrowed(self.raw) }
    }

    /// The name that is meant, as text.
    fn text(&self) -> Cow<'a, str> {
        match self.name() {
            Cow::Borrowed(raw) => String::from_utf8_lossy(raw),
            Cow::Owned(name) => Cow::Owned(String::from_utf8_lossy(&name).into_owned()),
        }
    }

    /// What could not be decoded would not have been read as a string.
    #[cold]
    fn decoded(&self) -> Vec<u8> {
        let quoted = [b"\"", self.raw, b"\""].concat();
        serde_json::from_slice::<String>(&quoted).unwrap_or_default().into_bytes()
    }
}

/// Not keyed: whoever makes two keys collide only has a message of their own refused.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| (state.rotate_left(23) ^ word).wrapping_mul(K);
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = mix(state, u64::from_le_bytes(*word));
        rest = after;
    }
    let last = match (bytes.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // Some bytes are read twice, which costs less than to read few of them one by one.
        (Some(word), _, _) => u64::from_le_bytes(*word),
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    state = mix(state, last);
    state ^ (state >> 29)
}

/// Boxed: refusals are rare, and a small result stays in registers.
type Scan<T> = Result<T, Box<Refusal>>;

impl<'a, 'k> Scanner<'a, 'k> {
    pub(super) fn new(text: &'a str, limit: usize, keys: &'k mut Vec<u64>) -> Self {
        keys.clear();
        Self { text, bytes: text.as_bytes(), at: 0, limit, depth: 0, keys, duplicate_depth: None }
    }

    #[inline]
    pub(super) fn peek_value(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// The rest of the text must be white space.
    pub(super) fn end(&mut self) -> Scan<()> {
        match self.peek_value() {
            None => Ok(()),
            Some(_) => self.fail("text after the end of the message"),
        }
    }

    /// Any value; the slice it stands in.
    #[inline]
    pub(super) fn value(&mut self) -> Scan<&'a str> {
        self.span(Self::skip)
    }

    /// A value that may well be `known`, an object that was read at this depth before.
    pub(super) fn value_like(&mut self, known: &str) -> Scan<&'a str> {
        self.peek_value();
        if known.is_empty() || !self.bytes[self.at..].starts_with(known.as_bytes()) {
            return self.value();
        }
        // An object shows where it ends: what begins with one is that one.
        let start = self.at;
        self.at += known.len();
        Ok(&self.text[start..self.at])
    }

    /// What `read` reads, as a slice.
    #[inline]
    pub(super) fn span(&mut self, read: impl FnOnce(&mut Self) -> Scan<()>) -> Scan<&'a str> {
        self.peek_value();
        let start = self.at;
        read(self)?;
        Ok(&self.text[start..self.at])
    }

    /// How far it has read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The next member of an object, behind the brace or comma that comes before it.
    pub(super) fn member(&mut self, before: u8) -> Option<Member<'a>> {
        if self.peek_value() != Some(before) {
            return None;
        }
        self.at += 1;
        if self.peek_value() != Some(b'"') {
            return None;
        }
        let key = self.string().ok()?;
        self.colon().ok()?;
        let value = self.value().ok()?;
        Some(Member { name: key.text(), value })
    }

    /// Any value.
    pub(super) fn skip(&mut self) -> Scan<()> {
        match self.peek_value() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object_with(|scanner, _| scanner.skip()),
            Some(b'[') => self.array_with(Self::skip),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.fail("not a JSON value"),
            None => self.fail("the text ends too early"),
        }
    }

    /// An object whose values `member` reads, with one call of a reading method each.
    #[inline]
    pub(super) fn object_with<F>(&mut self, mut member: F) -> Scan<()>
    where
        F: FnMut(&mut Self, Key<'a>) -> Scan<()>,
    {
        self.enter()?;
        let first_key = self.keys.len();
        if !self.closes(b'}') {
            loop {
                self.peek_value();
                let key = self.string()?;
                self.keys.push(if key.escaped { hash(&key.decoded()) } else { hash(key.raw) });
                self.colon()?;
                member(self, key)?;
                if !self.goes_on(b'}')? {
                    break;
                }
            }
            self.check_keys(first_key);
        }
        self.depth -= 1;
        Ok(())
    }

    /// An array whose elements `item` reads, with one call of a reading method each.
    pub(super) fn array_with<F: FnMut(&mut Self) -> Scan<()>>(&mut self, mut item: F) -> Scan<()> {
        self.enter()?;
        if !self.closes(b']') {
            loop {
                item(self)?;
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    #[inline]
    fn check_keys(&mut self, first: usize) {
        let own = &mut self.keys[first..];
        let repeated = match own {
            [] | [_] => false,
            [one, other] => one == other,
            few if few.len() <= 16 => (1..few.len()).any(|at| few[..at].contains(&few[at])),
            many => {
                many.sort_unstable();
                many.windows(2).any(|pair| pair[0] == pair[1])
            }
        };
        if repeated {
            let depth = self.duplicate_depth.map_or(self.depth, |known| known.min(self.depth));
            self.duplicate_depth = Some(depth);
        }
        self.keys.truncate(first);
    }

    #[inline]
    fn enter(&mut self) -> Scan<()> {
        if self.depth == self.limit {
            return self.fail("nested too deeply");
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.peek_value() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    #[inline]
    fn goes_on(&mut self, bracket: u8) -> Scan<bool> {
        let next = self.peek_value();
        if next != Some(b',') && next != Some(bracket) {
            return self.fail("expected a comma or the end of the list");
        }
        self.at += 1;
        Ok(next == Some(b','))
    }

    /// A string; its text without the quotes.
    #[inline]
    fn string(&mut self) -> Scan<Key<'a>> {
        if self.peek() != Some(b'"') {
            return self.fail("expected a string");
        }
        self.at += 1;
        let start = self.at;
        self.at += plain_run(&self.bytes[start..]);
        let escaped = self.peek() != Some(b'"');
        if escaped {
            self.rest_of_string()?;
        }
        let raw = &self.bytes[start..self.at];
        self.at += 1;
        Ok(Key { raw, escaped })
    }

    /// From the first byte that is not plain to the closing quote.
    fn rest_of_string(&mut self) -> Scan<()> {
        loop {
            match self.peek() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape()?,
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("a string without an end"),
            }
            self.at += plain_run(&self.bytes[self.at..]);
        }
    }

    fn escape(&mut self) -> Scan<()> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                match self.hex4()? {
                    0xD800..=0xDBFF => self.low_surrogate(),
                    0xDC00..=0xDFFF => self.fail("half of a surrogate pair"),
                    _ => Ok(()),
                }
            }
            _ => self.fail("an unknown escape"),
        }
    }

    fn low_surrogate(&mut self) -> Scan<()> {
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return self.fail("half of a surrogate pair");
        }
        self.at += 2;
        match self.hex4()? {
            0xDC00..=0xDFFF => Ok(()),
            _ => self.fail("half of a surrogate pair"),
        }
    }

    fn hex4(&mut self) -> Scan<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.fail("an escape needs four hexadecimal digits");
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Scan<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail("a number without digits"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Scan<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.fail("a number without digits");
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Scan<()> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.fail("not a JSON value");
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn colon(&mut self) -> Scan<()> {
        if self.peek_value() != Some(b':') {
            return self.fail("expected a colon");
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[cold]
    fn fail<T>(&self, reason: &str) -> Scan<T> {
        Err(Box::new(Refusal::parse(&format!("{reason} (at byte {})", self.at))))
    }
}
