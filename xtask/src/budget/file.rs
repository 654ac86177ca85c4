//! `bench/budget.toml`: sections, and lines of a name and a number. It reads nothing else of TOML, and renews only
//! the numbers that were measured: what is promised is never changed by a measurement.

use super::Measured;
use crate::workspace;
use std::path::PathBuf;

const FILE: &str = "bench/budget.toml";
const PROMISED: &str = "promised allocations";
/// Instructions that a call may have more than it was measured with: other compilers, other versions of libc.
const ROOM: f64 = 1.05;
/// A budget that is off by less than this stays as it is: every measurement differs a little.
const STEADY: f64 = 0.02;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Allocations,
    Instructions,
}

impl Kind {
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Instructions => "instructions",
        }
    }

    /// Another processor needs another number of instructions for the same work.
    pub(super) fn is_judged_here(self) -> bool {
        self == Self::Allocations || cfg!(target_arch = "x86_64")
    }
}

/// The file as it is.
pub(super) struct Budgets {
    text: String,
}

impl Budgets {
    pub(super) fn read() -> Result<Self, String> {
        let text = std::fs::read_to_string(path()).map_err(|error| format!("{FILE}: {error}"))?;
        Ok(Self { text })
    }

    pub(super) fn write(&self) -> Result<(), String> {
        std::fs::write(path(), &self.text).map_err(|error| format!("{FILE}: {error}"))
    }

    pub(super) fn get(&self, kind: Kind, name: &str) -> Option<f64> {
        self.number(kind.section(), name)
    }

    /// What was promised for this work: one call of `echo`, by its transport.
    pub(super) fn promised(&self, kind: Kind, name: &str) -> Option<f64> {
        let transport = name.split(',').next()?;
        let is_promised = kind == Kind::Allocations && name.ends_with("echo");
        is_promised.then(|| self.number(PROMISED, transport)).flatten()
    }

    fn number(&self, section: &str, name: &str) -> Option<f64> {
        let (heading, entry) = (heading(section), format!("\"{name}\""));
        let lines = self.text.lines().skip_while(|line| line.trim() != heading).skip(1);
        let mut lines = lines.take_while(|line| !line.starts_with('['));
        let value = lines.find_map(|line| line.trim().strip_prefix(&entry)?.trim().strip_prefix('='))?;
        value.trim().replace('_', "").parse().ok()
    }

    /// Makes what was measured the budget, with its room.
    pub(super) fn renew(&mut self, measured: &[Measured]) {
        let head = self.text.find(&heading(Kind::Allocations.section())).unwrap_or(self.text.len());
        let mut text = self.text[..head].trim_end().to_owned();
        text.push('\n');
        for kind in [Kind::Allocations, Kind::Instructions] {
            text.push_str(&format!("\n{}\n", heading(kind.section())));
            for it in measured.iter().filter(|it| it.kind == kind) {
                text.push_str(&format!("\"{}\" = {}\n", it.name, grouped(self.renewed(it))));
            }
        }
        self.text = text;
    }

    fn renewed(&self, it: &Measured) -> f64 {
        match it.kind {
            Kind::Allocations => {
                let promised = self.promised(it.kind, it.name).unwrap_or(f64::INFINITY);
                (it.each + 1.0).min(promised)
            }
            Kind::Instructions => {
                let fresh = it.each * ROOM;
                match self.get(it.kind, it.name) {
                    Some(old) if (fresh / old - 1.0).abs() < STEADY => old,
                    // Nobody reads further than the third digit.
                    _ => (fresh / 10.0).ceil() * 10.0,
                }
            }
        }
    }
}

fn path() -> PathBuf {
    workspace::root().join(FILE)
}

fn heading(section: &str) -> String {
    format!("[\"{section}\"]")
}

/// A whole number as TOML lets one write it: 12_345.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why.\n[\"promised allocations\"]\n\"http\" = 15\n\n[\"allocations\"]\n\"http, echo\" = 9\n\
                        [\"instructions\"]\n\"http, echo\" = 10_500\n";

    #[test]
    fn numbers_belong_to_their_section() {
        let budgets = Budgets { text: TEXT.to_owned() };
        assert_eq!(budgets.get(Kind::Allocations, "http, echo"), Some(9.0));
        assert_eq!(budgets.get(Kind::Instructions, "http, echo"), Some(10_500.0));
        assert_eq!(budgets.get(Kind::Allocations, "http"), None);
        assert_eq!(budgets.promised(Kind::Allocations, "http, echo"), Some(15.0));
        assert_eq!(budgets.promised(Kind::Allocations, "http, ten steps"), None);
        assert_eq!(budgets.promised(Kind::Instructions, "http, echo"), None);
    }

    #[test]
    fn renewing_keeps_promises_and_what_is_still_right() {
        let mut budgets = Budgets { text: TEXT.to_owned() };
        budgets.renew(&[
            Measured::new(Kind::Allocations, "http, echo", 15.0),
            Measured::new(Kind::Instructions, "http, echo", 10_050.0),
            Measured::new(Kind::Instructions, "http, steps", 1_234_567.0),
        ]);
        assert!(budgets.text.starts_with("# Why.\n[\"promised allocations\"]\n\"http\" = 15\n\n"));
        assert_eq!(budgets.get(Kind::Allocations, "http, echo"), Some(15.0), "never above the promise");
        assert_eq!(
            budgets.get(Kind::Instructions, "http, echo"),
            Some(10_500.0),
            "half a per cent is nothing"
        );
        assert!(budgets.text.ends_with("\"http, steps\" = 1_296_300\n"), "{}", budgets.text);
    }
}
