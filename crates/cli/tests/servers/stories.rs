//! What is typed into a terminal, and what is on the screen.

use std::fs;

use crate::screen::Screen;

#[test]
fn a_server_is_added_listed_called_and_removed() {
    let screen = Screen::open();
    screen.run("contexture add mine -- contexture demo");
    screen.shows("added mine in ~/.config/contexture/contexture.json");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture list");
    let shown = screen.shows("contexture (~/");
    assert!(shown.contains("mine  enabled  stdio      contexture demo"), "{shown}");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture call mine echo message=told");
    screen.shows("\ntold");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture get mine");
    screen.shows("command  contexture");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture disable mine && contexture enable mine && contexture remove mine");
    screen.shows("removed mine in");
    assert_eq!(screen.ended(), 0);
}

#[test]
fn a_secret_is_typed_and_not_seen() {
    let screen = Screen::open();
    screen.run("contexture add safe --secret TOKEN -- server");
    screen.shows("TOKEN for safe (it is not shown):");
    screen.keys(&["s3crex", "BSpace", "t", "Enter"]);
    screen.shows("added safe in");
    assert_eq!(screen.ended(), 0);
    assert!(!screen.text().contains("s3cre"), "{}", screen.text());
    screen.run("contexture add other --secret TOKEN -- server");
    screen.shows("TOKEN for other");
    screen.keys(&["abc", "C-c"]);
    screen.shows("TOKEN was not given; nothing was changed");
    assert_ne!(screen.ended(), 0);
    // The terminal shows what is typed again.
    screen.run("echo vis''ible");
    screen.shows("echo vis''ible");
    screen.shows("\nvisible");
}

#[test]
fn export_shows_what_changes_and_asks() {
    let screen = Screen::open();
    let file = screen.home().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().expect("there is a folder")).expect("it can be made");
    let text = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
    fs::write(&file, text).expect("it can be written");
    screen.run("contexture add web https://web.example/mcp -H 'X-Key: s3cret'");
    screen.shows("added web");
    assert_eq!(screen.ended(), 0);
    screen.clear();
    screen.run("contexture export web --to cursor");
    screen.shows("Write this to ~/.cursor/mcp.json? [y/N]");
    let shown = screen.coloured();
    assert!(
        shown.contains("\u{1b}[32m+  \"mcpServers\": {") && shown.contains("\u{1b}[31m-  \"mcpServers\": {}"),
        "{shown}"
    );
    assert!(shown.contains("•••") && !shown.contains("s3cret"), "{shown}");
    screen.keys(&["n", "Enter"]);
    screen.shows("is left as it was");
    assert_eq!(screen.ended(), 1);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
    screen.run("contexture export web --to cursor");
    screen.shows("[y/N]");
    screen.keys(&["y", "Enter"]);
    screen.shows(
        "exported web in ~/.cursor/mcp.json; what was there is in ~/.cursor/mcp.json.contexture-backup",
    );
    assert_eq!(screen.ended(), 0);
    screen.run("contexture remove web && contexture import cursor");
    screen.shows("Write this to ~/.config/contexture/contexture.json? [y/N]");
    screen.keys(&["y", "Enter"]);
    screen.shows("imported web in");
    assert_eq!(screen.ended(), 0);
}
