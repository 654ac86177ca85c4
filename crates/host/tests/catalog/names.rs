//! Names: legal, short, stable, and never one for two things.

use std::collections::{HashMap, HashSet};

use contexture_host::names::{NAME_CHARS, SLUG_CHARS, inward_uri, outward_uri, slug, tool_name};

/// Names that are odd in every way that we know of, and their neighbours.
pub(crate) fn odd_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        " ",
        "a",
        "A",
        "_",
        "__",
        "___",
        "-",
        ".",
        "..",
        "../",
        "../../etc/passwd",
        "a_",
        "_a",
        "a__b",
        "a_b",
        "a-b",
        "a.b",
        "a b",
        "a\tb",
        "a\nb",
        "a\0b",
        "a/b",
        "a\\b",
        "a:b",
        "a+b",
        "a%2fb",
        "pay",
        "pаy",
        "PAY",
        "Pay",
        "p\u{200b}ay",
        "\u{202e}yap",
        "\u{feff}pay",
        "pay\u{301}",
        "é",
        "e\u{301}",
        "İ",
        "ß",
        "ſ",
        "K",
        "日本語",
        "🦀",
        "${HOME}",
        "{{x}}",
        "'; --",
        "<script>",
        "\u{1b}[31m",
        "nul\u{0}",
        "7zip",
        "-x",
        "x-",
        "a____b",
        "a_-_b",
        "mcp__x",
        "x-abcdef",
        "x-abcde",
        "x-ABCDEF",
        "x-abcdefa",
        "x_deadbeef",
        "x_deadbee",
        "_deadbeef",
        "x-123456",
        "archive-2024",
        "postgres-5432",
    ]
    .map(str::to_owned)
    .to_vec();
    for length in [19, 20, 21, 24, 25, 26, 40, 46, 47, 48, 64, 128, 129, 10_240] {
        names.extend([
            "a".repeat(length),
            format!("{}b", "a".repeat(length - 1)),
            format!("b{}", "a".repeat(length - 1)),
        ]);
        names.push(format!("{}é", "a".repeat(length)));
    }
    let tagged: Vec<String> =
        names.iter().flat_map(|name| [slug(name), tool_name("a", name, true)]).collect();
    // What names become is a name that somebody else may have from the start.
    let again = tagged.iter().flat_map(|name| [name.trim_start_matches("a__").to_owned(), name.clone()]);
    names.extend(again.collect::<Vec<_>>());
    names.sort();
    names.dedup();
    names
}

#[test]
fn slugs_are_legal_and_no_two_names_have_one() {
    let mut seen = HashMap::new();
    for name in odd_names() {
        let slug = slug(&name);
        assert!((1..=SLUG_CHARS).contains(&slug.len()), "{name:?}: {slug}");
        assert!(slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{slug:?}");
        assert!(!slug.contains("__") && !slug.starts_with('_') && !slug.ends_with('_'), "{name:?}: {slug}");
        if let Some(other) = seen.insert(slug.clone(), name.clone()) {
            panic!("{slug} is {other:?} and {name:?}");
        }
    }
}

#[test]
fn plain_names_are_their_own_slugs_and_others_are_tagged() {
    for plain in [
        "files",
        "GitHub",
        "my_server",
        "my-server",
        "a",
        "7zip",
        "x-ABCDEF",
        "archive-2024",
        "postgres-5432",
    ] {
        assert_eq!(slug(plain), plain);
    }
    assert_eq!(slug("My Server"), "My-Server-0bec75");
    for changed in ["my server", "a__b", "_a", "a_", "x-abcdef", "a.b", "", &"a".repeat(21)] {
        let slug = slug(changed);
        let (_, tag) = slug.rsplit_once('-').expect("a tag");
        assert!(tag.len() == 6 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()), "{changed:?}: {slug}");
    }
}

#[test]
fn names_of_tools_are_legal_and_no_two_tools_have_one() {
    let names = odd_names();
    let mut seen = HashSet::new();
    // Every odd name as a tool of every kind of server: untouched, tagged, as long as can be.
    let servers = ["a", "a-b", "My Server", "a__b", "_", &"s".repeat(20), &"s".repeat(21), "é"];
    for server in servers {
        for tool in &names {
            let name = tool_name(server, tool, true);
            assert!(name.len() <= NAME_CHARS && format!("mcp__contexture__{name}").len() <= 64, "{name}");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)),
                "{name:?}"
            );
            assert_eq!(name.split_once("__").expect("two parts").0, slug(server), "{tool:?}");
            assert!(seen.insert(name.clone()), "{name} again, for {server:?} {tool:?}");
        }
    }
}

// J01 of the security catalogue.
#[test]
fn where_the_server_ends_is_not_a_question() {
    assert_ne!(tool_name("a_b", "c", true), tool_name("a", "b_c", true));
    assert_ne!(tool_name("a", "_b", true), tool_name("a_", "b", true));
    assert_ne!(tool_name("a__b", "c", true), tool_name("a", "b__c", true));
    assert_eq!(tool_name("files", "read_file", true), "files__read_file");
}

#[test]
fn long_names_are_shortened_the_same_way_always() {
    let long = "create_a_pull_request_review_comment_reply";
    let name = tool_name("github", long, true);
    assert_eq!(name, "github__create_a_pull_request_review_c_48c9c8ab");
    assert_eq!(name, tool_name("github", long, true));
    assert_ne!(name, tool_name("github", &format!("{long}2"), true));
    let fits = "x".repeat(NAME_CHARS - "github__".len());
    assert_eq!(tool_name("github", &fits, true), format!("github__{fits}"));
}

#[test]
fn without_a_prefix_nothing_is_renamed() {
    for name in ["echo", "a b", "", "x_deadbeef"] {
        assert_eq!(tool_name("server", name, false), name);
    }
}

#[test]
fn uris_go_out_and_come_back() {
    let uris = [
        "file:///tmp/x",
        "a+b://c+d",
        "ui://card/1",
        "UI://card",
        "ui:x",
        "ui://",
        "",
        "no scheme",
        "{+path}",
        "é+é",
    ];
    let slugs: Vec<String> = odd_names().iter().map(|name| slug(name)).collect();
    let mut seen = HashMap::new();
    for slug in &slugs {
        for uri in uris {
            let outward = outward_uri(uri, slug);
            assert_eq!(inward_uri(&outward, slug).as_deref(), Some(uri), "{slug} {outward}");
            if let Some(other) = seen.insert(outward.clone(), slug) {
                panic!("{outward} is of {slug} and {other}");
            }
        }
        // Schemes are compared without case.
        let shouted =
            outward_uri("file:///x", slug).replace("+file:///x", "").to_ascii_uppercase() + "+file:///x";
        assert_eq!(inward_uri(&shouted, slug).as_deref(), Some("file:///x"), "{shouted}");
        let others = slugs.iter().filter(|other| *other != slug);
        assert_eq!(others.filter_map(|other| inward_uri(&shouted, other)).next(), None, "{shouted}");
    }
    assert_eq!(outward_uri("file:///tmp/x", "my_files"), "my.files+file:///tmp/x");
    assert_eq!(outward_uri("ui://card/1", "files"), "ui://files+card/1");
    assert_eq!(inward_uri("file:///tmp/x", "files"), None);
}

#[test]
fn schemes_are_schemes() {
    for name in odd_names() {
        let uri = outward_uri("file:///x", &slug(&name));
        assert!(uri.starts_with(|first: char| first.is_ascii_alphabetic()), "{uri}");
        let (scheme, _) = uri.split_once(':').expect("a scheme");
        assert!(scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)), "{uri}");
    }
}
