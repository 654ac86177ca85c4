//! What a definition says and demands, as a digest: consent that was given to it is not given to another.
//!
//! Made of the definition as its server wrote it, in a form that does not depend on the order of members or on white space.
//! Icons and metadata are not part of it: they change without the tool becoming another.

use std::collections::BTreeMap;

use contexture::json_rpc::write_string;
use ring::digest::{SHA256, digest};
use serde_json::Value;

/// The digest of these members of a definition.
pub(super) fn of(definition: &Value, members: &[&str]) -> [u8; 32] {
    let found = members.iter().filter_map(|name| Some((*name, definition.get(name)?)));
    let mut text = Vec::new();
    object(found.collect(), &mut text);
    let mut pin = [0; 32];
    pin.copy_from_slice(digest(&SHA256, &text).as_ref());
    pin
}

fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            object(members.iter().map(|(name, value)| (name.as_str(), value)).collect(), out)
        }
        Value::Array(values) => {
            out.push(b'[');
            for value in values {
                canonical(value, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Value::String(text) => write_string(text, out),
        plain => out.extend_from_slice(plain.to_string().as_bytes()),
    }
}

/// Members in the order of their names, whatever order the map keeps.
fn object(members: BTreeMap<&str, &Value>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (name, value) in members {
        write_string(name, out);
        out.push(b':');
        canonical(value, out);
        out.push(b',');
    }
    out.push(b'}');
}
