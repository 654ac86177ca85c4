//! What to try when a server cannot do without something that the command line can give.
//!
//! Servers say so in words of their own, so this only looks for the names of capabilities.

use crate::options::Target;

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
