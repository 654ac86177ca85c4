//! Building what is measured: our binary as it is shipped, the server behind it, and other people's gateways from their
//! registries, with lock files. Whoever cannot be installed costs only themselves.

use super::super::binary;
use super::super::peers::BARE_HTTP;
use super::super::setup::cargo;
use super::peers::{Gateway, OURS};
use crate::process::{capture, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Builds everything; whoever cannot be built, with the reason.
pub(super) fn build(bench: &Path, wanted: &[&Gateway]) -> Result<Vec<(&'static str, String)>, String> {
    for package in ["drive", "contexture-bench", BARE_HTTP] {
        cargo(bench, package, "release")?;
    }
    if wanted.iter().any(|gateway| gateway.name.starts_with(OURS)) {
        binary::shipped()?;
    }
    let mut missing = Vec::new();
    for gateway in wanted {
        let installed = match gateway.name {
            "fastmcp" | "mcp-proxy" => python(bench, gateway.name),
            "supergateway" | "mcp-remote" => npm(bench),
            _ => Ok(()),
        };
        missing.extend(installed.err().map(|reason| (gateway.name, reason)));
    }
    Ok(missing)
}

fn python(bench: &Path, name: &str) -> Result<(), String> {
    let (wanted, place) =
        (bench.join(format!("gateway/python/{name}.txt")), bench.join(format!("target/gateway/{name}")));
    if same(&wanted, &place.join("installed.txt")) {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let mut pip = Command::new(place.join("bin/python"));
    run(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted))?;
    // Kept beside what was installed from it: the next run sees that nothing has changed.
    fs::copy(&wanted, place.join("installed.txt"))
        .map_err(|error| format!("bench/gateway/python: {error}"))?;
    Ok(())
}

fn npm(bench: &Path) -> Result<(), String> {
    let (from, to) = (bench.join("gateway/npm"), bench.join("target/gateway/npm"));
    let failed = |error: std::io::Error| format!("bench/gateway/npm: {error}");
    if same(&from.join("package-lock.json"), &to.join("package-lock.json"))
        && to.join("node_modules").is_dir()
    {
        return Ok(());
    }
    fs::create_dir_all(&to).map_err(failed)?;
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(file), to.join(file)).map_err(failed)?;
    }
    run(Command::new("npm").args(["ci", "--omit=dev", "--no-audit", "--no-fund"]).current_dir(to))
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// What each gateway and each toolchain calls itself.
pub(super) fn versions(bench: &Path) -> Vec<(String, String)> {
    let mut versions = Vec::new();
    for name in ["mcp-proxy", "fastmcp"] {
        let locked = fs::read_to_string(bench.join(format!("gateway/python/{name}.txt"))).unwrap_or_default();
        let version = locked.lines().find_map(|line| line.strip_prefix(&format!("{name}==")));
        versions.extend(version.map(|version| (name.to_owned(), version.to_owned())));
    }
    let package = fs::read_to_string(bench.join("gateway/npm/package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    for (name, version) in package["dependencies"].as_object().into_iter().flatten() {
        versions.extend(version.as_str().map(|version| (name.clone(), version.to_owned())));
    }
    for (program, args) in [("node", "--version"), ("python3", "--version"), ("rustc", "--version")] {
        let said = capture(Command::new(program).arg(args)).ok();
        versions.extend(said.map(|said| (program.to_owned(), said.trim().to_owned())));
    }
    versions
}
