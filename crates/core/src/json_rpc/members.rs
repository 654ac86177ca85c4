//! The members of an object that is text, one after the other.
//!
//! For text that has been read as part of a message: grammar and depth were checked then. Other text is not
//! trusted, it only ends early.

use std::borrow::Cow;

use super::scan::Scanner;

/// Deeper than any message may be.
const DEPTH: usize = 512;

/// Goes through the members of an object.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    rest: &'a str,
    begun: bool,
}

/// One member.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// The text of its value.
    pub value: &'a str,
}

impl<'a> Members<'a> {
    /// The members of the object that this text is.
    pub fn of(text: &'a str) -> Self {
        Self { rest: text, begun: false }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let mut keys = Vec::new();
        let mut scanner = Scanner::new(self.rest, DEPTH, &mut keys);
        let before = if std::mem::replace(&mut self.begun, true) { b',' } else { b'{' };
        let (member, at) = (scanner.member(before)?, scanner.position());
        self.rest = &self.rest[at..];
        Some(member)
    }
}

/// What the text of a string out of a message says, if it says it without escapes.
pub fn plain_text(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    memchr::memchr(b'\\', inner.as_bytes()).is_none().then_some(inner)
}

/// The same, with or without escapes. Nothing, if it is no string.
pub fn string_text(value: &str) -> Option<Cow<'_, str>> {
    match plain_text(value) {
        Some(plain) => Some(Cow::Borrowed(plain)),
        None => serde_json::from_str(value).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(String, &str)> {
        Members::of(text).map(|member| (member.name.into_owned(), member.value)).collect()
    }

    #[test]
    fn members_come_in_order_with_the_text_of_their_values() {
        let text = r#" { "a" : 1 , "b\u0062":"x\"," ,"c":{"d":[{},"}"]},"":null }"#;
        let expected = [("a", "1"), ("bb", r#""x\",""#), ("c", r#"{"d":[{},"}"]}"#), ("", "null")];
        assert_eq!(members(text), expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(members("{}").is_empty());
        assert!(members(" { } ").is_empty());
    }

    #[test]
    fn what_is_no_object_ends_early() {
        for text in ["", "[]", "1", "{", r#"{"a"#, r#"{"a":"#, r#"{"a":}"#, r#"{"a" 1}"#, r#"{"a":"b\"#] {
            assert!(members(text).is_empty(), "{text}");
        }
        assert_eq!(members(r#"{"a":1 "b":2}"#), [("a".to_owned(), "1")]);
    }

    #[test]
    fn plain_text_has_no_escapes() {
        assert_eq!(plain_text(r#""é x""#), Some("é x"));
        assert_eq!(plain_text(r#""""#), Some(""));
        assert_eq!(plain_text(r#""a\n""#), None);
        assert_eq!(plain_text("1"), None);
        assert_eq!(plain_text("\""), None);
    }
}
