//! Requests that we have sent and that are not answered yet.
//!
//! Ids are counted up and never reused, which satisfies every revision. Time comes in as the duration
//! since the connection began. The table decides what has expired; telling the peer is the caller's.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::json_rpc::RequestId;
use crate::model::ProgressToken;

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Silence after which the request fails; progress starts it anew.
    pub idle: Duration,
    /// The whole time that it may take, whatever progress is reported.
    pub total: Duration,
    /// Whether progress starts the idle time anew.
    pub renewed_by_progress: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), total: Duration::from_secs(600), renewed_by_progress: true }
    }
}

/// The table is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPending {
    /// How many it holds.
    pub limit: usize,
}

/// Requests in flight towards the peer, with what is to be done when each is settled.
#[derive(Debug)]
pub struct Pending<T> {
    last_id: i64,
    limit: usize,
    entries: HashMap<i64, Entry<T>>,
    deadlines: BTreeSet<(Duration, i64)>,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    patience: Patience,
    deadline: Duration,
    latest: Duration,
}

impl<T> Pending<T> {
    /// An empty table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self { last_id: 0, limit, entries: HashMap::new(), deadlines: BTreeSet::new() }
    }

    /// Enters a request and gives it its id, which is its progress token as well.
    pub fn open(&mut self, value: T, patience: Patience, now: Duration) -> Result<i64, TooManyPending> {
        if self.entries.len() >= self.limit {
            return Err(TooManyPending { limit: self.limit });
        }
        self.last_id += 1;
        let latest = now.saturating_add(patience.total);
        let deadline = now.saturating_add(patience.idle).min(latest);
        self.deadlines.insert((deadline, self.last_id));
        self.entries.insert(self.last_id, Entry { value, patience, deadline, latest });
        Ok(self.last_id)
    }

    /// Takes the request out: it is answered, cancelled or given up. `None` if it is not (any more) ours.
    pub fn settle(&mut self, id: &RequestId) -> Option<T> {
        let id = id.as_i64()?;
        let entry = self.entries.remove(&id)?;
        self.deadlines.remove(&(entry.deadline, id));
        Some(entry.value)
    }

    /// Notes progress on a request and returns what belongs to it.
    pub fn progress(&mut self, token: &ProgressToken, now: Duration) -> Option<&mut T> {
        let id = token.as_i64()?;
        let entry = self.entries.get_mut(&id)?;
        if entry.patience.renewed_by_progress {
            self.deadlines.remove(&(entry.deadline, id));
            entry.deadline = now.saturating_add(entry.patience.idle).min(entry.latest);
            self.deadlines.insert((entry.deadline, id));
        }
        Some(&mut entry.value)
    }

    /// What belongs to a request.
    pub fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        self.entries.get_mut(&id).map(|entry| &mut entry.value)
    }

    /// When the next request expires.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Takes out one request whose time is over.
    pub fn expire(&mut self, now: Duration) -> Option<(i64, T)> {
        let &(deadline, id) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.deadlines.remove(&(deadline, id));
        self.entries.remove(&id).map(|entry| (id, entry.value))
    }

    /// Takes everything out, with its id: the connection is over.
    pub fn drain(&mut self) -> Vec<(i64, T)> {
        self.deadlines.clear();
        self.entries.drain().map(|(id, entry)| (id, entry.value)).collect()
    }

    /// How many requests are waiting.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn patience(idle: u64, total: u64) -> Patience {
        Patience { idle: secs(idle), total: secs(total), renewed_by_progress: true }
    }

    // covers: BASE-REQ-ID-UNIQUE
    #[test]
    fn ids_are_never_used_twice() {
        let mut pending = Pending::new(10);
        let first = pending.open((), patience(1, 1), secs(0)).expect("room");
        pending.settle(&first.into());
        assert_ne!(pending.open((), patience(1, 1), secs(0)).expect("room"), first);
    }

    // covers: LIFE-TIMEOUT-PROGRESS-RESET, LIFE-TIMEOUT-MAX
    #[test]
    fn progress_renews_patience_up_to_the_total() {
        let mut pending = Pending::new(10);
        let id = pending.open("call", patience(10, 25), secs(0)).expect("room");
        let token = ProgressToken::from(id);
        assert!(pending.progress(&token, secs(9)).is_some());
        assert_eq!(pending.expire(secs(18)), None);
        assert!(pending.progress(&token, secs(18)).is_some());
        assert_eq!(pending.next_deadline(), Some(secs(25)));
        assert_eq!(pending.expire(secs(25)), Some((id, "call")));
        assert!(pending.is_empty());
    }

    // covers: LIFE-TIMEOUT-STOP-WAITING, PROG-TRACK
    #[test]
    fn what_has_expired_is_nobodys() {
        let mut pending = Pending::new(10);
        let id = pending.open((), patience(1, 1), secs(0)).expect("room");
        assert!(pending.expire(secs(1)).is_some());
        assert_eq!(pending.settle(&id.into()), None);
        assert!(pending.progress(&ProgressToken::from(id), secs(1)).is_none());
    }

    #[test]
    fn the_table_has_a_bound() {
        let mut pending = Pending::new(1);
        pending.open((), patience(1, 1), secs(0)).expect("room");
        assert_eq!(pending.open((), patience(1, 1), secs(0)), Err(TooManyPending { limit: 1 }));
    }
}
