//! How long things took, counted in buckets: bounded memory however many there are, and no more than 1 % wrong.
//!
//! Each power of two has 128 buckets of one width, as in HDR histograms. The largest value is kept as it is.

use std::time::Duration;

/// Buckets of one power of two, as a power of two.
const FINE: u32 = 7;
/// All that a number of nanoseconds can be.
const BUCKETS: usize = ((64 - FINE as usize) + 1) << FINE;

pub(super) struct Buckets {
    counts: Vec<u64>,
    total: u64,
    sum: Duration,
    longest: Duration,
}

impl Buckets {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, sum: Duration::ZERO, longest: Duration::ZERO }
    }

    pub(super) fn add(&mut self, took: Duration) {
        self.counts[index(nanoseconds(took))] += 1;
        self.total += 1;
        self.sum = self.sum.saturating_add(took);
        self.longest = self.longest.max(took);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    pub(super) fn mean(&self) -> Duration {
        if self.total == 0 { Duration::ZERO } else { self.sum.div_f64(self.total as f64) }
    }

    /// The time within which this share of them was done.
    pub(super) fn within(&self, share: f64) -> Duration {
        let wanted = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(end(index)).min(self.longest);
            }
        }
        self.longest
    }

    /// How many took less than this, about.
    pub(super) fn below(&self, limit: Duration) -> u64 {
        self.counts[..index(nanoseconds(limit))].iter().sum()
    }
}

fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

/// The bucket of a value: small ones have one each, then each power of two is cut into equal parts.
fn index(value: u64) -> usize {
    let octave = (64 - value.leading_zeros()).saturating_sub(FINE + 1);
    ((octave as usize) << FINE) + (value >> octave) as usize
}

/// The largest value of a bucket.
fn end(index: usize) -> u64 {
    if index < 2 << FINE {
        return index as u64;
    }
    let octave = (index >> FINE) - 1;
    let part = (index - (octave << FINE)) as u64;
    (part << octave) + ((1 << octave) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        let mut value = 1_u64;
        while value < u64::MAX / 3 {
            for value in [value - 1, value, value + value / 3] {
                let end = end(index(value));
                assert!(value <= end && end - value <= value / 128, "{value} ends at {end}");
            }
            value *= 2;
        }
        assert!(index(u64::MAX) < BUCKETS);
    }

    #[test]
    fn shares_are_those_of_the_sorted_values() {
        let mut buckets = Buckets::new();
        let mut values: Vec<u64> = (1..=1000).map(|number| number * number * 37).collect();
        values.iter().for_each(|nanoseconds| buckets.add(Duration::from_nanos(*nanoseconds)));
        values.sort_unstable();
        for (share, rank) in [(0.001, 1), (0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1000)] {
            let (found, exact) = (buckets.within(share).as_nanos() as f64, values[rank - 1] as f64);
            assert!(found >= exact && found <= exact * 1.01, "{share}: {found} for {exact}");
        }
        assert_eq!(buckets.longest(), Duration::from_nanos(37_000_000));
        assert_eq!(buckets.within(0.999_99), buckets.longest());
        assert_eq!(Buckets::new().within(0.5), Duration::ZERO);
    }
}
