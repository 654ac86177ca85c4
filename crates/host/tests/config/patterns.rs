//! Names with stars.

use contexture_host::config::{Filter, Pattern};

#[test]
fn stars_stand_for_any_text() {
    let cases = [
        ("read", "read", true),
        ("read", "read2", false),
        ("*", "", true),
        ("read_*", "read_", true),
        ("read_*", "read_file", true),
        ("read_*", "unread_file", false),
        ("*_file", "read_file", true),
        ("*_file", "read_files", false),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        // The end must not be taken twice.
        ("ab*ba", "aba", false),
        ("*a*a*", "a", false),
        ("a**b", "ab", true),
        ("", "", true),
        ("", "x", false),
        ("ä*ß", "äöüß", true),
        ("[a-z]?", "b", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern:?} {name:?}");
    }
}

/// A backtracking matcher would not come to an end in the life of this test.
#[test]
fn a_pattern_that_was_made_to_be_slow_is_not() {
    let pattern = Pattern::new("a*".repeat(2000) + "b");
    assert!(!pattern.matches(&"a".repeat(100_000)));
}

#[test]
fn what_is_excluded_is_not_included() {
    let filter =
        Filter { include: Some(vec!["read_*".into(), "list".into()]), exclude: vec!["*_secret".into()] };
    let names = ["read_file", "read_secret", "list", "write"];
    assert_eq!(names.map(|name| filter.allows(name)), [true, false, true, false]);
    assert!(Filter::default().allows("anything") && Filter::default().is_open());
    assert!(!Filter { include: Some(Vec::new()), exclude: Vec::new() }.allows("anything"));
}
