//! Keep-alive: asks a client now and then whether it is there.
//!
//! One question at a time, never more often than once a second, and only where the era has `ping`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Context as TaskContext;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::operation::BoxFuture;
use super::wire::Wire;
use crate::engine::{Patience, Session};
use crate::model::Method;

/// How a peer is asked whether it is there.
#[derive(Debug, Clone, Copy)]
pub struct KeepAlive {
    /// Time between two questions; at least a second.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// After so many failures in a row the connection is ended; 0 means never.
    pub failures: u32,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), timeout: Duration::from_secs(10), failures: 3 }
    }
}

const SHORTEST: Duration = Duration::from_secs(1);

/// The heartbeat of one connection.
#[derive(Debug)]
pub(super) struct Pulse {
    settings: Option<KeepAlive>,
    next: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
    asking: Arc<AtomicBool>,
    failed: Arc<AtomicU32>,
}

impl Pulse {
    pub(super) fn new(settings: Option<KeepAlive>) -> Self {
        Self { settings, next: None, alarm: None, asking: Arc::default(), failed: Arc::default() }
    }

    /// Has the task woken when the next question is due.
    pub(super) fn poll_next(&mut self, cx: &mut TaskContext<'_>) {
        let Some(next) = self.next else { return };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(next)));
        if alarm.deadline() != next {
            alarm.as_mut().reset(next);
        }
        if alarm.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        let limit = self.settings.map_or(0, |settings| settings.failures);
        limit > 0 && self.failed.load(Ordering::Relaxed) >= limit
    }

    /// A question, if one is due.
    pub(super) fn beat(&mut self, session: Option<&Session>, wire: &Arc<Wire>) -> Option<BoxFuture<()>> {
        let settings = self.settings?;
        session.filter(|session| session.is_ready())?;
        let now = Instant::now();
        let interval = settings.interval.max(SHORTEST);
        // An interval without end reaches beyond what a clock can show: nothing is ever due.
        let following = now.checked_add(interval)?;
        let due = *self.next.get_or_insert(following);
        if now < due {
            return None;
        }
        self.next = Some(following);
        if self.asking.swap(true, Ordering::Relaxed) {
            return None;
        }
        let (wire, asking, failed) = (Arc::clone(wire), Arc::clone(&self.asking), Arc::clone(&self.failed));
        let patience =
            Patience { idle: settings.timeout, total: settings.timeout, renewed_by_progress: false };
        Some(Box::pin(async move {
            match wire.request(Method::Ping, None::<&()>, patience).await {
                Ok(_) => failed.store(0, Ordering::Relaxed),
                Err(error) => {
                    let failures = failed.fetch_add(1, Ordering::Relaxed) + 1;
                    tracing::warn!(%error, failures, "the client does not answer pings");
                }
            }
            asking.store(false, Ordering::Relaxed);
        }))
    }
}
