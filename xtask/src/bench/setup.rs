//! Building what is measured: Rust package by package, because one build of the workspace would unite the features
//! of their dependencies and measure programs that nobody ships; the other languages with their own tools, into
//! `bench/target`, from lock files. A language that is not here costs only its own peers.

use super::peers::{Language, OURS, PEERS, Peer};
use crate::process::{capture, run, succeeds};
use crate::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Builds the driver and everybody who is wanted; whoever cannot be built, with the reason.
pub(super) fn build(bench: &Path, wanted: &BTreeSet<&str>) -> Result<Vec<(&'static str, String)>, String> {
    // The bare servers are what clients call.
    for package in ["drive", "bare-hyper", "bare-loop"] {
        cargo(bench, package, "release")?;
    }
    let mut missing = Vec::new();
    let mut built: Option<(&str, Result<(), String>)> = None;
    for peer in PEERS.iter().filter(|peer| wanted.contains(peer.name)) {
        if built.as_ref().is_none_or(|(package, _)| *package != peer.package) {
            eprintln!("building {}", peer.package);
            built = Some((peer.package, one(bench, peer)));
        }
        match &built {
            Some((_, Err(reason))) if peer.name == OURS => return Err(reason.clone()),
            Some((_, Err(reason))) => missing.push((peer.name, reason.clone())),
            _ => {}
        }
    }
    Ok(missing)
}

fn one(bench: &Path, peer: &Peer) -> Result<(), String> {
    match peer.language {
        Language::Rust => cargo(bench, peer.package, "release"),
        Language::Go => go(bench),
        Language::Node => node(bench),
        Language::Python => python(bench),
    }
}

/// Builds one package of the benchmark's workspace.
pub(super) fn cargo(bench: &Path, package: &str, profile: &str) -> Result<(), String> {
    let mut cargo = workspace::cargo();
    cargo.current_dir(bench).args(["build", "--profile", profile, "--locked", "--quiet", "-p", package]);
    // Where a binary is found afterwards must not depend on the caller's settings.
    cargo.env("CARGO_TARGET_DIR", bench.join("target"));
    run(&mut cargo).map_err(|_| format!("`{package}` cannot be built"))
}

fn need(program: &str) -> Result<(), String> {
    let found = succeeds(Command::new("sh").args(["-c", &format!("command -v {program}")]));
    if found { Ok(()) } else { Err(format!("`{program}` is not here")) }
}

fn go(bench: &Path) -> Result<(), String> {
    need("go")?;
    let output = bench.join("target/go-sdk/go-sdk");
    run(Command::new("go").arg("build").arg("-o").arg(output).arg(".").current_dir(bench.join("go-sdk")))
}

/// Packages are found beside the script, so the script goes to where the packages are.
fn node(bench: &Path) -> Result<(), String> {
    need("node")?;
    need("npm")?;
    let (from, to) = (bench.join("typescript-sdk"), bench.join("target/typescript-sdk"));
    let failed = |error: std::io::Error| format!("bench/typescript-sdk: {error}");
    let fresh = same(&from.join("package-lock.json"), &to.join("package-lock.json"))
        && to.join("node_modules").is_dir();
    fs::create_dir_all(&to).map_err(failed)?;
    for file in fs::read_dir(&from).map_err(failed)?.flatten().filter(|file| file.path().is_file()) {
        fs::copy(file.path(), to.join(file.file_name())).map_err(failed)?;
    }
    if fresh {
        return Ok(());
    }
    run(Command::new("npm").args(["ci", "--omit=dev", "--no-audit", "--no-fund"]).current_dir(to))
}

fn python(bench: &Path) -> Result<(), String> {
    need("python3")?;
    let (wanted, place) = (bench.join("python-sdk/requirements.txt"), bench.join("target/python-sdk"));
    if same(&wanted, &place.join("requirements.txt")) {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let mut pip = Command::new(place.join("bin/python"));
    run(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted))?;
    // Kept beside what was installed from it: the next run sees that nothing has changed.
    fs::copy(&wanted, place.join("requirements.txt"))
        .map_err(|error| format!("bench/python-sdk: {error}"))?;
    Ok(())
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// What each library and each toolchain calls itself.
pub(super) fn versions(bench: &Path, wanted: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut versions = Vec::new();
    let mut add = |name: &str, version: Option<String>| {
        versions.extend(version.map(|version| (name.to_owned(), version)));
    };
    let lock = fs::read_to_string(bench.join("Cargo.lock")).unwrap_or_default();
    for package in ["contexture", "rmcp", "tower-mcp", "hyper", "tokio"] {
        add(package, locked(&lock, package));
    }
    add("rustc", said("rustc", &["--version"]));
    let speaks =
        |language: Language| PEERS.iter().any(|peer| peer.language == language && wanted.contains(peer.name));
    if speaks(Language::Go) {
        let module = fs::read_to_string(bench.join("go-sdk/go.mod")).unwrap_or_default();
        add(
            "Go SDK",
            module
                .lines()
                .find_map(|line| line.split_once("modelcontextprotocol/go-sdk "))
                .map(|(_, v)| first(v)),
        );
        add("go", said("go", &["version"]));
    }
    if speaks(Language::Node) {
        let lock = fs::read_to_string(bench.join("typescript-sdk/package-lock.json")).unwrap_or_default();
        let lock: serde_json::Value = serde_json::from_str(&lock).unwrap_or_default();
        for (path, package) in lock["packages"].as_object().into_iter().flatten() {
            if let Some(name) = path.strip_prefix("node_modules/@modelcontextprotocol/") {
                add(
                    &format!("TypeScript @modelcontextprotocol/{name}"),
                    package["version"].as_str().map(str::to_owned),
                );
            }
        }
        add("node", said("node", &["--version"]));
    }
    if speaks(Language::Python) {
        let wanted = fs::read_to_string(bench.join("python-sdk/requirements.txt")).unwrap_or_default();
        add("Python SDK (mcp)", wanted.lines().find_map(|line| line.strip_prefix("mcp==")).map(first));
        add("python", said("python3", &["--version"]));
    }
    add(
        "wrk",
        said("sh", &["-c", "wrk -v 2>&1 | head -n 1"])
            .map(|line| line.split(" Copyright").next().map_or_else(String::new, str::to_owned)),
    );
    versions
}

fn first(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

fn said(program: &str, args: &[&str]) -> Option<String> {
    capture(Command::new(program).args(args)).ok().map(|text| text.trim().to_owned())
}

/// The version that a lock file has for a package.
fn locked(lock: &str, package: &str) -> Option<String> {
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_of_the_very_package() {
        let lock = "name = \"rmcp-macros\"\nversion = \"1.0.0\"\n\nname = \"rmcp\"\nversion = \"3.8.0\"\n";
        assert_eq!(locked(lock, "rmcp").as_deref(), Some("3.8.0"));
        assert_eq!(locked(lock, "tokio"), None);
    }
}
