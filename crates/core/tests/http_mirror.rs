//! Arguments mirrored into headers: how they are written, which annotations hold, what agrees.

use contexture_core::http::mirror::{Annotation, Fault, Kind, annotations, decode, encode};
use serde_json::{Value, json};

fn annotated(schema: &Value) -> Result<Vec<Annotation>, Fault> {
    annotations(schema.as_object().expect("a schema of a test is an object"))
}

fn annotation(path: &[&str], kind: Kind) -> Annotation {
    Annotation {
        header: "Value".to_owned(),
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        kind,
    }
}

#[test]
fn values_are_plain_where_a_header_can_hold_them() {
    for plain in
        ["", "Hello", "us-west1", "a b  c", "!~", "SGVsbG8=", "=?base64?SGVsbG8=", "?=", "=?utf-8?b?eA==?="]
    {
        assert_eq!(encode(plain), plain);
        assert_eq!(decode(plain).as_deref(), Some(plain));
    }
}

#[test]
fn other_values_are_wrapped_and_come_back() {
    let table = [
        ("é", "=?base64?w6k=?="),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        (" ", "=?base64?IA==?="),
        ("\ta", "=?base64?CWE=?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="),
    ];
    for (value, header) in table {
        assert_eq!(encode(value), header, "{value:?}");
        assert_eq!(decode(header).as_deref(), Some(value));
    }
    for value in
        ["=?base64??=", "=?base64?=", "=?BASE64?eA==?=", "\0", "\x7f", "日本語", "\u{feff}", "\u{a0}"]
    {
        let header = encode(value);
        assert!(
            header.starts_with("=?base64?") && header.bytes().all(|byte| byte.is_ascii_graphic()),
            "{value:?}"
        );
        assert_eq!(decode(&header).as_deref(), Some(value));
    }
}

#[test]
fn every_character_survives_and_none_escapes_its_header() {
    for char in (0..=0x10ffffu32)
        .filter_map(char::from_u32)
        .filter(|char| *char < '\u{800}' || (*char as u32).is_multiple_of(97))
    {
        for value in
            [char.to_string(), format!("a{char}b"), format!("{char}=?base64?"), format!("=?base64?{char}?=")]
        {
            let header = encode(&value);
            assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{value:?}");
            assert_eq!(decode(&header).as_deref(), Some(&*value));
        }
    }
}

#[test]
fn wrapping_is_read_strictly() {
    let table = [
        ("=?base64?SGVsbG8=?=", Some("Hello")),
        (" \t=?base64?SGVsbG8=?= ", Some("Hello")),
        ("=?base64??=", Some("")),
        ("=?base64?SGVsbG8?=", None),
        ("=?base64?SGVs!!!bG8=?=", None),
        ("=?base64?SGVsbG8==?=", None),
        ("=?base64?SGVs bG8=?=", None),
        ("=?base64?SGVsbG9=?=", None),
        ("=?base64?_-8=?=", None),
        ("=?base64?/w==?=", None),
        ("=?base64?7aCA?=", None),
        ("SGVsbG8=", Some("SGVsbG8=")),
        ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
        ("=?base64?=", Some("=?base64?=")),
        ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
        ("x=?base64?SGVsbG8=?=", Some("x=?base64?SGVsbG8=?=")),
        ("  a b\t", Some("a b")),
        ("a\tb", Some("a\tb")),
        ("a\nb", None),
        ("a\0", None),
        ("\x7f", None),
        ("é", None),
        ("\u{a0}", None),
    ];
    for (header, value) in table {
        assert_eq!(decode(header).as_deref(), value, "{header:?}");
    }
}

#[test]
fn annotations_are_found_with_their_paths() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region", "enum": ["a"], "default": { "x-mcp-header": 1 } },
            "x-mcp-header": { "type": "string" },
            "filter": {
                "type": "object",
                "properties": {
                    "properties": { "type": "integer", "x-mcp-header": "Max_Rows.2" },
                    "dry": { "type": "boolean", "x-mcp-header": "dry" },
                },
            },
            "anything": true,
        },
        "required": ["region"],
        "examples": [{ "x-mcp-header": "Region" }],
        "$defs": { "x-mcp-header": { "type": "string" } },
    });
    let mut found = annotated(&schema).expect("valid");
    found.sort_by(|left, right| left.path.cmp(&right.path));
    let seen: Vec<_> = found.iter().map(|one| (one.path.join("/"), one.header_name(), one.kind)).collect();
    let expected = [
        ("filter/dry", "mcp-param-dry", Kind::Boolean),
        ("filter/properties", "mcp-param-max_rows.2", Kind::Integer),
        ("region", "mcp-param-region", Kind::String),
    ];
    assert_eq!(seen, expected.map(|(path, name, kind)| (path.to_owned(), name.to_owned(), kind)));
    assert_eq!(found[2].header, "Region");
    assert_eq!(annotated(&json!({})), Ok(vec![]));
}

#[test]
fn bad_annotations_are_refused() {
    let header =
        |header: Value| json!({ "properties": { "a": { "type": "string", "x-mcp-header": header } } });
    for bad in ["", " ", "a b", "a:b", "é", "a\r\nb", "a\0", "(a)", "a/b", "\"a\"", "\x7f"] {
        assert!(annotated(&header(json!(bad))).is_err(), "{bad:?}");
    }
    for bad in [json!(null), json!(7), json!(true), json!(["a"]), json!({ "type": "string" })] {
        assert!(annotated(&header(bad.clone())).is_err(), "{bad}");
    }
    assert!(annotated(&header(json!("!#$%&'*+-.^_`|~0aZ"))).is_ok());
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!(["string"]),
        json!(["string", "null"]),
        json!(1),
    ] {
        let schema = json!({ "properties": { "a": { "type": kind, "x-mcp-header": "A" } } });
        assert!(annotated(&schema).is_err(), "{kind}");
    }
    assert!(annotated(&json!({ "properties": { "a": { "x-mcp-header": "A" } } })).is_err());
    assert!(annotated(&json!({ "type": "string", "x-mcp-header": "A" })).is_err());
    let twice = json!({ "properties": {
        "a": { "type": "string", "x-mcp-header": "Region" },
        "b": { "properties": { "c": { "type": "string", "x-mcp-header": "rEGION" } } },
    } });
    assert!(annotated(&twice).is_err());
}

#[test]
fn only_properties_lead_to_an_annotation() {
    let leaf = json!({ "type": "string", "x-mcp-header": "A" });
    let inner = json!({ "type": "object", "properties": { "a": leaf } });
    for keyword in [
        "items",
        "not",
        "if",
        "then",
        "else",
        "additionalProperties",
        "contains",
        "unevaluatedItems",
        "x-unknown",
    ] {
        for below in [&leaf, &inner] {
            assert!(annotated(&json!({ keyword: below })).is_err(), "{keyword}");
            assert!(annotated(&json!({ "properties": { "p": { keyword: below } } })).is_err(), "{keyword}");
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems", "items"] {
        assert!(
            annotated(&json!({ keyword: [true, { "properties": { "a": leaf } }] })).is_err(),
            "{keyword}"
        );
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas"] {
        assert!(annotated(&json!({ keyword: { "x": leaf } })).is_err(), "{keyword}");
        assert!(annotated(&json!({ keyword: { "x": inner } })).is_err(), "{keyword}");
    }
    let referenced = json!({ "properties": { "a": { "$ref": "#/$defs/A" } }, "$defs": { "A": leaf } });
    assert!(annotated(&referenced).is_err());
    for keyword in ["const", "default", "examples", "enum"] {
        assert_eq!(annotated(&json!({ keyword: [leaf] })), Ok(vec![]), "{keyword}");
    }
}

#[test]
fn depth_is_bounded() {
    let nest =
        |levels: usize, wrap: fn(Value) -> Value, leaf: Value| (0..levels).fold(leaf, |inner, _| wrap(inner));
    let property = |inner: Value| json!({ "properties": { "a": inner } });
    let leaf = json!({ "type": "string", "x-mcp-header": "A" });
    assert_eq!(annotated(&nest(64, property, leaf.clone())).map(|found| found.len()), Ok(1));
    assert!(annotated(&nest(65, property, leaf)).is_err());
    assert!(annotated(&nest(300, property, json!({}))).is_err());
    assert!(annotated(&nest(300, |inner| json!({ "allOf": [inner] }), json!({}))).is_err());
    assert!(annotated(&json!({ "x": nest(300, |inner| json!([inner]), json!(1)) })).is_err());
}

#[test]
fn clients_mirror_what_they_send() {
    let table = [
        (Kind::String, r#"{"v":"Hello"}"#, Some("Hello")),
        (Kind::String, r#"{"v":""}"#, Some("")),
        (Kind::String, r#"{"v":"a\r\nb"}"#, Some("=?base64?YQ0KYg==?=")),
        (Kind::String, r#"{"\u0076":"\u00e9"}"#, Some("=?base64?w6k=?=")),
        (Kind::String, r#"{"v":"42"}"#, Some("42")),
        (Kind::Integer, r#"{"v":42}"#, Some("42")),
        (Kind::Integer, r#"{"v":42.0}"#, Some("42")),
        (Kind::Integer, r#"{"v":-9007199254740991}"#, Some("-9007199254740991")),
        (Kind::Boolean, r#"{"v": false }"#, Some("false")),
        (Kind::String, r#"{"v":null}"#, None),
        (Kind::Boolean, r#"{"w":true}"#, None),
    ];
    for (kind, arguments, header) in table {
        let value = annotation(&["v"], kind).value(Some(arguments));
        assert_eq!(value, Ok(header.map(str::to_owned)), "{arguments}");
        assert_eq!(annotation(&["v"], kind).check(header, Some(arguments)), Ok(()), "{arguments}");
    }
    assert_eq!(annotation(&["v"], Kind::String).value(None), Ok(None));
    let misfits = [
        (Kind::Integer, r#"{"v":1152921504606846976}"#),
        (Kind::Integer, r#"{"v":9007199254740992}"#),
        (Kind::Integer, r#"{"v":1.5}"#),
        (Kind::Integer, r#"{"v":"1"}"#),
        (Kind::String, r#"{"v":1}"#),
        (Kind::String, r#"{"v":{}}"#),
        (Kind::Boolean, r#"{"v":"true"}"#),
        (Kind::Boolean, r#"{"v":1}"#),
        (Kind::String, r#"{"v":"#),
        (Kind::String, r#"{"v":"a","v":"b"}"#),
    ];
    for (kind, arguments) in misfits {
        assert!(annotation(&["v"], kind).value(Some(arguments)).is_err(), "{arguments}");
    }
}

#[test]
fn servers_compare_header_and_argument() {
    let agree = [
        (Kind::String, "=?base64?SGVsbG8=?=", r#"{"v":"Hello"}"#),
        (Kind::String, " Hello\t", r#"{"v":"Hello"}"#),
        (Kind::String, "SGVsbG8=", r#"{"v":"SGVsbG8="}"#),
        (Kind::String, "=?base64?SGVsbG8=", r#"{"v":"=?base64?SGVsbG8="}"#),
        (Kind::Integer, "42.0", r#"{"v":42}"#),
        (Kind::Integer, "42", r#"{"v":4.2e1}"#),
        (Kind::Integer, "=?base64?NDI=?=", r#"{"v":42}"#),
        (Kind::Integer, "9007199254740993", r#"{"v":9007199254740993}"#),
        // They do not fit, which the schema will say.
        (Kind::Integer, "x", r#"{"v":"x"}"#),
        (Kind::Integer, "1.5", r#"{"v":1.5}"#),
        (Kind::String, "[1]", r#"{"v":[1]}"#),
        (Kind::Boolean, "7", r#"{"v":7}"#),
    ];
    for (kind, header, arguments) in agree {
        assert_eq!(
            annotation(&["v"], kind).check(Some(header), Some(arguments)),
            Ok(()),
            "{header} {arguments}"
        );
    }
    let differ = [
        (Kind::String, Some("hello"), r#"{"v":"Hello"}"#),
        (Kind::String, Some("=?BASE64?SGVsbG8=?="), r#"{"v":"Hello"}"#),
        (Kind::String, Some("=?base64?SGVsbG8?="), r#"{"v":"Hello"}"#),
        (Kind::String, Some("=?base64?SGVs!!!bG8=?="), r#"{"v":"Hello"}"#),
        (Kind::String, Some("=?base64?SGVsbG8?="), r#"{"v":"=?base64?SGVsbG8?="}"#),
        (Kind::String, Some("\"Hello\""), r#"{"v":"Hello"}"#),
        (Kind::String, Some("42.0"), r#"{"v":"42"}"#),
        (Kind::Integer, Some("9007199254740992"), r#"{"v":9007199254740993}"#),
        (Kind::Integer, Some("042"), r#"{"v":42}"#),
        (Kind::Integer, Some("+42"), r#"{"v":42}"#),
        (Kind::Integer, Some("42x"), r#"{"v":42}"#),
        (Kind::Integer, Some(""), r#"{"v":0}"#),
        (Kind::Boolean, Some("True"), r#"{"v":true}"#),
        (Kind::Boolean, Some("1"), r#"{"v":true}"#),
        (Kind::String, None, r#"{"v":"Hello"}"#),
        (Kind::String, None, r#"{"v":""}"#),
        (Kind::String, Some(""), r#"{"v":null}"#),
        (Kind::String, Some("null"), r#"{"v":null}"#),
        (Kind::String, Some("x"), "{}"),
        (Kind::String, Some("a"), r#"{"v":"a","v":"b"}"#),
    ];
    for (kind, header, arguments) in differ {
        let checked = annotation(&["v"], kind).check(header, Some(arguments));
        assert!(checked.is_err(), "{header:?} {arguments}");
    }
    assert_eq!(annotation(&["v"], Kind::String).check(None, None), Ok(()));
    assert!(annotation(&["v"], Kind::String).check(Some("x"), None).is_err());
    let deep = annotation(&["a", "b"], Kind::Integer);
    assert_eq!(deep.check(Some("1"), Some(r#"{"b":2,"a":{"b":1}}"#)), Ok(()));
    assert_eq!(deep.check(None, Some(r#"{"b":2,"a":[1]}"#)), Ok(()));
}

#[test]
fn faults_name_the_place_and_quote_nothing_raw() {
    let fault = annotation(&["v"], Kind::String)
        .check(None, Some(r#"{"v":"secret"}"#))
        .expect_err("missing")
        .to_string();
    assert!(fault.contains("mcp-param-value") && fault.contains("\"v\""), "{fault}");
    assert!(!fault.contains("secret"), "{fault}");
    let long = format!("a\r\n{}", "x".repeat(10_000));
    let schema = json!({ "properties": { &long: { "type": "string", "x-mcp-header": long } } });
    let fault = annotated(&schema).expect_err("no token").to_string();
    assert!(fault.len() < 500 && !fault.contains(['\r', '\n']), "{fault}");
}
