//! The older pair of endpoints, HTTP+SSE: the same guard, the same bounds, and one stream for each caller.

use crate::child::PATIENCE;
use crate::findings::Findings;
use crate::site::Site;
use crate::stage::{Stage, initialize};
use crate::wire::{Answer, Message, Request, Stream};

const STAGE: Stage = Stage::Session("2024-11-05");

/// A caller of the pair: its stream, and where it posts.
struct Pair<'a> {
    site: &'a Site,
    stream: Stream,
    endpoint: String,
}

impl<'a> Pair<'a> {
    fn open(site: &'a Site) -> Self {
        let mut stream = site.wire().begin(&Request::stream("/sse", site.port));
        assert_eq!(stream.head.status, 200);
        assert!(stream.head.is_stream(), "{:?}", stream.head);
        let first = stream.event().expect("the first event");
        assert_eq!(first.name.as_deref(), Some("endpoint"), "the endpoint comes first: {first:?}");
        let origin = format!("http://127.0.0.1:{}", site.port);
        let endpoint = first.data.strip_prefix(&origin).unwrap_or(&first.data).to_owned();
        assert!(endpoint.starts_with('/') && !endpoint.starts_with("//"), "of the same origin: {endpoint}");
        Self { site, stream, endpoint }
    }

    fn ready(site: &'a Site) -> Self {
        let mut pair = Self::open(site);
        assert_eq!(pair.send(initialize("2024-11-05")).status(), 202);
        let response = pair.next();
        assert_eq!(response.json["result"]["protocolVersion"], "2024-11-05", "{}", response.text);
        pair.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        pair
    }

    fn post(&self, body: impl AsRef<[u8]>) -> Request {
        Request::post(&self.endpoint, self.site.port, body).without("Accept")
    }

    fn send(&self, body: impl AsRef<[u8]>) -> Answer {
        self.site.ask(&self.post(body))
    }

    fn next(&mut self) -> Message {
        self.stream.message().expect("a message")
    }

    fn call(&mut self, id: &str, tool: &str, arguments: &str) -> Message {
        assert_eq!(self.send(STAGE.call(id, tool, arguments)).status(), 202);
        self.next()
    }
}

#[test]
fn the_same_guard() {
    let site = Site::start();
    let mut findings = Findings::default();
    let mut pair = Pair::ready(&site);
    let forbidden = || pair.post(STAGE.call("1", "toggle", "{}"));
    for origin in ["http://evil.example", "null", "http://localhost@evil", "http://localhost.evil"] {
        let answer = site.ask(&forbidden().header("Origin", origin));
        findings.status("B06", origin, &answer, &[403]);
        findings.check(!answer.head.has_any("access-control-allow"), "B30", || origin.to_owned());
    }
    for host in ["evil.example", "127.0.0.1.nip.io"] {
        let host = format!("{host}:{}", site.port);
        findings.status("B08", &host, &site.ask(&forbidden().header("Host", &host)), &[403]);
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json, text/plain",
    ] {
        findings.status("B04", kind, &site.ask(&forbidden().header("Content-Type", kind)), &[415]);
    }
    findings.status("B04", "no type", &site.ask(&forbidden().without("Content-Type")), &[415]);
    findings.status("B22", "gzip", &site.ask(&forbidden().header("Content-Encoding", "gzip")), &[415]);
    let mut wire = site.wire();
    wire.write(&forbidden().header("Content-Length", "100000000").head()).expect("the server reads");
    findings.status("A21", "100 MB", &wire.answer(), &[413]);
    for method in ["PUT", "DELETE", "PATCH", "TRACE"] {
        for target in [pair.endpoint.as_str(), "/sse"] {
            let answer = site.ask(&Request::new(method, target, site.port));
            findings.status("B02", &format!("{method} {target}"), &answer, &[404, 405]);
        }
    }
    site.unharmed("B06");
    let response = pair.call("9", "echo", r#"{"message":"x"}"#);
    findings.check(response.json["result"]["content"][0]["text"] == "x", "B06", || response.text.clone());
}

/// Ids of streams cannot be guessed, and mean nothing once the stream is gone.
#[test]
fn ids_of_streams() {
    let site = Site::start();
    let mut findings = Findings::default();
    let pair = Pair::ready(&site);
    let other = Pair::ready(&site);
    assert_ne!(pair.endpoint, other.endpoint, "D06");
    let id = other.endpoint.rsplit(['=', '/']).next().expect("an id").to_owned();
    assert!(id.len() >= 16 && id.bytes().all(|byte| byte.is_ascii_graphic()), "D06: {id:?}");
    let call = STAGE.call("1", "toggle", "{}");
    for made_up in ["0", "1", "no-such-session", "", &format!("{id}x"), &id[..id.len() - 1]] {
        let target = other.endpoint.replace(&id, made_up);
        let answer = site.ask(&Request::post(&target, site.port, &call));
        findings.status("D02", &target, &answer, &[400, 404]);
    }
    let bare = other.endpoint.split('?').next().expect("a path").to_owned();
    if bare != other.endpoint {
        let answer = site.ask(&Request::post(&bare, site.port, &call));
        findings.status("D18", "no id", &answer, &[400, 404]);
        let answer = site.ask(&Request::post(&bare, site.port, &call).header("Mcp-Session-Id", &id));
        findings.status("D07", "the id elsewhere", &answer, &[400, 404]);
    }
    // An id of this transport is none of the other's, and the other way round.
    let mixed = Request::post("/mcp", site.port, &call).header("Mcp-Session-Id", &id);
    findings.status("D02", "an id of the pair at the endpoint", &site.ask(&mixed), &[404]);
    site.unharmed("D02");
    let endpoint = pair.endpoint.clone();
    drop(pair);
    // That the connection is gone reaches the server in its own time; until then the message has no reader.
    let end = std::time::Instant::now() + PATIENCE;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/no/such"}"#;
    while site.ask(&Request::post(&endpoint, site.port, notification)).status() != 404 {
        assert!(std::time::Instant::now() < end, "D03: the id outlives its stream");
        std::thread::yield_now();
    }
}

/// Bad bodies: an error, by status or on the stream, and the stream lives.
#[test]
fn bodies_that_are_none() {
    let site = Site::start();
    let mut findings = Findings::default();
    let mut pair = Pair::ready(&site);
    let bomb = "[".repeat(200_000);
    let toggle = STAGE.forbidden();
    for body in [
        "",
        "hello",
        "{",
        "[]",
        "null",
        "\u{feff}{}",
        &bomb,
        &format!(r#"{{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{toggle}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{toggle}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{toggle}}}"#),
        &format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{toggle}}}]"#),
    ] {
        let answer = pair.send(body);
        let refused = answer.status() == 400 || answer.status() == 202;
        findings.check(refused, "A01", || format!("{body:.60}: {}", answer.text()));
        site.unharmed("A01");
    }
    assert_eq!(pair.send(STAGE.call("77", "echo", r#"{"message":"x"}"#)).status(), 202);
    let response = loop {
        let message = pair.next();
        if message.json["id"] == 77 {
            break message;
        }
        findings.check(message.json["error"]["code"].is_i64(), "A01", || message.text.clone());
    };
    findings.check(response.json["result"]["content"][0]["text"] == "x", "A01", || response.text.clone());
}

/// All ids are 1: everybody hears their own.
#[test]
fn ids_of_several_callers() {
    let site = Site::start();
    let mut pairs: Vec<Pair<'_>> = (0..10).map(|_| Pair::ready(&site)).collect();
    for (number, pair) in pairs.iter().enumerate() {
        let arguments = format!(r#"{{"message":"secret {number}"}}"#);
        assert_eq!(pair.send(STAGE.call("1", "echo", &arguments)).status(), 202);
    }
    for (number, pair) in pairs.iter_mut().enumerate() {
        let response = pair.next();
        assert_eq!(response.json["id"], 1, "CVE-2026-25536");
        assert_eq!(
            response.json["result"]["content"][0]["text"],
            format!("secret {number}"),
            "CVE-2026-25536"
        );
    }
}

/// Modern requests are not served where there is no place for their answer's status.
#[test]
fn modern_requests_at_the_pair() {
    let site = Site::start();
    let pair = Pair::ready(&site);
    let body = Stage::Modern.call("1", "toggle", "{}");
    let answer = site.ask(&Stage::Modern.dress(pair.post(&body), "tools/call", Some("echo")));
    assert!([202, 400, 404].contains(&answer.status()), "B12: {}", answer.text());
    site.unharmed("B12");
}

/// Streams are bounded in number, and those who have one keep it.
#[test]
fn streams_without_number() {
    let site = Site::start();
    let mut first = Pair::ready(&site);
    let mut held = Vec::new();
    let refusal = loop {
        let stream = site.wire().begin(&Request::stream("/sse", site.port));
        if stream.head.status != 200 {
            break stream.head;
        }
        held.push(stream);
        assert!(held.len() <= 2000, "D08: no bound");
    };
    assert!([429, 503].contains(&refusal.status), "D08: {refusal:?}");
    let response = first.call("1", "echo", r#"{"message":"x"}"#);
    assert_eq!(response.json["result"]["content"][0]["text"], "x", "D08");
    drop(held);
    site.unharmed("D08");
}
