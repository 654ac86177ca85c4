//! Finding a value by the key before it, in JSON of any order. It looks only at both ends of a long
//! request: a payload is what makes one long, and no key is in the middle of it.

use memchr::memchr;
use memchr::memmem::Finder;

/// How much of each end is looked at.
const END: usize = 2_048;

/// Something to look for.
pub struct Key(Finder<'static>);

impl Key {
    pub fn new(key: &'static str) -> Self {
        Self(Finder::new(key))
    }

    pub fn is_in(&self, request: &[u8]) -> bool {
        self.after(request).is_some()
    }

    /// What comes behind the key.
    fn after<'a>(&self, request: &'a [u8]) -> Option<&'a [u8]> {
        let length = self.0.needle().len();
        let at = match request.len().checked_sub(END) {
            Some(last) if last > END => {
                self.0.find(&request[..END]).or_else(|| self.0.find(&request[last..]).map(|at| last + at))
            }
            _ => self.0.find(request),
        };
        at.map(|at| &request[at + length..])
    }

    /// Where its value begins; some clients put spaces around the colon.
    fn value<'a>(&self, request: &'a [u8]) -> Option<&'a [u8]> {
        Some(self.after(request)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())
    }

    /// A string, without its quotes.
    pub fn text<'a>(&self, request: &'a [u8]) -> Option<&'a [u8]> {
        let text = self.value(request)?.strip_prefix(b"\"")?;
        Some(&text[..memchr(b'"', text)?])
    }

    /// A string with its quotes, or a number.
    pub fn raw<'a>(&self, request: &'a [u8]) -> Option<&'a [u8]> {
        let value = self.value(request)?;
        let length = match value.split_first()? {
            (b'"', text) => memchr(b'"', text)? + 2,
            _ => value.iter().position(|byte| matches!(byte, b',' | b'}' | b' '))?,
        };
        Some(&value[..length])
    }
}

/// All that is looked for, prepared once.
pub struct Keys {
    pub id: Key,
    pub method: Key,
    /// Only the modern era's requests have it.
    pub era: Key,
    pub revision: Key,
    pub token: Key,
    pub message: Key,
    pub size: Key,
    pub text: Key,
    pub city: Key,
    pub steps: Key,
    pub weather: Key,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            id: Key::new(r#""id""#),
            method: Key::new(r#""method""#),
            era: Key::new(r#""io.modelcontextprotocol/protocolVersion""#),
            revision: Key::new(r#""protocolVersion""#),
            token: Key::new(r#""progressToken""#),
            message: Key::new(r#""message""#),
            size: Key::new(r#""size""#),
            text: Key::new(r#""text""#),
            city: Key::new(r#""city""#),
            steps: Key::new(r#""steps""#),
            weather: Key::new(r#""weather""#),
        }
    }
}
