//! Text that never shows itself.
//!
//! It is not hidden from whoever asks for it by name, and not wiped from memory.

use std::fmt;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// A token, a password, a key: `Debug` shows three stars, and there is no `Display`.
///
/// It serializes as plain text, for stores and forms.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: only to be sent to whom it is for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a guess is right. How long that takes tells nothing about how near it was.
    pub fn is(&self, guess: &str) -> bool {
        // Digests of texts that differ in one byte have nothing in common.
        digest(&SHA256, self.0.as_bytes()).as_ref() == digest(&SHA256, guess.as_bytes()).as_ref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Secret {}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn a_guess_is_right_or_wrong() {
        let secret = Secret::from("hunter2");
        assert!(secret.is("hunter2"));
        for wrong in ["", "hunter", "hunter22", "Hunter2", "hunter2\0"] {
            assert!(!secret.is(wrong), "{wrong:?}");
        }
        assert_eq!(secret, Secret::new("hunter2"));
        assert_ne!(secret, Secret::new("hunter3"));
    }
}
