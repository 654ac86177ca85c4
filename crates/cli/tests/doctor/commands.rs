//! Commands that cannot be started, each for another reason, and what to do about it.

use crate::stage::{Case, Home};

const fn case(name: &'static str, seen: &'static [&'static str], next: &'static str) -> Case {
    Case { name, step: "process.command", exit: 1, seen, next }
}

#[test]
fn a_command_that_is_not_found_is_explained() {
    let table: &[(&str, Case)] = &[
        ("npx", case("no Node.js", &["\"npx\" is in no folder of PATH", "PATH is"], "Node.js")),
        ("uvx", case("no uv", &["\"uvx\""], "install uv")),
        ("source", case("a word of shells", &["\"source\""], "no shell is involved")),
        ("npx.cmd", case("Windows", &["\"npx.cmd\""], "leave out .cmd")),
        ("tool --flag", case("arguments in the command", &["tool --flag"], "\"args\"")),
        ("shh", case("a slip", &["\"shh\""], "did you mean sh")),
        ("./nowhere", case("no such file", &["/project/./nowhere"], "relative to that folder")),
    ];
    for (command, case) in table {
        let home = Home::new();
        home.program("bin/sh", "#!/bin/sh\n");
        let arguments = ["doctor", "-o", "json", "--", command];
        let mut run = home.command(&arguments);
        run.env("PATH", home.path().join("bin"));
        case.holds(&crate::stage::Verdict::of(run));
    }
}

#[test]
fn a_script_that_cannot_be_run_is_explained() {
    let home = Home::new();
    let text = home.write("text.sh", "#!/bin/sh\n");
    let dos = home.program("dos", "#!/bin/sh\r\necho\r\n");
    let lost = home.program("lost", "#!/no/such/interpreter\n");
    let unknown = home.program("unknown", "#!/usr/bin/env no-such-program\n");
    let table = [
        (&text, case("not executable", &["may not be executed"], "chmod +x")),
        (&dos, case("lines of Windows", &["as lines do on Windows"], "sed -i")),
        (&lost, case("no interpreter", &["/no/such/interpreter"], "first line")),
        (&unknown, case("no interpreter by name", &["no-such-program"], "first line")),
    ];
    for (program, case) in &table {
        case.holds(&home.doctor(&["--", program]));
    }
}

#[test]
fn a_folder_that_is_not_there_is_the_cause() {
    let home = Home::new();
    home.configured(r#"{"servers": {"x": {"command": "cat", "cwd": "/no/such/folder"}}}"#);
    case("no folder", &["/no/such/folder"], "\"cwd\"").holds(&home.doctor(&["x"]));
}
