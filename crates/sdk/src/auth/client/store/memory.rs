//! Tokens for as long as the process lives: for tests, and for hosts that must not leave anything behind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Locked, StoreKey, Stored, Storing, TokenStore};

/// Keeps tokens in memory. Clones share what they keep.
#[derive(Clone, Default)]
pub struct MemoryStore {
    entries: Arc<Mutex<BTreeMap<StoreKey, Entry>>>,
}

#[derive(Default)]
struct Entry {
    stored: Option<Stored>,
    /// The lock outlives what is stored: somebody may wait for it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<StoreKey, Entry>> {
        // A panic elsewhere leaves whole entries: each is put in its place by one assignment.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

impl TokenStore for MemoryStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        Box::pin(async move { Ok(self.entries().get(key).and_then(|entry| entry.stored.clone())) })
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        Box::pin(async move {
            self.entries().entry(key.clone()).or_default().stored = Some(stored.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        Box::pin(async move {
            if let Some(entry) = self.entries().get_mut(key) {
                entry.stored = None;
            }
            Ok(())
        })
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        Box::pin(async move {
            let entries = self.entries();
            let kept = entries.iter().filter(|(_, entry)| entry.stored.is_some());
            Ok(kept.map(|(key, _)| key.clone()).collect())
        })
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        Box::pin(async move {
            let turn = Arc::clone(&self.entries().entry(key.clone()).or_default().turn);
            Ok(Locked::by(turn.lock_owned().await))
        })
    }
}
