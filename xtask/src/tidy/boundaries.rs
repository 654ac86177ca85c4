//! Rules about who may know what: revisions, the core's purity, the two sides of the SDK.

use super::Finding;
use super::imports::{self, Path};
use super::source::{Source, find_word};
use crate::workspace::REVISIONS;

/// Checks one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = revisions(source);
    if source.within("core").is_some() {
        findings.extend(purity(source));
    }
    if let Some(file) = source.within("sdk") {
        findings.extend(sides(source, file));
    }
    findings
}

/// Design invariant 2: revisions are compared only inside `core/revision`.
///
/// The binary may print and parse dates (demo texts, command lines), hence only code counts there.
fn revisions(source: &Source) -> Vec<Finding> {
    let home = source.within("core").is_some_and(|file| file.starts_with("revision"));
    if source.in_crates().is_none() || home {
        return Vec::new();
    }
    let dates_matter = source.within("cli").is_none();
    let mut findings = Vec::new();
    for (number, line) in source.shipped() {
        let dated = || REVISIONS.iter().any(|date| line.literal.contains(&format!("\"{date}\"")));
        let named = ["Revision::V2", "Revision::{", "Revision::*", "Era::"];
        let what = if let Some(name) = named.iter().find(|name| find_prefix(&line.code, name)) {
            format!("`{name}…`")
        } else if dates_matter && dated() {
            "a revision's date".to_owned()
        } else {
            continue;
        };
        let message = format!("{what} outside core/revision: ask a rule by name, or add one to Rules");
        findings.push(Finding::new("revision", &source.path, number, message));
    }
    findings
}

/// Whether the text is there and does not go on to the left.
fn find_prefix(code: &str, name: &str) -> bool {
    code.match_indices(name)
        .any(|(at, _)| !code[..at].chars().next_back().is_some_and(super::source::is_word))
}

/// What the core must not name: I/O, clocks, randomness, threads, runtimes.
const IMPURE: [&str; 23] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::os",
    "std::thread",
    "std::process",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "std::time::Instant",
    "std::time::SystemTime",
    "time::Instant",
    "time::SystemTime",
    "Instant::now",
    "SystemTime::now",
    "tokio",
    "async_std",
    "rand",
    "getrandom",
    "std::hash::RandomState",
];

/// Design invariant 1: the core has no I/O, clock, randomness or runtime.
fn purity(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in imports::paths(source) {
        if let Some(name) = IMPURE.iter().find(|name| path.starts_with(name)) {
            let message = format!("the core does not use `{name}`: let the caller pass in what is needed");
            findings.push(Finding::new("core", &source.path, path.line, message));
        }
    }
    for (number, line) in source.shipped() {
        let macros = ["println", "eprintln", "print", "eprint"];
        let prints =
            |name: &&&str| line.code.contains(&format!("{name}!")) && find_word(&line.code, name).is_some();
        if let Some(name) = macros.iter().find(prints) {
            findings.push(Finding::new(
                "core",
                &source.path,
                number,
                format!("the core does not print (`{name}!`)"),
            ));
        }
    }
    findings
}

/// Inside the SDK, `server` and `client` do not import each other.
fn sides(source: &Source, file: &str) -> Vec<Finding> {
    let module: Vec<&str> = module_of(file);
    let (own, other) = match module.first() {
        Some(&"server") => ("server", "client"),
        Some(&"client") => ("client", "server"),
        _ => return Vec::new(),
    };
    let crossing = |path: &Path| absolute(&module, &path.text).get(1).is_some_and(|part| part == other);
    let paths = imports::paths(source);
    let crossings = paths.iter().filter(|path| crossing(path));
    let finding = |path: &Path| {
        let message = format!("`{own}` does not use `{}`: move what both need out of both", path.text);
        Finding::new("sides", &source.path, path.line, message)
    };
    crossings.map(finding).collect()
}

/// `server/registry.rs` is the module `server::registry`, `server/mod.rs` is `server`.
fn module_of(file: &str) -> Vec<&str> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    stem.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect()
}

/// The parts of a path from the crate's root on; empty for a path into another crate or a local name.
fn absolute(module: &[&str], path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split("::").collect();
    let supers = parts.iter().take_while(|part| **part == "super").count();
    let base: &[&str] = match parts[0] {
        "crate" => &[],
        "super" => module.get(..module.len().saturating_sub(supers)).unwrap_or(&[]),
        _ => return Vec::new(),
    };
    let rest = parts.iter().skip(supers.max(1));
    std::iter::once("crate").chain(base.iter().copied()).chain(rest.copied()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn revisions_stay_at_home() {
        let text = "// 2025-06-18 in a comment\nif r >= Revision::V2025_06_18 {}\nif era == Era::Modern {}\n\"2025-06-18\";";
        assert_eq!(lines("crates/sdk/src/a.rs", text), [2, 3, 4]);
        assert_eq!(lines("crates/cli/src/a.rs", text), [2, 3]);
        assert!(lines("crates/core/src/revision/rules.rs", text).is_empty());
        assert!(lines("crates/sdk/tests/a.rs", text).is_empty());
        assert!(lines("crates/sdk/src/a.rs", "Revision::ALL; MyEra::A;").is_empty());
    }

    #[test]
    fn the_core_is_pure() {
        let text = "use std::time::{Duration, Instant};\nuse std::{\n  fs,\n  fmt,\n};\nprintln!(\"x\");\ntokio::spawn(x);";
        assert_eq!(lines("crates/core/src/a.rs", text), [1, 3, 7, 6]);
        assert!(lines("crates/sdk/src/a.rs", text).is_empty());
        assert!(lines("crates/core/src/a.rs", "use std::time::Duration; fn random() {}").is_empty());
    }

    #[test]
    fn the_sides_do_not_meet() {
        assert_eq!(lines("crates/sdk/src/server/a.rs", "use crate::{wire, client::Call};"), [1]);
        assert_eq!(lines("crates/sdk/src/client/mod.rs", "use super::server::Server;"), [1]);
        assert_eq!(lines("crates/sdk/src/client/a.rs", "super::super::server::f();"), [1]);
        assert!(lines("crates/sdk/src/client/a.rs", "use super::server::Probe;").is_empty());
        assert!(lines("crates/sdk/src/testing/a.rs", "use crate::{client::C, server::S};").is_empty());
    }
}
