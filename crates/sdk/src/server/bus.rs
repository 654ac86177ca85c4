//! Changes of lists and resources, from whoever makes them to every connection.
//!
//! The bus knows no sessions and no subscriptions; a connection decides what of it concerns its peer.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::wire::Wire;

/// Something that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

/// All connections that are open.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    connections: Mutex<Vec<Weak<Wire>>>,
}

impl Bus {
    pub(crate) fn join(&self, wire: &Arc<Wire>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|known| known.strong_count() > 0);
        connections.push(Arc::downgrade(wire));
    }

    pub(crate) fn publish(&self, change: &Change) {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for wire in connections.iter().filter_map(Weak::upgrade) {
            wire.changed(change);
        }
    }
}
