//! Results that the server said may be kept for a while.
//!
//! The key is the method with its parameters; every page of a list is kept by itself. A change that the
//! server tells of empties what it concerns, including what is on its way. Only whole results of plain
//! requests are kept, never anything of an input round. One client has one authorization, so private and
//! public results are kept alike, and never leave the client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::model::{MAX_TTL_MS, Method};

const ENTRIES: usize = 512;
const BYTES: usize = 16 * 1024 * 1024;
/// Nothing is kept longer, whoever permits it.
const LONGEST: Duration = Duration::from_millis(MAX_TTL_MS);

#[derive(Default)]
pub(super) struct Cache {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<(Method, String), Entry>,
    bytes: usize,
    /// How often each method was forgotten.
    generations: HashMap<Method, u64>,
}

struct Entry {
    result: Bytes,
    until: Instant,
}

/// Permission to keep a result, as of when it was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Generation(u64);

impl Cache {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, method: Method, key: &str) -> Option<Bytes> {
        let kept = self.kept();
        let entry = kept.entries.get(&(method, key.to_owned()))?;
        (Instant::now() < entry.until).then(|| entry.result.clone())
    }

    pub(super) fn generation(&self, method: Method) -> Generation {
        Generation(self.kept().generations.get(&method).copied().unwrap_or(0))
    }

    /// Keeps a result, unless it was overtaken by a change.
    pub(super) fn keep(&self, method: Method, key: String, result: Bytes, ttl: Duration, asked: Generation) {
        let mut kept = self.kept();
        let current = kept.generations.get(&method).copied().unwrap_or(0);
        if ttl.is_zero() || result.len() > BYTES || current != asked.0 {
            return;
        }
        kept.remove(&(method, key.clone()));
        kept.make_room(result.len());
        kept.bytes += result.len();
        let until = Instant::now() + ttl.min(LONGEST);
        // The text is copied: a slice would hold on to the whole line that it came in.
        let result = Bytes::copy_from_slice(&result);
        kept.entries.insert((method, key), Entry { result, until });
    }

    /// Forgets the results of a method.
    pub(super) fn forget(&self, method: Method) {
        let mut kept = self.kept();
        *kept.generations.entry(method).or_insert(0) += 1;
        let keys: Vec<_> = kept.entries.keys().filter(|(known, _)| *known == method).cloned().collect();
        for key in keys {
            kept.remove(&key);
        }
    }

    /// Forgets everything: there is a new server process.
    pub(super) fn clear(&self) {
        let methods: Vec<Method> = self.kept().entries.keys().map(|(method, _)| *method).collect();
        for method in methods {
            self.forget(method);
        }
    }
}

impl Kept {
    fn remove(&mut self, key: &(Method, String)) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.result.len();
        }
    }

    /// What expires first goes first.
    fn make_room(&mut self, size: usize) {
        while self.entries.len() >= ENTRIES || (self.bytes + size > BYTES && !self.entries.is_empty()) {
            let first = self.entries.iter().min_by_key(|(_, entry)| entry.until).map(|(key, _)| key.clone());
            let Some(first) = first else { return };
            self.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Method = Method::ToolsList;
    const TTL: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn results_are_kept_for_their_time_and_until_a_change() {
        let cache = Cache::default();
        let asked = cache.generation(LIST);
        cache.keep(LIST, "a".into(), Bytes::from_static(b"{}"), TTL, asked);
        assert!(cache.get(LIST, "a").is_some() && cache.get(LIST, "b").is_none());
        assert!(cache.get(Method::PromptsList, "a").is_none());
        tokio::time::advance(TTL).await;
        assert!(cache.get(LIST, "a").is_none());
        cache.keep(LIST, "a".into(), Bytes::from_static(b"{}"), TTL, asked);
        cache.forget(LIST);
        assert!(cache.get(LIST, "a").is_none());
        cache.keep(LIST, "a".into(), Bytes::from_static(b"{}"), TTL, asked);
        assert!(cache.get(LIST, "a").is_none(), "asked before the change");
        cache.keep(LIST, "a".into(), Bytes::from_static(b"{}"), Duration::ZERO, cache.generation(LIST));
        assert!(cache.get(LIST, "a").is_none(), "no time at all");
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_grow_without_bound() {
        let cache = Cache::default();
        for number in 0..10_000 {
            let asked = cache.generation(LIST);
            cache.keep(LIST, number.to_string(), Bytes::from(vec![b' '; 100_000]), TTL, asked);
        }
        let kept = cache.kept();
        assert!(kept.entries.len() <= ENTRIES && kept.bytes <= BYTES && kept.bytes > 0);
    }
}
