//! People without a home, or with one that they cannot write to.

use crate::screen::Screen;

/// Nothing says where the user's files are.
const NOWHERE: &str = "env -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME -u HOME";

#[test]
fn verbs_that_need_no_home_do_without() {
    let screen = Screen::open();
    for home in ["", " HOME=", " HOME=/dev/null", " HOME=/proc", " HOME=relative"] {
        for line in
            ["tools list demo", "call demo echo message=hi", "call echo message=hi -- contexture demo"]
        {
            screen.clear();
            screen.run(&format!("{NOWHERE}{home} contexture {line}"));
            assert_eq!(screen.ended(), 0, "{home} {line}\n{}", screen.text());
        }
    }
}

/// What lies in the folder that one is in is a project's, and not one's own: it starts nothing.
#[test]
fn a_folder_is_nobodys_home() {
    let screen = Screen::open();
    let entry = r#"{ "servers": { "planted": { "command": "sh", "args": ["-c", "touch started"] } } }"#;
    for folder in ["project/.config/contexture", "project/relative/.config/contexture"] {
        let folder = screen.home().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("contexture.json"), entry).expect("it can be written");
    }
    screen.run("cd project");
    for home in ["", " HOME=", " HOME=.", " HOME=relative"] {
        screen.clear();
        screen.run(&format!("{NOWHERE}{home} contexture tools list planted"));
        assert_eq!(screen.ended(), 1, "{}", screen.text());
        assert!(!screen.home().join("project/started").exists(), "{home}: it was started");
    }
}

#[test]
fn logins_that_cannot_be_kept_are_said() {
    let screen = Screen::open();
    screen.run(&format!("{NOWHERE} contexture auth http://127.0.0.1:1/"));
    assert_eq!(screen.ended(), 1);
    screen.shows("set HOME or XDG_DATA_HOME");
}
