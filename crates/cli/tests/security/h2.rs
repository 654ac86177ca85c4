//! HTTP/2 in clear text, frame by frame, by somebody who wants the server to keep too much.
//!
//! Frames are written by hand; of what comes back only the kinds are read, and the status where it is asked for.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::child::PATIENCE;
use crate::site::Site;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

struct Frames {
    stream: TcpStream,
}

impl Frames {
    fn open(site: &Site) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", site.port)).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a net");
        stream.set_write_timeout(Some(PATIENCE)).expect("a net");
        let mut frames = Self { stream };
        frames.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frames.write(SETTINGS, 0, 0, &[]);
        frames
    }

    /// Writes bytes; whether the server still reads them is for the caller to know.
    fn raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        self.raw(&frame(kind, flags, stream, payload))
    }

    /// The next frame: kind, flags, stream, payload. Nothing if the server has hung up.
    fn read(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        Some((head[3], head[4], stream, payload))
    }

    /// Reads until a stream has an answer, and returns the first byte of its headers.
    fn answer(&mut self, wanted: u32) -> Option<u8> {
        loop {
            let (kind, flags, stream, payload) = self.read()?;
            if kind == SETTINGS && flags & 1 == 0 {
                self.write(SETTINGS, 1, 0, &[]);
            }
            if kind == HEADERS && stream == wanted {
                return payload.first().copied();
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header that is neither indexed nor compressed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        let length = text.len();
        if length < 127 {
            bytes.push(u8::try_from(length).expect("short"));
        } else {
            bytes.push(127);
            let mut rest = length - 127;
            while rest >= 128 {
                bytes.push(u8::try_from(rest % 128).expect("seven bits") | 128);
                rest /= 128;
            }
            bytes.push(u8::try_from(rest).expect("seven bits"));
        }
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// The headers of the call that must not run, at this authority.
fn head(authority: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    let plain = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/mcp"),
        (":authority", authority),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "toggle"),
    ];
    plain.iter().chain(extra).flat_map(|(name, value)| literal(name, value)).collect()
}

fn own(site: &Site) -> String {
    format!("127.0.0.1:{}", site.port)
}

/// Statuses of the static table: the first byte of the answer's headers, if it is one of them.
fn status(first: Option<u8>) -> Option<u16> {
    match first? {
        0x88 => Some(200),
        0x8c => Some(400),
        0x8d => Some(404),
        0x8e => Some(500),
        _ => None,
    }
}

/// What is refused in one version of HTTP is refused in the other.
#[test]
fn the_same_guard() {
    let site = Site::start();
    let body = crate::stage::Stage::Modern.call("1", "toggle", "{}");
    let own = own(&site);
    for (authority, extra) in [
        ("evil.example", vec![]),
        (own.as_str(), vec![("origin", "http://evil.example")]),
        (own.as_str(), vec![("host", "evil.example")]),
        ("user@evil.example", vec![]),
    ] {
        let mut frames = Frames::open(&site);
        frames.write(HEADERS, END_HEADERS, 1, &head(authority, &extra));
        frames.write(DATA, END_STREAM, 1, body.as_bytes());
        // A connection that is cut is a refusal, too.
        let first = frames.answer(1);
        assert_ne!(status(first), Some(200), "B08 {authority} {extra:?}");
        site.unharmed("B08");
    }
    for (name, value) in
        [("content-type", "text/plain"), ("mcp-name", "echo"), ("transfer-encoding", "chunked")]
    {
        let mut frames = Frames::open(&site);
        let headers = head(&own, &[(name, value)]);
        frames.write(HEADERS, END_HEADERS, 1, &headers);
        frames.write(DATA, END_STREAM, 1, body.as_bytes());
        assert_ne!(status(frames.answer(1)), Some(200), "B05 {name}");
        site.unharmed("B05");
    }
}

/// It is spoken at all: otherwise the tests here would prove nothing.
#[test]
fn it_is_spoken() {
    let site = Site::start();
    let mut frames = Frames::open(&site);
    let body = crate::stage::Stage::Modern.call("1", "toggle", "{}");
    frames.write(HEADERS, END_HEADERS, 1, &head(&own(&site), &[]));
    frames.write(DATA, END_STREAM, 1, body.as_bytes());
    assert_eq!(status(frames.answer(1)), Some(200));
}

/// Requests taken back as soon as they are made, without end.
#[test]
#[cfg(target_os = "linux")]
fn rapid_resets() {
    let site = Site::start();
    site.unharmed("B24");
    let before = site.peak();
    let mut frames = Frames::open(&site);
    let list = head(&own(&site), &[]);
    let mut sent = 0;
    for number in 0..50_000_u32 {
        let stream = 2 * number + 1;
        let mut bytes = frame(HEADERS, END_HEADERS, stream, &list);
        bytes.extend(frame(RESET, 0, stream, &8_u32.to_be_bytes()));
        if !frames.raw(&bytes) {
            break;
        }
        sent += 1;
    }
    assert!(site.peak() - before < 32 << 20, "B24: {} bytes after {sent}", site.peak() - before);
    site.unharmed("B24");
}

/// Floods that no answer is owed for, or a small one: bounded, and the next caller is served.
#[test]
#[cfg(target_os = "linux")]
fn floods() {
    let ping = frame(PING, 0, 0, &[0; 8]);
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let window = frame(WINDOW, 0, 0, &1_u32.to_be_bytes());
    let empty = frame(DATA, 0, 1, &[]);
    for (name, bytes) in
        [("PING", ping), ("SETTINGS", settings), ("WINDOW_UPDATE", window), ("empty DATA", empty)]
    {
        let site = Site::start();
        site.unharmed("B24");
        let before = site.peak();
        let mut frames = Frames::open(&site);
        frames.write(HEADERS, END_HEADERS, 1, &head(&own(&site), &[]));
        // What the server says is not read: it must not pile up either. A write that would block for ever ends
        // with the net; a hundred thousand frames fit into less.
        frames.stream.set_write_timeout(Some(std::time::Duration::from_secs(2))).expect("a net");
        let many = bytes.repeat(1000);
        let sent = (0..100).take_while(|_| frames.raw(&many)).count();
        let grown = site.peak() - before;
        assert!(grown < 32 << 20, "B24 {name}: {grown} bytes after {sent} thousand");
        site.unharmed("B24");
    }
}

/// Headers that go on over one frame after the other.
#[test]
#[cfg(target_os = "linux")]
fn continuations_without_end() {
    let site = Site::start();
    site.unharmed("B24");
    let before = site.peak();
    let mut frames = Frames::open(&site);
    frames.write(HEADERS, 0, 1, &head(&own(&site), &[]));
    let piece = literal("x-long", &"x".repeat(16_000));
    let sent = (0..2000).take_while(|_| frames.write(CONTINUATION, 0, 1, &piece)).count();
    assert!(sent < 2000, "B24: all of it was read");
    assert!(site.peak() - before < 16 << 20, "B24: {} bytes", site.peak() - before);
    site.unharmed("B24");
}

/// No window, no reading: answers wait, and not without bound.
#[test]
#[cfg(target_os = "linux")]
fn windows_of_nothing() {
    let site = Site::start();
    site.unharmed("B24");
    let before = site.peak();
    let mut frames = Frames::open(&site);
    frames.write(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let body = crate::stage::Stage::Modern.call("1", "big", r#"{"bytes":1000000}"#);
    let text = String::from_utf8(head(&own(&site), &[])).expect("ASCII").replace("\u{6}toggle", "\u{3}big");
    let mut sent = 0;
    for number in 0..2000_u32 {
        let stream = 2 * number + 1;
        let mut bytes = frame(HEADERS, END_HEADERS, stream, text.as_bytes());
        bytes.extend(frame(DATA, END_STREAM, stream, body.as_bytes()));
        if !frames.raw(&bytes) {
            break;
        }
        sent += 1;
    }
    site.unharmed("B24");
    let grown = site.peak() - before;
    // A stream's answer may wait; two thousand of them may not.
    assert!(grown < 1 << 30, "B24: {grown} bytes for {sent} streams");
}
