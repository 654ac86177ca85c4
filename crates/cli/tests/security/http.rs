//! Requests that are not what they seem: lengths, encodings, folds, floods of headers.
//!
//! The question is always the same: did bytes that belong to one request run as another?

use crate::findings::Findings;
use crate::site::{Caller, Site};
use crate::stage::{NEWEST, Stage};
use crate::wire::{Answer, Request, Wire};

/// Reads what the server says until it hangs up, or has said as much as it may. The first answer must come
/// while the connection is whole; that nothing more will be sent is said only then.
fn answers(wire: &mut Wire) -> Vec<u16> {
    let mut statuses: Vec<u16> = wire.try_answer().iter().map(Answer::status).collect();
    wire.half_close();
    rest(wire, &mut statuses);
    statuses
}

/// The same where the server may wait for more: it is told at once that there is no more.
fn answers_to_the_end(wire: &mut Wire) -> Vec<u16> {
    let mut statuses = Vec::new();
    wire.half_close();
    rest(wire, &mut statuses);
    statuses
}

fn rest(wire: &mut Wire, statuses: &mut Vec<u16>) {
    while let Some(answer) = wire.try_answer() {
        statuses.push(answer.status());
        assert!(statuses.len() < 10, "B17: {statuses:?}");
    }
}

/// The head of a request with these lines instead of a length.
fn head(site: &Site, lines: &str) -> Vec<u8> {
    let mut head = site.list().header("Content-Length", "0").head();
    let text = String::from_utf8(std::mem::take(&mut head)).expect("text");
    text.replace("Content-Length: 0\r\n", lines).into_bytes()
}

/// Two ideas of where a body ends: refused, and what follows is never a request.
#[test]
fn bodies_with_two_ends() {
    let site = Site::start();
    let mut findings = Findings::default();
    let smuggled = site.forbidden().bytes();
    let mut framed = b"0\r\n\r\n".to_vec();
    framed.extend_from_slice(&smuggled);
    let length = framed.len();
    for lines in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Transfer-Encoding: chunked, identity\r\nContent-Length: {length}\r\n"),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding: chunkedx\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".to_owned(),
        format!("Content-Length: {length}\r\nContent-Length: 5\r\n"),
        format!("Content-Length: 5\r\nContent-Length: {length}\r\n"),
        "Content-Length: 5, 5\r\n".to_owned(),
        format!("Content-Length: 5, {length}\r\n"),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: -5\r\n".to_owned(),
        "Content-Length: 0x5\r\n".to_owned(),
        "Content-Length: 5 5\r\n".to_owned(),
        "Content-Length: 5.0\r\n".to_owned(),
        "Content-Length: \r\n".to_owned(),
        "Content-Length: 18446744073709551621\r\n".to_owned(),
        "Content-Length : 5\r\n".to_owned(),
        " Content-Length: 5\r\n".to_owned(),
        format!("X-Folded: a\r\n Content-Length: 5\r\nContent-Length: {length}\r\n"),
        "X-Nul: a\0b\r\nContent-Length: 5\r\n".to_owned(),
        "X-Return: a\rContent-Length: 0\r\nContent-Length: 5\r\n".to_owned(),
        "X (y): z\r\nContent-Length: 5\r\n".to_owned(),
        "No colon at all\r\nContent-Length: 5\r\n".to_owned(),
    ] {
        let mut wire = site.wire();
        let mut bytes = head(&site, &lines);
        bytes.extend_from_slice(&framed);
        let _ = wire.write(&bytes);
        let statuses = answers(&mut wire);
        let refused = matches!(statuses.as_slice(), [400 | 413 | 431 | 501]);
        findings.check(refused, "B17", || format!("{lines:?}: wanted 400 and the end, got {statuses:?}"));
        findings.unharmed("B17", &format!("{lines:?}"), &site);
    }
}

#[test]
fn chunks_that_are_none() {
    let site = Site::start();
    let mut findings = Findings::default();
    let smuggled = site.forbidden().bytes();
    for chunks in [
        "FFFFFFFFFFFFFFFFF\r\n",
        "ffffffffffffffff\r\n",
        "-1\r\n",
        "+5\r\n{}   \r\n0\r\n\r\n",
        "0x5\r\n{}   \r\n0\r\n\r\n",
        "5 5\r\n{}   \r\n0\r\n\r\n",
        "\r\n",
        "zz\r\n",
        "2\r\n{}XX0\r\n\r\n",
        "2\n{}\n0\n\n",
        "2;a\nb\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\nNo colon\r\n\r\n",
    ] {
        let mut wire = site.wire();
        let mut bytes = head(&site, "Transfer-Encoding: chunked\r\n");
        bytes.extend_from_slice(chunks.as_bytes());
        bytes.extend_from_slice(&smuggled);
        let _ = wire.write(&bytes);
        let statuses = answers_to_the_end(&mut wire);
        let refused = matches!(statuses.as_slice(), [] | [400 | 413]);
        findings.check(refused, "B17", || format!("{chunks:?}: wanted 400 and the end, got {statuses:?}"));
        site.unharmed(&format!("B17 {chunks:?}"));
    }
}

/// Bare newlines: they may be taken for line ends, as the standard allows, if only all of it is read alike.
#[test]
fn lines_that_end_otherwise() {
    let site = Site::start();
    let mut findings = Findings::default();
    // Inside a body that is as long as it says there is a whole call.
    let smuggled = format!("0\r\n\r\n{}", String::from_utf8(site.forbidden().bytes()).expect("text"));
    let whole = String::from_utf8(site.list().body(&smuggled).head()).expect("text");
    let hidden = whole.replacen("Accept:", "X-A: b\nTransfer-Encoding: chunked\r\nAccept:", 1);
    for head in
        [whole.replace("\r\n", "\n"), whole.replacen("\r\n", "\n", 3), whole.replace("\r\n", "\r"), hidden]
    {
        let mut wire = site.wire();
        let _ = wire.write(head.as_bytes());
        let _ = wire.write(smuggled.as_bytes());
        let statuses = answers_to_the_end(&mut wire);
        let refused = matches!(statuses.as_slice(), [] | [400]);
        findings.check(refused, "B17", || format!("{:?}: wanted 400, got {statuses:?}", &head[..60]));
        findings.unharmed("B17", &head[..60], &site);
    }
}

#[test]
fn first_lines_that_are_none() {
    let site = Site::start();
    let mut findings = Findings::default();
    let whole = String::from_utf8(site.forbidden().bytes()).expect("text");
    for line in [
        "POST /mcp",
        "POST  /mcp HTTP/1.1",
        "POST /mcp HTTP/1.1 HTTP/1.1",
        "POST /mcp HTTP/9.9",
        "POST /mcp HTTP/1.1x",
        "POST /mcp http/1.1",
        "POST /m cp HTTP/1.1",
        "POST /mcp\tHTTP/1.1",
        " POST /mcp HTTP/1.1",
        "P\0ST /mcp HTTP/1.1",
        "\u{16}\u{3}\u{1}",
        "PRI * HTTP/2.0",
    ] {
        let mut wire = site.wire();
        let _ = wire.write(whole.replacen("POST /mcp HTTP/1.1", line, 1).as_bytes());
        let statuses = answers_or_frames(&mut wire);
        let refused = matches!(statuses.as_slice(), [] | [400 | 404 | 405 | 501 | 505]);
        findings.check(refused, "B17", || format!("{line:?}: wanted 400, got {statuses:?}"));
        site.unharmed(&format!("B17 {line:?}"));
    }
}

/// As `answers`, for lines after which the server may believe that HTTP/2 is spoken.
fn answers_or_frames(wire: &mut Wire) -> Vec<u16> {
    wire.half_close();
    let mut all = Vec::new();
    let _ = std::io::Read::read_to_end(&mut wire.writer(), &mut all);
    let text = String::from_utf8_lossy(&all);
    let starts = text.match_indices("HTTP/1.").filter_map(|(at, _)| text.get(at + 9..at + 12));
    starts.filter_map(|status| status.parse().ok()).collect()
}

/// More than the length said: the rest is another request, or the end.
#[test]
fn bytes_after_the_body() {
    let site = Site::start();
    for rest in ["garbage\r\n\r\n", "}\r\n\r\n", "\r\nx y z\r\n\r\n", "\0\0\0\0"] {
        let mut wire = site.wire();
        let mut bytes = site.list().bytes();
        bytes.extend_from_slice(rest.as_bytes());
        let _ = wire.write(&bytes);
        let statuses = answers(&mut wire);
        assert!(matches!(statuses.as_slice(), [200] | [200, 400]), "B18 {rest:?}: {statuses:?}");
        site.unharmed("B18");
    }
    // Half of a call, and then the other half as if it were a request.
    let mut wire = site.wire();
    let whole = site.forbidden();
    let body = Stage::Modern.call("1", "toggle", "{}");
    let short = whole.header("Content-Length", (body.len() / 2).to_string());
    let _ = wire.write(&short.bytes());
    let _ = wire.write(b"\r\n\r\n");
    let statuses = answers(&mut wire);
    assert!(statuses.iter().all(|status| *status == 400), "B18: {statuses:?}");
    site.unharmed("B18");
}

#[test]
fn headers_without_end() {
    let site = Site::start();
    let mut findings = Findings::default();
    let long = site.forbidden().header("X-Long", "x".repeat(100 << 10));
    let mut ask = |what: &str, request: &Request, wanted: &[u16]| match site.try_ask(request) {
        Some(answer) => findings.status("B21", what, &answer, wanted),
        None => findings.check(false, "B21", || format!("{what}: no answer")),
    };
    ask("100 KiB in one header", &long, &[431]);
    let mut many = site.forbidden();
    for number in 0..1000 {
        many = many.also(&format!("X-{number}"), "x");
    }
    ask("1000 headers", &many, &[431]);
    let mut same = site.forbidden();
    for _ in 0..1000 {
        same = same.also("Mcp-Param-X", "x");
    }
    ask("1000 times one header", &same, &[431]);
    let path = site.forbidden().to(&format!("POST /mcp?{}", "x".repeat(100 << 10)));
    ask("100 KiB of target", &path, &[400, 414, 431]);
    site.unharmed("B21");
}

/// Headers that never end are not kept.
#[test]
#[cfg(target_os = "linux")]
fn headers_that_go_on() {
    let site = Site::start();
    site.unharmed("B21");
    let before = site.peak();
    let mut wire = site.wire();
    let _ = wire.write(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ");
    let piece = vec![b'x'; 1 << 20];
    let written = (0..100).take_while(|_| wire.write(&piece).is_ok()).count();
    assert!(written < 100, "B21: all of it was read");
    assert!(site.peak() - before < 16 << 20, "B21: {} bytes", site.peak() - before);
    site.unharmed("B21");
}

#[test]
fn encodings() {
    let site = Site::start();
    let mut findings = Findings::default();
    // The first bytes of a gzip stream are enough: nobody may look at them.
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
    for encoding in ["gzip", "deflate", "br", "zstd", "x-gzip", "gzip, gzip", "GZIP"] {
        let request = site.forbidden().header("Content-Encoding", encoding);
        findings.status("B22", encoding, &site.ask(&request), &[415]);
        findings.status("B22", encoding, &site.ask(&request.body(gzip)), &[415]);
        site.unharmed("B22");
    }
    let plain = site.ask(&site.list().header("Accept-Encoding", "gzip, br"));
    findings.check(plain.head.header("content-encoding").is_none(), "B22", || "compressed".to_owned());
}

#[test]
fn expectations() {
    let site = Site::start();
    let expecting = site.forbidden().header("Expect", "100-continue");
    let mut wire = site.wire();
    wire.write(&expecting.clone().header("Content-Length", "100000000").head()).expect("the server reads");
    let answer = wire.answer();
    assert_eq!(answer.status(), 413, "B23: {}", answer.text());

    for (name, value, status) in [("Origin", "http://evil.example", 403), ("Content-Type", "text/plain", 415)]
    {
        let mut wire = site.wire();
        wire.write(&expecting.clone().header(name, value).head()).expect("the server reads");
        assert_eq!(wire.answer().status(), status, "B23: no 100 for what is refused anyway");
    }
    site.unharmed("B23");

    let list = site.list().header("Expect", "100-continue");
    let mut wire = site.wire();
    wire.write(&list.head()).expect("the server reads");
    assert_eq!(wire.try_head().expect("an interim answer").status, 100, "B23");
    wire.write(&list.bytes()[list.head().len()..]).expect("the server reads");
    assert_eq!(wire.answer().status(), 200, "B23");
}

/// Somebody who leaves at any point takes nobody along.
#[test]
fn callers_who_leave() {
    let site = Site::start();
    for stage in NEWEST {
        let caller = Caller::open(&site, stage);
        let request = caller.request(stage.call("1", "countdown", r#"{"steps":20}"#)).bytes();
        for end in (0..request.len()).step_by(7) {
            let mut wire = site.wire();
            wire.write(&request[..end]).expect("the server reads");
        }
        for _ in 0..50 {
            let mut wire = site.wire();
            wire.write(&request).expect("the server reads");
        }
        site.unharmed("CVE-2025-53365");
        let mut caller = Caller::open(&site, stage);
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "{stage:?}");
    }
}

/// Many who are connected and say nothing do not keep the next one out.
#[test]
fn idle_connections() {
    let site = Site::start();
    let idle: Vec<Wire> = (0..500).map(|_| site.wire()).collect();
    site.unharmed("B20");
    drop(idle);
    site.unharmed("B20");
}
