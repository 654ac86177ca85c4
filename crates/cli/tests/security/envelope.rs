//! Envelopes that are JSON and yet not a message, or not the message that they seem to be.

use crate::stage::Want::{Refused, RefusedFor, RefusedMaybeFor, Served, Silence};
use crate::stage::{META, NEWEST, Row, STAGES, Stage, play, row};

const INVALID: &[i64] = &[-32600];
const PARSE: &[i64] = &[-32700];

fn forbidden_with_id(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":$P}}"#)
}

fn list_with_id(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":$M}}"#)
}

#[test]
fn ids_that_are_none() {
    let long = format!("\"{}\"", "i".repeat(1025));
    let huge = format!("\"{}\"", "i".repeat(1 << 20));
    let rows: Vec<Row> = [
        ("A04", "null"),
        ("A05", "1.5"),
        ("A05", "1.0"),
        ("A05", "1e0"),
        ("A07", long.as_str()),
        ("A07", huge.as_str()),
        ("A08", "[]"),
        ("A08", "{}"),
        ("A08", "true"),
    ]
    .into_iter()
    .map(|(name, id)| row(name, forbidden_with_id(id), Refused(INVALID)))
    .chain(
        ["9223372036854775808", "18446744073709551616", "1e400", "-9223372036854775809"]
            .map(|id| row("A06", forbidden_with_id(id), Refused(&[-32600, -32700]))),
    )
    .collect();
    play(&STAGES, &rows);
}

#[test]
fn ids_come_back_as_written() {
    let kibibyte: &'static str = Box::leak(format!("\"{}\"", "i".repeat(1022)).into_boxed_str());
    let rows: Vec<Row> = [
        ("A06", "9007199254740993"),
        ("A06", "-9223372036854775808"),
        ("A06", "9223372036854775807"),
        ("A07", r#""""#),
        ("A07", r#""\u0000""#),
        ("A07", kibibyte),
        ("A07", r#""\u00e9\/é""#),
        ("A36", "7"),
        ("A36", "7"),
    ]
    .into_iter()
    .map(|(name, id)| row(name, list_with_id(id), Served(id)))
    .collect();
    play(&STAGES, &rows);
}

#[test]
fn keys_twice() {
    let rows = [
        row("A09", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":$P}"#, Refused(INVALID)),
        row(
            "A09",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":$P}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A09",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list","params":$P}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A09",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":$P}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A09",
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":$P}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A12",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","m\u0065thod":"tools/call","params":$P}"#,
            RefusedMaybeFor("1", INVALID),
        ),
    ];
    play(&STAGES, &rows);
}

/// Below the envelope too: which of two tools would be called?
#[test]
fn parameters_twice() {
    for stage in STAGES {
        let mut demo = stage.start();
        for members in [
            r#""name":"echo","name":"toggle","arguments":{}"#,
            r#""name":"toggle","name":"echo","arguments":{"message":"x"}"#,
            r#""name":"toggle","arguments":{},"arguments":{}"#,
            r#""name":"toggle","n\u0061me":"toggle","arguments":{}"#,
        ] {
            demo.send(stage.request("1", "tools/call", members));
            let seen = stage.settle(&mut demo, 1, "A09");
            assert_eq!(seen.len(), 1, "{stage:?} {members}");
            assert!(matches!(seen[0].code(), Some(-32600 | -32602)), "{stage:?} {members}: {}", seen[0].text);
        }
        demo.finish();
    }
}

#[test]
fn keys_that_only_look_right() {
    let request = |extra: &str| {
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":$M,EXTRA}"#;
        line.replace("EXTRA", extra)
    };
    let rows = [
        row("A10", request(r#""Method":"tools/call""#), Served("1")),
        row("A10", request(r#""METHOD":"tools/call","PARAMS":$P"#), Served("1")),
        row("A10", r#"{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":$P}"#, RefusedFor("1", INVALID)),
        row("A10", r#"{"jsonrpc":"2.0","ID":1,"METHOD":"tools/call","params":$P}"#, Refused(INVALID)),
        row("A11", request("\"param\u{17f}\":{\"name\":\"toggle\"}"), Served("1")),
        row("A11", request("\"\u{212a}\":1"), Served("1")),
        row("A11", request(r#""method\u0000":"tools/call""#), Served("1")),
        row("A11", request("\"met\u{200b}hod\":\"tools/call\""), Served("1")),
        row("A11", request(r#""i\u200bd":2"#), Served("1")),
        row("A12", r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/list","params":$M}"#, Served("1")),
        row("A12", r#"{"jsonrpc":"2.0","i\u0064":1,"method":"tools\/l\u0069st","params":$M}"#, Served("1")),
    ];
    play(&STAGES, &rows);
}

#[test]
fn escaped_names_are_the_same_names() {
    for stage in STAGES {
        let mut demo = stage.start();
        let call =
            stage.request("1", "tools/call", r#""n\u0061me":"\u0065cho","arguments":{"mess\u0061ge":"x"}"#);
        let answer = demo.ask(call, "1");
        assert_eq!(answer.json["result"]["content"][0]["text"], "x", "A12 {stage:?}");
    }
}

#[test]
fn neither_request_nor_response() {
    let rows = [
        row(
            "A13",
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A13",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P,"result":{}}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row(
            "A13",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P,"error":{"code":1,"message":""}}"#,
            RefusedMaybeFor("1", INVALID),
        ),
        row("A13", r#"{"jsonrpc":"2.0","id":1}"#, RefusedMaybeFor("1", INVALID)),
        row("A13", r#"{"jsonrpc":"2.0"}"#, Refused(INVALID)),
        row("A13", "{}", Refused(INVALID)),
        row("A13", "1", Refused(INVALID)),
        row("A13", r#""tools/call""#, Refused(INVALID)),
        row("A13", "null", Refused(INVALID)),
        row("A14", r#"{"id":1,"method":"tools/call","params":$P}"#, RefusedFor("1", INVALID)),
        row("A14", r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":$P}"#, RefusedFor("1", INVALID)),
        row("A14", r#"{"jsonrpc":2.0,"id":1,"method":"tools/call","params":$P}"#, RefusedFor("1", INVALID)),
        row("A14", r#"{"jsonrpc":null,"id":1,"method":"tools/call","params":$P}"#, RefusedFor("1", INVALID)),
        row("A14", r#"{"jsonrpc":"2.0","id":1,"method":7,"params":$P}"#, RefusedFor("1", INVALID)),
        row("A14", r#"{"jsonrpc":"2.0","id":1,"method":null,"params":$P}"#, RefusedFor("1", INVALID)),
    ];
    play(&STAGES, &rows);
}

#[test]
fn params_of_another_shape() {
    let rows: Vec<Row> = ["[]", r#"["toggle"]"#, r#""toggle""#, "7", "null", "true"]
        .into_iter()
        .map(|params| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            row("A15", line, RefusedFor("1", &[-32600, -32602]))
        })
        .collect();
    play(&STAGES, &rows);
}

#[test]
fn modern_metadata_that_is_incomplete() {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let metas = [
        format!("{{{version}}}"),
        format!("{{{capabilities}}}"),
        "{}".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        format!(r#"{{"io.modelcontextprotocol/protocolVersion":7,{capabilities}}}"#),
        format!(r#"{{{version},"io.modelcontextprotocol/clientCapabilities":null}}"#),
        format!(r#"{{{version},"io.modelcontextprotocol/clientCapabilities":[]}}"#),
        format!(r#"{{{META},"io.modelcontextprotocol/logLevel":"loud"}}"#),
        format!(r#"{{{META},"progressToken":{{}}}}"#),
    ];
    let rows: Vec<Row> = metas
        .iter()
        .map(|meta| {
            let params = format!(r#"{{"name":"toggle","arguments":{{}},"_meta":{meta}}}"#);
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            row("A15", line, RefusedFor("1", &[-32602]))
        })
        .collect();
    play(&[Stage::Modern], &rows);
}

#[test]
fn methods_that_do_not_exist() {
    let long = "m".repeat(1 << 20);
    let rows: Vec<Row> = [
        ("A32", "no/such"),
        ("A32", "tools/List"),
        ("A32", "tools/list "),
        ("A32", "tools/list\\u0000"),
        ("A33", ""),
        ("A33", long.as_str()),
        ("A33", "\\u001b[31m\\u0007\\n\\u202e"),
        ("A33", "rpc.x"),
        ("A33", "__proto__"),
        ("A33", "notifications/initialized"),
    ]
    .into_iter()
    .map(|(name, method)| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":$M}}"#);
        let codes: &[i64] = if name == "A32" { &[-32601] } else { &[-32601, -32600] };
        row(name, line, RefusedFor("1", codes))
    })
    .chain([
        row("A32", r#"{"jsonrpc":"2.0","method":"notifications/no/such","params":$M}"#, Silence),
        row("A32", r#"{"jsonrpc":"2.0","method":"no/such"}"#, Silence),
        row("A32", r#"{"jsonrpc":"2.0","method":"tools/call","params":$P}"#, Silence),
        row("A33", r#"{"jsonrpc":"2.0","method":"__proto__","params":[]}"#, Silence),
    ])
    .collect();
    play(&STAGES, &rows);
}

/// What a peer calls a method neither reaches the log raw nor fills it.
#[test]
fn names_in_the_log_are_escaped_and_cut() {
    let mut demo = crate::child::Demo::with(&[], &[("RUST_LOG", "debug")]);
    let stage = Stage::Modern;
    let long = "n".repeat(1 << 20);
    for method in ["\\u001b[31m\\u0007evil\\u202e", long.as_str()] {
        let answer = demo.ask(stage.request("1", method, ""), "1");
        assert!(answer.text.len() < 16 << 10, "A33: {} bytes of complaint", answer.text.len());
    }
    let log = demo.finish();
    assert!(log.len() < 64 << 10, "A33: {} bytes of log", log.len());
    assert!(!String::from_utf8_lossy(&log).contains("\u{1b}[31m\u{7}"), "A33: control characters in the log");
}

/// Depth is counted by the framer, wherever it is and whatever would have been done with it.
#[test]
fn nesting() {
    let mut rows = Vec::new();
    for depth in [65, 129, 1_000, 200_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let bomb = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            rows.push(row("A18", bomb.clone(), Refused(PARSE)));
            rows.push(row("A18", open.repeat(depth), Refused(PARSE)));
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"toggle","arguments":{bomb}}}}}"#
            );
            rows.push(row("A18", line, RefusedMaybeFor("1", PARSE)));
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{bomb}}}"#);
            rows.push(row("A18", line, RefusedMaybeFor("1", PARSE)));
            let line = format!(r#"{{"x":{bomb},"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P}}"#);
            rows.push(row("A18", line, RefusedMaybeFor("1", PARSE)));
        }
    }
    play(&STAGES, &rows);
}

/// What is not too deep is not refused: 64 levels, three of them around the bomb.
#[test]
fn nesting_within_the_limit() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
        let nest = format!("{}{}", "[".repeat(61), "]".repeat(61));
        let params = format!(r#"{{"_meta":{{"x":{nest}{meta}}}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        let answer = demo.ask(line, "1");
        assert!(answer.json.get("result").is_some(), "A18 {stage:?}: {}", answer.text);
    }
}
