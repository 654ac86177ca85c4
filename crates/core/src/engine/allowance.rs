//! How many per second: a bucket that fills up with time.
//!
//! It only counts. What happens to what exceeds it (dropped, refused) is the caller's choice.

use std::time::Duration;

/// Permits so many events in a second, and as many at once after a pause.
#[derive(Debug, Clone)]
pub struct Allowance {
    per_second: u32,
    left: f64,
    updated: Duration,
    refused: u64,
}

impl Allowance {
    /// `u32::MAX` permits everything.
    pub fn new(per_second: u32) -> Self {
        Self { per_second, left: f64::from(per_second), updated: Duration::ZERO, refused: 0 }
    }

    /// Whether one more is permitted now.
    pub fn take(&mut self, now: Duration) -> bool {
        if self.per_second == u32::MAX {
            return true;
        }
        let full = f64::from(self.per_second);
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        self.left = (self.left + elapsed * full).min(full);
        self.updated = self.updated.max(now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return true;
        }
        self.refused = self.refused.saturating_add(1);
        false
    }

    /// Whether one more is permitted now; the clock is read only if that matters.
    pub fn take_now(&mut self, now: impl FnOnce() -> Duration) -> bool {
        self.per_second == u32::MAX || self.take(now())
    }

    /// How many were not permitted.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: LOG-RATE-LIMIT, PROG-RATE-LIMIT
    #[test]
    fn a_flood_is_cut_to_the_rate_and_counted() {
        let mut allowance = Allowance::new(10);
        let at_once = (0..10_000).filter(|_| allowance.take(Duration::ZERO)).count();
        assert_eq!(at_once, 10);
        assert_eq!(allowance.refused(), 9_990);
        let later = (0..100).filter(|_| allowance.take(Duration::from_millis(500))).count();
        assert_eq!(later, 5);
    }
}
