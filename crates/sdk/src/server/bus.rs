//! Changes of lists and resources, from whoever makes them to everybody who is connected.
//!
//! The bus knows no sessions and no subscriptions; whoever joins it decides what of it concerns its peer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Registry;
use super::wire::Wire;

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
    members: Mutex<HashMap<usize, Weak<Wire>>>,
}

/// A place on the bus, for as long as this is kept.
pub(crate) struct Membership {
    registry: Registry,
    wire: Arc<Wire>,
}

impl Membership {
    pub(crate) fn new(registry: &Registry, wire: &Arc<Wire>) -> Self {
        registry.bus().members().insert(address(wire), Arc::downgrade(wire));
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
pub(super) fn give_back<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > 64 && table.len() < table.capacity() / 8 {
        table.shrink_to(table.len() * 2);
    }
}

fn address(wire: &Arc<Wire>) -> usize {
    Arc::as_ptr(wire).addr()
}

impl Bus {
    fn members(&self) -> MutexGuard<'_, HashMap<usize, Weak<Wire>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, change: &Change) {
        // Whoever is woken may join or leave, so the lock is free again by then.
        let wires: Vec<_> = self.members().values().filter_map(Weak::upgrade).collect();
        for wire in wires {
            wire.changed(change);
        }
    }
}
