//! What to try when a server cannot do without something that the command line can give.
//!
//! Servers say so in words of their own, so this only looks for the names of capabilities; and logins have errors
//! of their own.

use crate::exit::Failure;
use crate::options::Target;
use crate::place::Place;

/// Which option would give the server what it misses.
pub(super) fn capability(words: &str, target: &Target) -> Option<String> {
    let words = words.to_lowercase();
    if !words.contains("support") && !words.contains("capabilit") {
        return None;
    }
    if words.contains("roots") && target.roots.is_empty() {
        return Some("--root DIR names a directory that the server may know of".to_owned());
    }
    if words.contains("sampling") && target.sample.is_none() {
        return Some("--sample TEXT answers in the place of a model".to_owned());
    }
    None
}

/// How to log in, where that would help and the person has not said themselves who asks.
pub(super) fn login(failure: &Failure, place: &Place, target: &Target) -> Option<String> {
    let url = place.url().filter(|_| !target.has_credentials() && !place.has_credentials())?;
    let scopes = failure.wants_login()?.iter().map(|scope| format!(" --scope={}", quoted(scope)));
    Some(format!("contexture login {}{}", quoted(url), scopes.collect::<String>()))
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~:/[]@%+,=".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    /// Hints are typed into shells, and a server has a say in some of their words.
    #[test]
    fn words_stay_words_in_a_shell() {
        for (word, wanted) in [
            ("https://example.com:8443/mcp", "https://example.com:8443/mcp"),
            ("https://example.com/mcp?a=1&b", "'https://example.com/mcp?a=1&b'"),
            ("$(id)", "'$(id)'"),
            ("a;b", "'a;b'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), wanted);
        }
    }
}
