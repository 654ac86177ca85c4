//! The document on security says what is so: its numbers are the code's, and the tests that it names exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contexture::Policy;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> String {
    std::fs::read_to_string(root().join("docs/security.md")).expect("the document")
}

/// The fields of a policy by name, as Rust shows their values; those of a field are `field.inner`.
fn fields(policy: &Policy) -> BTreeMap<String, String> {
    let mut within = Vec::new();
    let mut fields = BTreeMap::new();
    for line in format!("{policy:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        match line.split_once(": ") {
            Some((name, value)) if value.ends_with('{') => within.push(name.to_owned()),
            Some((name, value)) => {
                let path: Vec<&str> = within.iter().map(String::as_str).chain([name]).collect();
                fields.insert(path.join("."), value.to_owned());
            }
            None if line == "}" => drop(within.pop()),
            None => {}
        }
    }
    fields
}

/// A value as the document writes it, as Rust shows it.
fn shown(written: &str) -> String {
    let (number, unit) = written.split_once(' ').unwrap_or((written, ""));
    let times = |factor: u64| number.parse::<u64>().expect("a number") * factor;
    match unit {
        "KiB" => times(1024).to_string(),
        "MiB" => times(1024 * 1024).to_string(),
        "s" => format!("{}s", times(1)),
        "min" => format!("{}s", times(60)),
        "h" => format!("{}s", times(60 * 60)),
        "limit" => u32::MAX.to_string(),
        "" => number.to_owned(),
        other => panic!("{other} is no unit"),
    }
}

// covers: SEC-IMPL-DOCS, SEC-IMPL-BEST-PRACTICES
#[test]
fn every_bound_is_listed_with_its_default() {
    let document = document();
    let bounds = document.split("\n## Bounds\n").nth(1).expect("the section on bounds");
    let rows = bounds.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).filter(|cell| !cell.is_empty());
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), shown(cells.next()?)))
    });
    let listed: BTreeMap<String, String> = rows.collect();
    assert_eq!(listed, fields(&Policy::default()));
}

/// The links of a text of which the words are code, and where they lead.
fn links(text: &str) -> Vec<(&str, &str)> {
    let pieces = text.split("[`").skip(1);
    pieces
        .filter_map(|piece| {
            piece.split_once("`](").map(|(name, rest)| (name, rest.split(')').next().unwrap_or("")))
        })
        .collect()
}

// covers: SEC-IMPL-DOCS
#[test]
fn every_test_that_it_names_exists() {
    let document = document();
    let links = links(&document);
    assert!(links.len() > 50, "{} tests are named", links.len());
    for (name, path) in links {
        let text = std::fs::read_to_string(root().join("docs").join(path));
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        let declared = text.find(&format!("fn {name}(")).unwrap_or_else(|| panic!("{path} has no {name}"));
        let before = text[..declared].trim_end_matches("async ").trim_end();
        let attribute = before.lines().next_back().unwrap_or_default().trim();
        assert!(attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test"), "{path}: {name}");
    }
}

// covers: SEC-IMPL-DOCS
#[test]
fn every_transport_and_feature_has_its_words() {
    let document = document();
    for heading in [
        "### stdio",
        "### HTTP, serving",
        "### HTTP, connecting",
        "### HTTP+SSE",
        "## Authorization",
        "## The gateway",
        "## Bounds",
    ] {
        assert!(document.contains(&format!("\n{heading}")), "{heading}");
    }
    let features = [
        "tools",
        "resources",
        "prompts",
        "completion",
        "logging",
        "sampling",
        "elicitation",
        "roots",
        "input rounds",
    ];
    for feature in features {
        assert!(document.contains(&format!("\n| {feature} | ")), "{feature}");
    }
}
