//! Section A over HTTP: the rows of the pipes, each a POST, and those that only HTTP has.
//!
//! `stage::play` plays its rows here too, so that no row can be right on a pipe and wrong on a socket.

use crate::child::PATIENCE;
use crate::findings::Findings;
use crate::site::{Caller, Site};
use crate::stage::{META, NEWEST, Row, STAGES, Stage, Want, fill, initialize};
use crate::wire::{Answer, Wire};

const BATCHES: Stage = Stage::Session("2025-03-26");

/// Plays rows on one server, in each stage by one caller.
pub(crate) fn play(stages: &[Stage], rows: &[Row]) {
    let site = Site::start();
    let mut findings = Findings::default();
    for &stage in stages {
        let mut caller = Caller::open(&site, stage);
        for row in rows {
            let body = fill(&row.input, stage);
            let answer = caller.ask(&body);
            let verdict = judge(stage, row, &body, &answer);
            findings.check(verdict.is_none(), row.name, || {
                let input = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
                format!(
                    "HTTP {stage:?}: {}\n   input {input}\n   wanted {:?}, got {}",
                    verdict.unwrap_or_default(),
                    row.want,
                    answer.text()
                )
            });
            site.unharmed(row.name);
        }
    }
}

/// What is wrong with the answer to a row.
fn judge(stage: Stage, row: &Row, body: &[u8], answer: &Answer) -> Option<&'static str> {
    if let Want::Silence = row.want {
        return judge_silence(body, answer);
    }
    let responses = answer.responses();
    let [response] = responses.as_slice() else { return Some("not one response") };
    let (id, code) = (response.raw_id(), response.json["error"]["code"].as_i64());
    // What stands for an id that could not be read: the older revisions have it as JSON-RPC does, or not at all.
    let nobody = id.is_none() || (id.as_deref() == Some("null") && stage.unreadable_id().is_some());
    let (codes, right_id) = match row.want {
        Want::Served(wanted) => {
            let right = answer.status() == 200 && id.as_deref() == Some(wanted);
            let served = response.json["result"].is_object();
            return (!(right && served)).then_some("not served");
        }
        Want::Refused(codes) => (codes, nobody),
        Want::RefusedFor(wanted, codes) => (codes, id.as_deref() == Some(wanted)),
        Want::RefusedMaybeFor(wanted, codes) => (codes, nobody || id.as_deref() == Some(wanted)),
        Want::Silence => return None,
    };
    let code = code.unwrap_or_default();
    let unspeakable = stage == Stage::Modern && code == -32020 && !fits_a_header(body);
    if !codes.contains(&code) && !unspeakable {
        return Some("another code");
    }
    if !right_id {
        return Some("another id");
    }
    (!statuses(stage, code).contains(&answer.status())).then_some("another status")
}

/// A blank body is no message; a notification is taken, and nothing is said about it.
fn judge_silence(body: &[u8], answer: &Answer) -> Option<&'static str> {
    if body.trim_ascii().is_empty() {
        return (answer.status() != 400 || answer.code() != Some(-32700)).then_some("a blank body");
    }
    let refused = (400..500).contains(&answer.status());
    let malformed = String::from_utf8_lossy(body).contains(r#""params":[]"#);
    let taken = answer.status() == 202 && answer.body.is_empty();
    (!(taken || malformed && refused)).then_some("not simply taken")
}

/// The statuses that go with a code.
fn statuses(stage: Stage, code: i64) -> &'static [u16] {
    match (code, stage) {
        (-32601, Stage::Modern) => &[404],
        (-32601, _) => &[200],
        (-32602, _) => &[200, 400],
        _ => &[400],
    }
}

/// Whether the method can be repeated in a header: some cannot, and are refused for that.
fn fits_a_header(body: &[u8]) -> bool {
    let read: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let method = read["method"].as_str().unwrap_or_default();
    let plain = method.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    plain && !method.is_empty() && method.len() < 1024
}

#[test]
fn bodies_that_are_blank() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        for body in ["", " ", "\r\n\r\n", "\t"] {
            let answer = caller.ask(body);
            findings.refusal("A02", &format!("{stage:?} {body:?}"), &answer, 400, -32700);
            site.unharmed("A02");
        }
    }
}

/// Over HTTP a message ends where the body ends: it may have lines.
#[test]
fn pretty_printed_bodies() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let params = stage.params(r#""name":"echo","arguments":{"message":"\u20ac"}"#);
        let body = format!(
            "\r\n{{\n \"jsonrpc\": \"2.0\",\r\n\t\"id\": 1,\n \"method\": \"tools/call\",\n \"params\": {params}\n}}\n"
        );
        let answer = caller.ask(body);
        assert_eq!(answer.status(), 200, "A28 {stage:?}: {}", answer.text());
        assert_eq!(answer.response().json["result"]["content"][0]["text"], "\u{20ac}", "A28 {stage:?}");
    }
}

/// How bytes arrive makes no difference to what they say.
#[test]
fn bodies_byte_by_byte() {
    let site = Site::start();
    for stage in NEWEST {
        let caller = Caller::open(&site, stage);
        let body = stage.call("1", "echo", "{\"message\":\"\u{20ac}uro \u{1f600}\"}");
        let mut wire = site.wire();
        for byte in caller.request(&body).bytes() {
            wire.write(&[byte]).expect("the server reads");
        }
        let response = wire.answer().response();
        assert_eq!(response.json["result"]["content"][0]["text"], "\u{20ac}uro \u{1f600}", "A23 {stage:?}");

        let request = caller.request(&body).header("Transfer-Encoding", "chunked");
        wire.write(&request.head()).expect("the server reads");
        for byte in body.as_bytes() {
            wire.write(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']).expect("the server reads");
        }
        wire.write(b"0\r\n\r\n").expect("the server reads");
        let response = wire.answer().response();
        assert_eq!(response.json["result"]["content"][0]["text"], "\u{20ac}uro \u{1f600}", "A23 {stage:?}");
    }
}

/// The end in the middle of a message, wherever that is: nothing runs.
#[test]
fn bodies_that_end_early() {
    let site = Site::start();
    for stage in NEWEST {
        let caller = Caller::open(&site, stage);
        let request = caller.request(stage.call("1", "toggle", "{}"));
        let (head, all) = (request.head().len(), request.bytes());
        for end in [1, head / 2, head - 2, head, head + 1, all.len() - 1] {
            let mut wire = site.wire();
            wire.write(&all[..end]).expect("the server reads");
            wire.half_close();
            let answer = wire.try_answer();
            let refused = answer.as_ref().is_none_or(|answer| answer.status() >= 400);
            assert!(refused, "A03 B18 {stage:?} at {end}: {:?}", answer.map(|answer| answer.text()));
            site.unharmed("A03");
        }
    }
}

/// Two answers to one id: without sessions there is nothing to mix up.
#[test]
fn an_id_in_use_without_session() {
    let site = Site::start();
    let stage = Stage::Modern;
    let mut first = Caller::open(&site, stage);
    let mut second = Caller::open(&site, stage);
    // The first call says something at once, and goes on for as long as the test likes.
    let params = format!(
        r#"{{"name":"countdown","arguments":{{"steps":2,"delay_ms":60000}},"_meta":{{"progressToken":7,{META}}}}}"#
    );
    let mut stream =
        first.begin(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
    assert_eq!(stream.message().expect("progress").method(), "notifications/progress", "A35");
    let response = second.call("echo", r#"{"message":"second"}"#);
    assert_eq!(response.json["result"]["content"][0]["text"], "second", "A35");
    let response = first.call("echo", r#"{"message":"third"}"#);
    assert_eq!(response.json["result"]["content"][0]["text"], "third", "A35");
}

/// In a session an id means one thing at a time.
#[test]
fn an_id_in_use_in_a_session() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let params =
            r#"{"name":"countdown","arguments":{"steps":4,"delay_ms":300},"_meta":{"progressToken":7}}"#;
        let mut first =
            caller.begin(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        assert_eq!(first.message().expect("progress").method(), "notifications/progress", "A35 {stage:?}");
        let answer = caller.ask(stage.call("1", "toggle", "{}"));
        assert!([400, 409].contains(&answer.status()), "A35 {stage:?}: {}", answer.text());
        assert_eq!(answer.code(), Some(-32600), "A35 {stage:?}: {}", answer.text());
        site.unharmed("A35");
        let rest = first.messages();
        let responses: Vec<_> = rest.iter().filter(|message| message.is_response()).collect();
        assert_eq!(responses.len(), 1, "A35 {stage:?}: {rest:?}");
        assert_eq!(responses[0].json["result"]["content"][0]["text"], "liftoff", "A35 {stage:?}");
        let again = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(again.raw_id().as_deref(), Some("1"), "A36 {stage:?}");
    }
}

#[test]
fn responses_to_nobody() {
    let site = Site::start();
    let mut findings = Findings::default();
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#,
    ] {
        let answer = Caller::open(&site, Stage::Modern).ask(body);
        findings.refusal("A37", body, &answer, 400, -32600);
        for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
            let answer = Caller::open(&site, stage).ask(body);
            let taken = answer.status() == 202 && answer.body.is_empty();
            let refused = answer.status() == 400;
            findings.check(taken || refused, "A34", || format!("{stage:?} {body}: {}", answer.text()));
        }
        site.unharmed("A34");
    }
}

#[test]
fn batches() {
    let site = Site::start();
    let mut caller = Caller::open(&site, BATCHES);
    let toggle =
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"toggle","arguments":{}}}"#;
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);

    let answer = caller.ask(format!(
        r#"[{},7,{toggle},{{"jsonrpc":"2.0","method":"notifications/no/such"}},{{"jsonrpc":"2.0","id":"two","method":"no/such"}}]"#,
        ping(1)
    ));
    assert_eq!(answer.status(), 200, "A17: {}", answer.text());
    let mut codes: Vec<Option<i64>> =
        elements(&answer).iter().map(|one| one["error"]["code"].as_i64()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [None, Some(-32601), Some(-32600), Some(-32600)], "A17: {}", answer.text());

    let answer = caller.ask(r#"[{"jsonrpc":"2.0","method":"notifications/no/such"}]"#);
    assert_eq!((answer.status(), answer.body.len()), (202, 0), "A17: {}", answer.text());

    let call = |id: usize| BATCHES.call(&id.to_string(), "toggle", "{}");
    let many: Vec<String> = (1..=101).map(call).collect();
    for batch in ["[]".to_owned(), format!("[{}]", many.join(",")), format!("[{}]", initialize("2025-03-26"))]
    {
        let answer = caller.ask(&batch);
        let codes: Vec<_> = elements(&answer).iter().map(|one| one["error"]["code"].as_i64()).collect();
        assert_eq!(codes, [Some(-32600)], "A17 {batch:.40}: {}", answer.text());
        // An element that is refused may leave the batch as it is.
        let wanted = if batch.contains("initialize") { &[200, 400][..] } else { &[400][..] };
        assert!(wanted.contains(&answer.status()), "A17 {batch:.40}: {}", answer.text());
        site.unharmed("A17");
    }

    let many: Vec<String> = (1..=100).map(ping).collect();
    let answer = caller.ask(format!("[{}]", many.join(",")));
    assert_eq!(elements(&answer).len(), 100, "A17");
}

/// A batch without a session opens none.
#[test]
fn initialize_in_a_batch_opens_nothing() {
    let site = Site::start();
    let answer = site.ask(&site.post(format!("[{}]", initialize("2025-03-26"))));
    assert_eq!(answer.status(), 400, "A17 D09: {}", answer.text());
    assert_eq!(answer.head.header("mcp-session-id"), None, "A17 D09");
}

fn elements(answer: &Answer) -> Vec<serde_json::Value> {
    let messages = answer.responses().into_iter().map(|message| message.json);
    messages.flat_map(|json| json.as_array().cloned().unwrap_or_else(|| vec![json])).collect()
}

/// What a peer calls a method neither reaches the log raw nor fills it.
#[test]
fn names_in_the_log() {
    let site = Site::with(&[("RUST_LOG", "debug")]);
    let long = "n".repeat(1 << 20);
    for method in ["\\u001b[31m\\u0007evil\\u202e", long.as_str()] {
        let answer = Caller::open(&site, Stage::Session("2025-11-25"))
            .ask(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
        assert!(answer.body.len() < 16 << 10, "A33: {} bytes of complaint", answer.body.len());
    }
    let log = site.log();
    assert!(log.len() < 64 << 10, "A33: {} bytes of log", log.len());
    assert!(!log.contains("\u{1b}[31m\u{7}"), "A33: control characters in the log");
}

const MEBIBYTE: usize = 1 << 20;
const LIMIT: usize = 4 * MEBIBYTE;

/// A body that says how long it is: refused before a byte of it was sent.
#[test]
fn bodies_announced_as_too_long() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in STAGES {
        let caller = Caller::open(&site, stage);
        for length in [LIMIT + 1, 100_000_000, usize::MAX / 4] {
            let request = caller.request("{}").header("Content-Length", length.to_string());
            let mut wire = site.wire();
            wire.write(&request.head()).expect("the server reads");
            let answer = wire.answer();
            findings.status("A21", &format!("{stage:?} length {length}"), &answer, &[413]);
            findings.check(wire.ends(), "A21", || format!("{stage:?} length {length}: still open"));
        }
    }
    site.unharmed("A21");
}

/// A body that does not say how long it is: refused at the limit.
#[test]
fn bodies_that_turn_out_too_long() {
    let site = Site::start();
    for stage in NEWEST {
        let caller = Caller::open(&site, stage);
        let request = caller.request("").header("Transfer-Encoding", "chunked");
        let mut wire = site.wire();
        wire.write(&request.head()).expect("the server reads");
        let piece = chunk(&vec![b' '; 64 << 10]);
        for _ in 0..=LIMIT / (64 << 10) {
            if wire.write(&piece).is_err() {
                break;
            }
        }
        // Nothing more is sent: the answer does not wait for the rest.
        let answer = wire.answer();
        assert_eq!(answer.status(), 413, "A21 {stage:?}: {}", answer.text());
        assert!(answer.head.lists("connection", "close"), "A21 {stage:?}: {:?}", answer.head);
        assert!(wire.ends(), "A21 {stage:?}: still open");
        site.unharmed("A21");
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// Somebody who goes on sending is cut off, and what was sent is not kept.
#[test]
#[cfg(target_os = "linux")]
fn bodies_without_end() {
    let site = Site::start();
    site.unharmed("A21");
    let before = site.peak();
    let caller = Caller::open(&site, Stage::Modern);
    let request = caller.request("").header("Transfer-Encoding", "chunked");
    let mut wire = site.wire();
    wire.write(&request.head()).expect("the server reads");
    let piece = chunk(&vec![b' '; MEBIBYTE]);
    let written = (0..100).take_while(|_| wire.write(&piece).is_ok()).count();
    assert!(written < 100, "A21: all of it was read");
    let grown = site.peak() - before;
    assert!(grown < 2 * LIMIT + 16 * MEBIBYTE, "A21: {grown} bytes");
    site.unharmed("A21");
}

/// What is within the limit is served, in every form.
#[test]
fn bodies_as_long_as_they_may_be() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let message = "x".repeat(LIMIT - 4096);
        let response = caller.call("echo", &format!(r#"{{"message":"{message}"}}"#));
        let text = response.json["result"]["content"][0]["text"].as_str().map(str::len);
        assert_eq!(text, Some(message.len()), "A21 {stage:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_small_values_cost() {
    let arrays = format!("[{}[]]", "[],".repeat(MEBIBYTE));
    let keys: Vec<String> = (0..250_000).map(|key| format!(r#""k{key}":1"#)).collect();
    let object = format!("{{{}}}", keys.join(","));
    for stage in NEWEST {
        for value in [&arrays, &object] {
            let site = Site::start();
            let mut caller = Caller::open(&site, stage);
            site.unharmed("A20");
            let before = site.peak();
            let call = stage.call("1", "echo", &format!(r#"{{"message":"x","pad":{value}}}"#));
            let answer = caller.ask(&call);
            assert_eq!(answer.response().raw_id().as_deref(), Some("1"), "A20 {stage:?}: {}", answer.text());
            let grown = site.peak() - before;
            assert!(grown <= 20 * call.len(), "A20 {stage:?}: {grown} bytes for {}", call.len());
        }
    }
}

/// Refused bodies leave nothing behind, however many there are.
#[test]
#[cfg(target_os = "linux")]
fn refusals_do_not_add_up() {
    for stage in NEWEST {
        let site = Site::start();
        let mut caller = Caller::open(&site, stage);
        let body = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "i".repeat(MEBIBYTE));
        let mut refuse = |times: usize| {
            for _ in 0..times {
                assert_eq!(caller.ask(&body).status(), 400, "A07 {stage:?}");
            }
            site.peak()
        };
        let settled = refuse(4);
        let grown = refuse(60) - settled;
        assert!(grown <= 16 * MEBIBYTE, "A07 {stage:?}: {grown} bytes");
    }
}

/// The net of these tests is wider than any of them needs.
#[test]
fn a_connection_is_kept() {
    let site = Site::start();
    let mut wire = Wire::open(site.port);
    for _ in 0..100 {
        assert_eq!(wire.ask(&site.list()).status(), 200, "kept alive within {PATIENCE:?}");
    }
}
