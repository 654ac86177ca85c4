//! What a verb printed, for a shell that goes on with it.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

/// Nothing is kept until somebody listens.
static LAST: Mutex<Option<Option<Value>>> = Mutex::new(None);

/// From now on the last result is kept.
pub(super) fn listen() {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(None);
}

/// The last result since then. Afterwards nobody listens.
pub(super) fn taken() -> Option<Value> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).take().flatten()
}

/// A verb has this to say.
pub(super) fn said(result: &impl Serialize) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = last.as_mut() {
        *kept = serde_json::to_value(result).ok();
    }
}
