//! Changes of lists and resources, from whoever makes them to everybody who is connected.
//!
//! The bus knows no sessions and no subscriptions; whoever joins it decides what of it concerns its peer.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::wire::Wire;
use super::{Principal, Registry};

/// Something that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Updated(String),
    /// The server is being stopped.
    #[cfg_attr(not(feature = "http-server"), allow(dead_code, reason = "a pipe's own loop is told to stop"))]
    Stopping,
}

/// All wires that want to hear of changes.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    /// By address, so that each can leave at once: there may be many thousands.
    members: Mutex<HashMap<usize, Member>>,
}

/// One of them, and whose it is.
#[derive(Debug)]
struct Member {
    wire: Weak<Wire>,
    principal: Principal,
}

/// A place on the bus, for as long as this is kept.
pub(crate) struct Membership {
    registry: Registry,
    wire: Arc<Wire>,
}

impl Membership {
    pub(crate) fn new(registry: &Registry, wire: &Arc<Wire>, principal: &Principal) -> Self {
        let member = Member { wire: Arc::downgrade(wire), principal: principal.identity() };
        registry.bus().members().insert(address(wire), member);
        Self { registry: registry.clone(), wire: Arc::clone(wire) }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut members = self.registry.bus().members();
        members.remove(&address(&self.wire));
        give_back(&mut members);
    }
}

/// A crowd that has gone leaves no large empty tables behind.
pub(super) fn give_back<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>) {
    if table.capacity() > 64 && table.len() < table.capacity() / 8 {
        table.shrink_to(table.len() * 2);
    }
}

fn address(wire: &Arc<Wire>) -> usize {
    Arc::as_ptr(wire).addr()
}

impl Bus {
    fn members(&self) -> MutexGuard<'_, HashMap<usize, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody.
    pub(crate) fn publish(&self, change: &Change) {
        self.publish_where(change, |_| true);
    }

    /// Tells those who are this principal.
    pub(crate) fn publish_to(&self, principal: &Principal, change: &Change) {
        self.publish_where(change, |member| member.principal == *principal);
    }

    fn publish_where(&self, change: &Change, concerned: impl Fn(&Member) -> bool) {
        // Whoever is woken may join or leave, so the lock is free again by then.
        let wires: Vec<_> = {
            let members = self.members();
            members.values().filter(|member| concerned(member)).filter_map(|it| it.wire.upgrade()).collect()
        };
        for wire in wires {
            wire.changed(change);
        }
    }
}
