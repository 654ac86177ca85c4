//! `cargo xtask bench`: ours beside its peers and beside the transport itself. Benchmarks, not tests: they
//! measure and say which of the targets hold, and fail only when something cannot be built or answers
//! wrongly. What both have in common is here: building the servers, medians, and judging a ratio.
//!
//! The peers are built one package at a time, because a workspace build would unite the features of their
//! dependencies and measure programs that nobody ships.

mod http;
mod stdio;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Which side of its limit a ratio must be on.
#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Limit {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(limit) => ratio >= limit,
            Self::AtMost(limit) => ratio <= limit,
            Self::Below(limit) => ratio < limit,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("at least {limit}"),
            Self::AtMost(limit) => format!("at most {limit}"),
            Self::Below(limit) => format!("below {limit}"),
        }
    }
}

/// Runs the benchmark named by the first argument.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((kind, rest)) if kind == "stdio" => stdio::run(rest),
        Some((kind, rest)) if kind == "http" => http::run(rest),
        _ => Err(format!("{}\n{}", stdio::USAGE, http::USAGE)),
    }
}

fn root() -> Result<&'static Path, String> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or_else(|| "no workspace root".into())
}

fn build(workspace: &Path, package: &str, profile: &str) -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace).args(["build", "--profile", profile, "--locked", "--quiet", "-p", package]);
    // Where a binary is found afterwards must not depend on the caller's settings.
    cargo.env("CARGO_TARGET_DIR", workspace.join("target"));
    // What `cargo xtask` says about xtask itself is not about the package: ring's build script watches these, and
    // everything above it would be built anew.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_")) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cannot build {package}")) }
}

fn built(workspace: &Path, binary: &str, profile: &str) -> PathBuf {
    workspace.join("target").join(profile).join(binary)
}

/// The middle one; nothing of nothing.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
