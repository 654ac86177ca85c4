//! The figures of the benchmark: what they are called, how they are written, and which way is better.

/// Which of two values one would rather have.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Better {
    Higher,
    Lower,
    /// Shown for whoever wonders; nobody is better for it.
    Neither,
}

/// One figure.
pub(super) struct Figure {
    /// The driver's name for it.
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    decimals: usize,
    pub(super) better: Better,
}

const fn figure(name: &'static str, heading: &'static str, decimals: usize, better: Better) -> Figure {
    Figure { name, heading, decimals, better }
}

/// In the order of the columns.
pub(super) const FIGURES: [Figure; 13] = [
    figure("rps", "req/s", 0, Better::Higher),
    figure("p50_us", "p50 µs", 1, Better::Neither),
    figure("p99_us", "p99 µs", 1, Better::Lower),
    figure("cpu_us", "CPU µs", 2, Better::Lower),
    figure("start_ms", "start ms", 2, Better::Lower),
    figure("kib_each", "KiB each", 2, Better::Lower),
    figure("rss_mb", "RSS MB", 1, Better::Neither),
    figure("peak_mb", "peak MB", 2, Better::Neither),
    figure("payloads", "peak ÷ payload", 2, Better::Lower),
    figure("page", "tools", 0, Better::Neither),
    figure("server_core", "server %", 0, Better::Neither),
    figure("wrk_core", "wrk %", 0, Better::Neither),
    figure("others", "others %", 0, Better::Neither),
];

/// The figure of that name.
pub(super) fn named(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

impl Figure {
    /// As it is written in a table.
    pub(super) fn show(&self, value: f64) -> String {
        if self.decimals == 0 || value >= 1_000.0 {
            thousands(value)
        } else {
            format!("{value:.*}", self.decimals)
        }
    }
}

/// A whole number with its thousands set off.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_read_them() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(-1000.0), "-1,000");
        assert_eq!(named("cpu_us").map(|figure| figure.show(9.724)).as_deref(), Some("9.72"));
    }
}
