//! What we depend on: licences, sources, bans, duplicate versions, the core's own list, and how many crates
//! a minimal server pulls in. The policy is `policy.json`; every entry in it carries its reason.
//!
//! Advisories need a database that this project does not have; where cargo-deny and its database are
//! installed they are checked, elsewhere a line says that they were not.

use super::{Finding, licence};
use crate::process;
use crate::workspace::{self, TextFile};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const FILE: &str = "policy.json";

#[derive(serde::Deserialize)]
struct Policy {
    licences: Reasons,
    sources: Reasons,
    core: Reasons,
    banned: Reasons,
    duplicates: Reasons,
    crates: Vec<Limit>,
}

type Reasons = BTreeMap<String, String>;

#[derive(serde::Deserialize)]
struct Limit {
    features: String,
    limit: usize,
}

/// Checks the whole graph of dependencies, for every platform and feature.
pub fn check(files: &[TextFile]) -> Vec<Finding> {
    let text = files.iter().find(|file| file.path == FILE).map_or("", |file| file.text.as_str());
    let policy: Policy = match serde_json::from_str(text) {
        Ok(policy) => policy,
        Err(error) => return vec![finding(format!("cannot be read: {error}"))],
    };
    let mut messages = Vec::new();
    match metadata() {
        Ok(packages) => messages.extend(judge(&policy, &packages)),
        Err(error) => messages.push(error),
    }
    for limit in &policy.crates {
        match count_crates(&limit.features) {
            Ok(count) => {
                println!("crates of a server with {}: {count}, at most {}", limit.features, limit.limit);
                if count > limit.limit {
                    messages.push(format!("{count} crates with {}, at most {}", limit.features, limit.limit));
                }
            }
            Err(error) => messages.push(error),
        }
    }
    messages.extend(advisories().err());
    messages.into_iter().map(finding).collect()
}

fn finding(message: String) -> Finding {
    Finding::new("dependencies", FILE, 0, message)
}

/// One package of the graph.
struct Package {
    name: String,
    version: String,
    licence: String,
    source: Option<String>,
    /// Names of what it needs to run or to build.
    dependencies: Vec<String>,
}

fn metadata() -> Result<Vec<Package>, String> {
    let mut command = workspace::cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let text = process::capture(&mut command)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(value["packages"].as_array().into_iter().flatten().map(package).collect())
}

fn package(value: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependencies = value["dependencies"].as_array().into_iter().flatten();
    let needed = dependencies.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
    Package {
        name: text(&value["name"]),
        version: text(&value["version"]),
        licence: text(&value["license"]),
        source: value["source"].as_str().map(str::to_owned),
        dependencies: needed.map(|dependency| text(&dependency["name"])).collect(),
    }
}

fn judge(policy: &Policy, packages: &[Package]) -> Vec<String> {
    let mut messages = Vec::new();
    let used = std::cell::RefCell::new(BTreeSet::new());
    let allowed = |licence: &str| {
        let known = policy.licences.contains_key(licence);
        if known {
            used.borrow_mut().insert(licence.to_owned());
        }
        known
    };
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Package { name, version, licence, source, dependencies } in packages {
        versions.entry(name).or_default().insert(version);
        if !licence::satisfied(licence, &allowed) {
            messages.push(format!("{name} {version} is under `{licence}`, which `licences` does not allow"));
        }
        if let Some(source) = source.as_ref().filter(|source| !policy.sources.contains_key(*source)) {
            messages.push(format!("{name} {version} comes from {source}, which is not in `sources`"));
        }
        if let Some(reason) = policy.banned.get(name) {
            messages.push(format!("{name} {version} is banned: {reason}"));
        }
        if name == "contexture-core" {
            let unknown = dependencies.iter().filter(|dependency| !policy.core.contains_key(*dependency));
            messages.extend(unknown.map(|dependency| {
                format!("contexture-core depends on {dependency}: say in `core` why it has no I/O, clock or randomness")
            }));
            let gone = policy.core.keys().filter(|name| !dependencies.contains(name));
            messages.extend(
                gone.map(|name| format!("contexture-core has no dependency {name}: remove it from `core`")),
            );
        }
    }
    let used = used.into_inner();
    let unused = policy.licences.keys().filter(|licence| !used.contains(*licence));
    messages
        .extend(unused.map(|licence| format!("no dependency is under {licence}: remove it from `licences`")));
    messages.extend(judge_duplicates(policy, &versions));
    messages
}

fn judge_duplicates(policy: &Policy, versions: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let double = |name: &str| versions.get(name).is_some_and(|versions| versions.len() > 1);
    let mut messages = Vec::new();
    for (name, versions) in versions.iter().filter(|(name, _)| double(name)) {
        if !policy.duplicates.contains_key(*name) {
            let versions: Vec<&str> = versions.iter().copied().collect();
            let list = versions.join(" and ");
            messages.push(format!("{name} is there as {list}: unify them, or give a reason in `duplicates`"));
        }
    }
    let unused = policy.duplicates.keys().filter(|name| !double(name));
    messages.extend(unused.map(|name| format!("{name} is there once only: remove it from `duplicates`")));
    messages
}

/// Unique crates of a stdio server on this platform, our own included.
fn count_crates(features: &str) -> Result<usize, String> {
    let mut command = workspace::cargo();
    command.args(["tree", "--locked", "-p", "contexture", "--no-default-features", "--features", features]);
    command.args(["-e", "normal,build", "--prefix", "none", "--format", "{p}"]);
    Ok(unique(&process::capture(&mut command)?))
}

fn unique(tree: &str) -> usize {
    let crates = tree.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    crates.filter(|words| words.len() == 2).collect::<BTreeSet<_>>().len()
}

fn advisories() -> Result<(), String> {
    let deny = |args: &[&str]| {
        let mut command = workspace::cargo();
        command.arg("deny").args(args);
        command
    };
    if !process::succeeds(&mut deny(&["--version"])) {
        println!(
            "!! ADVISORIES NOT CHECKED: cargo-deny is not installed (cargo install cargo-deny --locked)"
        );
        return Ok(());
    }
    if !process::succeeds(&mut deny(&["fetch", "db"])) {
        println!("!! ADVISORIES NOT CHECKED: cargo-deny cannot fetch its database");
        return Ok(());
    }
    process::run(&mut deny(&["--all-features", "check", "advisories"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"{
        "licences": {"MIT": "ours"}, "sources": {"registry": "public"}, "core": {"serde": "pure"},
        "banned": {"bad": "because"}, "duplicates": {"twin": "known"}, "crates": []
    }"#;

    fn made(name: &str, version: &str) -> Package {
        let source = Some("registry".to_owned());
        let dependencies = vec!["serde".to_owned()];
        Package { name: name.into(), version: version.into(), licence: "MIT".into(), source, dependencies }
    }

    fn messages(mut packages: Vec<Package>) -> Vec<String> {
        packages.extend([made("contexture-core", "1.0.0"), made("twin", "1.0.0"), made("twin", "2.0.0")]);
        judge(&serde_json::from_str(POLICY).unwrap(), &packages)
    }

    #[test]
    fn what_the_policy_allows_is_silent() {
        assert_eq!(messages(vec![made("a", "1.0.0")]), [""; 0]);
    }

    #[test]
    fn each_breach_is_named() {
        let licence = Package { licence: "GPL-3.0".into(), ..made("a", "1.0.0") };
        assert!(messages(vec![licence])[0].contains("GPL-3.0"));
        let source = Package { source: Some("git".into()), ..made("a", "1.0.0") };
        assert!(messages(vec![source])[0].contains("git"));
        assert!(messages(vec![made("bad", "1.0.0")])[0].contains("because"));
        assert!(messages(vec![made("a", "1.0.0"), made("a", "2.0.0")])[0].contains("1.0.0 and 2.0.0"));
        let core = Package { dependencies: vec!["tokio".into()], ..made("contexture-core", "1.0.0") };
        assert_eq!(messages(vec![core]).len(), 2);
    }

    #[test]
    fn exceptions_that_nothing_needs_are_refused() {
        let policy: Policy = serde_json::from_str(POLICY).unwrap();
        let found = judge(&policy, &[]);
        assert!(found.iter().any(|message| message.contains("MIT")));
        assert!(found.iter().any(|message| message.contains("twin")));
    }

    #[test]
    fn crates_are_counted_once() {
        assert_eq!(unique("a v1.0.0 (/x)\nb v1.0.0\nb v1.0.0 (*)\nb v2.0.0\n\n"), 3);
    }
}
