//! While a person types a line, what others say goes above it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prints a text above the line that is being typed; whether it could.
type Above = Box<dyn FnMut(String) -> bool + Send>;

static ABOVE: Mutex<Option<Above>> = Mutex::new(None);
static AT_PROMPT: AtomicBool = AtomicBool::new(false);

/// Lines are read by something that knows how to print above them.
pub(crate) fn begin(above: Above) {
    *ABOVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(above);
}

/// Somebody begins to type, or has ended.
pub(crate) fn at_prompt(typing: bool) {
    AT_PROMPT.store(typing, Ordering::Release);
}

/// The line that is being typed is given up; whether there was one.
pub(crate) fn leave() -> bool {
    AT_PROMPT.swap(false, Ordering::AcqRel)
}

/// Says a line above the one that is being typed. If nobody types, it is for others to say.
pub(super) fn said(line: &str) -> bool {
    AT_PROMPT.load(Ordering::Acquire)
        && ABOVE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
            .is_some_and(|above| above(format!("{line}\n")))
}
