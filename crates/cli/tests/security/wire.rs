//! HTTP/1.1 by hand: requests are bytes that a test wrote, answers are what came back.
//!
//! It repairs nothing: a header that is written twice is sent twice, a length that is wrong stays wrong. It
//! never retries, follows or decompresses. Waiting is bounded by a net, never measured.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::child::PATIENCE;

/// What a browser cannot send without asking first, and every client of ours does.
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// A request, as far as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The method and the target, as they stand in the first line.
    pub(crate) line: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    sized: bool,
}

impl Request {
    /// A request without a body.
    pub(crate) fn new(method: &str, target: &str, port: u16) -> Self {
        let host = ("Host".to_owned(), format!("127.0.0.1:{port}").into_bytes());
        Self { line: format!("{method} {target}"), headers: vec![host], body: Vec::new(), sized: false }
    }

    /// A POST of JSON.
    pub(crate) fn post(target: &str, port: u16, body: impl AsRef<[u8]>) -> Self {
        let request = Self::new("POST", target, port);
        request.header("Accept", BOTH).header("Content-Type", "application/json").body(body)
    }

    /// A GET of a stream.
    pub(crate) fn stream(target: &str, port: u16) -> Self {
        Self::new("GET", target, port).header("Accept", "text/event-stream")
    }

    /// Sets a header, in place of what it was.
    pub(crate) fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).also(name, value)
    }

    /// Adds a header, whatever is there already.
    pub(crate) fn also(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Takes a header away.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Sets the body, whose length will be said.
    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self.sized = true;
        self
    }

    /// Sets method and target anew.
    pub(crate) fn to(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    /// Everything but the body; the body's length is what a test says it is.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut bytes = format!("{} HTTP/1.1\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        let named = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if self.sized && !named("content-length") && !named("transfer-encoding") {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Bytes(u64),
    Chunk(u64),
    BetweenChunks,
    UntilClosed,
    Nothing,
}

/// The beginning of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header that occurs once at most.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} twice: {:?}", self.headers);
        first
    }

    /// Whether the names of headers have this beginning, anywhere.
    pub(crate) fn has_any(&self, beginning: &str) -> bool {
        self.headers.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with(beginning))
    }

    /// Whether a list of values (as in `Allow`) has this one.
    pub(crate) fn lists(&self, name: &str, value: &str) -> bool {
        let values = self.header(name).unwrap_or_default().split(',');
        values.map(str::trim).any(|known| known.eq_ignore_ascii_case(value))
    }

    /// Whether the body is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Status and headers.
    pub(crate) head: Head,
    /// The body, whole.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The status.
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    /// The body as text, cut where it is only to be shown.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        format!("{} {}", self.head.status, text.chars().take(600).collect::<String>())
    }

    /// The messages in it, as written: one of JSON, or those of a stream. A body of another type has none.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let kind = self.head.header("content-type").unwrap_or_default();
        if kind.starts_with("application/json") {
            return vec![Message::parse(&self.body)];
        }
        if !self.head.is_stream() {
            return Vec::new();
        }
        let mut reader = self.body.as_slice();
        let mut messages = Vec::new();
        while let Some(event) = Event::read(&mut reader) {
            messages.extend(event.message());
        }
        messages
    }

    /// The responses among the messages; those of a batch one by one.
    pub(crate) fn responses(&self) -> Vec<Message> {
        self.messages().into_iter().filter(Message::is_response).collect()
    }

    /// The only response.
    #[track_caller]
    pub(crate) fn response(&self) -> Message {
        let mut all = self.responses();
        assert_eq!(all.len(), 1, "one response: {}", self.text());
        all.remove(0)
    }

    /// The code of the error that is the only response.
    pub(crate) fn code(&self) -> Option<i64> {
        let all = self.responses();
        if all.len() == 1 { all[0].json["error"]["code"].as_i64() } else { None }
    }
}

/// A JSON-RPC message, also as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// As written.
    pub(crate) text: String,
    /// As read.
    pub(crate) json: Value,
}

impl Message {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).expect("the server writes UTF-8");
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"));
        Self { text, json }
    }

    /// The `id` exactly as written, if there is one.
    pub(crate) fn raw_id(&self) -> Option<String> {
        let keys: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&self.text).ok()?;
        keys.get("id").map(|raw| raw.get().to_owned())
    }

    /// Whether it answers something.
    pub(crate) fn is_response(&self) -> bool {
        self.json.is_array() || self.json.get("result").is_some() || self.json.get("error").is_some()
    }

    /// The method, if it is a request or a notification.
    pub(crate) fn method(&self) -> &str {
        self.json["method"].as_str().unwrap_or_default()
    }
}

/// One event of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Event {
    /// Its id, if it has one.
    pub(crate) id: Option<String>,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its data, lines joined.
    pub(crate) data: String,
}

impl Event {
    /// The next event with data or an id; comments are nothing.
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut event = Self::default();
        let mut some = false;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                if some {
                    return Some(event);
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.to_owned()),
                "event" => event.name = Some(value.to_owned()),
                "data" if event.data.is_empty() => event.data = value.to_owned(),
                "data" => event.data = format!("{}\n{value}", event.data),
                _ => continue,
            }
            some = true;
        }
    }

    /// The message in it. Events that only say their id have none.
    pub(crate) fn message(&self) -> Option<Message> {
        let named = self.name.as_deref().is_none_or(|name| name == "message");
        (named && !self.data.is_empty()).then(|| Message::parse(self.data.as_bytes()))
    }
}

/// One connection.
pub(crate) struct Wire {
    reader: BufReader<TcpStream>,
}

impl Wire {
    /// Connects.
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a net");
        stream.set_write_timeout(Some(PATIENCE)).expect("a net");
        stream.set_nodelay(true).expect("small writes");
        Self { reader: BufReader::new(stream) }
    }

    /// Writes bytes as they are. A server that has hung up already is no failure: its answer is what counts.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Says that nothing more will come.
    pub(crate) fn half_close(&mut self) {
        let _ = self.reader.get_mut().shutdown(Shutdown::Write);
    }

    /// Another handle of the same connection, to write from a thread.
    pub(crate) fn writer(&self) -> TcpStream {
        self.reader.get_ref().try_clone().expect("a second handle")
    }

    /// Sends a request and reads its answer, whole.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: &Request) -> Answer {
        let _ = self.write(&request.bytes());
        self.answer()
    }

    /// The next answer, which must come.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer before the connection ends")
    }

    /// The next answer, or nothing if the connection has ended without one.
    #[track_caller]
    pub(crate) fn try_answer(&mut self) -> Option<Answer> {
        let head = self.try_head()?;
        let mut body = Vec::new();
        let mut rest = self.rest(&head);
        while let Some(byte) = self.next_bytes(&mut rest) {
            body.extend_from_slice(&byte);
        }
        Some(Answer { head, body })
    }

    /// Sends a request and reads only the beginning of its answer.
    #[track_caller]
    pub(crate) fn begin(self, request: &Request) -> Stream {
        self.try_begin(request).expect("an answer before the connection ends")
    }

    /// The same, where the connection may end without an answer.
    #[track_caller]
    pub(crate) fn try_begin(mut self, request: &Request) -> Option<Stream> {
        let _ = self.write(&request.bytes());
        let head = self.try_head()?;
        let rest = self.rest(&head);
        Some(Stream { head, wire: self, rest, pending: Vec::new(), seen: 0 })
    }

    /// Whether the server hangs up now: it may, or must, after what was sent. Nothing may come before that.
    pub(crate) fn ends(&mut self) -> bool {
        match self.reader.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            Err(error) => hung_up(&error),
        }
    }

    /// The beginning of an answer. Interim answers are not final ones.
    #[track_caller]
    pub(crate) fn try_head(&mut self) -> Option<Head> {
        let first = self.line()?;
        let mut words = first.split(' ');
        assert!(words.next().is_some_and(|word| word.starts_with("HTTP/1.")), "not HTTP: {first:?}");
        let status = words.next().and_then(|word| word.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(Head { status, headers });
            }
            let (name, value) = line.split_once(':').expect("a header");
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    #[track_caller]
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(_) if line.ends_with(b"\r\n") => line.truncate(line.len() - 2),
            Ok(_) => return None,
            Err(error) if hung_up(&error) => return None,
            Err(error) => panic!("the server says nothing: {error}"),
        }
        Some(String::from_utf8(line).expect("headers are text"))
    }

    fn rest(&self, head: &Head) -> Rest {
        if head.status < 200 || head.status == 204 || head.status == 304 {
            return Rest::Nothing;
        }
        if head.lists("transfer-encoding", "chunked") {
            return Rest::BetweenChunks;
        }
        match head.header("content-length") {
            Some(length) => Rest::Bytes(length.parse().expect("a length")),
            None => Rest::UntilClosed,
        }
    }

    #[track_caller]
    fn next_bytes(&mut self, rest: &mut Rest) -> Option<Vec<u8>> {
        loop {
            match *rest {
                Rest::Nothing | Rest::Bytes(0) => return None,
                Rest::BetweenChunks => {
                    let line = self.line()?;
                    let size = line.split(';').next().unwrap_or_default().trim();
                    let size = u64::from_str_radix(size, 16).expect("the size of a chunk");
                    *rest = if size == 0 { Rest::Nothing } else { Rest::Chunk(size) };
                    if size == 0 {
                        self.line();
                    }
                }
                Rest::Bytes(left) | Rest::Chunk(left) => {
                    let bytes = self.some(left)?;
                    let left = left - bytes.len() as u64;
                    let chunked = matches!(rest, Rest::Chunk(_));
                    if chunked && left == 0 {
                        self.line();
                    }
                    *rest = match (chunked, left) {
                        (true, 0) => Rest::BetweenChunks,
                        (true, _) => Rest::Chunk(left),
                        (false, _) => Rest::Bytes(left),
                    };
                    return Some(bytes);
                }
                Rest::UntilClosed => return self.some(u64::MAX),
            }
        }
    }

    #[track_caller]
    fn some(&mut self, most: u64) -> Option<Vec<u8>> {
        let mut buffer = vec![0; most.min(64 << 10) as usize];
        match self.reader.read(&mut buffer) {
            Ok(0) => None,
            Ok(read) => Some(buffer[..read].to_vec()),
            Err(error) if hung_up(&error) => None,
            Err(error) => panic!("the server says nothing: {error}"),
        }
    }
}

fn hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// An answer that is read as it comes.
pub(crate) struct Stream {
    /// Status and headers.
    pub(crate) head: Head,
    wire: Wire,
    rest: Rest,
    pending: Vec<u8>,
    seen: usize,
}

impl Stream {
    /// The next event, or nothing at the end of the stream.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Option<Event> {
        loop {
            // The server ends lines with a newline, and events with an empty line.
            if let Some(end) = self.pending[self.seen..].windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.pending.drain(..self.seen + end + 2).collect();
                self.seen = 0;
                match Event::read(&mut block.as_slice()) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            self.seen = self.pending.len().saturating_sub(1);
            let bytes = self.wire.next_bytes(&mut self.rest)?;
            self.pending.extend_from_slice(&bytes);
        }
    }

    /// The next message, or nothing at the end of the stream.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.event()?.message() {
                return Some(message);
            }
        }
    }

    /// Every message until the end.
    #[track_caller]
    pub(crate) fn messages(&mut self) -> Vec<Message> {
        std::iter::from_fn(|| self.message()).collect()
    }

    /// The connection, to be dropped or kept without reading.
    pub(crate) fn into_wire(self) -> Wire {
        self.wire
    }
}
