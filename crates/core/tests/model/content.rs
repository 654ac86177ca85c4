//! Content blocks, base64 and resource contents.

use contexture_core::model::*;
use serde_json::{Value, json};

use super::samples;
use super::{decode, refused, round_trip};

// covers: SCHEMA-CONTENT-UNION, TOOLS-CONTENT-MULTI
#[test]
fn blocks_are_told_by_their_type() {
    for block in samples::content() {
        round_trip::<Content>(json!(block));
    }
    round_trip::<CallToolResult>(json!({ "content": samples::content() }));
    for incomplete in [
        json!({ "type": "text" }),
        json!({ "type": "image", "data": "" }),
        json!({ "type": "image", "mimeType": "image/png" }),
        json!({ "type": "audio", "data": "" }),
        json!({ "type": "resource_link", "uri": "a:b" }),
        json!({ "type": "resource_link", "name": "a" }),
        json!({ "type": "resource" }),
        json!({ "type": "hologram", "text": "" }),
        json!({ "text": "" }),
    ] {
        refused::<Content>(incomplete);
    }
}

// covers: SCHEMA-BASE64-FIELDS, PROMPT-IMAGE-BASE64, PROMPT-AUDIO-BASE64
#[test]
fn bytes_are_base64() {
    let bytes: Vec<u8> = (0..=255).collect();
    for block in [json!(Content::image(&bytes, "image/png")), json!(Content::audio(&bytes, "audio/wav"))] {
        let Value::String(data) = &block["data"] else { panic!("no data in {block}") };
        assert_eq!(Blob::parse(data.clone()).expect("base64").decode().expect("base64"), bytes);
    }
    for odd in ["a", "a===", "YQ", "Y Q=", "YQ==\n", "_-8="] {
        refused::<Content>(json!({ "type": "image", "data": odd, "mimeType": "image/png" }));
        refused::<ResourceContents>(json!({ "uri": "a:b", "blob": odd }));
    }
}

// covers: RES-SIZE-RAW
#[test]
fn sizes_count_raw_bytes() {
    for length in 0..10 {
        assert_eq!(Blob::encode(vec![7; length]).byte_len(), length);
    }
}

// covers: SCHEMA-RESOURCE-CONTENTS, PROMPT-EMBED-CONTENT
#[test]
fn contents_are_text_or_blob() {
    round_trip::<ResourceContents>(json!({ "uri": "a:b", "text": "", "mimeType": "text/plain" }));
    round_trip::<ResourceContents>(json!({ "uri": "a:b", "blob": "YQ==", "_meta": { "a": 1 } }));
    refused::<ResourceContents>(json!({ "uri": "a:b" }));
    refused::<ResourceContents>(json!({ "uri": "a:b", "text": "", "blob": "" }));
    refused::<ResourceContents>(json!({ "text": "" }));
    refused::<Content>(json!({ "type": "resource", "resource": { "uri": "a:b" } }));
}

// covers: SCHEMA-META-PLACES
#[test]
fn metadata_round_trips_wherever_it_may_stand() {
    let meta = json!({ "com.example/any": [1, { "deep": null }] });
    let with = |mut value: Value| {
        value["_meta"] = meta.clone();
        value
    };
    for block in samples::content() {
        round_trip::<Content>(with(json!(block)));
    }
    round_trip::<Tool>(with(json!(samples::tool())));
    round_trip::<Prompt>(with(json!(samples::prompt())));
    round_trip::<Resource>(with(json!(samples::resource())));
    round_trip::<ResourceTemplate>(with(json!(samples::template())));
    round_trip::<ResourceContents>(with(json!({ "uri": "a:b", "text": "" })));
    round_trip::<Root>(with(json!({ "uri": "file:///a" })));
    round_trip::<PaginatedParams>(with(json!({})));
    round_trip::<ProgressParams>(with(json!({ "progressToken": 1, "progress": 1 })));
    round_trip::<EmptyResult>(with(json!({})));
}

// covers: SCHEMA-RESOURCE, RES-TEMPLATE-MIME
#[test]
fn unset_members_are_absent() {
    assert_eq!(json!(Resource::new("a:b", "c")), json!({ "uri": "a:b", "name": "c" }));
    assert_eq!(json!(ResourceTemplate::new("a:{b}", "c")), json!({ "uriTemplate": "a:{b}", "name": "c" }));
    refused::<Resource>(json!({ "uri": "a:b" }));
    refused::<ResourceTemplate>(json!({ "name": "c" }));
}

#[test]
fn null_counts_as_unset() {
    let tool: Tool =
        decode(json!({ "name": "a", "inputSchema": {}, "title": null, "icons": null })).expect("decodes");
    assert_eq!(json!(tool), json!({ "name": "a", "inputSchema": {} }));
}
