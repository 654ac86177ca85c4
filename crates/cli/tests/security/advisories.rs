//! One test for each published advisory that concerns a server on HTTP, named after it.
//!
//! Each plays the attack as it was described, not only the row that came of it. Advisories about sessions of
//! other principals need somebody who is known, and are with the library's own tests.

use std::thread;

use crate::site::{Caller, Site};
use crate::stage::{META, STAGES, Stage, initialize};
use crate::wire::{Request, Stream};

const SESSION: Stage = Stage::Session("2025-11-25");

/// A page on `evil.example` whose name now leads to this machine.
fn rebound(request: Request, port: u16) -> Request {
    let evil = format!("evil.example:{port}");
    request.header("Origin", format!("http://{evil}")).header("Host", evil)
}

#[track_caller]
fn refused(site: &Site, request: &Request, wanted: u16) {
    let stream: Stream = site.wire().begin(request);
    assert_eq!(stream.head.status, wanted, "{}", request.line);
    assert!(!stream.head.has_any("access-control-allow"), "{:?}", stream.head);
    assert!(stream.head.header("mcp-session-id").is_none(), "{:?}", stream.head);
    site.unharmed(&request.line);
}

#[test]
fn cve_2025_66414_rebinding_with_defaults() {
    let site = Site::start();
    refused(&site, &rebound(site.forbidden(), site.port), 403);
}

#[test]
fn cve_2025_66416_rebinding_of_initialize() {
    let site = Site::start();
    refused(&site, &rebound(site.post(initialize("2025-06-18")), site.port), 403);
}

#[test]
fn cve_2026_34742_rebinding_of_a_session() {
    let site = Site::start();
    let caller = Caller::open(&site, SESSION);
    refused(&site, &rebound(caller.request(SESSION.call("1", "toggle", "{}")), site.port), 403);
    refused(&site, &rebound(caller.bare("GET").header("Accept", "text/event-stream"), site.port), 403);
    refused(&site, &rebound(caller.bare("DELETE"), site.port), 403);
}

/// The host alone: programs that are no browser send no origin.
#[test]
fn cve_2026_42559_host_without_origin() {
    let site = Site::start();
    refused(&site, &site.forbidden().header("Host", format!("evil.example:{}", site.port)), 403);
    refused(&site, &site.forbidden().to("POST http://evil.example/mcp"), 403);
}

/// The origin alone: a page of another site that knows the address.
#[test]
fn cve_2026_35568_origin_without_host() {
    let site = Site::start();
    refused(&site, &site.forbidden().header("Origin", "http://evil.example"), 403);
}

#[test]
fn rustsec_2026_0140_origin_of_another_port() {
    let site = Site::start();
    refused(&site, &site.forbidden().header("Origin", format!("http://127.0.0.1:{}", site.port ^ 1)), 403);
}

#[test]
fn cve_2026_63118_no_check_of_either() {
    let site = Site::start();
    for origin in ["null", "", "http://localhost.evil.example"] {
        refused(&site, &site.forbidden().header("Origin", origin), 403);
    }
}

/// The older transport, too.
#[test]
fn cve_2025_64443_rebinding_of_event_streams() {
    let site = Site::start();
    refused(&site, &rebound(Request::stream("/sse", site.port), site.port), 403);
}

/// There are no WebSockets here; a handshake from anywhere is not one.
#[test]
fn cve_2026_59950_websocket_handshakes() {
    let site = Site::start();
    for path in ["/mcp", "/sse", "/ws"] {
        let handshake = Request::new("GET", path, site.port)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let status =
            site.wire().begin(&handshake.clone().header("Origin", "http://evil.example")).head.status;
        assert!([403, 404].contains(&status), "{path}: {status}");
        let status = site.wire().begin(&handshake).head.status;
        assert_ne!(status, 101, "{path}");
    }
    site.unharmed("CVE-2026-59950");
}

/// A form or a script can post plain text to any address without asking.
#[test]
fn cve_2026_33252_plain_text_from_another_site() {
    let site = Site::start();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        refused(&site, &site.forbidden().header("Content-Type", kind), 415);
        let cross = site.forbidden().header("Content-Type", kind).header("Origin", "http://evil.example");
        refused(&site, &cross, 403);
    }
}

#[test]
fn cve_2026_34237_wildcard_cors() {
    let site = Site::start();
    for origin in ["http://evil.example", "null"] {
        for request in [site.list(), Request::stream("/sse", site.port), site.request("OPTIONS")] {
            refused(
                &site,
                &request.header("Origin", origin).header("Access-Control-Request-Method", "POST"),
                403,
            );
        }
    }
    // Nor for those who may speak but are no page of a configured site.
    for request in [site.list(), Request::stream("/sse", site.port), site.post(initialize("2025-06-18"))] {
        let head = site.wire().begin(&request).head;
        assert_eq!(head.header("access-control-allow-origin"), None, "{}", request.line);
    }
}

/// What is in the host does not move the path: the one that is checked is the one that is served.
#[test]
fn cve_2026_48710_paths_in_the_host() {
    let site = Site::start();
    for host in ["127.0.0.1:PORT/mcp?", "127.0.0.1:PORT/x#", "127.0.0.1:PORT?", "evil/127.0.0.1:PORT"] {
        let host = host.replace("PORT", &site.port.to_string());
        for line in ["POST /mcp", "POST /health", "POST /"] {
            let answer = site.ask(&site.forbidden().to(line).header("Host", &host));
            // A path that does not exist needs no further reason.
            let wanted = if line == "POST /mcp" { &[400][..] } else { &[400, 404][..] };
            assert!(wanted.contains(&answer.status()), "{line} at {host}: {}", answer.text());
            site.unharmed(&host);
        }
    }
}

/// Everybody uses id 1, on calls that take their time: answers and progress reach their own caller.
#[test]
fn cve_2026_25536_ids_of_several_clients() {
    let site = Site::start();
    thread::scope(|scope| {
        for number in 0..12_u32 {
            let site = &site;
            scope.spawn(move || {
                let stage = STAGES[number as usize % STAGES.len()];
                let mut caller = Caller::open(site, stage);
                for round in 0..10_u32 {
                    let steps = 1 + number;
                    let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
                    let delay = (number * 7 + round * 3) % 11;
                    let params = format!(
                        r#"{{"name":"countdown","arguments":{{"steps":{steps},"delay_ms":{delay}}},"_meta":{{"progressToken":1{meta}}}}}"#
                    );
                    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
                    let messages = caller.ask(body).messages();
                    let (responses, progress): (Vec<_>, Vec<_>) =
                        messages.iter().partition(|message| message.is_response());
                    assert_eq!(responses.len(), 1, "{stage:?}: {messages:?}");
                    assert!(progress.iter().all(|one| one.json["params"]["total"] == f64::from(steps)), "{messages:?}");
                    let secret = format!("{number}-{round}");
                    let response = caller.call("echo", &format!(r#"{{"message":"{secret}"}}"#));
                    assert_eq!(response.json["result"]["content"][0]["text"], secret, "{stage:?}");
                }
            });
        }
    });
}

/// Somebody leaves while being answered, at every point of the answer.
#[test]
fn cve_2025_53365_callers_who_leave() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        for events in 0..6 {
            let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
            let params = format!(
                r#"{{"name":"countdown","arguments":{{"steps":5,"delay_ms":1}},"_meta":{{"progressToken":1{meta}}}}}"#
            );
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{events},"method":"tools/call","params":{params}}}"#);
            let mut stream = caller.begin(body);
            for _ in 0..events {
                stream.event();
            }
            drop(stream);
            site.unharmed("CVE-2025-53365");
        }
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "{stage:?}");
    }
}

/// Parameters of the wrong shape, for every method: an error for the caller, and nobody else notices.
#[test]
fn cve_2025_53366_parameters_of_the_wrong_shape() {
    let site = Site::start();
    let members = [
        ("tools/call", r#""name":7,"arguments":{}"#),
        ("tools/call", r#""name":"toggle","arguments":[]"#),
        ("tools/list", r#""cursor":{}"#),
        ("prompts/get", r#""name":null"#),
        ("prompts/get", r#""name":"greeting","arguments":{"name":7}"#),
        ("prompts/list", r#""cursor":7"#),
        ("resources/read", r#""uri":[]"#),
        ("resources/list", r#""cursor":7"#),
        ("resources/templates/list", r#""cursor":7"#),
        ("completion/complete", r#""ref":null,"argument":null"#),
        ("completion/complete", r#""ref":{"type":"ref/prompt"},"argument":{}"#),
    ];
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        for (method, members) in members {
            let answer = caller.ask(stage.request("1", method, members));
            // Names that are none cannot be repeated in a header: then that is what is wrong.
            let codes = if stage == Stage::Modern { &[-32602, -32020][..] } else { &[-32602][..] };
            let right = answer.code().is_some_and(|code| codes.contains(&code));
            assert!(right, "{stage:?} {method} {members}: {}", answer.text());
            site.unharmed(method);
        }
    }
}

/// A second stream with the same id does not take the place of the first.
#[test]
fn cve_2026_33946_streams_that_are_taken_over() {
    let site = Site::start();
    let mut victim = Caller::open(&site, SESSION);
    let mut call = victim.begin(SESSION.call("1", "greet", r#"{"greeting":"Hello"}"#));
    let question = call.message().expect("the question");
    let other = victim.listen();
    let id = question.raw_id().expect("an id");
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"name":"Ann"}}}}}}"#);
    assert_eq!(victim.ask(answer).status(), 202);
    let rest = call.messages();
    let text = rest.last().map(|message| message.json["result"]["content"][0]["text"].clone());
    assert_eq!(text, Some("Hello, Ann!".into()), "{rest:?}");
    drop(other);
}

#[test]
fn cve_2026_27896_keys_of_another_case() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let (list, call) = (stage.params(""), stage.forbidden());
        for keys in [
            format!(r#""method":"tools/list","METHOD":"tools/call","params":{list},"PARAMS":{call}"#),
            format!(r#""METHOD":"tools/call","method":"tools/list","Params":{call},"params":{list}"#),
            format!(r#""method":"tools/list","params":{list},"param\u017f":{call}"#),
        ] {
            let answer = caller.ask(format!(r#"{{"jsonrpc":"2.0","id":1,{keys}}}"#));
            assert_eq!(answer.status(), 200, "{stage:?}: {}", answer.text());
            assert!(answer.response().json["result"]["tools"].is_array(), "{stage:?}: {}", answer.text());
            site.unharmed("CVE-2026-27896");
        }
    }
}

#[test]
fn ghsa_q382_vc8q_7jhj_keys_with_a_nul() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","method\u0000":"tools/call","params":{},"params\u0000":{}}}"#,
            stage.params(""),
            stage.forbidden()
        );
        let answer = caller.ask(body);
        assert!(answer.response().json["result"]["tools"].is_array(), "{stage:?}: {}", answer.text());
        site.unharmed("GHSA-q382-vc8q-7jhj");
    }
}

/// Sessions that nobody ends do not add up without bound.
#[test]
fn cve_2026_67430_floods_of_initialize() {
    let site = Site::start();
    let mut wire = site.wire();
    let mut refused = 0;
    for _ in 0..1500 {
        let answer = wire.ask(&site.post(initialize("2025-11-25")));
        refused += usize::from([429, 503].contains(&answer.status()));
        if answer.head.lists("connection", "close") {
            wire = site.wire();
        }
    }
    assert!(refused >= 400, "only {refused} of 1500 were refused");
    site.unharmed("CVE-2026-67430");
}

#[test]
fn cve_2026_67432_bodies_without_limit() {
    let site = Site::start();
    for request in [site.forbidden(), site.post(initialize("2025-06-18"))] {
        let mut wire = site.wire();
        wire.write(&request.header("Content-Length", "100000000").head()).expect("the server reads");
        assert_eq!(wire.answer().status(), 413);
    }
    site.unharmed("CVE-2026-67432");
}

/// A limit that is written down and not applied to bodies that do not say their length.
#[test]
fn cve_2026_39313_limits_while_reading() {
    let site = Site::start();
    let mut wire = site.wire();
    let request = site.forbidden().header("Transfer-Encoding", "chunked");
    wire.write(&request.head()).expect("the server reads");
    let piece = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    for _ in 0..66 {
        if wire.write(&piece).is_err() {
            break;
        }
    }
    assert_eq!(wire.answer().status(), 413);
    site.unharmed("CVE-2026-39313");
}

/// A request that is refused leaves no session behind.
#[test]
fn ghsa_9pj6_vhgr_3mwh_sessions_before_validation() {
    let site = Site::start();
    let mut wire = site.wire();
    for _ in 0..1200 {
        let bad = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        let answer = wire.ask(&site.post(bad));
        assert_eq!(answer.status(), 400, "{}", answer.text());
        assert_eq!(answer.head.header("mcp-session-id"), None);
        if answer.head.lists("connection", "close") {
            wire = site.wire();
        }
    }
    let answer = site.ask(&site.post(initialize("2025-11-25")));
    assert_eq!(answer.status(), 200, "there is room: {}", answer.text());
}

/// The slice that a number past the end cut out of nothing.
#[test]
fn go_1132_last_event_ids_past_the_end() {
    let site = Site::start();
    let caller = Caller::open(&site, SESSION);
    let mut own = caller.listen();
    let prefix = own.event().and_then(|event| event.id).unwrap_or_default();
    for past in ["999999", "18446744073709551615"] {
        let digits = prefix.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let status = caller.resume(&format!("{digits}{past}")).head.status;
        assert!([200, 400, 404].contains(&status), "{digits}{past}: {status}");
        site.unharmed("Go #1132");
    }
}

/// A handler's panic ended the process.
#[test]
fn go_5478fb3_handlers_that_panic() {
    let site = Site::start();
    thread::scope(|scope| {
        for number in 0..8 {
            let site = &site;
            scope.spawn(move || {
                let stage = STAGES[number % STAGES.len()];
                let mut caller = Caller::open(site, stage);
                for _ in 0..5 {
                    let answer = caller.ask(stage.call("1", "panic", "{}"));
                    assert_eq!(answer.code(), Some(-32603), "{stage:?}: {}", answer.text());
                }
            });
        }
    });
    site.unharmed("Go 5478fb3");
}

/// `id: null` together with metadata of the new protocol.
#[test]
fn go_9e00ad3_null_ids_with_modern_metadata() {
    let site = Site::start();
    let body = Stage::Modern.call("null", "toggle", "{}");
    let answer = site.ask(&Stage::Modern.dress(site.post(body), "tools/call", Some("toggle")));
    assert_eq!((answer.status(), answer.code()), (400, Some(-32600)), "{}", answer.text());
    site.unharmed("Go 9e00ad3");
}

/// A second POST with an id in flight took over the first one's stream.
#[test]
fn python_3137_ids_in_flight() {
    let site = Site::start();
    let mut caller = Caller::open(&site, SESSION);
    let mut call = caller.begin(SESSION.call("1", "greet", r#"{"greeting":"Hello"}"#));
    let question = call.message().expect("the question").raw_id().expect("an id");
    let second = caller.ask(SESSION.call("1", "echo", r#"{"message":"mine"}"#));
    assert!([400, 409].contains(&second.status()), "{}", second.text());
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{question},"result":{{"action":"decline"}}}}"#);
    caller.ask(answer);
    let rest = call.messages();
    assert!(rest.iter().any(|message| message.json["id"] == 1), "the first is answered: {rest:?}");
}

/// The body was read and parsed before the origin was looked at.
#[test]
fn ts_d80a2883b_the_order_of_checks() {
    let site = Site::start();
    let mut wire = site.wire();
    let head =
        site.forbidden().header("Origin", "http://evil.example").header("Content-Length", "100").head();
    wire.write(&head).expect("the server reads");
    assert_eq!(wire.answer().status(), 403);
}

#[test]
fn ts_55d702801_users_in_origin_and_host() {
    let site = Site::start();
    refused(
        &site,
        &site.forbidden().header("Origin", format!("http://localhost:{}@evil.example", site.port)),
        403,
    );
    refused(&site, &site.forbidden().header("Origin", format!("http://evil@localhost:{}", site.port)), 403);
    let answer = site.ask(&site.forbidden().header("Host", format!("evil@127.0.0.1:{}", site.port)));
    assert!([400, 403].contains(&answer.status()), "{}", answer.text());
    site.unharmed("TS 55d702801");
}

/// An id that is missing was taken for the only session there was.
#[test]
fn byterover_329_the_only_session() {
    let site = Site::start();
    let caller = Caller::open(&site, SESSION);
    let call = caller.request(SESSION.call("1", "toggle", "{}")).without("Mcp-Session-Id");
    refused(&site, &call, 400);
}

/// Ids that were the addresses of objects, and came back.
#[test]
fn cve_2025_6515_ids_that_come_back() {
    let site = Site::start();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let caller = Caller::open(&site, SESSION);
        let id = caller.session.clone().expect("a session");
        site.ask(&caller.bare("DELETE"));
        assert!(id.len() >= 22, "too short to be random: {id}");
        assert!(seen.insert(id.clone()), "{id} again");
    }
}

/// Scopes that only the newest revision checked: whatever is refused is refused in every revision.
#[test]
fn cve_2026_11719_older_versions() {
    let site = Site::start();
    for stage in STAGES {
        let caller = Caller::open(&site, stage);
        let call = caller.request(stage.call("1", "toggle", "{}"));
        refused(&site, &call.clone().header("Origin", "http://evil.example"), 403);
        refused(&site, &call.clone().header("Host", "evil.example"), 403);
        refused(&site, &call.header("Content-Type", "text/plain"), 415);
    }
}
