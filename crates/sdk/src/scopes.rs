//! What a token allows, as a set of words.
//!
//! Only the words are known here. That one scope includes another is for a server to say, and none is refused for
//! what it means.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Scopes of one set. Nobody asks for more, and what is beyond is dropped.
const MOST: usize = 100;
/// Bytes of one set, with the spaces between its words.
const BYTES: usize = 8 * 1024;

/// A set of scopes: words without spaces, quotes or backslashes (RFC 6749).
///
/// Their order means nothing and is always the same.
///
/// ```
/// use contexture::Scopes;
///
/// let granted = Scopes::parse("files:read files:write");
/// assert!(granted.covers(&["files:read"].into_iter().collect()));
/// assert_eq!(granted.to_string(), "files:read files:write");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes(BTreeSet<String>);

impl Scopes {
    /// No scope at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Words between spaces. What cannot be a scope is dropped, and so is everything beyond 100 words or 8 KiB: a set
    /// that is cut grants less.
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// All that either has.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is among these.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    /// Whether all that is needed is here.
    pub fn covers(&self, needed: &Self) -> bool {
        needed.0.is_subset(&self.0)
    }

    /// What is needed and not here.
    pub fn missing(&self, needed: &Self) -> Self {
        needed.0.difference(&self.0).map(String::as_str).collect()
    }

    /// One after the other, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Whether this is one scope: `1*( %x21 / %x23-5B / %x5D-7E )`.
fn is_scope(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

impl<S: Into<String>> FromIterator<S> for Scopes {
    /// What cannot be a scope is dropped, and so is what is too much.
    fn from_iter<I: IntoIterator<Item = S>>(words: I) -> Self {
        let mut set = Self::default();
        set.extend(words);
        set
    }
}

impl<S: Into<String>> Extend<S> for Scopes {
    fn extend<I: IntoIterator<Item = S>>(&mut self, words: I) {
        let mut bytes: usize = self.iter().map(|word| word.len() + 1).sum();
        for word in words {
            let word = word.into();
            if !is_scope(&word) || self.contains(&word) {
                continue;
            }
            bytes += word.len() + 1;
            if self.len() == MOST || bytes > BYTES {
                break;
            }
            self.0.insert(word);
        }
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Scopes {
    fn from(words: [S; N]) -> Self {
        words.into_iter().collect()
    }
}

impl From<&str> for Scopes {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

/// Separated by spaces, as the `scope` parameter wants it.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope)?;
        }
        Ok(())
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_no_order_and_no_repetition() {
        let scopes = Scopes::parse("b a  b c");
        assert_eq!(scopes, Scopes::from(["c", "b", "a"]));
        assert_eq!(scopes.to_string(), "a b c");
        assert_eq!(scopes.len(), 3);
    }

    #[test]
    fn what_cannot_be_a_scope_is_dropped() {
        for (text, left) in [
            ("", ""),
            ("   ", ""),
            ("a\tb c", "c"),
            ("a\" b", "b"),
            ("a\\b c", "c"),
            ("a\nb", ""),
            ("é a", "a"),
            ("files:read https://h/x!", "files:read https://h/x!"),
        ] {
            assert_eq!(Scopes::parse(text).to_string(), left, "{text:?}");
        }
    }

    #[test]
    fn a_set_is_bounded() {
        let many: Vec<_> = (0..1000).map(|number| format!("s{number}")).collect();
        assert_eq!(Scopes::parse(&many.join(" ")).len(), MOST);
        assert_eq!(many.iter().map(String::as_str).collect::<Scopes>().len(), MOST);
        let long = format!("a {} b", "x".repeat(2 * BYTES));
        assert_eq!(Scopes::parse(&long).to_string(), "a");
        let halves: Scopes = ["a", "b", "c"].into_iter().map(|word| word.repeat(BYTES / 2 - 1)).collect();
        assert_eq!(halves.len(), 2);
    }

    #[test]
    fn sets_are_compared() {
        let (few, many) = (Scopes::parse("a"), Scopes::parse("a b"));
        assert!(many.covers(&few) && !few.covers(&many) && few.covers(&Scopes::none()));
        assert_eq!(few.missing(&many), Scopes::parse("b"));
        assert_eq!(few.union(&Scopes::parse("c")), Scopes::parse("a c"));
        assert!(many.contains("b") && !many.contains("a b"));
    }

    #[test]
    fn a_set_travels_as_one_string() {
        let scopes = Scopes::parse("b a");
        let text = serde_json::to_string(&scopes).expect("a string");
        assert_eq!(text, r#""a b""#);
        assert_eq!(serde_json::from_str::<Scopes>(&text).expect("scopes"), scopes);
    }
}
