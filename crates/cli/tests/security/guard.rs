//! Who may speak at all: methods, types, origins, hosts, paths. All of it before anything is read or run.
//!
//! Tokens have their place elsewhere; the demo knows nobody.

use crate::findings::Findings;
use crate::site::{Caller, PATH, Site};
use crate::stage::{NEWEST, STAGES, Stage, initialize};
use crate::wire::{BOTH, Request, Wire};

/// The GET that opens the older pair of endpoints.
const PAIR: &str = "/sse";

#[test]
fn methods_without_a_meaning() {
    let site = Site::start();
    let mut findings = Findings::default();
    for method in ["PUT", "PATCH", "TRACE", "PROPFIND", "QUERY", "post", "GETT"] {
        let request = site.forbidden().to(&format!("{method} {PATH}")).header("X-Marked", "marked-7f3a");
        let answer = site.ask(&request);
        findings.status("B02", method, &answer, &[405, 501]);
        if answer.status() == 405 {
            findings.check(answer.head.lists("allow", "POST"), "B02", || format!("{method}: no Allow"));
        }
        let echoed = answer.text().contains("marked-7f3a") || answer.head.has_any("x-marked");
        findings.check(!echoed, "B02", || format!("{method} echoes the request"));
        site.unharmed("B02");
    }
    // Without a body, because an answer to HEAD has none either.
    let mut wire = site.wire();
    wire.write(&site.request("HEAD").header("Accept", BOTH).bytes()).expect("the server reads");
    let head = wire.try_head().expect("an answer");
    findings.check(head.status == 405, "B02", || format!("HEAD: wanted 405, got {}", head.status));
    let mut wire = site.wire();
    wire.write(&site.request("CONNECT").to("CONNECT 127.0.0.1:1").bytes()).expect("the server reads");
    let head = wire.try_head().expect("an answer");
    let refused = [400, 403, 404, 405].contains(&head.status);
    findings.check(refused, "B02", || format!("CONNECT: wanted 4xx, got {}", head.status));
    site.unharmed("B02");
}

/// A server of both eras: GET and DELETE belong to sessions, and a modern caller has none.
#[test]
fn streams_and_ends_of_no_session() {
    let site = Site::start();
    let mut findings = Findings::default();
    for method in ["GET", "DELETE"] {
        let request = site.request(method).header("Accept", "text/event-stream");
        findings.status("B01 D01", method, &site.ask(&request), &[400]);
        let modern = request.header("MCP-Protocol-Version", "2026-07-28");
        let answer = site.ask(&modern);
        findings.status("B01", &format!("{method}, modern"), &answer, &[400, 405]);
        if answer.status() == 405 {
            findings.check(answer.head.lists("allow", "POST"), "B01", || format!("{method}: no Allow"));
        }
    }
    site.unharmed("B01");
}

#[test]
fn answers_that_nobody_accepts() {
    let site = Site::start();
    let mut findings = Findings::default();
    for (accept, status) in [
        (None, 406),
        (Some("application/json"), 406),
        (Some("text/event-stream"), 406),
        (Some("text/html"), 406),
        (Some(""), 406),
        (Some("application/json;q=0, text/event-stream"), 406),
        (Some("application/json, text/event-stream;q=0"), 406),
        (Some("application/json, text/event-stream; q=0.000"), 406),
        (Some("application/jsonx, text/event-streams"), 406),
        (Some("application/json+text/event-stream"), 406),
        (Some("*/*;q=0"), 406),
        (Some("*/*"), 200),
        (Some("application/*, text/*"), 200),
        (Some("APPLICATION/JSON;q=0.1 , Text/Event-Stream ; q=1"), 200),
        (Some("text/html, application/json, text/event-stream, */*;q=0.1"), 200),
    ] {
        for request in [site.list(), site.forbidden()] {
            // What is accepted is tried with the harmless call only.
            if status == 200
                && request.line == site.forbidden().line
                && request.bytes() == site.forbidden().bytes()
            {
                continue;
            }
            let request = match accept {
                Some(accept) => request.header("Accept", accept),
                None => request.without("Accept"),
            };
            findings.status("B03", &format!("Accept: {accept:?}"), &site.ask(&request), &[status]);
        }
        site.unharmed("B03");
    }
    let twice = site.list().header("Accept", "application/json").also("Accept", "text/event-stream");
    findings.status("B03", "two lines", &site.ask(&twice), &[200]);
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let caller = Caller::open(&site, stage);
        let answer = site.ask(&caller.bare("GET").header("Accept", "application/json"));
        findings.status("B03", &format!("GET {stage:?}"), &answer, &[406]);
    }
}

#[test]
fn bodies_of_another_type() {
    let site = Site::start();
    let mut findings = Findings::default();
    let refused = [
        None,
        Some("text/plain"),
        Some("text/plain;charset=UTF-8"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("text/json"),
        Some("text/plain; application/json"),
        Some("application/jsonp"),
        Some("application/json, text/plain"),
        Some("text/plain, application/json"),
        Some("application/json; charset=utf-16"),
        Some("application/json;charset=\"utf-16\""),
        Some("application/json-seq"),
        Some("application/vnd.api+json"),
        Some("application/"),
        Some(""),
    ];
    for kind in refused {
        for request in [site.forbidden(), site.post(initialize("2025-06-18"))] {
            let request = match kind {
                Some(kind) => request.header("Content-Type", kind),
                None => request.without("Content-Type"),
            };
            let answer = site.ask(&request);
            findings.status("B04 B05", &format!("{kind:?}"), &answer, &[415]);
            let opened = answer.head.header("mcp-session-id");
            findings.check(opened.is_none(), "B04 D09", || format!("{kind:?} opened a session"));
        }
        site.unharmed("B04");
    }
    let twice = site.forbidden().also("Content-Type", "text/plain");
    findings.status("B05", "two types", &site.ask(&twice), &[400, 415]);
    let twice =
        site.forbidden().header("Content-Type", "text/plain").also("Content-Type", "application/json");
    findings.status("B05", "two types", &site.ask(&twice), &[400, 415]);
    site.unharmed("B05");
    for kind in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/json;charset=\"UTF-8\""]
    {
        findings.status("B05", kind, &site.ask(&site.list().header("Content-Type", kind)), &[200]);
    }
}

/// The type is refused before the body was sent.
#[test]
fn types_are_refused_before_the_body() {
    let site = Site::start();
    for (name, value, status) in [("Content-Type", "text/plain", 415), ("Accept", "text/html", 406)] {
        let mut wire = site.wire();
        let request = site.forbidden().header(name, value).header("Content-Length", "1000");
        wire.write(&request.head()).expect("the server reads");
        assert_eq!(wire.answer().status(), status, "B04: {name}");
    }
    site.unharmed("B04");
}

/// Every door: method, path, and what goes with it.
fn doors(site: &Site) -> Vec<Request> {
    let session = Caller::open(site, Stage::Session("2025-11-25"));
    vec![
        site.forbidden(),
        site.post(initialize("2025-06-18")),
        session.request(Stage::Session("2025-11-25").call("1", "toggle", "{}")),
        session.bare("GET").header("Accept", "text/event-stream"),
        session.bare("DELETE"),
        Request::stream(PAIR, site.port),
    ]
}

fn foreign_origins(port: u16) -> Vec<String> {
    let mut all: Vec<String> = [
        "http://evil.example",
        "https://evil.example:443",
        "null",
        "",
        "evil",
        "http://",
        "://localhost",
        "file://",
        "chrome-extension://abcdefgh",
        "http://localhost.evil",
        "http://127.0.0.1.nip.io",
        "http://0.0.0.0",
    ]
    .map(str::to_owned)
    .to_vec();
    for origin in [
        "http://localhost.evil:PORT",
        "http://localhost@evil:PORT",
        "http://localhost:PORT@evil",
        "http://evil@localhost:PORT",
        "https://localhost:PORT",
        "ws://localhost:PORT",
        "http://localhost.:PORT",
        "http://127.0.0.1.nip.io:PORT",
        "http://evil/127.0.0.1:PORT",
        "http://127.0.0.1:PORT.evil.example",
        "http://127.0.0.1:PORT/",
        "http://127.0.0.1:PORT/path",
        "http://127.0.0.1:PORT?",
        "http://127.0.0.1:PORT#",
        "http://127.0.0.1:PORT, http://evil.example",
        "http://evil.example http://127.0.0.1:PORT",
        "http://[::1%25lo]:PORT",
        "http://[::ffff:127.0.0.1]:PORT",
        "http://0.0.0.0:PORT",
        "http://2130706433:PORT",
        "http://127.1:PORT",
        "http://0x7f.1:PORT",
        "http://127.0.0.1:+PORT",
        "127.0.0.1:PORT",
        "http:127.0.0.1:PORT",
        "http:\\\\127.0.0.1:PORT",
    ] {
        all.push(origin.replace("PORT", &port.to_string()));
    }
    all.push(format!("http://localhost:{}", port ^ 1));
    all.push(format!("http://127.0.0.1:{}", u32::from(port) + 65536));
    all
}

#[test]
fn origins() {
    let site = Site::start();
    let mut findings = Findings::default();
    for origin in foreign_origins(site.port) {
        for request in [site.forbidden(), site.post(initialize("2025-06-18"))] {
            let answer = site.ask(&request.header("Origin", &origin));
            findings.status("B06 B07", &format!("Origin: {origin}"), &answer, &[403]);
            let opened = answer.head.header("mcp-session-id").is_some();
            findings.check(!opened, "B06 D09", || format!("{origin} opened a session"));
            let allowed = answer.head.has_any("access-control-allow");
            findings.check(!allowed, "B30", || format!("{origin} is allowed to read"));
        }
        findings.unharmed("B06", &format!("Origin: {origin}"), &site);
    }
    let unreadable = site.forbidden().header("Origin", b"http://localhost\xff");
    findings.status("B06", "bytes", &site.ask(&unreadable), &[400, 403]);
    for own in ["127.0.0.1", "localhost"] {
        let host = format!("{own}:{}", site.port);
        let own = format!("http://{host}");
        let request = site.list().header("Host", &host).header("Origin", &own);
        findings.status("B07", &own, &site.ask(&request), &[200]);
        let twice = site.forbidden().header("Origin", &own).also("Origin", "http://evil.example");
        findings.status("B07", "two origins", &site.ask(&twice), &[400, 403]);
    }
    findings.status("B06", "no origin", &site.ask(&site.list()), &[200]);
    site.unharmed("B07");
}

/// A refused stream would otherwise stay open: only its beginning is read.
#[test]
fn origins_at_every_door() {
    let site = Site::start();
    let mut findings = Findings::default();
    for request in doors(&site) {
        for origin in ["http://evil.example", "null", "http://localhost@evil"] {
            let stream = site.wire().begin(&request.clone().header("Origin", origin));
            let status = stream.head.status;
            findings.check(status == 403, "B06", || format!("{} from {origin}: {status}", request.line));
        }
        for host in ["evil.example", "127.0.0.1.nip.io"] {
            let stream = site.wire().begin(&request.clone().header("Host", format!("{host}:{}", site.port)));
            let status = stream.head.status;
            findings.check(status == 403, "B08", || format!("{} at {host}: {status}", request.line));
        }
    }
    site.unharmed("B06");
}

/// Origin and host are looked at before the body is there.
#[test]
fn origins_are_refused_before_the_body() {
    let site = Site::start();
    for (name, value) in [("Origin", "http://evil.example"), ("Host", "evil.example")] {
        let mut wire = site.wire();
        let request = site.forbidden().header(name, value).header("Content-Length", "1000");
        wire.write(&request.head()).expect("the server reads");
        assert_eq!(wire.answer().status(), 403, "B06: {name}");
    }
    site.unharmed("B06");
}

#[test]
fn hosts() {
    let site = Site::start();
    let mut findings = Findings::default();
    let port = site.port.to_string();
    for (host, wanted) in [
        ("evil.example", &[403][..]),
        ("evil.example:PORT", &[403]),
        ("127.0.0.1.nip.io:PORT", &[403]),
        ("localhost.evil.example:PORT", &[403]),
        ("localhost.:PORT", &[400, 403]),
        ("127.0.0.1.:PORT", &[400, 403]),
        ("user@127.0.0.1:PORT", &[400, 403]),
        ("localhost:PORT@evil.example", &[400, 403]),
        ("127.0.0.1:1", &[403]),
        ("localhost:1", &[403]),
        ("0.0.0.0:PORT", &[403]),
        ("127.1:PORT", &[403]),
        ("2130706433:PORT", &[403]),
        ("[::1%25lo]:PORT", &[400, 403]),
        ("[::ffff:127.0.0.1]:PORT", &[403]),
        ("[::1:PORT", &[400, 403]),
        ("127.0.0.1:PORT:PORT", &[400, 403]),
        ("127.0.0.1:+PORT", &[400, 403]),
        ("127.0.0.1:port", &[400, 403]),
        ("127.0.0.1:PORT, evil.example", &[400, 403]),
        ("", &[400, 403]),
        ("127.0.0.1:PORT/", &[400]),
        ("127.0.0.1:PORT/mcp", &[400]),
        ("127.0.0.1:PORT?x", &[400]),
        ("127.0.0.1:PORT#x", &[400]),
        ("evil.example/@127.0.0.1:PORT", &[400]),
        ("127.0.0.1\\:PORT", &[400]),
        ("127.0.0.1 :PORT", &[400]),
        ("127.0.0.1:PORT evil", &[400]),
    ] {
        let host = host.replace("PORT", &port);
        let Some(answer) = site.try_ask(&site.forbidden().header("Host", &host)) else {
            findings.check(false, "B09", || format!("Host: {host}: no answer"));
            continue;
        };
        findings.status("B08 B09", &format!("Host: {host}"), &answer, wanted);
        findings.unharmed("B08", &host, &site);
    }
    findings.status("B08", "no host", &site.ask(&site.forbidden().without("Host")), &[400]);
    let own = format!("127.0.0.1:{port}");
    for other in ["evil.example", own.as_str()] {
        findings.status("B08", "two hosts", &site.ask(&site.forbidden().also("Host", other)), &[400]);
    }
    for host in ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT", "LOCALHOST:PORT"] {
        let host = host.replace("PORT", &port);
        findings.status("B08", &host, &site.ask(&site.list().header("Host", &host)), &[200]);
    }
    site.unharmed("B08");
}

/// A target with a name in it names the host, whatever the header says.
#[test]
fn hosts_in_the_target() {
    let site = Site::start();
    let mut findings = Findings::default();
    for target in ["http://evil.example/mcp", "http://evil.example:80/mcp", "http://user@evil.example/mcp"] {
        let answer = site.ask(&site.forbidden().to(&format!("POST {target}")));
        findings.status("B08", target, &answer, &[400, 403]);
        findings.unharmed("B08", target, &site);
    }
    // Without a version that knows hosts there is none to look at.
    let old = String::from_utf8(site.forbidden().without("Host").bytes()).expect("text");
    let mut wire = site.wire();
    wire.write(old.replacen("HTTP/1.1", "HTTP/1.0", 1).as_bytes()).expect("the server reads");
    findings.status("B08", "HTTP/1.0 without a host", &wire.answer(), &[400, 403, 505]);
    site.unharmed("B08");
}

/// What only a proxy may say is not believed of anybody.
#[test]
fn what_a_proxy_would_say() {
    let site = Site::start();
    let mut findings = Findings::default();
    let own = format!("127.0.0.1:{}", site.port);
    let spoof = |request: Request, host: &str| {
        request
            .header("Forwarded", format!("for=1.2.3.4;host=\"{host}\";proto=https"))
            .header("X-Forwarded-Host", host)
            .header("X-Forwarded-For", "127.0.0.1")
            .header("X-Forwarded-Proto", "https")
            .header("X-Forwarded-Prefix", "/evil")
            .header("X-Original-URL", "/evil")
            .header("X-Rewrite-URL", "/evil")
            .header("X-HTTP-Method-Override", "DELETE")
    };
    findings.status("B10", "foreign names", &site.ask(&spoof(site.list(), "evil.example")), &[200]);
    let inside = spoof(site.forbidden().header("Host", "evil.example"), &own);
    findings.status("B10", "own name, foreign host", &site.ask(&inside), &[403]);
    let elsewhere = spoof(site.forbidden().to("POST /elsewhere"), &own).header("X-Original-URL", PATH);
    findings.status("B10", "own path, foreign target", &site.ask(&elsewhere), &[404]);
    let mut pair = site.wire().begin(&spoof(Request::stream(PAIR, site.port), "evil.example"));
    let endpoint = pair.event().expect("the endpoint");
    findings.check(!endpoint.data.contains("evil"), "B10", || format!("endpoint {}", endpoint.data));
    site.unharmed("B10");
}

#[test]
fn paths() {
    let site = Site::start();
    let mut findings = Findings::default();
    for path in [
        "/",
        "/mcp/",
        "//mcp",
        "/./mcp",
        "/x/../mcp",
        "/%2e/mcp",
        "/x/%2e%2e/mcp",
        "/mcp;a=b",
        "/mcp;",
        "/MCP",
        "/Mcp",
        "/%2fmcp",
        "/mcp%2f",
        "/mcp%00",
        "/mcp%20",
        "/mcp/x",
        "/mcpx",
        "/mc",
        "/%6dcp",
        "/mcp/..",
        "/mcp//",
        "/mcp%3f",
        "/mcp%23",
        "\\mcp",
        "*",
        "mcp",
    ] {
        let Some(answer) = site.try_ask(&site.forbidden().to(&format!("POST {path}"))) else {
            findings.check(false, "B25", || format!("{path}: no answer"));
            continue;
        };
        findings.status("B25", path, &answer, &[400, 404]);
        findings.unharmed("B25", path, &site);
    }
    for path in ["/sse/", "//sse", "/SSE", "/x/../sse"] {
        let status = site.wire().begin(&Request::stream(path, site.port)).head.status;
        findings.check(status == 404, "B25", || format!("{path}: wanted 404, got {status}"));
    }
    findings.status("B25", "a query", &site.ask(&site.list().to("POST /mcp?x=y")), &[200]);
}

#[test]
fn preflights() {
    let site = Site::start();
    let mut findings = Findings::default();
    let own = format!("http://127.0.0.1:{}", site.port);
    for path in [PATH, PAIR] {
        for origin in ["http://evil.example", "null", own.as_str()] {
            let request = Request::new("OPTIONS", path, site.port)
                .header("Origin", origin)
                .header("Access-Control-Request-Method", "POST")
                .header("Access-Control-Request-Headers", "content-type,mcp-session-id")
                .header("Access-Control-Request-Private-Network", "true");
            let answer = site.ask(&request);
            let head = &answer.head;
            let foreign = origin != own;
            if foreign {
                findings.status("B30", &format!("{path} from {origin}"), &answer, &[403]);
                let allows = head.has_any("access-control-allow");
                findings.check(!allows, "B30", || format!("{path} allows {origin}: {head:?}"));
            }
            let all = head.header("access-control-allow-origin") == Some("*");
            findings.check(!all, "B30", || format!("{path} allows everybody"));
            let private = head.has_any("access-control-allow-private-network");
            findings.check(!private, "B30", || format!("{path} allows the private network"));
        }
    }
    // A simple request may be sent, but what it leads to may not be read.
    for request in [site.list(), site.post(initialize("2025-06-18"))] {
        let head = site.ask(&request).head;
        findings.check(!head.has_any("access-control-"), "B30", || format!("{head:?}"));
    }
    site.unharmed("B30");
}

#[test]
fn notifications() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let params = stage.params("");
        for method in
            ["notifications/initialized", "notifications/cancelled", "notifications/no/such", "no/such"]
        {
            let params = if method.ends_with("cancelled") {
                stage.params(r#""requestId":"nobody""#)
            } else {
                params.clone()
            };
            let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            let answer = caller.ask(&body);
            findings.status("B26", &format!("{stage:?} {method}"), &answer, &[202]);
            findings
                .check(answer.body.is_empty(), "B26", || format!("{stage:?} {method}: {}", answer.text()));
        }
        for body in [
            r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":7}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":7}"#,
        ] {
            let answer = caller.ask(body);
            let refused = (400..500).contains(&answer.status());
            findings.check(refused, "B26", || format!("{stage:?} {body}: {}", answer.text()));
        }
    }
}

/// A panic is an answer, and says nothing about what happened.
#[test]
fn handlers_that_panic() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        for _ in 0..3 {
            let answer = caller.ask(stage.call("1", "panic", "{}"));
            assert!([200, 500].contains(&answer.status()), "B27 {stage:?}: {}", answer.text());
            assert_eq!(answer.code(), Some(-32603), "B27 {stage:?}: {}", answer.text());
            assert!(!answer.text().contains("asked to panic"), "B27 {stage:?}: {}", answer.text());
            assert_eq!(answer.response().raw_id().as_deref(), Some("1"), "B27 {stage:?}");
        }
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "B27 {stage:?}");
    }
    site.unharmed("B27");
}

/// What a handler or a caller says stays out of the headers.
#[test]
fn line_ends_in_what_is_reflected() {
    let site = Site::start();
    for stage in NEWEST {
        let mut caller = Caller::open(&site, stage);
        for tool in ["fail", "echo"] {
            let answer =
                caller.ask(stage.call("1", tool, r#"{"message":"a\r\nX-Evil: 1\r\n\r\nHTTP/1.1 200 OK"}"#));
            assert!(!answer.head.has_any("x-evil"), "B28 {stage:?}: {:?}", answer.head);
            assert_eq!(answer.status(), 200, "B28 {stage:?}");
        }
    }
    let request = site.list().header("Mcp-Session-Id", "marked-7f3a").header("MCP-Protocol-Version", "a\tb");
    let answer = site.ask(&request);
    assert!(!format!("{:?}", answer.head).contains("marked-7f3a"), "B28: {:?}", answer.head);
}

/// A thousand requests on one connection, all sent before the first answer is read: answered in order.
#[test]
fn pipelines() {
    let site = Site::start();
    let wire = site.wire();
    let mut all = Vec::new();
    for id in 0..1000 {
        let body = Stage::Modern.call(&id.to_string(), "echo", r#"{"message":"x"}"#);
        all.extend(Stage::Modern.dress(site.post(body), "tools/call", Some("echo")).bytes());
    }
    let mut writer = wire.writer();
    let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &all));
    in_order(wire, 1000);
    writing.join().expect("no panic").expect("the server reads");
    site.unharmed("B29");
}

fn in_order(mut wire: Wire, count: usize) {
    for id in 0..count {
        let answer = wire.answer();
        assert_eq!(answer.status(), 200, "B29: {}", answer.text());
        assert_eq!(answer.response().raw_id(), Some(id.to_string()), "B29");
    }
}
