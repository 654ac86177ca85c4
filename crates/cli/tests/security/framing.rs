//! Bytes that are not one JSON text on one line.

use crate::child::Demo;
use crate::stage::Want::{Refused, Served, Silence};
use crate::stage::{NEWEST, Row, STAGES, Stage, play, row};

const PARSE: &[i64] = &[-32700];

#[test]
fn garbage_and_blanks() {
    let rows = [
        row("A01", "hello", Refused(PARSE)),
        row("A01", "{", Refused(PARSE)),
        row("A01", r#"{"a":}"#, Refused(PARSE)),
        row("A01", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P"#, Refused(PARSE)),
        row("A01", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P}}"#, Refused(PARSE)),
        row("A02", "", Silence),
        row("A02", "   \t ", Silence),
        row("A02", "\r", Silence),
        row(
            "A30",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":$P}"#,
            Refused(PARSE),
        ),
        row("A30", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P} {}"#, Refused(PARSE)),
    ];
    play(&STAGES, &rows);
}

/// Before anybody has named a revision, errors look as JSON-RPC has them.
#[test]
fn garbage_before_anything_else() {
    for line in ["hello", "[]", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#] {
        let mut demo = Demo::start();
        demo.send(line);
        let complaint = demo.next();
        assert!(matches!(complaint.code(), Some(-32700 | -32600)), "A01: {}", complaint.text);
        assert_eq!(complaint.raw_id().as_deref(), Some("null"), "A01: {}", complaint.text);
        Stage::Modern.settle(&mut demo, 0, "A01");
        demo.finish();
    }
}

#[test]
fn what_is_not_unicode() {
    let around = |inside: &[u8]| {
        let mut line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","x":""#.to_vec();
        line.extend_from_slice(inside);
        line.extend_from_slice(br#""}"#);
        line
    };
    let utf16: Vec<u8> =
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let rows = [
        row("A23", around(b"\xff"), Refused(PARSE)),
        row("A23", around(b"\xc0\xaf"), Refused(PARSE)),
        row("A23", around(b"\xe2\x82"), Refused(PARSE)),
        row("A23", around(b"\xed\xa0\x80"), Refused(PARSE)),
        row("A23", b"\xff\xfe\xff".to_vec(), Refused(PARSE)),
        row(
            "A24",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":$P}",
            Refused(PARSE),
        ),
        row("A24", utf16, Refused(PARSE)),
        row("A25", around(b"\0"), Refused(PARSE)),
        row("A25", b"\0".to_vec(), Refused(PARSE)),
        row("A29", around(b"\x0b"), Refused(PARSE)),
        row("A29", around(b"\x0c"), Refused(PARSE)),
    ];
    play(&STAGES, &rows);
}

#[test]
fn lone_surrogates() {
    let rows: Vec<Row> =
        [r"\ud800", r"\udc00", r"\udc00\ud800", r"\ud800\ud800", r"\ud800x", r"\uD83D\\uDE00"]
            .into_iter()
            .flat_map(|text| {
                let value = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P,"x":"TEXT"}"#;
                let key = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P,"TEXT":1}"#;
                let method = r#"{"jsonrpc":"2.0","id":1,"method":"TEXT","params":$P}"#;
                [value, key, method].map(|line| row("A26", line.replace("TEXT", text), Refused(PARSE)))
            })
            .collect();
    play(&STAGES, &rows);
}

#[test]
fn numbers_and_tokens_that_are_not_json() {
    let mut rows: Vec<Row> = [
        "NaN",
        "Infinity",
        "01",
        "+1",
        "1.",
        ".5",
        "0x1",
        "1e",
        "-",
        "tru",
        "'a'",
        "[1,]",
        "{\"a\":1,}",
        "/* */1",
    ]
    .into_iter()
    .map(|token| {
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":$P,"x":TOKEN}"#;
        row("A31", line.replace("TOKEN", token), Refused(PARSE))
    })
    .collect();
    rows.push(row(
        "A31",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":$M} // x"#,
        Refused(PARSE),
    ));
    rows.push(row(
        "A31",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":$M,"x":-0}"#,
        Served("1"),
    ));
    play(&STAGES, &rows);
}

/// The text that the echo tool sends back.
fn echoed(demo: &mut Demo, stage: Stage, message: &str) -> String {
    let call = stage.call("1", "echo", &format!(r#"{{"message":"{message}"}}"#));
    let answer = demo.ask(call, "1");
    answer.json["result"]["content"][0]["text"].as_str().unwrap_or(&answer.text).to_owned()
}

#[test]
fn text_that_is_odd_and_valid() {
    for stage in STAGES {
        let mut demo = stage.start();
        for (name, written, meant) in [
            ("A25", r"a\u0000b", "a\0b"),
            ("A26", r"\ud83d\ude00", "\u{1f600}"),
            ("A29", "a\u{2028}b\u{2029}c\u{85}d", "a\u{2028}b\u{2029}c\u{85}d"),
            ("A29", r"a\u000bb\fc", "a\u{b}b\u{c}c"),
            ("A23", "\u{20ac}\u{10ffff}", "\u{20ac}\u{10ffff}"),
        ] {
            assert_eq!(echoed(&mut demo, stage, written), meant, "{name} {stage:?}");
        }
        demo.finish();
    }
}

#[test]
fn line_ends_of_windows() {
    for stage in STAGES {
        let mut demo = stage.start();
        let line = format!("{}\r", stage.request("1", "tools/list", ""));
        let answer = demo.ask(line, "1");
        assert!(answer.json.get("result").is_some(), "A27 {stage:?}: {}", answer.text);
        demo.finish();
    }
}

/// A request over several lines is several errors, at most one for each line, and never a request.
#[test]
fn pretty_printed_requests() {
    for stage in STAGES {
        let mut demo = stage.start();
        let pretty = format!(
            "{{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"tools/call\",\n  \"params\": {}\n}}\n",
            stage.forbidden()
        );
        demo.write(pretty.as_bytes());
        let seen = stage.settle(&mut demo, 1, "A28");
        assert!(seen.len() <= 6, "A28 {stage:?}: {} answers to 6 lines", seen.len());
        for line in &seen {
            assert_eq!(line.code(), Some(-32700), "A28 {stage:?}: {}", line.text);
            assert_eq!(line.raw_id().as_deref(), stage.unreadable_id(), "A28 {stage:?}");
        }
        demo.finish();
    }
}

/// Ten thousand lines of garbage do not earn ten thousand answers.
#[test]
fn floods_of_garbage() {
    for stage in NEWEST {
        let mut demo = stage.start();
        demo.write("garbage\n".repeat(10_000).as_bytes());
        let seen = stage.settle(&mut demo, 1, "A28");
        assert!(seen.iter().all(|line| line.code() == Some(-32700)), "A28 {stage:?}");
        assert!(seen.len() < 10_000, "A28 {stage:?}: {} answers", seen.len());
        demo.finish();
    }
}

/// How bytes arrive makes no difference to what they say.
#[test]
fn pieces_and_heaps() {
    for stage in STAGES {
        let mut demo = stage.start();
        let call = format!("{}\n", stage.call("1", "echo", "{\"message\":\"\u{20ac}uro \u{1f600}\"}"));
        for byte in call.as_bytes() {
            demo.write(&[*byte]);
        }
        assert_eq!(
            demo.answer("1").json["result"]["content"][0]["text"],
            "\u{20ac}uro \u{1f600}",
            "H09 {stage:?}"
        );

        let mut heap = String::new();
        let mut last = 100;
        while heap.len() < 64 << 10 {
            last += 1;
            heap.push_str(&stage.call(&last.to_string(), "echo", r#"{"message":"heaped"}"#));
            heap.push('\n');
        }
        demo.write(heap.as_bytes());
        let mut answered: Vec<i64> =
            (101..=last).map(|_| demo.next().json["id"].as_i64().expect("an id")).collect();
        answered.sort_unstable();
        assert_eq!(answered, (101..=last).collect::<Vec<_>>(), "H09 {stage:?}");
        demo.finish();
    }
}

#[test]
fn the_end_in_the_middle_of_a_message() {
    for stage in STAGES {
        let mut demo = stage.start();
        let whole =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}}"#, stage.forbidden());
        demo.write(&whole.as_bytes()[..whole.len() - 1]);
        demo.close_input();
        let rest = demo.rest();
        assert!(rest.iter().all(|line| line.code() == Some(-32700)), "A03 {stage:?}: {rest:?}");
        assert!(demo.exit().success(), "A03 {stage:?}");
    }
}
