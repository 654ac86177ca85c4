//! Help, manual pages, the documentation and the version: made from one definition, and up to date.

use std::process::{Command, Stdio};

use crate::house::{House, names};
use crate::{contexture, said, verbs};

#[test]
fn help_is_in_groups_and_names_what_it_is_about() {
    let help = said(&["--help"]);
    for words in ["Use a server:", "Log in:", "  call ", "(TARGET)", "Exit codes:", "130  interrupted"] {
        assert!(help.contains(words), "{words}: {help}");
    }
    assert!(!help.contains("reference"), "what is for us is not shown");
    let short = said(&["call", "-h"]);
    let long = said(&["help", "call"]);
    assert!(!short.contains("Examples:") && long.contains("Examples:"), "{short}{long}");
}

#[test]
fn wrong_words_are_answered_with_those_that_were_meant() {
    let cases = [(&["cal", "demo"][..], "'call'"), (&["call", "demo", "echo", "--jsn", "{}"], "'--json'")];
    for (words, meant) in cases {
        let output = contexture(words);
        let noted = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{noted}");
        assert!(noted.contains(meant), "{noted}");
    }
}

#[test]
fn the_version_is_short_or_says_what_was_built() {
    let short = said(&["-V"]);
    assert_eq!(short, format!("contexture {}\n", env!("CARGO_PKG_VERSION")));
    let long = said(&["--version"]);
    assert!(long.starts_with(short.trim_end()), "{long}");
    for fact in ["commit", "build", "rustc", "2024-11-05", "2026-07-28", "Streamable HTTP"] {
        assert!(long.contains(fact), "{fact}: {long}");
    }
}

#[test]
fn the_page_of_the_documentation_is_as_the_program_is() {
    let page = said(&["reference"]);
    let kept = include_str!("../../../../docs/cli.md");
    let renew = "cargo run -q -p contexture-cli -- reference > docs/cli.md";
    assert!(page == kept, "docs/cli.md is out of date; renew it by `{renew}`");
    for verb in verbs() {
        assert!(page.contains(&format!("### `contexture {verb}`")), "{verb}");
    }
    assert_eq!(page.matches("- `--no-input`").count(), 1, "what all have is said once");
    // What it shows is there.
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let is_file = !link.starts_with('#') && !link.contains("://");
        assert!(!is_file || std::path::Path::new(docs).join(link).exists(), "{link}");
    }
}

#[test]
fn every_verb_has_a_manual_page_that_can_be_shown() {
    let house = House::new();
    let output = house.command("contexture").args(["man", "--to", "man"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = names(&house.folder().join("man"));
    for verb in verbs() {
        assert!(pages.contains(&format!("contexture-{verb}.1")), "{verb}: {pages:?}");
    }
    for page in ["contexture.1", "contexture-tools-list.1", "contexture-policy-explain.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("help") || name.contains("reference")), "{pages:?}");
    let call = std::fs::read_to_string(house.folder().join("man/contexture-call.1")).expect("a page");
    assert!(call.contains(".SH NAME") && call.contains("Examples"), "{call}");
    // Whoever can render them finds no fault in them.
    for page in pages {
        let mut groff = house.command("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-z"]).arg(house.folder().join("man").join(&page));
        let Ok(rendered) = groff.stderr(Stdio::piped()).output() else { return };
        let faults = String::from_utf8_lossy(&rendered.stderr).into_owned();
        assert!(rendered.status.success() && !faults.contains("error"), "{page}: {faults}");
    }
}

/// A reader who has seen enough is no failure.
#[test]
fn a_page_can_be_read_in_part() {
    let line = format!("{} man | head -1; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_contexture"));
    let output = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
