//! Events written and read: samples in every split, against a second reading of the standard.

use contexture_core::http::sse::{
    Event, KEEP_ALIVE, Reader, TooLong, write_event, write_named, write_primer,
};

const LIMIT: usize = 1 << 20;

fn event(id: Option<&str>, name: &str, data: &str) -> Event {
    Event { id: id.map(str::to_owned), name: name.to_owned(), data: data.to_owned(), retry: None }
}

fn message(data: &str) -> Event {
    event(None, "message", data)
}

/// Everything that a stream in these pieces comes to, and where it leaves the reader.
#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<Result<Event, TooLong>>,
    last_id: Option<String>,
    retry: Option<u64>,
}

fn read<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut reader = Reader::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece);
        while let Some(event) = reader.next() {
            let failed = event.is_err();
            events.push(event);
            if failed {
                return Read { events, last_id: None, retry: None };
            }
        }
    }
    let last_id = reader.last_event_id().map(str::to_owned);
    Read { events, last_id, retry: reader.retry() }
}

/// Reads in one piece, byte by byte, in two pieces at every offset and in three at every pair (of small streams).
fn read_in_every_split(limit: usize, bytes: &[u8]) -> Read {
    let whole = read(limit, [bytes]);
    assert_eq!(read(limit, bytes.chunks(1)), whole, "byte by byte: {:?}", bytes.escape_ascii().to_string());
    for first in 0..=bytes.len() {
        let (start, rest) = bytes.split_at(first);
        assert_eq!(
            read(limit, [start, rest]),
            whole,
            "split at {first}: {:?}",
            bytes.escape_ascii().to_string()
        );
        for second in 0..=rest.len().min(48) {
            let (middle, end) = rest.split_at(second);
            assert_eq!(read(limit, [start, middle, end]), whole, "split at {first} and {second}");
        }
    }
    whole
}

fn events(bytes: &[u8]) -> Vec<Event> {
    read_in_every_split(LIMIT, bytes)
        .events
        .into_iter()
        .map(|event| event.expect("within the limit"))
        .collect()
}

#[test]
fn samples_are_read_alike_in_every_split() {
    let table: &[(&[u8], Vec<Event>)] = &[
        (b"", vec![]),
        (b"data: a\n\n", vec![message("a")]),
        (b"data: a\r\rdata: b\r\r", vec![message("a"), message("b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", vec![message("a"), message("b")]),
        (b"data: a\r\ndata: b\rdata: c\n\r\n", vec![message("a\nb\nc")]),
        (b"data: a\n\r", vec![message("a")]),
        (b"\n\n\r\r\r\n\ndata: a\n\n\n", vec![message("a")]),
        (b"data\n\n", vec![message("")]),
        (b"data:\n\n", vec![message("")]),
        (b"data\ndata\n\n", vec![message("\n")]),
        (b"data:a\n\ndata:  b\n\ndata:\tc\n\n", vec![message("a"), message(" b"), message("\tc")]),
        (b"data: a: b\n\n", vec![message("a: b")]),
        (b"Data: a\n\n data: b\n\ndata : c\n\nother: d\n\nother\n\n", vec![]),
        (b": hello\n\n:\n\n:data: a\ndata: b\n: in between\ndata: c\n\n", vec![message("b\nc")]),
        (b"event: add\ndata: a\n\ndata: b\n\n", vec![event(None, "add", "a"), message("b")]),
        (b"event: x\n\ndata: b\n\n", vec![message("b")]),
        (b"event: x\nevent\ndata: b\n\n", vec![message("b")]),
        (b"data: whole\n\ndata: unfinished\n", vec![message("whole")]),
        (b"data: whole\n\ndata: unfinished", vec![message("whole")]),
    ];
    for (bytes, expected) in table {
        assert_eq!(&events(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_mark_is_skipped_once_and_only_at_the_start() {
    assert_eq!(events(b"\xef\xbb\xbfdata: a\n\n"), [message("a")]);
    assert_eq!(events(b"\xef\xbb\xbf: comment\ndata: a\n\n"), [message("a")]);
    assert_eq!(events(b"\xef\xbb\xbf\ndata: a\n\n"), [message("a")]);
    assert_eq!(events(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n"), [message("b")]);
    assert_eq!(events(b"\n\xef\xbb\xbfdata: a\n\n"), []);
    assert_eq!(events(b"\xef\xbbdata: a\n\ndata: b\n\n"), [message("b")]);
    assert_eq!(events("data: \u{feff}a\n\n".as_bytes()), [message("\u{feff}a")]);
}

#[test]
fn ids_count_from_the_end_of_their_block() {
    let last = |bytes: &[u8]| read_in_every_split(LIMIT, bytes).last_id;
    assert_eq!(last(b"id: 1\n\n").as_deref(), Some("1"));
    assert_eq!(last(b"id: 1\n\nid: 2\n"), Some("1".to_owned()));
    assert_eq!(last(b"id: 1\ndata: a\n"), None);
    assert_eq!(last(b"id: 1\n\nid: 2\0\n\n"), Some("1".to_owned()));
    assert_eq!(last(b"id: 1\n\nid:\n\n"), None);
    assert_eq!(last(b"id: 1\n\nid\n\n"), None);
    assert_eq!(last(b"id: 1\n\nid:  2 \n\n"), Some(" 2 ".to_owned()));
    let stream = b"data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid: 2\n\ndata: d\n\nid\ndata: e\n\n";
    let message = |id, data| event(id, "message", data);
    assert_eq!(
        events(stream),
        [
            message(None, "a"),
            message(Some("1"), "b"),
            message(Some("1"), "c"),
            message(Some("2"), "d"),
            message(None, "e")
        ]
    );
}

#[test]
fn retry_is_digits_only_and_saturates() {
    let table: &[(&[u8], Option<u64>)] = &[
        (b"retry: 500\n\n", Some(500)),
        (b"retry:0\n\n", Some(0)),
        (b"retry: 1000000000000\n\n", Some(1_000_000_000_000)),
        (b"retry: 99999999999999999999999999\n\n", Some(u64::MAX)),
        (b"retry: 5\n\nretry: x\n\nretry\n\nretry:\n\nretry: -1\n\nretry: 1.5\n\nretry: +2\n\nretry:  3\n\n", Some(5)),
        (b"retry: 7", None),
        (b"retry: 7\n", Some(7)),
        ("retry: ٣\n\n".as_bytes(), None),
    ];
    for (bytes, expected) in table {
        let read = read_in_every_split(LIMIT, bytes);
        assert_eq!((read.retry, read.events.len()), (*expected, 0), "{}", bytes.escape_ascii());
    }
    let of_events: Vec<_> =
        events(b"retry: 5\n\nretry: 6\ndata: a\n\ndata: b\n\n").iter().map(|event| event.retry).collect();
    assert_eq!(of_events, [Some(6), None]);
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced() {
    assert_eq!(events(b"data: a\xffb\n\n"), [message("a\u{fffd}b")]);
    assert_eq!(events(b"data: \xe2\x82\ndata: \xac\n\n"), [message("\u{fffd}\n\u{fffd}")]);
    assert_eq!(events("data: é€😀\n\n".as_bytes()), [message("é€😀")]);
    assert_eq!(events(b"event: \xc3\ndata: a\nid: \xc3\n\n"), [event(Some("\u{fffd}"), "\u{fffd}", "a")]);
}

#[test]
fn an_event_has_a_limit_and_the_reader_stays_failed() {
    let failed = |bytes: &[u8]| read_in_every_split(10, bytes).events.last().is_some_and(Result::is_err);
    assert!(!failed(b"data: 4567\n\n"));
    assert!(failed(b"data: 45678\n\n"));
    assert!(failed(b"data: 45678"));
    assert!(failed(b"data: 4\ndata: 4\n\n"));
    assert!(failed(b"unknown: 90\n"));
    assert!(failed(b"data\ndata\ndata\n"));
    assert!(failed(b"event: 789\nid\n"));
    // The next event starts anew, and comments and line breaks are free.
    assert!(!failed(b"data: 4567\n\ndata: 4567\r\n\r\n: a long comment\ndata: 4567\n\n"));

    let mut reader = Reader::new(10);
    reader.feed(b"id: 1\n\nid: 2\ndata: 0123456789");
    for _ in 0..3 {
        assert_eq!(reader.next(), Some(Err(TooLong { limit: 10 })));
        reader.feed(b"\n\ndata: a\n\n");
    }
    assert_eq!(reader.last_event_id(), Some("1"));
    assert!(TooLong { limit: 10 }.to_string().contains("10 bytes"));
}

#[test]
fn events_before_the_long_one_are_not_lost() {
    let read = read_in_every_split(10, b"data: a\n\ndata: b\n\ndata: 0123456789\n\n");
    assert_eq!(read.events[..2], [Ok(message("a")), Ok(message("b"))]);
    assert!(read.events[2].is_err());
}

/// Would overflow the stack if anything recursed, and not end if anything were read again.
#[test]
fn a_million_of_anything_is_read_in_one_pass() {
    const MANY: usize = 1_000_000;
    for unit in [&b":\n\n"[..], b": keep alive\n", b"retry: 1\n\n", b"id: 1\n\n", b"\r\n", b"\r", b"x\n\n"] {
        let read = read(64, unit.repeat(MANY).chunks(8192));
        assert_eq!(read.events, [], "{}", unit.escape_ascii());
    }
    let mut comment = Reader::new(64);
    comment.feed(b":");
    for _ in 0..MANY {
        comment.feed(b" data: a");
        assert_eq!(comment.next(), None);
    }
    comment.feed(b"\ndata: b\n\n");
    assert_eq!(comment.next(), Some(Ok(message("b"))));

    let long = [b"data: ".as_slice(), &vec![b'x'; MANY], b"\n\n"].concat();
    let read = read(2 * MANY, long.chunks(1));
    assert_eq!(read.events.len(), 1);
    assert_eq!(read.events[0].as_ref().map(|event| event.data.len()), Ok(MANY));
}

#[test]
fn a_reader_that_is_asked_late_loses_nothing() {
    let mut reader = Reader::new(64);
    let mut count = 0;
    for _ in 0..10_000 {
        reader.feed(b"data: a\n\ndata: b\n\n");
        count += usize::from(reader.next().is_some());
    }
    while let Some(event) = reader.next() {
        assert!(event.is_ok());
        count += 1;
    }
    assert_eq!(count, 20_000);
}

/// The standard's algorithm once more, slow and on the whole text, for streams that nobody thought of.
fn oracle(bytes: &[u8]) -> Read {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    let (mut data, mut name, mut id, mut last_id) = (String::new(), "", "", "");
    let (mut own_retry, mut retry, mut events) = (None, None, Vec::new());
    for line in lines {
        if line.is_empty() {
            last_id = id;
            if !data.is_empty() {
                data.pop();
                let shown = Some(last_id).filter(|id| !id.is_empty());
                let name = if name.is_empty() { "message" } else { name };
                events.push(Ok(Event { retry: own_retry, ..event(shown, name, &data) }));
            }
            (data, name, own_retry) = (String::new(), "", None);
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data = data + value + "\n",
            "event" => name = value,
            "id" if !value.contains('\0') => id = value,
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                own_retry = value.parse().ok();
                retry = own_retry;
            }
            _ => {}
        }
    }
    Read { events, last_id: Some(last_id.to_owned()).filter(|id| !id.is_empty()), retry }
}

#[test]
fn made_up_streams_are_read_as_the_standard_says() {
    const PARTS: [&[u8]; 20] = [
        b"data",
        b"id",
        b"event",
        b"retry",
        b":",
        b": ",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"a",
        b"7",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xc3",
        "é".as_bytes(),
        b"data: x\n",
        b"\r\r",
        b": c\n",
    ];
    let mut seed: u64 = 0x2545_f491_4f6c_dd1d;
    let mut draw = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for _ in 0..20_000 {
        let stream: Vec<u8> = (0..draw(24)).flat_map(|_| PARTS[draw(PARTS.len())].iter().copied()).collect();
        let expected = oracle(&stream);
        assert_eq!(read(LIMIT, [&stream[..]]), expected, "{}", stream.escape_ascii());
        let size = 1 + draw(5);
        assert_eq!(read(LIMIT, stream.chunks(size)), expected, "{} by {size}", stream.escape_ascii());
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before|".to_vec();
    write(&mut out);
    let text = String::from_utf8(out).expect("text");
    text.strip_prefix("before|").expect("what was there stays").to_owned()
}

#[test]
fn events_are_written_as_they_should_stand() {
    assert_eq!(written(|out| write_event(None, b"{}", out)), "data: {}\n\n");
    assert_eq!(written(|out| write_event(Some("s-7"), b"{}", out)), "id: s-7\ndata: {}\n\n");
    assert_eq!(
        written(|out| write_named("endpoint", b"/messages?s=1", out)),
        "event: endpoint\ndata: /messages?s=1\n\n"
    );
    assert_eq!(written(|out| write_primer("s-0", None, out)), "id: s-0\ndata:\n\n");
    assert_eq!(written(|out| write_primer("s-0", Some(3000), out)), "id: s-0\nretry: 3000\ndata:\n\n");
    assert_eq!(written(|out| write_event(None, b"", out)), "data: \n\n");
}

#[test]
fn line_breaks_cannot_forge_fields() {
    assert_eq!(
        written(|out| write_event(None, b"a\nid: 9\r\rb\r\n", out)),
        "data: a\ndata: id: 9\ndata: \ndata: b\ndata: \n\n"
    );
    for bad in ["1\ndata: x", "1\rdata: x", "1\0"] {
        assert_eq!(written(|out| write_event(Some(bad), b"a", out)), "data: a\n\n");
        assert_eq!(written(|out| write_named(bad, b"a", out)), "data: a\n\n");
        assert_eq!(written(|out| write_primer(bad, None, out)), "data:\n\n");
    }
}

#[test]
fn what_is_written_is_read() {
    let mut out = Vec::new();
    write_primer("a-0", Some(1500), &mut out);
    out.extend_from_slice(KEEP_ALIVE);
    write_event(Some("a-1"), b"{\"x\": \" y\"}", &mut out);
    out.extend_from_slice(b"retry: 9\n\n");
    write_named("endpoint", " /m".as_bytes(), &mut out);
    write_event(None, b"{\n}", &mut out);
    let primer = Event { retry: Some(1500), ..event(Some("a-0"), "message", "") };
    let last = Some("a-1");
    assert_eq!(
        events(&out),
        [
            primer,
            event(last, "message", "{\"x\": \" y\"}"),
            event(last, "endpoint", " /m"),
            event(last, "message", "{\n}")
        ]
    );
    assert_eq!(read(LIMIT, [&out[..]]).retry, Some(9));
}
