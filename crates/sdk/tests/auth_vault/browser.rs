//! Which addresses are opened, and how: row F04 of the threats.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use contexture::Error;
use contexture::auth::Browser;

use crate::Folder;

/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser that writes down its arguments, one a line, and then how many there were. Another process writes it:
/// a file that is open for writing anywhere, if only in a child of another test, cannot be run.
fn recorder(folder: &Folder) -> (PathBuf, PathBuf) {
    let (program, record) = (folder.path().join("browser"), folder.path().join("browser.record"));
    let script = "printf '%s\\n' \"$@\" \"$#\" > \"$0.draft\" && mv \"$0.draft\" \"$0.record\"";
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 700 \"$0\""])
        .arg(&program)
        .arg(script);
    assert!(writer.status().expect("there is a shell").success());
    (program, record)
}

/// Waits until the browser has written, and takes what it wrote.
fn recorded(record: &PathBuf) -> String {
    let begun = Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(record) {
            std::fs::remove_file(record).expect("it is ours");
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "the browser was not opened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_address_is_one_argument_whatever_is_in_it() {
    let folder = Folder::new();
    let (program, record) = recorder(&folder);
    let browser = Browser::program(&program);
    for (url, wanted) in [
        ("https://issuer.example/authorize?a=1&b=2", "https://issuer.example/authorize?a=1&b=2"),
        (
            "https://issuer.example/?x=$(touch%20pwned)&y=;ls",
            "https://issuer.example/?x=$(touch%20pwned)&y=;ls",
        ),
        ("https://issuer.example/?x=%22%20&%20calc", "https://issuer.example/?x=%22%20&%20calc"),
        ("HTTPS://Issuer.Example:443/a", "https://issuer.example/a"),
        ("http://127.0.0.1:8080/authorize", "http://127.0.0.1:8080/authorize"),
        ("http://[::1]:8080/authorize", "http://[::1]:8080/authorize"),
        ("http://localhost:8080/authorize", "http://localhost:8080/authorize"),
        ("http://LOCALHOST/", "http://localhost/"),
    ] {
        browser.open(url).expect("it may be opened");
        assert_eq!(recorded(&record), format!("{wanted}\n1\n"), "{url}");
    }
}

#[test]
fn nothing_else_is_opened() {
    let folder = Folder::new();
    let (program, record) = recorder(&folder);
    let browser = Browser::program(&program);
    let cases = [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\tscript:alert(1)",
        " javascript:alert(1)",
        "\u{1}javascript:alert(1)",
        "javascript://issuer.example/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "file://issuer.example/share/evil.exe",
        "vscode://extension/install",
        "ms-msdt:/id PCWDiagnostic",
        "search-ms:query=x",
        "ftp://issuer.example/",
        "ws://127.0.0.1/",
        "about:blank",
        "view-source:https://issuer.example",
        "blob:https://issuer.example/1",
        "\\\\issuer.example\\share",
        "//issuer.example/authorize",
        "/etc/passwd",
        "issuer.example/authorize",
        "-psn_0_1",
        "--version",
        "-https://issuer.example",
        "",
        "https:",
        "https://",
        "https:///authorize\n",
        "https://issuer.example/\" & calc",
        "https://issuer.example/ --help",
        "https://issuer.example/\nsecond",
        "https://issuer.example/\tx",
        "https://issuer.example/'x'",
        "https://issuer.example/`id`",
        "https://issuer.example/\\..\\x",
        "https://issuer.example/|x",
        "https://issuer.example@evil.example/",
        "https://ada:secret@issuer.example/",
        "http://issuer.example/authorize",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://0.0.0.0/",
        "http://[::ffff:10.0.0.1]/",
    ];
    for url in cases {
        let error = browser.open(url).expect_err(url);
        assert!(matches!(error, Error::PeerMisbehaved(_)), "{url:?}: {error}");
        assert!(!error.to_string().contains("secret"), "{url:?}: {error}");
    }
    // Whatever was opened would have been opened before this.
    browser.open("https://issuer.example/last").expect("it may be opened");
    assert_eq!(recorded(&record), "https://issuer.example/last\n1\n");
}

#[test]
fn a_browser_that_is_not_there_is_named() {
    let error =
        Browser::program("/no/such/browser").open("https://issuer.example").expect_err("it is not there");
    let words = error.to_string();
    assert!(words.contains("/no/such/browser") && words.contains("BROWSER"), "{words}");
}
