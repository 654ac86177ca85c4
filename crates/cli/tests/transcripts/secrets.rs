//! What must not be in a transcript, and that it replays without.

use super::stage::{BINARY, Folder, Listening, command, run};

const SECRET: &str = "s3cr3t-of-the-day";

#[test]
fn secrets_are_taken_out_and_the_session_still_replays() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let variable = format!("API_TOKEN={SECRET}");
    let message = format!("message=it is {SECRET}");
    run(&["call", "echo", &message, "--record", &file, "--env", &variable, "--", BINARY, "demo"]).succeeds();
    let text = folder.read("session.jsonl");
    assert!(!text.contains(SECRET), "{text}");
    assert!(text.contains("it is [redacted 1]"), "{text}");
    assert_eq!(folder.lines("session.jsonl")[0]["redacted"], true);
    run(&["replay", &file, "demo"]).succeeds();
    run(&["replay", &file, &file]).succeeds();
}

#[test]
fn what_stands_under_the_name_of_a_secret_goes_too() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let arguments = format!(r#"{{"message":"hi","password":"{SECRET}"}}"#);
    run(&["call", "demo", "echo", "--unchecked", "--json", &arguments, "--record", &file]);
    let text = folder.read("session.jsonl");
    assert!(!text.contains(SECRET) && text.contains("[redacted 1]"), "{text}");
}

#[test]
fn headers_and_addresses_are_kept_without_who_asks() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let demo = Listening::start(&["demo", "--listen", "127.0.0.1:0"]);
    let (header, url) = (format!("Authorization: Bearer {SECRET}"), format!("{}?key={SECRET}", demo.url));
    run(&["tools", "list", &url, "--header", &header, "--record", &file]).succeeds();
    assert!(!folder.read("session.jsonl").contains(SECRET));
    let record = Listening::start(&["record", &demo.url, "--to", &file, "--header", &header]);
    run(&["call", &record.url, "echo", &format!("message={SECRET}")]).succeeds();
    record.end();
    let text = folder.read("session.jsonl");
    assert!(!text.contains(SECRET) && text.contains("[redacted "), "{text}");
}

#[test]
fn everything_is_kept_where_the_person_says_so_and_it_is_said() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let variable = format!("API_TOKEN={SECRET}");
    let message = format!("message={SECRET}");
    let said = run(&[
        "call",
        "echo",
        &message,
        "--record",
        &file,
        "--no-redact",
        "--env",
        &variable,
        "--",
        BINARY,
        "demo",
    ]);
    assert!(said.succeeds().stderr.contains("nothing is redacted"));
    assert!(folder.read("session.jsonl").contains(SECRET));
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let file = folder.write("session.jsonl", "");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    run(&["tools", "list", "demo", "--record", &file]).succeeds();
    let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_a_server_writes_to_standard_error_is_kept() {
    let folder = Folder::new();
    let file = folder.name("session.jsonl");
    let script = format!("echo careful {SECRET} >&2; exec {BINARY} demo");
    let variable = format!("KEY={SECRET}");
    let mut command =
        command(&["tools", "list", "--record", &file, "--env", &variable, "--", "sh", "-c", &script]);
    assert!(command.output().expect("it runs").status.success());
    let text = folder.read("session.jsonl");
    assert!(text.contains(r#""stderr":"careful [redacted 1]""#), "{text}");
}
