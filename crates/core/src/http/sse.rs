//! Server-sent events, both ways: writing them into a buffer, reading them from bytes in any split.
//!
//! Reading follows the algorithm of the HTML standard. The reader keeps one event at a time and no comment;
//! it does not connect, wait or reconnect, and it does not judge whether an id may stand in a header.

use std::fmt;
use std::mem;

/// A comment: keeps a stream from looking dead, and means nothing.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Buffers above this many bytes are given back once they are empty: most streams are idle most of the time.
const KEPT: usize = 16 * 1024;

/// Writes an event of the default name.
///
/// An id with a line break or NUL is left out: it could not be read back, and would forge fields.
pub fn write_event(id: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    if let Some(id) = id {
        write_field("id", id, out);
    }
    write_data(data, out);
    out.push(b'\n');
}

/// Writes an event with a name of its own.
///
/// A name with a line break or NUL is left out, as an id would be.
pub fn write_named(event: &str, data: &[u8], out: &mut Vec<u8>) {
    write_field("event", event, out);
    write_data(data, out);
    out.push(b'\n');
}

/// Writes the event that says only its id, so that the reader can resume before anything was said.
pub fn write_primer(id: &str, retry_ms: Option<u64>, out: &mut Vec<u8>) {
    write_field("id", id, out);
    if let Some(ms) = retry_ms {
        write_field("retry", &ms.to_string(), out);
    }
    out.extend_from_slice(b"data:\n\n");
}

fn write_field(name: &str, value: &str, out: &mut Vec<u8>) {
    if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return;
    }
    for part in [name, ": ", value, "\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn write_data(mut data: &[u8], out: &mut Vec<u8>) {
    loop {
        let end = memchr::memchr2(b'\r', b'\n', data);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&data[..end.unwrap_or(data.len())]);
        out.push(b'\n');
        let Some(end) = end else { return };
        let width = if data[end..].starts_with(b"\r\n") { 2 } else { 1 };
        data = &data[end + width..];
    }
}

/// One event as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The last id that the stream named up to and with this event; none if it named none or took it back.
    pub id: Option<String>,
    /// Its name: `message` if it has none.
    pub name: String,
    /// Its data, lines joined with line feeds. Empty where a stream says only an id.
    pub data: String,
    /// The time to wait before reconnecting, in milliseconds, if this event names one.
    pub retry: Option<u64>,
}

/// An event is longer than the reader's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer sent an event of more than {} bytes; raise the limit if it should", self.limit)
    }
}

impl std::error::Error for TooLong {}

/// The event that is being read.
#[derive(Debug, Default)]
struct Block {
    /// Bytes of its fields so far, those of unknown fields too.
    size: usize,
    /// Every line of data ends with a line feed here; so empty means that there was no such field.
    data: Vec<u8>,
    name: String,
    retry: Option<u64>,
}

/// Reads events from the bytes of a stream.
#[derive(Debug)]
pub struct Reader {
    limit: usize,
    /// Bytes that were fed; those before `at` are done with.
    bytes: Vec<u8>,
    at: usize,
    /// How many bytes from `at` on were searched and do not end the line.
    searched: usize,
    /// Whether the start of the stream, with its optional mark, is behind us.
    started: bool,
    /// Whether the last line ended with a carriage return: a line feed right after it belongs to it.
    after_cr: bool,
    /// Whether the rest of this line is a comment.
    comment: bool,
    block: Block,
    /// The id as the fields have it; it becomes the last event id at the end of the block.
    id: String,
    last_id: String,
    retry: Option<u64>,
    failed: bool,
}

impl Reader {
    /// A reader at the start of a stream; `limit` bounds the bytes of one event, all its fields together.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: Vec::new(),
            at: 0,
            searched: 0,
            started: false,
            after_cr: false,
            comment: false,
            block: Block::default(),
            id: String::new(),
            last_id: String::new(),
            retry: None,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream. Call [`Reader::next`] until it has none before feeding more: that
    /// is where the limit is enforced.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        // Only when at least half is done with: so every byte is moved a bounded number of times.
        if self.at > 0 && self.at >= self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next event that is complete; none if more bytes are needed.
    ///
    /// Once an event was too long every further call says so: the rest of the stream cannot be trusted.
    #[expect(clippy::should_implement_trait, reason = "none is not the end: more bytes may follow")]
    pub fn next(&mut self) -> Option<Result<Event, TooLong>> {
        let event = self.advance();
        if self.failed {
            self.bytes = Vec::new();
            self.block = Block::default();
            return Some(Err(TooLong { limit: self.limit }));
        }
        event.map(Ok)
    }

    /// The id to resume from: that of the last block that was read to its end.
    pub fn last_event_id(&self) -> Option<&str> {
        Some(self.last_id.as_str()).filter(|id| !id.is_empty())
    }

    /// The time to wait before reconnecting that the stream named last, in milliseconds. It is the peer's
    /// wish: give it a floor and a cap.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    fn advance(&mut self) -> Option<Event> {
        if self.failed || !self.skip_mark() {
            return None;
        }
        loop {
            if self.after_cr && self.at < self.bytes.len() {
                self.at += usize::from(self.bytes[self.at] == b'\n');
                self.after_cr = false;
            }
            let rest = &self.bytes[self.at..];
            if self.searched == 0 && rest.first() == Some(&b':') {
                self.comment = true;
            }
            let end = memchr::memchr2(b'\r', b'\n', &rest[self.searched..]);
            let Some(end) = end.map(|end| self.searched + end) else {
                self.wait();
                return None;
            };
            let line = self.at..self.at + end;
            self.after_cr = rest[end] == b'\r';
            self.at = line.end + 1;
            self.searched = 0;
            if mem::take(&mut self.comment) {
                continue;
            }
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Some(event);
                }
                continue;
            }
            if !self.count(line.len()) {
                return None;
            }
            self.field(line);
        }
    }

    /// Skips a byte order mark at the start of the stream; false while that cannot be decided.
    fn skip_mark(&mut self) -> bool {
        if !self.started {
            if self.bytes.len() < BOM.len() && BOM.starts_with(&self.bytes) {
                return false;
            }
            self.started = true;
            self.at = if self.bytes.starts_with(BOM) { BOM.len() } else { 0 };
        }
        true
    }

    /// The line is not complete: remembers how far it was searched, and that it is not too long already.
    fn wait(&mut self) {
        let open = self.bytes.len() - self.at;
        if self.comment || open == 0 {
            // Nothing of a comment is kept, only that we are in one (`comment`).
            self.bytes.clear();
            if self.bytes.capacity() > KEPT {
                self.bytes = Vec::new();
            }
            self.at = 0;
            self.searched = 0;
        } else {
            self.searched = open;
            self.failed = self.block.size.saturating_add(open) > self.limit;
        }
    }

    /// Counts a line of the event; false if that is too much.
    fn count(&mut self, length: usize) -> bool {
        self.block.size = self.block.size.saturating_add(length);
        self.failed = self.block.size > self.limit;
        !self.failed
    }

    fn field(&mut self, line: std::ops::Range<usize>) {
        let line = &self.bytes[line];
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.block.data.reserve(value.len() + 1);
                self.block.data.extend_from_slice(value);
                self.block.data.push(b'\n');
            }
            b"event" => self.block.name = text(value.to_vec()),
            b"id" if !value.contains(&0) => self.id = text(value.to_vec()),
            b"retry" => {
                if let Some(ms) = milliseconds(value) {
                    self.retry = Some(ms);
                    self.block.retry = Some(ms);
                }
            }
            _ => {}
        }
    }

    /// The end of a block: an event, if it has data.
    fn dispatch(&mut self) -> Option<Event> {
        let mut block = mem::take(&mut self.block);
        if self.last_id != self.id {
            self.last_id.clone_from(&self.id);
        }
        block.data.pop()?;
        let name = if block.name.is_empty() { "message".to_owned() } else { block.name };
        let id = self.last_event_id().map(str::to_owned);
        Some(Event { id, name, data: text(block.data), retry: block.retry })
    }
}

/// Bytes as text. No line break is part of a longer UTF-8 sequence, so whole fields can be decoded at once.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn milliseconds(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(sum.saturating_mul(10).saturating_add(digit))
    })
}
