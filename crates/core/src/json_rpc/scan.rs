//! One strict pass over a JSON text: grammar, depth, duplicate keys, lone surrogates.
//!
//! It builds nothing. Values are handed out as slices of the input; the depth of nesting is bounded, so
//! is the recursion, and memory is one hash per key of the objects that are open.

use super::decode::Refusal;

/// What stands between a reader and text that it should not trust.
pub(super) struct Scanner<'a, 'k> {
    text: &'a str,
    at: usize,
    depth_left: usize,
    depth: usize,
    /// Hashes of the keys of all open objects, innermost last.
    keys: &'k mut Vec<u64>,
    /// Depth of the shallowest object with a repeated key.
    pub(super) duplicate_depth: Option<usize>,
}

/// A key as it stands in the text, without its quotes.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    raw: &'a str,
    escaped: bool,
}

impl Key<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        if self.escaped { self.decoded().is_some_and(|key| key == name) } else { self.raw == name }
    }

    fn decoded(&self) -> Option<String> {
        serde_json::from_str(&format!("\"{}\"", self.raw)).ok()
    }

    fn hash(&self) -> u64 {
        if self.escaped {
            self.decoded().map_or(0, |key| hash(key.as_bytes()))
        } else {
            hash(self.raw.as_bytes())
        }
    }
}

/// Not keyed: whoever makes two keys collide only has a message of their own refused.
fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = (state.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(K);
    }
    for &byte in chunks.remainder() {
        state = (state.rotate_left(23) ^ u64::from(byte)).wrapping_mul(K);
    }
    state ^ (state >> 29)
}

type Scan<T> = Result<T, Refusal>;

impl<'a, 'k> Scanner<'a, 'k> {
    pub(super) fn new(text: &'a str, depth: usize, keys: &'k mut Vec<u64>) -> Self {
        keys.clear();
        Self { text, at: 0, depth_left: depth, depth: 0, keys, duplicate_depth: None }
    }

    pub(super) fn peek_value(&mut self) -> Option<u8> {
        self.space();
        self.peek()
    }

    /// The rest of the text must be white space.
    pub(super) fn end(&mut self) -> Scan<()> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { self.fail("text after the end of the message") }
    }

    /// Any value; the slice it stands in.
    pub(super) fn value(&mut self) -> Scan<&'a str> {
        self.space();
        let start = self.at;
        match self.peek() {
            Some(b'{') => self.object(|_, _, _| Ok(()))?,
            Some(b'[') => self.array(|_| Ok(()))?,
            Some(b'"') => self.string().map(drop)?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => return self.fail("not a JSON value"),
            None => return self.fail("the text ends too early"),
        }
        Ok(&self.text[start..self.at])
    }

    /// What `read` reads, as a slice.
    pub(super) fn span(&mut self, read: impl FnOnce(&mut Self) -> Scan<()>) -> Scan<&'a str> {
        self.space();
        let start = self.at;
        read(self)?;
        Ok(&self.text[start..self.at])
    }

    /// An object; `member` gets every key with the slice of its value.
    pub(super) fn object<F>(&mut self, mut member: F) -> Scan<()>
    where
        F: FnMut(&mut Self, Key<'a>, &'a str) -> Scan<()>,
    {
        self.object_with(|scanner, key| {
            let value = scanner.value()?;
            member(scanner, key, value)
        })
    }

    /// An object whose values `member` reads itself, with one call of a reading method each.
    pub(super) fn object_with<F>(&mut self, mut member: F) -> Scan<()>
    where
        F: FnMut(&mut Self, Key<'a>) -> Scan<()>,
    {
        self.enter()?;
        let first_key = self.keys.len();
        if !self.closes(b'}') {
            loop {
                self.space();
                let key = self.string()?;
                self.keys.push(key.hash());
                self.colon()?;
                member(self, key)?;
                if !self.goes_on(b'}')? {
                    break;
                }
            }
        }
        self.check_keys(first_key);
        self.leave();
        Ok(())
    }

    /// An array; `item` gets the slice of every element.
    pub(super) fn array<F: FnMut(&'a str) -> Scan<()>>(&mut self, mut item: F) -> Scan<()> {
        self.enter()?;
        if !self.closes(b']') {
            loop {
                item(self.value()?)?;
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.leave();
        Ok(())
    }

    fn check_keys(&mut self, first: usize) {
        let own = &mut self.keys[first..];
        let repeated = if own.len() <= 16 {
            (1..own.len()).any(|i| own[..i].contains(&own[i]))
        } else {
            own.sort_unstable();
            own.windows(2).any(|pair| pair[0] == pair[1])
        };
        if repeated {
            let depth = self.duplicate_depth.map_or(self.depth, |known| known.min(self.depth));
            self.duplicate_depth = Some(depth);
        }
        self.keys.truncate(first);
    }

    fn enter(&mut self) -> Scan<()> {
        if self.depth_left == 0 {
            return Err(Refusal::parse("nested too deeply"));
        }
        self.depth_left -= 1;
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth_left += 1;
        self.depth -= 1;
    }

    fn closes(&mut self, bracket: u8) -> bool {
        self.space();
        let closes = self.peek() == Some(bracket);
        if closes {
            self.at += 1;
        }
        closes
    }

    fn goes_on(&mut self, bracket: u8) -> Scan<bool> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == bracket => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fail("expected a comma or the end of the list"),
        }
    }

    /// A string; its text without the quotes.
    fn string(&mut self) -> Scan<Key<'a>> {
        if self.peek() != Some(b'"') {
            return self.fail("expected a string");
        }
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_run(&self.text.as_bytes()[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("a string without an end"),
            }
        }
        let raw = &self.text[start..self.at];
        self.at += 1;
        Ok(Key { raw, escaped })
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
        if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
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
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.fail("not a JSON value");
        }
        self.at += word.len();
        Ok(())
    }

    fn colon(&mut self) -> Scan<()> {
        self.space();
        if self.peek() != Some(b':') {
            return self.fail("expected a colon");
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail<T>(&self, reason: &str) -> Scan<T> {
        Err(Refusal::parse(&format!("{reason} (at byte {})", self.at)))
    }
}

/// Length of the run of bytes that mean nothing special inside a string, eight at a time.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut done = 0;
    for chunk in bytes.chunks_exact(8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let slash = has_zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let special = quote | slash | control;
        if special != 0 {
            // The lowest mark is exact; only marks above it may be carried over from it.
            return done + special.trailing_zeros() as usize / 8;
        }
        done += 8;
    }
    done + bytes[done..].iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20).count()
}
