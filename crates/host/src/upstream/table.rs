//! All connections to one server, by whose they are. Bounded: what is idle makes room, and what is not stays. One who is known
//! keeps no more than half of them busy.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use contexture::server::BoxFuture;
use futures_util::FutureExt;
use futures_util::future::Shared;

use super::Audience;
use super::audience::Key;
use super::connection::{Connection, Lease};
use super::health::Unavailable;

/// A connection in the making, for all who wait for it.
pub(super) type Starting = Shared<BoxFuture<Result<Arc<Connection>, Unavailable>>>;

pub(super) fn starting(
    work: impl Future<Output = Result<Arc<Connection>, Unavailable>> + Send + 'static,
) -> Starting {
    let work: BoxFuture<_> = Box::pin(work);
    work.shared()
}

pub(super) struct Table {
    limit: usize,
    slots: HashMap<Key, Slot>,
}

#[derive(Default)]
struct Slot {
    live: Vec<Arc<Connection>>,
    /// What somebody else is waiting for already; where calls share nothing, each waits for his own.
    starting: Option<Starting>,
    starts: usize,
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.live.is_empty() && self.starts == 0
    }
}

impl Table {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, slots: HashMap::new() }
    }

    /// A connection that is there.
    pub(super) fn take(&mut self, key: &Key, who: &Audience) -> Option<Lease> {
        let live = &self.slots.get(key)?.live;
        live.iter().find(|connection| connection.is_free()).map(|connection| connection.lease(who))
    }

    /// This one, if it is free.
    pub(super) fn take_this(&mut self, connection: &Arc<Connection>, who: &Audience) -> Option<Lease> {
        connection.is_free().then(|| connection.lease(who))
    }

    /// A connection that is there, though a call may have it to itself; unless it is that call's alone.
    pub(super) fn share(&mut self, key: &Key, who: &Audience) -> Option<Lease> {
        let live = &self.slots.get(key).filter(|_| !key.once)?.live;
        live.iter().find(|connection| connection.is_usable()).map(|connection| connection.visit(who))
    }

    /// One that is being made, or `make` begins to; nothing if there is no room.
    pub(super) fn starting(&mut self, key: &Key, make: impl FnOnce() -> Starting) -> Option<Starting> {
        if let Some(slot) = self.slots.get(key).filter(|_| !key.exclusive)
            && let Some(starting) = &slot.starting
        {
            return Some(starting.clone());
        }
        let (live, _, starts) = self.counts();
        if self.busy_for(key) >= self.limit.div_ceil(2) {
            return None;
        }
        if live + starts >= self.limit
            && !self.slots.values().flat_map(|slot| &slot.live).any(|it| it.is_idle())
        {
            return None;
        }
        let starting = make();
        let slot = self.slots.entry(key.clone()).or_default();
        slot.starts += 1;
        slot.starting = Some(starting.clone());
        Some(starting)
    }

    /// How many are kept busy by whoever this is for. Nobody can tell strangers apart.
    fn busy_for(&self, key: &Key) -> usize {
        let Some(principal) = key.principal.as_ref().filter(|it| !it.is_anonymous()) else { return 0 };
        let own = self.slots.iter().filter(|(other, _)| other.principal.as_ref() == Some(principal));
        own.map(|(_, slot)| slot.starts + slot.live.iter().filter(|it| !it.is_idle()).count()).sum()
    }

    /// What was being made under this key is there, or failed.
    pub(super) fn started(&mut self, key: &Key) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.starts = slot.starts.saturating_sub(1);
            slot.starting = None;
            if slot.is_empty() {
                self.slots.remove(key);
            }
        }
    }

    /// Puts it where it belongs; says which one had to make room, or that none could.
    pub(super) fn insert(&mut self, connection: &Arc<Connection>) -> Result<Option<Arc<Connection>>, ()> {
        let evicted = if self.counts().0 >= self.limit { Some(self.longest_idle().ok_or(())?) } else { None };
        if let Some(evicted) = &evicted {
            self.remove(evicted);
        }
        self.slots.entry(connection.key.clone()).or_default().live.push(Arc::clone(connection));
        Ok(evicted)
    }

    fn longest_idle(&self) -> Option<Arc<Connection>> {
        let idle = self.slots.values().flat_map(|slot| &slot.live).filter(|connection| connection.is_idle());
        idle.min_by_key(|connection| connection.last_used()).cloned()
    }

    /// Takes it out; says whether it was there.
    pub(super) fn remove(&mut self, connection: &Arc<Connection>) -> bool {
        let Some(slot) = self.slots.get_mut(&connection.key) else { return false };
        let before = slot.live.len();
        slot.live.retain(|other| !Arc::ptr_eq(other, connection));
        let removed = slot.live.len() < before;
        if slot.is_empty() {
            self.slots.remove(&connection.key);
        }
        removed
    }

    /// Takes out all of them; and those that are being made.
    pub(super) fn clear(&mut self) -> (Vec<Arc<Connection>>, Vec<Starting>) {
        let starting = self.slots.values().filter_map(|slot| slot.starting.clone()).collect();
        let live = self.slots.values_mut().flat_map(|slot| std::mem::take(&mut slot.live)).collect();
        (live, starting)
    }

    /// All that are there.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.slots.values().flat_map(|slot| &slot.live)
    }

    /// Connections, calls in flight, and connections in the making.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let mut counts = (0, 0, 0);
        for slot in self.slots.values() {
            counts.0 += slot.live.len();
            counts.1 += slot.live.iter().map(|connection| connection.in_flight()).sum::<usize>();
            counts.2 += slot.starts;
        }
        counts
    }
}
