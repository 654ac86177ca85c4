//! Requirement coverage: which entries of the catalogue a test names with `covers: ID`.
//!
//! It counts claims, it does not judge them: that a test named after a requirement really holds it is for
//! the reader of the test. Hence a claim has to stand at a test.

use super::Finding;
use super::source::{Line, Source};
use crate::requirements::{self, Catalogue, Level, is_id};
use crate::workspace::TextFile;
use std::collections::{BTreeMap, BTreeSet};

/// Areas that exist: their MUSTs are covered, or deferred by name.
const GATED: [&str; 20] = [
    "base",
    "lifecycle",
    "stdio",
    "streamable-http",
    "http-sse-2024-11-05",
    "tools",
    "resources",
    "prompts",
    "completion",
    "logging",
    "pagination",
    "roots",
    "sampling",
    "elicitation",
    "progress",
    "cancellation",
    "ping",
    "schema",
    "authorization",
    "security",
];
/// Per cent of the SHOULDs of the gated areas together.
const SHOULD_SHARE: usize = 85;
/// A claim stands at most this many lines above its test.
const REACH: usize = 6;
const DEFERRED: &str = "spec/deferred.txt";

/// Checks every claim, prints the table, and returns what is missing.
pub fn check(files: &[TextFile], sources: &[Source], list_uncovered: bool) -> Vec<Finding> {
    let catalogue = match requirements::load(files) {
        Ok(catalogue) => catalogue,
        Err(mistakes) => {
            let finding = |mistake| Finding::new("requirements", "spec/requirements", 0, mistake);
            return mistakes.into_iter().map(finding).collect();
        }
    };
    let mut findings = Vec::new();
    let mut covered = BTreeSet::new();
    let others = files.iter().filter(|file| is_foreign_test(&file.path)).flat_map(foreign_claims);
    for claim in sources.iter().flat_map(rust_claims).chain(others) {
        match claim.problem(&catalogue) {
            Some(message) => findings.push(Finding::new("covers", &claim.path, claim.line, message)),
            None => covered.extend([claim.id]),
        }
    }
    let text = files.iter().find(|file| file.path == DEFERRED).map_or("", |file| file.text.as_str());
    let (deferred, mistakes) = read_deferred(text, &catalogue, &covered);
    findings.extend(mistakes);
    print_table(&catalogue, &covered);
    print_lists(&catalogue, &covered, &deferred, list_uncovered);
    findings.extend(gate(&catalogue, &covered, &deferred));
    findings
}

struct Claim {
    path: String,
    line: usize,
    id: String,
    at_a_test: bool,
}

impl Claim {
    fn problem(&self, catalogue: &Catalogue) -> Option<String> {
        if !is_id(&self.id) {
            Some(format!("`{}` is not an id; the form is `covers: ID, ID`", self.id))
        } else if !catalogue.contains_key(&self.id) {
            Some(format!("there is no requirement {} in spec/requirements", self.id))
        } else if !self.at_a_test {
            Some(format!("`covers: {}` stands at no test: move it right above one", self.id))
        } else {
            None
        }
    }
}

/// The claims of a run of comment lines, each line without its comment marks.
fn claims<'a>(comments: impl Iterator<Item = Option<&'a str>>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open = false;
    for (index, comment) in comments.enumerate() {
        let list = match comment {
            Some(comment) if open => comment,
            Some(comment) => match comment.strip_prefix("covers:") {
                Some(list) => list,
                None => continue,
            },
            None => {
                open = false;
                continue;
            }
        };
        let list = list.trim();
        open = list.ends_with(',');
        let ids = list.split(',').map(str::trim).filter(|id| !id.is_empty());
        found.extend(ids.map(|id| (index + 1, id.to_owned())));
    }
    found
}

fn rust_claims(source: &Source) -> Vec<Claim> {
    let comment = |line: &Line| -> Option<String> {
        let text = line.comment.trim();
        (!text.is_empty()).then(|| text.trim_start_matches(['/', '!', '*']).trim().to_owned())
    };
    let comments: Vec<Option<String>> = source.lines.iter().map(comment).collect();
    let claim = |(line, id): (usize, String)| {
        let mut reach = source.lines.iter().skip(line).take(REACH);
        let at_a_test = source.lines[line - 1].test || reach.any(|line| is_test(&line.code));
        Claim { path: source.path.clone(), line, id, at_a_test }
    };
    claims(comments.iter().map(Option::as_deref)).into_iter().map(claim).collect()
}

fn is_test(code: &str) -> bool {
    ["#[test]", "#[tokio::test", "#[story", "story!"].iter().any(|mark| code.contains(mark))
}

/// Tests in other languages: peers of the interoperability runs, and whatever is under `tests`.
fn is_foreign_test(path: &str) -> bool {
    let language = [".py", ".js", ".mjs", ".ts"].iter().any(|ending| path.ends_with(ending));
    language && (path.starts_with("interop/") || path.split('/').any(|part| part == "tests"))
}

fn foreign_claims(file: &TextFile) -> Vec<Claim> {
    let comments = file.text.lines().map(|line| {
        let text = line.trim_start();
        let text = text.strip_prefix('#').or_else(|| text.strip_prefix("//"))?;
        Some(text.trim())
    });
    let claim = |(line, id)| Claim { path: file.path.clone(), line, id, at_a_test: true };
    claims(comments).into_iter().map(claim).collect()
}

type Deferred = BTreeMap<String, String>;

fn read_deferred(text: &str, catalogue: &Catalogue, covered: &BTreeSet<String>) -> (Deferred, Vec<Finding>) {
    let mut deferred = Deferred::new();
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (id, reason) = line.split_once(' ').unwrap_or((line, ""));
        let problem = if !catalogue.contains_key(id) {
            format!("there is no requirement {id}")
        } else if reason.trim().is_empty() {
            format!("{id} is deferred without a reason")
        } else if covered.contains(id) {
            format!("{id} has a test now: remove the line")
        } else {
            deferred.insert(id.to_owned(), reason.trim().to_owned());
            continue;
        };
        findings.push(Finding::new("deferred", DEFERRED, index + 1, problem));
    }
    (deferred, findings)
}

/// Covered and all entries of a level, in one area or in all gated ones.
fn count(
    catalogue: &Catalogue,
    covered: &BTreeSet<String>,
    area: Option<&str>,
    level: Level,
) -> (usize, usize) {
    let here = |of: &str| area.map_or_else(|| GATED.contains(&of), |area| area == of);
    let entries = catalogue.iter().filter(|(_, entry)| entry.level == level && here(&entry.area));
    entries.fold((0, 0), |(done, all), (id, _)| (done + usize::from(covered.contains(id)), all + 1))
}

fn print_table(catalogue: &Catalogue, covered: &BTreeSet<String>) {
    println!("requirement coverage (* gated)    MUST   SHOULD      MAY");
    let row = |name: &str, area: Option<&str>| {
        let cell = |level| {
            let (done, all) = count(catalogue, covered, area, level);
            format!("{done}/{all}")
        };
        let (must, should, may) = (cell(Level::Must), cell(Level::Should), cell(Level::May));
        println!("  {name:<26}{must:>10}{should:>9}{may:>9}");
    };
    let areas: BTreeSet<&str> = catalogue.values().map(|entry| entry.area.as_str()).collect();
    for area in &areas {
        let mark = if GATED.contains(area) { "*" } else { "" };
        row(&format!("{area} {mark}"), Some(area));
    }
    row("all gated areas", None);
}

fn print_lists(catalogue: &Catalogue, covered: &BTreeSet<String>, deferred: &Deferred, all: bool) {
    let uncovered = |id: &str| !covered.contains(id) && !deferred.contains_key(id);
    let mut entries: Vec<_> = catalogue.iter().filter(|(id, _)| uncovered(id)).collect();
    if all {
        entries.sort_by_key(|(_, entry)| (entry.level, &entry.area));
        println!("without a test:");
        for (id, entry) in entries {
            println!("  {:?} {id}: {}", entry.level, entry.text);
        }
    } else {
        // The uncovered MUSTs of gated areas are findings; those of areas to come are only counted.
        entries.retain(|(_, entry)| entry.level == Level::Must && !GATED.contains(&entry.area.as_str()));
        println!("{} MUSTs of areas that are not gated have no test (--uncovered lists them)", entries.len());
    }
    for (id, reason) in deferred {
        println!("!! DEFERRED {id}: {reason}");
    }
}

fn gate(catalogue: &Catalogue, covered: &BTreeSet<String>, deferred: &Deferred) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, entry) in catalogue {
        let bound = entry.level == Level::Must && GATED.contains(&entry.area.as_str());
        if bound && !covered.contains(id) && !deferred.contains_key(id) {
            let path = format!("spec/requirements/{}.yaml", entry.area);
            findings.push(Finding::new(
                "uncovered",
                &path,
                0,
                format!("no test covers {id}: {}", entry.text),
            ));
        }
    }
    let (done, all) = count(catalogue, covered, None, Level::Should);
    if done * 100 < all * SHOULD_SHARE {
        let message = format!(
            "tests cover {done} of {all} SHOULDs in the gated areas, at least {SHOULD_SHARE}% is asked"
        );
        findings.push(Finding::new("uncovered", "spec/requirements", 0, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::Requirement;

    fn catalogue() -> Catalogue {
        let entry = |area: &str, level| Requirement { area: area.into(), level, text: "text".into() };
        Catalogue::from([
            ("PING-A".into(), entry("ping", Level::Must)),
            ("PING-B".into(), entry("ping", Level::Should)),
            ("HTTP-A".into(), entry("to come", Level::Must)),
        ])
    }

    fn ids(path: &str, text: &str) -> Vec<(usize, String, bool)> {
        let claims = rust_claims(&Source::new(path, text));
        claims.into_iter().map(|claim| (claim.line, claim.id, claim.at_a_test)).collect()
    }

    #[test]
    fn claims_stand_at_tests() {
        let near = "// covers: PING-A, PING-B\n/// Docs.\n#[test]\nfn a() {}";
        assert_eq!(
            ids("crates/core/src/a.rs", near),
            [(1, "PING-A".into(), true), (1, "PING-B".into(), true)]
        );
        let far = format!("// covers: PING-A\n{}#[test]", "\n".repeat(REACH));
        assert_eq!(ids("crates/core/src/a.rs", &far), [(1, "PING-A".into(), false)]);
        assert_eq!(ids("crates/core/tests/a.rs", &far), [(1, "PING-A".into(), true)]);
        assert!(
            ids("crates/core/src/a.rs", "let a = \"// covers: PING-A\"; // it covers: nothing").is_empty()
        );
    }

    #[test]
    fn a_comma_goes_on_in_the_next_line() {
        let text = "// covers: PING-A,\n//         PING-B\n// and more\n#[test]";
        assert_eq!(ids("crates/core/src/a.rs", text).len(), 2);
    }

    #[test]
    fn other_languages_have_their_own_comments() {
        let file =
            TextFile { path: "interop/python/client.py".into(), text: "x = 1\n# covers: PING-A\n".into() };
        assert!(is_foreign_test(&file.path) && !is_foreign_test("web/app.js"));
        assert_eq!(foreign_claims(&file)[0].id, "PING-A");
    }

    #[test]
    fn claims_name_what_exists() {
        let claim = |id: &str| Claim { path: "a".into(), line: 1, id: id.into(), at_a_test: true };
        assert_eq!(claim("PING-A").problem(&catalogue()), None);
        assert!(claim("PING-Z").problem(&catalogue()).unwrap().contains("no requirement"));
        assert!(claim("ping a").problem(&catalogue()).unwrap().contains("not an id"));
    }

    #[test]
    fn gated_areas_are_gated() {
        let nothing = BTreeSet::new();
        let both = BTreeSet::from(["PING-A".to_owned(), "PING-B".to_owned()]);
        assert_eq!(gate(&catalogue(), &nothing, &Deferred::new()).len(), 2);
        assert!(gate(&catalogue(), &both, &Deferred::new()).is_empty());
        let deferred = Deferred::from([("PING-A".to_owned(), "later".to_owned())]);
        assert_eq!(gate(&catalogue(), &nothing, &deferred).len(), 1);
    }

    #[test]
    fn deferring_needs_a_reason_and_ends_with_the_test() {
        let covered = BTreeSet::from(["PING-B".to_owned()]);
        let text = "# c\nPING-A later\nPING-B later\nPING-Z later\nHTTP-A\n";
        let (deferred, findings) = read_deferred(text, &catalogue(), &covered);
        assert_eq!(deferred.len(), 1);
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [3, 4, 5]);
    }
}
