//! What a run found: medians by row, server and figure, who was left out and why, and what it ran on. It is
//! kept in `bench/results.json`, from which everything else is drawn.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The figures of one server in one row.
pub(super) type Figures = BTreeMap<String, f64>;

/// All that a run found.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Results {
    /// What it ran on and with: machine, toolchains, versions, in the order to be shown.
    pub(super) about: Vec<(String, String)>,
    /// Row, server, figure.
    pub(super) rows: BTreeMap<String, BTreeMap<String, Figures>>,
    /// Row, server, reason.
    pub(super) left_out: BTreeMap<String, BTreeMap<String, String>>,
}

impl Results {
    /// The results of an earlier run.
    pub(super) fn read(bench: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(bench.join("results.json"))
            .map_err(|error| format!("bench/results.json: {error}: run `cargo xtask bench` first"))?;
        serde_json::from_str(&text).map_err(|error| format!("bench/results.json: {error}"))
    }

    /// Keeps them for later.
    pub(super) fn write(&self, bench: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        std::fs::write(bench.join("results.json"), text + "\n")
            .map_err(|error| format!("bench/results.json: {error}"))
    }

    /// Puts a later, partial run over this one.
    pub(super) fn merge(&mut self, later: Self) {
        self.about.retain(|(name, _)| !name.starts_with("Partly"));
        let told =
            |name: &str| later.about.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        if let (Some(date), Some(command), Some(commit)) = (told("Date"), told("Command"), told("Commit")) {
            self.about.push(("Partly measured later".into(), format!("{date}, {command}, of {commit}")));
        }
        for (row, servers) in later.rows {
            for (server, figures) in servers {
                if let Some(reasons) = self.left_out.get_mut(&row) {
                    reasons.remove(&server);
                }
                self.rows.entry(row.clone()).or_default().insert(server, figures);
            }
        }
        for (row, servers) in later.left_out {
            for (server, reason) in servers {
                if let Some(found) = self.rows.get_mut(&row) {
                    found.remove(&server);
                }
                self.left_out.entry(row.clone()).or_default().insert(server, reason);
            }
        }
        self.left_out.retain(|_, servers| !servers.is_empty());
    }

    /// One figure.
    pub(super) fn get(&self, row: &str, server: &str, figure: &str) -> Option<f64> {
        self.rows.get(row)?.get(server)?.get(figure).copied()
    }
}

/// The middle one; nothing of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(row: &str, server: &str, value: f64) -> Results {
        let figures = Figures::from([("rps".to_owned(), value)]);
        let rows = BTreeMap::from([(row.to_owned(), BTreeMap::from([(server.to_owned(), figures)]))]);
        Results { rows, ..Results::default() }
    }

    #[test]
    fn a_later_part_replaces_what_it_measured_again() {
        let mut results = one("a", "ours", 1.0);
        results.merge(one("a", "ours", 2.0));
        results.merge(one("b", "ours", 3.0));
        assert_eq!(results.get("a", "ours", "rps"), Some(2.0));
        assert_eq!(results.get("b", "ours", "rps"), Some(3.0));
    }

    #[test]
    fn who_fails_later_has_no_figures_and_who_answers_later_has_no_reason() {
        let failed = || Results {
            left_out: BTreeMap::from([("a".into(), BTreeMap::from([("ours".into(), "why".into())]))]),
            ..Results::default()
        };
        let mut results = one("a", "ours", 1.0);
        results.merge(failed());
        assert_eq!(results.get("a", "ours", "rps"), None);
        results.merge(one("a", "ours", 2.0));
        assert!(results.left_out.is_empty());
    }
}
