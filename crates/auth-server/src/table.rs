//! A table that cannot grow without end: entries expire, and the oldest makes room for the newest.
//!
//! It does not read the clock: whoever asks says what time it is.

use std::collections::HashMap;

/// Entries by name, each until a time of its own.
#[derive(Debug)]
pub(crate) struct Table<V> {
    limit: usize,
    entries: HashMap<String, Kept<V>>,
    count: u64,
}

#[derive(Debug)]
struct Kept<V> {
    value: V,
    until: u64,
    order: u64,
}

impl<V> Table<V> {
    /// Holds at most `limit` entries.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, entries: HashMap::new(), count: 0 }
    }

    /// Adds an entry; if there is no room, the oldest one goes.
    pub(crate) fn insert(&mut self, key: String, value: V, until: u64, now: u64) {
        let _ = self.insert_unless(key, value, until, now, |_| false);
    }

    /// Adds an entry; if there is no room, the oldest one goes that need not be kept. Without such a one the
    /// entry is not added: `false`.
    pub(crate) fn insert_unless(
        &mut self,
        key: String,
        value: V,
        until: u64,
        now: u64,
        keep: impl Fn(&V) -> bool,
    ) -> bool {
        if self.entries.len() >= self.limit && !self.entries.contains_key(&key) {
            self.entries.retain(|_, kept| kept.until > now);
        }
        if self.entries.len() >= self.limit && !self.entries.contains_key(&key) {
            let free = self.entries.iter().filter(|(_, kept)| !keep(&kept.value));
            let Some(oldest) = free.min_by_key(|(_, kept)| kept.order).map(|(key, _)| key.clone()) else {
                return false;
            };
            self.entries.remove(&oldest);
        }
        self.count += 1;
        self.entries.insert(key, Kept { value, until, order: self.count });
        true
    }

    pub(crate) fn get(&self, key: &str, now: u64) -> Option<&V> {
        self.entries.get(key).filter(|kept| kept.until > now).map(|kept| &kept.value)
    }

    pub(crate) fn get_mut(&mut self, key: &str, now: u64) -> Option<&mut V> {
        self.entries.get_mut(key).filter(|kept| kept.until > now).map(|kept| &mut kept.value)
    }

    /// Removes an entry, and gives it to one caller only.
    pub(crate) fn take(&mut self, key: &str, now: u64) -> Option<V> {
        self.entries.remove(key).filter(|kept| kept.until > now).map(|kept| kept.value)
    }

    /// Removes all that do not fit.
    pub(crate) fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        self.entries.retain(|_, kept| keep(&kept.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_at_their_time() {
        let mut table = Table::new(2);
        table.insert("a".into(), 1, 10, 0);
        assert_eq!(table.get("a", 9), Some(&1));
        assert_eq!(table.get("a", 10), None);
        assert_eq!(table.take("a", 10), None);
    }

    #[test]
    fn the_oldest_makes_room_and_the_limit_holds() {
        let mut table = Table::new(3);
        for number in 0..100 {
            table.insert(number.to_string(), number, 10, 0);
        }
        assert_eq!(table.entries.len(), 3);
        assert_eq!((table.get("96", 0), table.get("97", 0)), (None, Some(&97)));
    }

    #[test]
    fn what_is_kept_is_not_pushed_out() {
        let mut table = Table::new(2);
        assert!(table.insert_unless("kept".into(), true, 10, 0, |kept| *kept));
        assert!(table.insert_unless("free".into(), false, 10, 0, |kept| *kept));
        assert!(table.insert_unless("next".into(), true, 10, 0, |kept| *kept));
        assert_eq!((table.get("kept", 0), table.get("free", 0)), (Some(&true), None));
        assert!(!table.insert_unless("more".into(), false, 10, 0, |kept| *kept));
        assert!(table.insert_unless("more".into(), false, 20, 10, |kept| *kept), "the others have expired");
    }
}
