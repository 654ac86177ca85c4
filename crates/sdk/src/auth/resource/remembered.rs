//! What was found out about tokens, for a while.
//!
//! Kept by a digest of the whole token: never the token itself, and never a part of it. Bounded; when there is no
//! room, everything is forgotten and found out again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ring::digest::{SHA256, digest};
use tokio::time::Instant;

/// Tokens that are remembered.
const MOST: usize = 4096;

/// The digest of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Self(bytes)
    }
}

/// A bounded table of what is known until some time.
pub(super) struct Remembered<T>(Mutex<HashMap<Fingerprint, (T, Instant)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Remembered<T> {
    pub(super) fn get(&self, token: &Fingerprint) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(token).filter(|(_, until)| Instant::now() < *until).map(|(found, _)| found.clone())
    }

    pub(super) fn keep(&self, token: Fingerprint, found: T, until: Instant) {
        let now = Instant::now();
        if until <= now {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (_, until)| now < *until);
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(token, (found, until));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_the_whole_token_that_counts() {
        let remembered = Remembered::default();
        let until = Instant::now() + Duration::from_secs(3600);
        remembered.keep(Fingerprint::of("token-a"), 'a', until);
        assert_eq!(remembered.get(&Fingerprint::of("token-a")), Some('a'));
        for other in ["token-", "token-ab", "Token-a", "token-b", ""] {
            assert_eq!(remembered.get(&Fingerprint::of(other)), None, "{other:?}");
        }
    }

    #[test]
    fn nothing_is_remembered_for_no_time() {
        let remembered = Remembered::default();
        remembered.keep(Fingerprint::of("a"), (), Instant::now());
        assert_eq!(remembered.get(&Fingerprint::of("a")), None);
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let remembered = Remembered::default();
        let until = Instant::now() + Duration::from_secs(3600);
        for number in 0..3 * MOST {
            remembered.keep(Fingerprint::of(&number.to_string()), (), until);
            assert!(remembered.0.lock().expect("not poisoned").len() <= MOST);
        }
    }
}
