//! Answers for the limits of both transports: every tool of the benchmark, made by copying what was sent between
//! texts that were there before. It parses no JSON and checks nothing; it finds things by the keys before them and
//! knows that no text of the benchmark has a quote in it. Real clients of either era can talk to it.
//!
//! What it says is byte for byte what ours says, except for the capabilities of which it has fewer. The limits'
//! clients say what ours says too, and are in `calls`.

mod calls;
pub mod clock;
mod find;
mod options;
mod texts;

pub use calls::Calls;
use find::Keys;
pub use options::{Load, Options};
use texts::Texts;

/// What every part of a limit returns: it ends with the message or it has done its work.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What a message is wrapped in.
pub struct Framing {
    /// One that comes alone.
    alone: [&'static str; 2],
    /// One of several.
    among: [&'static str; 2],
}

/// A line for each.
pub const LINES: Framing = Framing { alone: ["", "\n"], among: ["", "\n"] };
/// JSON, or events of a stream.
pub const HTTP: Framing = Framing { alone: ["", ""], among: ["data: ", "\n\n"] };

/// What kind of answer was given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// None: it was a notification.
    Nothing,
    /// That of a handshake.
    Hello,
    /// Any other.
    One,
    /// Several messages, the last of which is the answer.
    Several,
}

/// Everything that is there before the first request.
pub struct Canned {
    keys: Keys,
    texts: Texts,
    framing: Framing,
}

impl Canned {
    /// Answers in this framing, with so many more tools in the list.
    pub fn new(framing: Framing, more: usize) -> Self {
        Self { keys: Keys::default(), texts: Texts::new(more), framing }
    }

    /// Appends the answer to one request.
    pub fn answer(&self, request: &[u8], out: &mut Vec<u8>) -> Said {
        let keys = &self.keys;
        let Some(id) = keys.id.raw(request) else { return Said::Nothing };
        let modern = keys.era.is_in(request);
        if let Some(message) = keys.message.text(request) {
            self.begin(self.framing.alone, id, out);
            return self.text(&[message], modern, out);
        }
        let method = keys.method.text(request).unwrap_or_default();
        if method == b"tools/call" {
            return self.call(request, id, modern, out);
        }
        self.begin(self.framing.alone, id, out);
        let mut said = Said::One;
        match method {
            b"initialize" => {
                let revision = keys.revision.text(request).unwrap_or(b"2025-06-18");
                put(out, &[texts::HELLO[0].as_bytes(), revision, texts::HELLO[1].as_bytes()]);
                said = Said::Hello;
            }
            b"server/discover" => put(out, &[texts::DISCOVERED.as_bytes(), texts::MODERN.as_bytes()]),
            b"tools/list" => put(out, &[self.texts.list(modern)]),
            b"ping" => put(out, &[br#","result":{}}"#]),
            _ => put(out, &[texts::UNKNOWN.as_bytes()]),
        }
        self.end(self.framing.alone, out);
        said
    }

    /// A call of any tool but `echo`.
    fn call(&self, request: &[u8], id: &[u8], modern: bool, out: &mut Vec<u8>) -> Said {
        let keys = &self.keys;
        if keys.steps.is_in(request)
            && let Some(token) = keys.token.raw(request)
        {
            return self.steps(id, token, modern, out);
        }
        self.begin(self.framing.alone, id, out);
        if let Some(size) = keys.size.raw(request).and_then(number) {
            put(out, &[texts::TEXT[0].as_bytes()]);
            out.resize(out.len() + size, b'x');
            return self.after_text(modern, out);
        }
        if let Some(text) = keys.text.text(request) {
            return self.text(&[text.len().to_string().as_bytes()], modern, out);
        }
        if keys.weather.is_in(request) {
            let city = keys.city.text(request).unwrap_or_default();
            self.texts.weather(city, out);
            return self.after(modern, out);
        }
        self.text(&[if keys.steps.is_in(request) { b"done" } else { b"ordered" }], modern, out)
    }

    /// Ten reports and the answer.
    fn steps(&self, id: &[u8], token: &[u8], modern: bool, out: &mut Vec<u8>) -> Said {
        let [before, after] = self.framing.among.map(str::as_bytes);
        for step in &self.texts.steps {
            put(out, &[before, texts::PROGRESS.as_bytes(), token, step.as_bytes(), after]);
        }
        self.begin(self.framing.among, id, out);
        put(out, &[texts::TEXT[0].as_bytes(), b"done", texts::TEXT[1].as_bytes(), texts::tail(modern)]);
        self.end(self.framing.among, out);
        Said::Several
    }

    fn begin(&self, frame: [&str; 2], id: &[u8], out: &mut Vec<u8>) {
        put(out, &[frame[0].as_bytes(), br#"{"jsonrpc":"2.0","id":"#, id]);
    }

    fn end(&self, frame: [&str; 2], out: &mut Vec<u8>) {
        put(out, &[frame[1].as_bytes()]);
    }

    fn text(&self, text: &[&[u8]], modern: bool, out: &mut Vec<u8>) -> Said {
        put(out, &[texts::TEXT[0].as_bytes()]);
        put(out, text);
        self.after_text(modern, out)
    }

    fn after_text(&self, modern: bool, out: &mut Vec<u8>) -> Said {
        put(out, &[texts::TEXT[1].as_bytes()]);
        self.after(modern, out)
    }

    fn after(&self, modern: bool, out: &mut Vec<u8>) -> Said {
        put(out, &[texts::tail(modern)]);
        self.end(self.framing.alone, out);
        Said::One
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    str::from_utf8(digits).ok()?.parse().ok()
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}
