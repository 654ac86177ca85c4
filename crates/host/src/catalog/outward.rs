//! URIs in results, on their way to clients: a link that a server gives leads through us.
//!
//! Only the text of these URIs is exchanged; whatever else is there stays as it was written. What is not where
//! the specification has URIs (text, structured content, metadata) is not ours to read and stays.

use std::borrow::Cow;

use bytes::Bytes;
use contexture::json_rpc::{Members, string_text};
use contexture::model::Method;
use memchr::memmem;

use super::text::{self, Edits};
use crate::names;

/// A result of the server with this slug, with the URIs that it has here. Line breaks between members go. Most results have no
/// URI and are handed back without having been read.
pub fn outward(result: Bytes, method: Method, slug: &str) -> Bytes {
    let result = text::compact(result);
    if !may_have_uri(&result) {
        return result;
    }
    let Ok(text) = std::str::from_utf8(&result) else { return result };
    let mut walk = Walk { scheme: names::scheme(slug), edits: Edits::of(text) };
    match method {
        Method::ToolsCall => walk.each(text, "content", Walk::block),
        Method::PromptsGet => walk.each(text, "messages", Walk::message),
        Method::ResourcesRead => walk.each(text, "contents", Walk::contents),
        _ => {}
    }
    match walk.edits.finish() {
        Cow::Owned(changed) => changed.into(),
        Cow::Borrowed(_) => result,
    }
}

/// Whether a member `uri` may be there: the name may also have been written with escapes.
fn may_have_uri(result: &[u8]) -> bool {
    memmem::find(result, br#""uri""#).is_some() || memmem::find(result, br"\u00").is_some()
}

struct Walk<'a> {
    scheme: String,
    edits: Edits<'a>,
}

impl<'a> Walk<'a> {
    fn each(&mut self, object: &'a str, list: &str, step: fn(&mut Self, &'a str)) {
        for element in text::member(object, list).map(text::elements).unwrap_or_default() {
            step(self, element);
        }
    }

    fn message(&mut self, message: &'a str) {
        let Some(content) = text::member(message, "content") else { return };
        self.block(content);
    }

    fn block(&mut self, block: &'a str) {
        let kind = text::member(block, "type").and_then(string_text);
        match kind.as_deref() {
            Some("resource_link") => self.contents(block),
            Some("resource") => {
                if let Some(resource) = text::member(block, "resource") {
                    self.contents(resource);
                }
            }
            _ => {}
        }
    }

    /// What has a URI of its own.
    fn contents(&mut self, contents: &'a str) {
        for member in Members::of(contents).filter(|member| member.name == "uri") {
            if let Some(uri) = string_text(member.value) {
                self.edits.put_string(member.value, &names::under(&uri, &self.scheme));
            }
        }
    }
}
