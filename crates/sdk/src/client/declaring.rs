//! What single requests declare in place of what their connection does, in the words of the server's revision.
//!
//! Whoever passes on what others ask declares what those can do, which is one of few things, again and again: each is put
//! into words once. Nothing here decides what may be declared.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::ClientCapabilities;
use crate::revision::{Lower, Rules};

/// So many are kept of one connection. What was not used for longest is put into words anew.
const KEPT: usize = 64;

/// Capabilities of a request.
#[derive(Debug)]
pub(super) struct Declaring {
    given: Arc<ClientCapabilities>,
    /// As far as the revision knows them.
    pub(super) lowered: ClientCapabilities,
    /// Metadata that says so, as JSON: alone, and with each log level.
    pub(super) texts: [OnceLock<String>; 9],
}

/// Those of one connection, the last used last.
#[derive(Debug, Clone, Default)]
pub(super) struct Declarings(Arc<Mutex<Vec<Arc<Declaring>>>>);

impl Declarings {
    pub(super) fn of(&self, given: &Arc<ClientCapabilities>, rules: &Rules) -> Arc<Declaring> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Mostly it is the very same, and need not be compared.
        let same = kept.iter().rposition(|known| Arc::ptr_eq(&known.given, given));
        let equal = same.or_else(|| kept.iter().rposition(|known| known.given == *given));
        if let Some(at) = equal {
            let last = kept.len() - 1;
            kept.swap(at, last);
            return Arc::clone(&kept[last]);
        }
        let mut lowered = ClientCapabilities::clone(given);
        lowered.lower(rules);
        let made = Arc::new(Declaring { given: Arc::clone(given), lowered, texts: Default::default() });
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&made));
        made
    }
}
