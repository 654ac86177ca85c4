//! The time that a person takes, which is nobody's delay.
//!
//! Whoever asks a person (to log in) says so here; clocks that watch over servers stand still meanwhile. It
//! does not limit how long a person may take: whoever asks does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Counts the time that people took. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PersonTime(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    /// Questions that are open now.
    open: usize,
    /// Since when.
    since: Option<Instant>,
    /// What earlier questions took.
    spent: Duration,
}

/// A person is being asked, for as long as this lives.
#[derive(Debug)]
pub struct Asked(PersonTime);

/// How soon a clock that stands still is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

impl PersonTime {
    /// Nobody was asked so far.
    pub fn new() -> Self {
        Self::default()
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A person is asked from now on, until what this returns is dropped.
    #[must_use]
    pub fn ask(&self) -> Asked {
        let mut counted = self.counted();
        if counted.open == 0 {
            counted.since = Some(Instant::now());
        }
        counted.open += 1;
        Asked(self.clone())
    }

    /// What people took so far, the question that is open included.
    pub fn spent(&self) -> Duration {
        let counted = self.counted();
        counted.spent + counted.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether somebody is being asked.
    pub fn is_asking(&self) -> bool {
        self.counted().open > 0
    }

    /// When a clock should be looked at that would run out after `left`, if nobody is asked.
    pub(crate) fn look_again(&self, left: Duration) -> Duration {
        if self.is_asking() { left.max(LOOK_AGAIN) } else { left }
    }

    /// As `tokio::time::timeout`, without the time that people take. `None` if the time is over.
    pub(crate) async fn timeout<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        let (began, before) = (Instant::now(), self.spent());
        let over = async {
            loop {
                let used = began.elapsed().saturating_sub(self.spent() - before);
                let left = time.saturating_sub(used);
                if left.is_zero() && !self.is_asking() {
                    return;
                }
                let now = Instant::now();
                let until = now.checked_add(self.look_again(left)).unwrap_or(now + LOOK_AGAIN);
                sleep_until(until).await;
            }
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = over => None,
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut counted = self.0.counted();
        counted.open -= 1;
        if counted.open == 0
            && let Some(since) = counted.since.take()
        {
            counted.spent += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_person_may_take_longer_than_a_server() {
        let person = PersonTime::new();
        let login = async {
            let asked = person.ask();
            tokio::time::sleep(Duration::from_secs(300)).await;
            drop(asked);
            tokio::time::sleep(Duration::from_secs(5)).await;
        };
        assert_eq!(person.timeout(Duration::from_secs(10), login).await, Some(()));
        let slow = tokio::time::sleep(Duration::from_secs(11));
        assert_eq!(person.timeout(Duration::from_secs(10), slow).await, None, "earlier time is not lent");
    }

    #[tokio::test(start_paused = true)]
    async fn questions_at_once_count_once() {
        let person = PersonTime::new();
        let (first, second) = (person.ask(), person.ask());
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(first);
        assert!(person.is_asking());
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(second);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(person.spent(), Duration::from_secs(4));
        assert!(!person.is_asking());
    }
}
