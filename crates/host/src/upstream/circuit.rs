//! When a server that failed is tried again. Knows no clock: time is an argument.
//!
//! The first failures cost the next caller an attempt of his own. After several in a row the circuit is open: calls fail at
//! once, and when the next attempt is due, one caller makes it for all.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Failures in a row that open the circuit.
const OPENS: u32 = 5;

/// Failures in a row, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    failures: u32,
    due: Option<Instant>,
    probing: bool,
    last: Option<String>,
}

impl Circuit {
    /// May an attempt be made now? If not, when.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        if self.failures < OPENS {
            return Ok(());
        }
        let wait = self.wait(now).unwrap_or_default();
        if self.probing || !wait.is_zero() {
            return Err(wait.max(Duration::from_millis(100)));
        }
        self.probing = true;
        Ok(())
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, now: Instant, why: String) {
        self.failures = self.failures.saturating_add(1);
        self.probing = false;
        self.due =
            Some(now + jittered(wait_after(self.failures), RandomState::new().build_hasher().finish()));
        self.last = Some(why);
    }

    /// The attempt was given up by whoever made it; it proves nothing.
    pub(super) fn given_up(&mut self) {
        self.probing = false;
    }

    /// How long until the next attempt is due.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    pub(super) fn is_open(&self) -> bool {
        self.failures >= OPENS
    }

    /// Why the last attempt failed, if it did.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }
}

fn wait_after(failures: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(10));
    doubled.min(LONGEST_WAIT)
}

/// Between three quarters and all of it, so that gateways that fell together do not come back together.
fn jittered(wait: Duration, random: u64) -> Duration {
    wait - wait / 4 * u32::try_from(random % 1000).unwrap_or_default() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let waits: Vec<u64> = (1..9).map(|failures| wait_after(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        for random in [0, 1, 999, u64::MAX] {
            let wait = jittered(Duration::from_secs(60), random);
            assert!(wait <= Duration::from_secs(60) && wait >= Duration::from_secs(45), "{wait:?}");
        }
    }

    #[test]
    fn an_open_circuit_lets_one_through_when_it_is_due() {
        let (mut circuit, start) = (Circuit::default(), Instant::now());
        for _ in 0..OPENS {
            assert!(circuit.admit(start).is_ok(), "until it opens everybody may try");
            circuit.failed(start, "no".into());
        }
        assert!(circuit.is_open());
        assert!(circuit.admit(start).is_err());
        let later = start + LONGEST_WAIT;
        assert!(circuit.admit(later).is_ok());
        assert!(circuit.admit(later).is_err(), "one probe at a time");
        circuit.given_up();
        assert!(circuit.admit(later).is_ok());
        circuit.succeeded();
        assert!(!circuit.is_open() && circuit.admit(later).is_ok() && circuit.last().is_none());
    }
}
