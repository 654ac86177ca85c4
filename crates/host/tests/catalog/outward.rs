//! URIs in results.

use bytes::Bytes;
use contexture::model::Method;
use contexture_host::catalog::{compact, outward};

fn out(method: Method, result: &str) -> String {
    let changed = outward(Bytes::copy_from_slice(result.as_bytes()), method, "files");
    String::from_utf8(changed.to_vec()).expect("text")
}

#[test]
fn links_and_embedded_resources_lead_through_us() {
    let before = r#"{"content":[{"uri":"file:///a","type":"resource_link","name":"n","x":{"uri":"stays"}},
        {"type":"resource","resource":{"uri":"file:///\u00e9\"","text":"\"uri\":\"stays\"","uri2":"stays"}},
        {"type":"text","text":"uri","uri":"stays"}],"structuredContent":{"uri":"stays"},"_meta":{"uri":"stays"},"isError":false}"#;
    let after = r#"{"content":[{"uri":"files+file:///a","type":"resource_link","name":"n","x":{"uri":"stays"}},
        {"type":"resource","resource":{"uri":"files+file:///é\"","text":"\"uri\":\"stays\"","uri2":"stays"}},
        {"type":"text","text":"uri","uri":"stays"}],"structuredContent":{"uri":"stays"},"_meta":{"uri":"stays"},"isError":false}"#;
    let flat = |text: &str| text.replace("\n        ", "");
    assert_eq!(out(Method::ToolsCall, &flat(before)), flat(after));
    assert_eq!(out(Method::ToolsCall, before), flat(after), "line breaks go");
}

#[test]
fn contents_and_messages_too() {
    assert_eq!(
        out(
            Method::ResourcesRead,
            r#"{"contents":[{"uri":"a:1","text":"x"},{"blob":"","uri":"ui://b","n":1.0}],"ttlMs":5}"#
        ),
        r#"{"contents":[{"uri":"files+a:1","text":"x"},{"blob":"","uri":"ui://files+b","n":1.0}],"ttlMs":5}"#
    );
    assert_eq!(
        out(
            Method::PromptsGet,
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:1","text":""}}}]}"#
        ),
        r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"files+a:1","text":""}}}]}"#
    );
}

#[test]
fn a_key_with_escapes_is_the_same_key() {
    let written = r#"{"content":[{"type":"resource_link","\u0075ri":"a:1","name":"n"}]}"#;
    assert_eq!(out(Method::ToolsCall, written), written.replace("a:1", "files+a:1"));
}

#[test]
fn what_has_no_uri_is_handed_back_as_it_is() {
    let same = [
        r#"{"content":[{"type":"text","text":"the \"uri\" is mine"}]}"#,
        r#"{"content":{"uri":"x"}}"#,
        r#"{"content":[{"type":"resource_link","uri":7}]}"#,
        r#"{"content":[7,null,{"type":"resource","resource":"uri"}],"uri":"x"}"#,
        r#"{"completion":{"values":["x"]},"uri":"x"}"#,
        r#"{"content":[{"type":"resource_link","uri":"x""#,
        "\"uri\"",
        "",
    ];
    for result in same {
        for method in
            [Method::ToolsCall, Method::ResourcesRead, Method::PromptsGet, Method::CompletionComplete]
        {
            assert_eq!(out(method, result), result);
        }
    }
    let shared = Bytes::from_static(br#"{"content":[{"type":"text","text":"hello"}]}"#);
    assert_eq!(
        outward(shared.clone(), Method::ToolsCall, "files").as_ptr(),
        shared.as_ptr(),
        "not even copied"
    );
    let broken = Bytes::from_static(b"{\"uri\":\"\xff\"}");
    assert_eq!(outward(broken.clone(), Method::ToolsCall, "files"), broken);
}

#[test]
fn compact_takes_out_white_space_but_not_in_strings() {
    let text = "{ \"a\\\" b\\\\\" :\r\n\t[ 1 , \"x  y\" ] }";
    assert_eq!(compact(Bytes::from_static(text.as_bytes())), r#"{"a\" b\\":[1,"x  y"]}"#);
    let flat = Bytes::from_static(b"{ \"a\": 1 }");
    assert_eq!(compact(flat.clone()).as_ptr(), flat.as_ptr());
}
