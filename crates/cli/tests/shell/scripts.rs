//! Lines from standard input.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn shell(options: &[&str], script: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contexture"));
    command.arg("shell").args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// What was printed, if all is well.
#[track_caller]
fn done(options: &[&str], script: &str) -> String {
    let output = shell(options, script);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// How it ended, and what was printed and noted.
fn failed(options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let output = shell(options, script);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_verb_works_without_its_server() {
    let printed = done(
        &["demo"],
        "# what is there\n\ntools\nresources list\nprompts\ncall echo message=first\nread demo://notes/alpha\n\
         prompt greeting name=Ada\ncomplete greeting style=pi\nping -n 1\nraw tools/list {}\nhelp\nexit\ncall nothing\n",
    );
    for words in [
        "Says back",
        "demo://readme",
        "greeting(",
        "first",
        "user: ",
        "pirate",
        "1 of 1 answered",
        "\"tools\"",
        "Ada",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn results_can_be_used_in_later_lines() {
    let printed = done(
        &["demo"],
        "sum = call add a=1 b=2\n\
         call add a=$sum.structuredContent b=$1.structuredContent\n\
         call echo message=\"so $_.structuredContent of $$5\"\n\
         call echo --json {\"message\": $3.content[0].text}\n\
         call echo message='$_'\n\
         vars\n",
    );
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..5], ["3", "6", "so 6 of $5", "so 6 of $5", "$_"], "{printed}");
    assert!(lines[5].starts_with("$sum ") && lines.len() == 11, "{printed}");
}

/// Whatever a server says is one value in the next line, and never more than that.
#[test]
fn results_are_values_and_nothing_else() {
    let nasty = r#"x' "y" $1 --save=/ {[ \ ; rm"#;
    let script =
        format!("call echo message:={}\ncall echo message=$_.content[0].text -o json\n", Value::from(nasty));
    let printed = done(&["demo"], &script);
    let (_, last) = printed.trim_end().rsplit_once('\n').expect("two lines");
    let result: Value = serde_json::from_str(last).expect("a document");
    assert_eq!(result["content"][0]["text"], nasty);

    let (code, _, noted) = failed(&["demo"], "call echo message=--raw\nread $_.content[0].text\n");
    assert!(code == Some(1) && noted.contains("line 2") && noted.contains("as an option"), "{noted}");
}

#[test]
fn json_goes_over_several_lines() {
    let printed = done(
        &["demo"],
        "call echo --json {\n  \"message\":\n    \"over\\nlines\"\n}\ncall echo message='a\nb'\n",
    );
    assert_eq!(printed, "over\nlines\na\nb\n");
}

#[test]
fn a_script_stops_at_the_first_line_that_fails() {
    let script =
        "call echo message=one\n\n# two lines\ncall fail \\\nmessage=broken\ncall echo message=never\n";
    let (code, printed, noted) = failed(&["demo"], script);
    assert_eq!((code, printed.as_str()), (Some(5), "one\n"), "{noted}");
    assert!(noted.contains("line 4: ") && noted.contains("broken"), "{noted}");
}

#[test]
fn a_script_can_go_on_and_still_ends_as_its_first_failure() {
    let script = "call fail message=broken\ncall echo message=two\nread demo://nothing\ncal echo\ncall echo message=three\n";
    let (code, printed, noted) = failed(&["demo", "--keep-going"], script);
    assert_eq!((code, printed.as_str()), (Some(5), "two\nthree\n"), "{noted}");
    for words in ["line 1: broken", "line 3: ", "line 4: ", "did you mean call"] {
        assert!(noted.contains(words), "{words}: {noted}");
    }
}

#[test]
fn programs_get_documents_and_errors_as_json() {
    let printed = done(
        &["demo", "-o", "json"],
        "call add a=1 b=2\nset format ndjson\ncall add a=2 b=2\nset format text\ncall add a=3 b=2\n",
    );
    let lines: Vec<&str> = printed.lines().collect();
    let result: Value = serde_json::from_str(lines[0]).expect("a document");
    let event: Value = serde_json::from_str(lines[1]).expect("a document");
    assert_eq!((&result["structuredContent"], &event["result"]["structuredContent"]), (&3.into(), &4.into()));
    assert_eq!(lines[2], "5");
    let (code, _, noted) = failed(&["demo", "-o", "json"], "call add a=x b=2\n");
    let error: Value = serde_json::from_str(&noted).expect("one line of JSON");
    assert_eq!((code, &error["error"]["exit"]), (Some(1), &1.into()));
}

#[test]
fn what_a_line_cannot_say_is_refused_with_a_reason() {
    let cases = [
        ("call echo --json -", "standard input"),
        ("call echo message=hi --era legacy", "when the shell begins"),
        ("tools -- ./other", "when the shell begins"),
        ("call echo message=$9", "there is no $9"),
        ("x = vars", "only what a server answers"),
        ("set colour red", "`format`"),
        ("log loud", "is no level"),
        ("demo", "there is no \"demo\" here"),
        ("call echo message='open", "not closed"),
        ("call echo --jsn {}", "--json"),
    ];
    for (line, words) in cases {
        let (code, printed, noted) = failed(&["demo"], &format!("{line}\n"));
        assert!(code == Some(1) && printed.is_empty() && noted.contains(words), "{line}: {printed}{noted}");
    }
}

#[test]
fn a_server_that_is_not_there_is_said_at_once() {
    let (code, _, noted) = failed(&["--", "/nowhere/at-all"], "tools\n");
    assert_eq!(code, Some(4), "{noted}");
    let (code, _, noted) = failed(&[], "tools\n");
    assert!(code == Some(1) && noted.contains("server"), "{noted}");
}

/// Questions of a server in a script: nobody is there to answer.
#[test]
fn nobody_is_asked_in_a_script() {
    let (code, _, noted) = failed(&["demo"], "call greet greeting=Hello\n");
    assert!(code == Some(5) && noted.contains("asks"), "{code:?} {noted}");
}
