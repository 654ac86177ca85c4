//! Headers that say something else than the body, and versions that nobody speaks.

use crate::findings::Findings;
use crate::site::{Caller, Site};
use crate::stage::{META, STAGES, Stage};

const VERSION: &str = "MCP-Protocol-Version";

/// The base64 of a text between the signs that say so.
fn sentinel(base64: &str) -> String {
    format!("=?base64?{base64}?=")
}

#[test]
fn versions_of_modern_requests() {
    let site = Site::start();
    let mut findings = Findings::default();
    let call = site.forbidden();
    let answer = site.ask(&call.clone().without(VERSION));
    findings.refusal("B11", "no version header", &answer, 400, -32020);
    for value in
        ["2025-11-25", "2025-06-18", "2099-01-01", "garbage", "2026-07-28x", "2026-7-28", "", "\u{e9}"]
    {
        let answer = site.ask(&call.clone().header(VERSION, value));
        findings.refusal("B11", &format!("header {value:?}, body 2026-07-28"), &answer, 400, -32020);
        site.unharmed("B11");
    }
    for (first, second) in [("2026-07-28", "2025-11-25"), ("2025-11-25", "2026-07-28"), ("2026-07-28", "x")] {
        let answer = site.ask(&call.clone().header(VERSION, first).also(VERSION, second));
        findings.status("B11", &format!("{first} and {second}"), &answer, &[400]);
        site.unharmed("B11");
    }
    // Blanks around a value are no part of it.
    findings.status("B11", "blanks", &site.ask(&site.list().header(VERSION, "  2026-07-28\t")), &[200]);
}

/// Header and body agree on a version that is not spoken.
#[test]
fn versions_that_nobody_speaks() {
    let site = Site::start();
    let mut findings = Findings::default();
    for version in ["2099-01-01", "garbage", "DRAFT-2026", "2025-06-18", "1.0"] {
        let body = Stage::Modern.call("1", "toggle", "{}").replace("2026-07-28", version);
        let request = Stage::Modern.dress(site.post(body), "tools/call", Some("toggle"));
        let answer = site.ask(&request.header(VERSION, version));
        findings.refusal("B11", version, &answer, 400, -32022);
        let responses = answer.responses();
        let supported = responses.first().map(|one| one.json["error"]["data"]["supported"].clone());
        let named = supported.as_ref().is_some_and(|list| list.to_string().contains("2026-07-28"));
        findings.check(named, "B11", || format!("{version}: supported {supported:?}"));
        site.unharmed("B11");
    }
}

#[test]
fn versions_of_sessions() {
    let site = Site::start();
    let mut findings = Findings::default();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let caller = Caller::open(&site, stage);
        let call = || caller.request(stage.call("1", "toggle", "{}"));
        for value in ["garbage", "2099-01-01", "", "2025-06-18 2025-11-25"] {
            let answer = site.ask(&call().header(VERSION, value));
            findings.status("B11", &format!("{stage:?} header {value:?}"), &answer, &[400]);
            let stream = caller.bare("GET").header("Accept", "text/event-stream").header(VERSION, value);
            let status = site.wire().begin(&stream).head.status;
            findings.check(status == 400, "B11", || format!("{stage:?} GET with {value:?}: {status}"));
        }
        let twice = call().header(VERSION, "2025-06-18").also(VERSION, "2025-11-25");
        findings.status("B11", &format!("{stage:?} two versions"), &site.ask(&twice), &[400]);
        site.unharmed("B11");
        let list = caller.request(stage.request("1", "tools/list", "")).without(VERSION);
        findings.status("B11", &format!("{stage:?} no version"), &site.ask(&list), &[200]);
    }
}

#[test]
fn methods_in_headers() {
    let site = Site::start();
    let mut findings = Findings::default();
    let call = site.forbidden();
    let answer = site.ask(&call.clone().without("Mcp-Method"));
    findings.refusal("B12", "no Mcp-Method", &answer, 400, -32020);
    for value in [
        "tools/list",
        "TOOLS/CALL",
        "Tools/Call",
        "tools/call/",
        "",
        "tools/calls",
        "tools/call tools/list",
        "ping",
    ] {
        let answer = site.ask(&call.clone().header("Mcp-Method", value));
        findings.refusal("B12", &format!("Mcp-Method: {value}"), &answer, 400, -32020);
        site.unharmed("B12");
    }
    for (first, second) in [("tools/call", "tools/list"), ("tools/list", "tools/call")] {
        let answer = site.ask(&call.clone().header("Mcp-Method", first).also("Mcp-Method", second));
        findings.status("B12", &format!("{first} and {second}"), &answer, &[400]);
        site.unharmed("B12");
    }
}

/// Requests whose name is repeated in a header, and that name.
fn named(site: &Site) -> Vec<(crate::wire::Request, &'static str)> {
    let stage = Stage::Modern;
    let read = stage.request("1", "resources/read", r#""uri":"demo://readme""#);
    let prompt = stage.request("1", "prompts/get", r#""name":"illustrated""#);
    vec![
        (site.forbidden(), "toggle"),
        (stage.dress(site.post(read), "resources/read", Some("demo://readme")), "demo://readme"),
        (stage.dress(site.post(prompt), "prompts/get", Some("illustrated")), "illustrated"),
    ]
}

#[test]
fn names_in_headers() {
    let site = Site::start();
    let mut findings = Findings::default();
    for (request, name) in named(&site) {
        let line = format!("{name} in the body");
        let answer = site.ask(&request.clone().without("Mcp-Name"));
        findings.refusal("B13", &format!("{line}, no header"), &answer, 400, -32020);
        let upper = name.to_uppercase();
        for value in [
            "echo",
            upper.as_str(),
            "",
            "=?BASE64?dG9nZ2xl?=",
            "=?Base64?dG9nZ2xl?=",
            "=?base64?dG9nZ2xl",
            "=?base64?!!!!?=",
            "=?base64?dG9nZ2x?=",
            "=?base64?dG9nZ2xl=?=",
            "=?base64??=",
            "=?base64?/////w==?=",
            "=?utf-8?b?dG9nZ2xl?=",
            "dG9nZ2xl",
            "%74oggle",
            "\"toggle\"",
        ] {
            let answer = site.ask(&request.clone().header("Mcp-Name", value));
            findings.refusal("B13", &format!("{line}, Mcp-Name: {value}"), &answer, 400, -32020);
            site.unharmed("B13");
        }
        for (first, second) in [(name, "echo"), ("echo", name)] {
            let answer = site.ask(&request.clone().header("Mcp-Name", first).also("Mcp-Name", second));
            findings.status("B13", &format!("{line}, {first} and {second}"), &answer, &[400]);
        }
        let bytes = [name.as_bytes(), b"\xff"].concat();
        let answer = site.ask(&request.clone().header("Mcp-Name", bytes));
        findings.status("B13", &format!("{line}, bytes"), &answer, &[400]);
        site.unharmed("B13");
    }
}

#[test]
fn names_that_had_to_be_encoded() {
    let site = Site::start();
    let mut findings = Findings::default();
    let body = Stage::Modern.call("1", "echo", r#"{"message":"x"}"#);
    let echo = Stage::Modern.dress(site.post(body), "tools/call", Some("echo"));
    findings.status(
        "B13",
        "encoded echo",
        &site.ask(&echo.clone().header("Mcp-Name", sentinel("ZWNobw=="))),
        &[200],
    );
    findings.status("B13", "blanks", &site.ask(&echo.header("Mcp-Name", "  echo ")), &[200]);
    // A tool that does not exist, whose name needs encoding: known to be equal, and then not found.
    let body = Stage::Modern.call("1", "\u{e9}cho\\r\\nX-Evil: 1", "{}");
    let odd = Stage::Modern.dress(site.post(body), "tools/call", Some("x"));
    let answer = site.ask(&odd.header("Mcp-Name", sentinel("w6ljaG8NClgtRXZpbDogMQ==")));
    findings.check(answer.code() == Some(-32602), "B13", || format!("unknown tool: {}", answer.text()));
    findings.check(!answer.head.has_any("x-evil"), "B28", || format!("{:?}", answer.head));
}

/// Parameters that no tool asked for in headers are ignored; control characters are not.
#[test]
fn parameters_in_headers() {
    let site = Site::start();
    let mut findings = Findings::default();
    let answer = site.ask(&site.list().header("Mcp-Param-Region", "nowhere"));
    findings.status("B14", "unknown parameter", &answer, &[200]);
    let body = Stage::Modern.call("1", "echo", r#"{"message":"x"}"#);
    let echo = Stage::Modern.dress(site.post(body), "tools/call", Some("echo"));
    findings.status(
        "B14",
        "unknown parameter",
        &site.ask(&echo.clone().header("Mcp-Param-Message", "y")),
        &[200],
    );
    for value in [&b"a\0b"[..], b"a\x01b", b"a\x7fb", b"a\rb"] {
        let request = site.forbidden().header("Mcp-Param-Region", value);
        match site.try_ask(&request) {
            Some(answer) => findings.status("B14", &format!("{value:?}"), &answer, &[400]),
            None => findings.check(false, "B14", || format!("{value:?}: no answer")),
        }
        findings.unharmed("B14", &format!("{value:?}"), &site);
    }
}

/// What a modern header means nothing for: sessions trust only what their revision knows.
#[test]
fn mirrored_headers_in_a_session() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let caller = Caller::open(&site, stage);
        let body = stage.call("1", "echo", r#"{"message":"x"}"#);
        let request = caller.request(body).header("Mcp-Method", "tools/list").header("Mcp-Name", "toggle");
        let answer = site.ask(&request);
        assert_eq!(answer.status(), 200, "B12 {stage:?}: {}", answer.text());
        assert_eq!(answer.response().json["result"]["content"][0]["text"], "x", "B12 {stage:?}");
        site.unharmed("B12");
    }
}

/// The body decides which era is spoken; the header cannot take a modern request back into another.
#[test]
fn eras_that_disagree() {
    let site = Site::start();
    let mut findings = Findings::default();
    // A header of today, a body without metadata.
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"toggle","arguments":{}}}"#;
    let request = Stage::Modern.dress(site.post(bare), "tools/call", Some("toggle"));
    findings.refusal("B11", "modern header, bare body", &site.ask(&request), 400, -32602);
    // Metadata of today within a session of yesterday: served without it, or refused, but never mixed.
    let caller = Caller::open(&site, Stage::Session("2025-06-18"));
    let body = Stage::Modern.call("1", "toggle", "{}");
    let answer = site.ask(&caller.request(body));
    findings.refusal("B11", "modern body, session header", &answer, 400, -32020);
    site.unharmed("B11");
    // `initialize` with metadata of today does not exist.
    let params = format!(
        r#"{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"x","version":"0"}},"_meta":{{{META}}}}}"#
    );
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
    let answer = site.ask(&Stage::Modern.dress(site.post(body), "initialize", None));
    findings.refusal("G10", "modern initialize", &answer, 404, -32601);
    findings.check(answer.head.header("mcp-session-id").is_none(), "D09", || "opened a session".to_owned());
}
