//! URIs and roots.

use contexture_core::uri::{UriError, check, check_root, climbs};

#[test]
fn uris_have_a_scheme_and_no_odd_characters() {
    for uri in
        ["file:///a", "https://example.com/a?b#c", "urn:isbn:1", "a+b-c.d:", "mem:%C3%A4", "x://[::1]/"]
    {
        assert_eq!(check(uri), Ok(()), "{uri}");
    }
    for uri in ["", "a", ":a", "1a:b", "a b:c", "/a/b", "ä:b"] {
        assert_eq!(check(uri), Err(UriError::Scheme), "{uri}");
    }
    for uri in ["a: b", "a:\n", "a:\0", "a:ä", "a:<b>", "a:\\b", "a:#b#c", "a:{b}", "a:\x7f"] {
        assert!(matches!(check(uri), Err(UriError::Character(_))), "{uri:?}");
    }
    for uri in ["a:%", "a:%1", "a:%zz", "a:%2"] {
        assert_eq!(check(uri), Err(UriError::Escape(2)), "{uri}");
    }
}

#[test]
fn roots_are_files_here() {
    for uri in
        ["file:///", "file:///a/b", "FILE:///a", "file://localhost/a", "file:///a..b/c", "file:///a%20b"]
    {
        assert_eq!(check_root(uri), Ok(()), "{uri}");
    }
    for (uri, error) in [
        ("http://example.com/", UriError::NotAFile),
        ("/home/me", UriError::NotAFile),
        ("file:/a", UriError::NotAFile),
        ("", UriError::NotAFile),
        ("file://host/a", UriError::Host),
        ("file://", UriError::NotAPath),
        ("file:///a?b", UriError::NotAPath),
        ("file:///a%00b", UriError::Nul),
        ("file:///a/../b", UriError::Climbs),
        ("file:///a/%2e%2E/b", UriError::Climbs),
        ("file:///a/..%2fb", UriError::Climbs),
        ("file:///a/%252e%252e/b", UriError::Climbs),
    ] {
        assert_eq!(check_root(uri), Err(error), "{uri}");
    }
}

#[test]
fn climbing_is_seen_through_its_disguises() {
    for path in [
        "..",
        "a/..",
        "../a",
        "a/../b",
        "a\\..\\b",
        "%2e%2e",
        "a%2f..%2fb",
        "%252e.",
        "..%5ca",
        "%25252525252e",
    ] {
        assert!(climbs(path), "{path}");
    }
    for path in ["", ".", "...", "a..b", "a/..b/c", "%2e", "a%20b", "100%"] {
        assert!(!climbs(path), "{path}");
    }
}
