//! Counters and histograms that are written without a lock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many there are now.
#[derive(Debug, Default)]
pub(super) struct Level(AtomicI64);

impl Level {
    pub(super) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper ends, in microseconds: half a millisecond to two minutes. What takes longer waits for a person.
pub(super) const BOUNDS: [u64; 15] = [
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    120_000_000,
];

/// How long things took.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// One for each bound, and the last for all that is beyond them.
    buckets: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

impl Histogram {
    pub(super) fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[at].add(1);
        self.micros.add(micros);
    }

    /// For each bound how many were at most that long; then all of them. Each is counted once, so that the last is never
    /// less than the others, whoever records meanwhile.
    pub(super) fn cumulative(&self) -> [u64; BOUNDS.len() + 1] {
        let mut sum = 0;
        std::array::from_fn(|at| {
            sum += self.buckets[at].get();
            sum
        })
    }

    pub(super) fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros.get()).as_secs_f64()
    }
}
