//! What is written down, and what happens if it cannot be.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contexture::Principal;
use contexture_host::consent::{Answer, AuditConfig, Consent, Outcome, Record, Settings};
use serde_json::{Value, json};

use crate::{Folder, Wish, policy, reason, word};

fn audited(audit: Value, rules: Value) -> Consent {
    let audit: AuditConfig = serde_json::from_value(audit).expect("an audit");
    Consent::open(Settings { policy: policy(rules), audit: Some(audit), ..Settings::default() })
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a log");
    assert!(text.ends_with('\n'), "whole lines: {text:?}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn log(folder: &Folder) -> PathBuf {
    folder.path().join("audit.jsonl")
}

// covers: TOOLS-UI-INVOKED
#[test]
fn every_decision_and_every_call_is_a_line() {
    let folder = Folder::new();
    let rules = json!({ "rules": [{ "tool": "delete", "decision": "deny", "reason": "no" }, { "tool": "ls", "decision": "allow" }] });
    let consent = audited(json!(log(&folder)), rules);
    let ls =
        Wish::tool("ls").arguments(r#"{"token": "hunter2"}"#).by(Principal::new("https://id.example", "ada"));
    consent.decide(&ls.asking());
    consent.record(Record {
        asking: &ls.asking(),
        outcome: Outcome::Done,
        duration: Duration::from_micros(1500),
    });
    consent.decide(&Wish::tool("delete").asking());
    let write = Wish::tool("write");
    consent.decide(&write.asking());
    consent.answered(&write.asking(), Answer::Always);
    consent.decide(&write.asking());
    consent.record(Record {
        asking: &write.asking(),
        outcome: Outcome::Error(-32602),
        duration: Duration::ZERO,
    });
    consent.nobody(&Wish::tool("other").asking());
    let lines = lines(&log(&folder));
    let told = |line: &Value| {
        let field = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        [field("event"), field("name"), field("decision"), field("why"), field("outcome")].join(" ")
    };
    let told: Vec<String> = lines.iter().map(told).collect();
    let wanted = [
        "decision ls allow rule 2 -",
        "call ls - - done",
        "decision delete deny rule 1: no -",
        "decision write ask no rule matches, and tools are asked about -",
        "decision write allow answered: always -",
        "decision write allow remembered -",
        "call write - - error",
        "decision other deny nobody could be asked -",
    ];
    assert_eq!(told, wanted);
    let first = &lines[0];
    assert_eq!(
        (first["issuer"].as_str(), first["subject"].as_str()),
        (Some("https://id.example"), Some("ada"))
    );
    assert_eq!((first["server"].as_str(), first["catalogName"].as_str()), (Some("files"), Some("ls")));
    assert_eq!(first["pin"].as_str(), Some("07".repeat(32).as_str()));
    assert_eq!(first["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(first["argumentsSha256"].as_str().map(str::len), Some(64));
    assert_eq!((lines[1]["durationMs"].as_f64(), lines[6]["errorCode"].as_i64()), (Some(1.5), Some(-32602)));
    let time = first["time"].as_str().expect("a time");
    assert!(time.len() == 24 && time.ends_with('Z') && time.starts_with("20"), "{time}");
    let text = fs::read_to_string(log(&folder)).expect("a log");
    assert!(!text.contains("hunter2"), "arguments are a digest unless somebody wants more");
}

// covers: SAMP-SENSITIVE
#[test]
fn arguments_are_written_out_only_where_that_is_wanted() {
    let folder = Folder::new();
    let consent = audited(json!({ "path": log(&folder), "arguments": true }), json!({}));
    let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(200_000));
    for arguments in ["{\n  \"a\": 1,\n  \"b\": [\"\\n\"]\n}", r#"{"n": 1e400}"#, &long] {
        consent.decide(&Wish::tool("x").arguments(arguments).asking());
    }
    let lines = lines(&log(&folder));
    assert_eq!(lines[0]["arguments"], json!({ "a": 1, "b": ["\n"] }));
    assert_eq!(lines[1]["arguments"], r#"{"n": 1e400}"#, "as text, where it cannot be written again");
    assert!(
        lines[2]["arguments"]
            .as_str()
            .is_some_and(|text| text.len() < 2_000 && text.contains("bytes in all"))
    );
}

/// Row J28 of the threats: nothing that is written down can look like another line.
#[test]
fn no_field_can_forge_a_line() {
    let folder = Folder::new();
    let consent = audited(json!({ "path": log(&folder), "arguments": true }), json!({ "default": "allow" }));
    let forged =
        "x\"}\r\n{\"event\":\"decision\",\"decision\":\"allow\",\"name\":\"forged\"}\n\u{2028}\u{0}\u{1b}[1A";
    let arguments = json!({ forged: forged }).to_string();
    let quoted = Value::from(forged).to_string();
    let spaced = format!("{{\r\n{quoted}\n:\r\n\t{quoted}\n}}");
    for text in [&arguments, &spaced] {
        let wish = Wish::tool(forged).server(forged).arguments(text).by(Principal::new(forged, forged));
        consent.decide(&wish.asking());
        consent.record(Record {
            asking: &wish.asking(),
            outcome: Outcome::Unknown,
            duration: Duration::ZERO,
        });
    }
    let lines = lines(&log(&folder));
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert_eq!((line["name"].as_str(), line["subject"].as_str()), (Some(forged), Some(forged)));
    }
    let text = fs::read(log(&folder)).expect("a log");
    assert!(text.iter().all(|byte| *byte == b'\n' || *byte >= b' '), "no control characters");
}

/// Row J28 of the threats: a sink that is down denies, if somebody said that it is required.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_denies_where_it_is_required() {
    let folder = Folder::new();
    let allow = || json!({ "default": "allow" });
    let wish = Wish::tool("x");
    for path in ["/dev/full", "/nowhere/at/all/audit"] {
        let strict = audited(json!({ "path": path, "required": true }), allow());
        let refused = reason(strict.decide(&wish.asking()));
        assert!(refused.contains("audit log is required"), "{path}: {refused}");
        assert_eq!(word(&strict.answered(&wish.asking(), Answer::Always)), "deny", "{path}");
        let lenient = audited(json!(path), allow());
        assert_eq!(word(&lenient.decide(&wish.asking())), "allow", "{path}");
        assert!(lenient.audit_lost() >= 1, "{path}: it is counted");
    }
    // A pipe that nobody reads must not hang us.
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let strict = audited(json!({ "path": pipe, "required": true }), allow());
    assert_eq!(word(&strict.decide(&wish.asking())), "deny");
}

#[test]
fn a_log_that_works_again_is_used_again() {
    let folder = Folder::new();
    let path = folder.path().join("later").join("audit");
    let strict = audited(json!({ "path": path, "required": true }), json!({ "default": "allow" }));
    assert_eq!(word(&strict.decide(&Wish::tool("x").asking())), "deny");
    fs::create_dir(folder.path().join("later")).expect("a folder");
    assert_eq!(word(&strict.decide(&Wish::tool("x").asking())), "allow");
    assert_eq!(lines(&path).len(), 1);
}

#[test]
fn an_answer_that_could_not_be_written_down_is_not_kept() {
    let folder = Folder::new();
    let strict = audited(json!({ "path": folder.path().join("no/audit"), "required": true }), json!({}));
    strict.answered(&Wish::tool("x").asking(), Answer::Always);
    assert!(strict.remembered().all().is_empty());
}

#[test]
fn files_are_rotated_by_size_and_only_so_many_are_kept() {
    let folder = Folder::new();
    let audit = json!({ "path": log(&folder), "maxBytes": 4096, "keep": 2 });
    let consent = audited(audit.clone(), json!({ "default": "allow" }));
    let beside = audited(audit, json!({ "default": "allow" }));
    for number in 0..100 {
        let wish = Wish::tool(&format!("tool{number}"));
        assert_eq!(word(&if number % 2 == 0 { &consent } else { &beside }.decide(&wish.asking())), "allow");
    }
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
    let newest: Vec<Value> = ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]
        .iter()
        .flat_map(|name| lines(&folder.path().join(name)))
        .collect();
    let told: Vec<String> =
        newest.iter().map(|line| line["name"].as_str().expect("a name").to_owned()).collect();
    let wanted: Vec<String> = (100 - told.len()..100).map(|number| format!("tool{number}")).collect();
    assert_eq!(told, wanted, "the newest, in order, none twice");
    for name in names {
        assert!(fs::metadata(folder.path().join(&name)).expect("a file").len() <= 4096, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn the_log_is_its_owners_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = Folder::new();
    audited(json!(log(&folder)), json!({})).decide(&Wish::tool("x").asking());
    assert_eq!(fs::metadata(log(&folder)).expect("a log").mode() & 0o777, 0o600);
}

#[test]
fn a_mistake_in_the_section_is_told() {
    for wrong in [json!({}), json!({ "path": "a", "requried": true }), json!(3)] {
        assert!(serde_json::from_value::<AuditConfig>(wrong.clone()).is_err(), "{wrong}");
    }
    let plain: AuditConfig = serde_json::from_value(json!("a")).expect("a path");
    assert_eq!(plain, AuditConfig::new("a"));
    assert!(!plain.required && !plain.arguments);
}
