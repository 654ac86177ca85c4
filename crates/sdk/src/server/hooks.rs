//! Hooks: what the author of a server wants to be told or asked.
//!
//! Of each kind one is at work at a time on a connection. What happens meanwhile makes it run once more,
//! however often it happened, so that a client cannot pile them up.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::exchange::guarded;
use super::{BoxFuture, Session};
use crate::model::LoggingMessageParams;

pub(super) type SessionHook = Arc<dyn Fn(Session) -> BoxFuture<()> + Send + Sync>;
pub(super) type Redact = Arc<dyn Fn(LoggingMessageParams) -> Option<LoggingMessageParams> + Send + Sync>;

/// The hooks of a server.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) initialized: Option<SessionHook>,
    pub(super) roots_changed: Option<SessionHook>,
    pub(super) redact: Option<Redact>,
}

/// What a hook is called for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion {
    Initialized,
    RootsChanged,
}

/// Work of one connection that belongs to no exchange.
#[derive(Default)]
pub(super) struct AtWork {
    work: FuturesUnordered<BoxFuture<Option<Occasion>>>,
    initialized: Slot,
    roots_changed: Slot,
}

#[derive(Default)]
struct Slot {
    busy: bool,
    /// What to run when the one at work is done.
    again: Option<(SessionHook, Session)>,
}

impl AtWork {
    /// Work that sees to it by itself that there is one of it at a time.
    pub(super) fn push(&mut self, work: BoxFuture<()>) {
        self.work.push(Box::pin(work.map(|()| None)));
    }

    /// Runs a hook, now or after the one that is at work.
    pub(super) fn run(&mut self, occasion: Occasion, hook: SessionHook, session: Session) {
        let slot = self.slot(occasion);
        if slot.busy {
            slot.again = Some((hook, session));
            return;
        }
        let Ok(work) = guarded(|| hook(session)) else { return };
        slot.busy = true;
        self.work.push(Box::pin(AssertUnwindSafe(work).catch_unwind().map(move |_| Some(occasion))));
    }

    /// Lets them work. Says whether one has finished.
    pub(super) fn poll(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some(finished)) = self.work.poll_next_unpin(cx) {
            moved = true;
            let Some(occasion) = finished else { continue };
            let slot = self.slot(occasion);
            slot.busy = false;
            if let Some((hook, session)) = slot.again.take() {
                self.run(occasion, hook, session);
            }
        }
        moved
    }

    fn slot(&mut self, occasion: Occasion) -> &mut Slot {
        match occasion {
            Occasion::Initialized => &mut self.initialized,
            Occasion::RootsChanged => &mut self.roots_changed,
        }
    }
}
