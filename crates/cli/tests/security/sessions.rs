//! Sessions: opened by `initialize` only, ended by DELETE, and never guessed, adopted or counted twice.
//!
//! The demo knows nobody, so whose session it is cannot be asked here; the library's own tests do, with an
//! authorizer. Stores and replicas are to come.

use std::collections::BTreeSet;

use crate::findings::Findings;
use crate::site::{Caller, Site};
use crate::stage::{META, NEWEST, STAGES, Stage, initialize};
use crate::wire::{Answer, Request};

const SESSION: Stage = Stage::Session("2025-11-25");
/// What the demo allows of people that it does not know.
const ANONYMOUS: usize = 1000;

fn sessions() -> impl Iterator<Item = Stage> {
    STAGES.into_iter().filter(|stage| *stage != Stage::Modern)
}

fn opened(answer: &Answer) -> Option<&str> {
    answer.head.header("mcp-session-id")
}

/// Everything that belongs to a session, with another session id or none.
fn attempts(caller: &Caller<'_>) -> Vec<(&'static str, Request)> {
    let stage = caller.stage;
    vec![
        ("call", caller.request(stage.call("1", "toggle", "{}"))),
        ("list", caller.request(stage.request("1", "tools/list", ""))),
        ("ping", caller.request(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)),
        ("notification", caller.request(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)),
        ("response", caller.request(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
        ("GET", caller.bare("GET").header("Accept", "text/event-stream")),
        ("DELETE", caller.bare("DELETE")),
    ]
}

/// Without a session id there is no session, also if there is exactly one.
#[test]
fn requests_without_a_session() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in sessions() {
        let mut caller = Caller::open(&site, stage);
        for (what, request) in attempts(&caller) {
            let answer = site.ask(&request.without("Mcp-Session-Id"));
            findings.status("D01 D18", &format!("{stage:?} {what}"), &answer, &[400]);
            findings.check(opened(&answer).is_none(), "D18", || format!("{stage:?} {what}: adopted"));
            site.unharmed("D01");
        }
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "D18 {stage:?}");
    }
}

#[test]
fn sessions_that_do_not_exist() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in sessions() {
        let caller = Caller::open(&site, stage);
        let own = caller.session.clone().expect("a session");
        let grown = format!("{own}x");
        let cut = own[..own.len() - 1].to_owned();
        let turned: String = own
            .chars()
            .map(|letter| {
                if letter.is_ascii_lowercase() {
                    letter.to_ascii_uppercase()
                } else {
                    letter.to_ascii_lowercase()
                }
            })
            .collect();
        let long = "x".repeat(8 << 10);
        for id in [
            "no-such-session",
            "0",
            "1",
            "null",
            "undefined",
            &grown,
            &cut,
            &turned,
            &long,
            "../x",
            "*",
            "%00",
        ] {
            for (what, request) in attempts(&caller) {
                let stream = site.wire().begin(&request.header("Mcp-Session-Id", id));
                let status = stream.head.status;
                findings.check(status == 404, "D02", || {
                    format!("{stage:?} {what} {id:.40}: wanted 404, got {status}")
                });
            }
        }
        for id in [&b""[..], b"\xff\xfe", b"a\x01b"] {
            for (what, request) in attempts(&caller) {
                let stream = site.wire().try_begin(&request.header("Mcp-Session-Id", id));
                let status = stream.map_or(0, |stream| stream.head.status);
                let refused = [400, 404].contains(&status);
                findings.check(refused, "D02", || {
                    format!("{stage:?} {what} {id:?}: wanted 400 or 404, got {status}")
                });
            }
        }
        for (what, request) in attempts(&caller) {
            let status = site.wire().begin(&request.also("Mcp-Session-Id", "no-such-session")).head.status;
            findings
                .check([400, 404].contains(&status), "D02", || format!("{stage:?} {what} two ids: {status}"));
        }
        site.unharmed("D02");
    }
}

/// After DELETE nothing is left: not the session, not its streams, not its calls' answers.
#[test]
fn sessions_that_were_ended() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in sessions() {
        let caller = Caller::open(&site, stage);
        let mut other = Caller::open(&site, stage);
        let mut own = caller.listen();
        assert_eq!(own.head.status, 200, "D03 {stage:?}");
        let answer = site.ask(&caller.bare("DELETE"));
        assert!([200, 204].contains(&answer.status()), "D03 {stage:?}: {}", answer.text());
        assert!(own.messages().is_empty(), "D03 {stage:?}: the stream is closed");
        for (what, request) in attempts(&caller) {
            findings.status("D03", &format!("{stage:?} {what}"), &site.ask(&request), &[404]);
        }
        site.unharmed("D03");
        let response = other.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "D03 {stage:?}: somebody else's");
    }
}

/// DELETE while a call is under way: the caller is told something, or the stream ends, and nothing hangs.
#[test]
fn sessions_ended_in_the_middle() {
    let site = Site::start();
    for stage in sessions() {
        let mut caller = Caller::open(&site, stage);
        let params =
            r#"{"name":"countdown","arguments":{"steps":2,"delay_ms":60000},"_meta":{"progressToken":1}}"#;
        let mut call =
            caller.begin(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        call.message().expect("progress");
        site.ask(&caller.bare("DELETE"));
        let rest = call.messages();
        assert!(rest.iter().all(|message| message.json.get("result").is_none()), "D03 {stage:?}: {rest:?}");
    }
    site.unharmed("D03");
}

/// Ids are long, random, visible, and have no order.
#[test]
fn ids_of_sessions() {
    let site = Site::start();
    let mut wire = site.wire();
    let mut ids = Vec::new();
    for _ in 0..ANONYMOUS {
        let answer = wire.ask(&site.post(initialize("2025-11-25")));
        assert_eq!(answer.status(), 200, "D06: {}", answer.text());
        ids.push(opened(&answer).expect("a session").to_owned());
        let answer = wire.ask(&site.request("DELETE").header("Mcp-Session-Id", ids.last().expect("one")));
        assert!([200, 204].contains(&answer.status()), "D06: {}", answer.text());
    }
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "D06");
    let positions = ids.iter().map(String::len).min().expect("some");
    // Letters that vary carry the randomness: count what each position can be, and add up.
    let bits: f64 = (0..positions)
        .map(|at| {
            let letters: BTreeSet<u8> = ids.iter().map(|id| id.as_bytes()[at]).collect();
            (letters.len() as f64).log2()
        })
        .sum();
    assert!(bits >= 120.0, "D06: about {bits:.0} bits in {:?}", ids[0]);
    for id in &ids {
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "D06: {id:?}");
    }
    let rising = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((ANONYMOUS / 3..2 * ANONYMOUS / 3).contains(&rising), "D06: {rising} of {ANONYMOUS} rise");
}

/// An id in the target or in a cookie is not an id, and the log does not tell it.
#[test]
fn ids_in_other_places() {
    let site = Site::with(&[("RUST_LOG", "trace")]);
    let caller = Caller::open(&site, SESSION);
    let id = caller.session.clone().expect("a session");
    let call = caller.request(SESSION.call("1", "toggle", "{}")).without("Mcp-Session-Id");
    let mut findings = Findings::default();
    for (what, request) in [
        ("query", call.clone().to(&format!("POST /mcp?Mcp-Session-Id={id}&sessionId={id}&session_id={id}"))),
        ("cookie", call.clone().header("Cookie", format!("Mcp-Session-Id={id}; sessionId={id}"))),
        ("authorization", call.clone().header("Authorization", format!("Bearer {id}"))),
    ] {
        findings.status("D07", what, &site.ask(&request), &[400]);
        site.unharmed("D07");
    }
    site.ask(&caller.request(SESSION.call("1", "echo", r#"{"message":"x"}"#)));
    site.ask(&caller.bare("DELETE"));
    drop(caller);
    let log = site.log();
    findings.check(!log.contains(&id), "D07", || "the log has the id in full".to_owned());
}

/// More sessions than there may be: refused until one is over, and nobody loses theirs.
#[test]
fn sessions_without_number() {
    let site = Site::start();
    let mut first = Caller::open(&site, SESSION);
    let mut wire = site.wire();
    let mut open = Vec::new();
    let refusal = loop {
        let answer = wire.ask(&site.post(initialize("2025-11-25")));
        match opened(&answer) {
            Some(id) if answer.status() == 200 => open.push(id.to_owned()),
            _ => break answer,
        }
        assert!(open.len() <= ANONYMOUS, "D08: no bound");
    };
    assert!([429, 503].contains(&refusal.status()), "D08: {}", refusal.text());
    let wait = refusal.head.header("retry-after").and_then(|wait| wait.parse::<u64>().ok());
    assert!(wait.is_some(), "D08: no Retry-After: {:?}", refusal.head);
    assert!(opened(&refusal).is_none(), "D08");
    assert!(open.len() >= 60, "D08: only {} sessions", open.len());
    let response = first.call("echo", r#"{"message":"x"}"#);
    assert_eq!(response.json["result"]["content"][0]["text"], "x", "D08: the first session lives");
    // Those who need no session are not kept out.
    site.unharmed("D08");
    site.ask(&site.request("DELETE").header("Mcp-Session-Id", &open[0]));
    let answer = wire.ask(&site.post(initialize("2025-11-25")));
    assert_eq!(answer.status(), 200, "D08: room again: {}", answer.text());
}

/// What is refused opens nothing: after many refusals there is as much room as before.
#[test]
fn refusals_open_nothing() {
    let site = Site::start();
    let mut findings = Findings::default();
    let open = |body: String| site.post(body);
    let with =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
    let good = initialize("2025-06-18");
    let refused = vec![
        ("not initialize", open(SESSION.request("1", "tools/list", ""))),
        ("no params", open(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#.to_owned())),
        ("empty params", open(with("{}"))),
        (
            "version of another type",
            open(with(r#"{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"x","version":"0"}}"#)),
        ),
        ("no client", open(with(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#))),
        ("null id", open(good.replace(r#""id":0"#, r#""id":null"#))),
        ("a notification", open(good.replace(r#""id":0,"#, ""))),
        ("not JSON", open(good[..good.len() - 1].to_owned())),
        ("two keys", open(good.replacen('{', r#"{"id":5,"#, 1))),
        ("bad header", open(good.clone()).header("MCP-Protocol-Version", "garbage")),
        ("bad type", open(good.clone()).header("Content-Type", "text/plain")),
        ("bad accept", open(good.clone()).header("Accept", "text/html")),
        ("bad origin", open(good.clone()).header("Origin", "http://evil.example")),
        ("bad host", open(good.clone()).header("Host", "evil.example")),
        ("bad encoding", open(good.clone()).header("Content-Encoding", "gzip")),
        ("batch", open(format!("[{good}]"))),
        (
            "nested",
            open(good.replace(
                r#""sampling":{}"#,
                &format!(r#""sampling":{{"a":{}1{}}}"#, "[".repeat(70), "]".repeat(70)),
            )),
        ),
    ];
    for (what, request) in &refused {
        let answer = site.ask(request);
        let opened = opened(&answer);
        findings.check(opened.is_none(), "D09", || format!("{what} opened a session: {}", answer.text()));
        let wrong = answer.status() >= 400 || answer.code().is_some() || answer.status() == 202;
        findings.check(wrong, "D09", || format!("{what}: {}", answer.text()));
    }
    let mut wire = site.wire();
    for round in 0..ANONYMOUS + 200 {
        let answer = wire.ask(&refused[1 + round % 2].1);
        if answer.head.lists("connection", "close") {
            wire = site.wire();
        }
    }
    let answer = site.ask(&site.post(good));
    findings.status("D09 GHSA-9pj6-vhgr-3mwh", "room after refusals", &answer, &[200]);
    findings.check(opened(&answer).is_some(), "D09", || answer.text());
}

#[test]
fn initialize_twice() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in sessions() {
        let mut caller = Caller::open(&site, stage);
        let Stage::Session(revision) = stage else { continue };
        let answer = site.ask(&caller.request(initialize(revision)));
        let code = answer.code();
        findings.check(code == Some(-32600), "D11", || format!("{stage:?}: {}", answer.text()));
        findings.check(opened(&answer).is_none(), "D11", || format!("{stage:?}: opened another"));
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "D11 {stage:?}");
    }
}

/// A session id that the client made up is not taken over, before or after.
#[test]
fn ids_that_clients_choose() {
    let site = Site::start();
    let mut findings = Findings::default();
    for chosen in ["chosen-by-me", "00000000-0000-0000-0000-000000000000"] {
        let answer = site.ask(&site.post(initialize("2025-06-18")).header("Mcp-Session-Id", chosen));
        findings.status("D12", chosen, &answer, &[200]);
        let fresh = opened(&answer).unwrap_or_default();
        findings.check(!fresh.is_empty() && fresh != chosen, "D12", || format!("{chosen} became {fresh:?}"));
        let list = site.post(SESSION.request("1", "tools/list", "")).header("Mcp-Session-Id", chosen);
        findings.status("D12", "afterwards", &site.ask(&list), &[404]);
    }
    // One that has ended does not come back.
    let caller = Caller::open(&site, SESSION);
    let old = caller.session.clone().expect("a session");
    site.ask(&caller.bare("DELETE"));
    let answer = site.ask(&site.post(initialize("2025-11-25")).header("Mcp-Session-Id", &old));
    findings.status("D12", "an ended session", &answer, &[200, 404]);
    findings.check(opened(&answer) != Some(old.as_str()), "D12", || "the old id again".to_owned());
}

/// State that was tampered with, or belongs to another call.
#[test]
fn states_that_are_not_ours() {
    let site = Site::start();
    let stage = Stage::Modern;
    let mut caller = Caller::open(&site, stage);
    let response = caller.call("greet", r#"{"greeting":"Hello"}"#);
    assert_eq!(response.json["result"]["resultType"], "input_required", "D17: {}", response.text);
    // A round with nothing to remember has no state; then there is nothing to tamper with but inventions.
    let state = response.json["result"]["requestState"].as_str().unwrap_or("AAAA").to_owned();
    let mut flipped = state.clone().into_bytes();
    let middle = flipped.len() / 2;
    flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).expect("text");
    let huge = "A".repeat(1 << 20);
    let answers = r#""inputResponses":{"who":{"action":"accept","content":{"name":"Ann"}}}"#;
    for (what, state) in [
        ("flipped", flipped.as_str()),
        ("cut", &state[..state.len() - 1]),
        ("empty", ""),
        ("invented", "AAAA"),
        ("huge", huge.as_str()),
        ("not base64", "!!!!"),
    ] {
        let members = format!(
            r#""name":"greet","arguments":{{"greeting":"Hello"}},{answers},"requestState":"{state}""#
        );
        let answer = caller.ask(stage.request("2", "tools/call", &members));
        assert_eq!(answer.code(), Some(-32602), "D17 {what}: {}", answer.text());
    }
    site.unharmed("D17");
}

/// What one session asked for, another does not hear; what one answers, another does not take.
#[test]
fn questions_are_answered_by_whom_they_were_asked() {
    let site = Site::start();
    let mut victim = Caller::open(&site, SESSION);
    let mut thief = Caller::open(&site, SESSION);
    let mut call = victim.begin(SESSION.call("1", "greet", r#"{"greeting":"Hello"}"#));
    let question = call.message().expect("the question");
    assert_eq!(question.method(), "elicitation/create", "D04: {}", question.text);
    let id = question.raw_id().expect("an id");
    let answer = |name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"name":"{name}"}}}}}}"#
        )
    };
    thief.ask(answer("Mallory"));
    let taken = victim.ask(answer("Alice"));
    assert_eq!(taken.status(), 202, "D04: {}", taken.text());
    let rest = call.messages();
    let text = rest.last().map(|message| message.json["result"]["content"][0]["text"].clone());
    assert_eq!(text, Some("Hello, Alice!".into()), "D04: {rest:?}");
}

/// One caller's cancellation reaches one caller's call.
#[test]
fn cancellations_of_others() {
    let site = Site::start();
    for stage in NEWEST {
        let mut victim = Caller::open(&site, stage);
        let mut thief = Caller::open(&site, stage);
        let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
        let params = format!(
            r#"{{"name":"countdown","arguments":{{"steps":3,"delay_ms":100}},"_meta":{{"progressToken":1{meta}}}}}"#
        );
        let mut call =
            victim.begin(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        call.message().expect("progress");
        let cancel = stage.params(r#""requestId":1"#);
        thief.ask(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{cancel}}}"#));
        let rest = call.messages();
        let text = rest.last().map(|message| message.json["result"]["content"][0]["text"].clone());
        assert_eq!(text, Some("liftoff".into()), "G05 {stage:?}: {rest:?}");
    }
}
