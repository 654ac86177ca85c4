//! What is remembered, for whom, and for how long.

use std::fs;

use contexture::Principal;
use contexture_host::consent::{Answer, Consent, Kind, Settings};
use serde_json::{Value, json};

use crate::{Folder, Wish, message, word};

fn at(folder: &Folder) -> Consent {
    Consent::open(Settings { state: Some(folder.path().join("state")), ..Settings::default() })
}

fn file(folder: &Folder) -> std::path::PathBuf {
    folder.path().join("state").join("decisions.json")
}

#[test]
fn answers_mean_what_they_say() {
    let cases = [
        (Answer::Once, "allow", "ask"),
        (Answer::Always, "allow", "allow"),
        (Answer::Deny, "deny", "ask"),
        (Answer::Never, "deny", "deny"),
        (Answer::Dismissed, "deny", "ask"),
    ];
    for (answer, now, next) in cases {
        let consent = crate::consent(json!({}));
        let wish = Wish::tool("write");
        assert_eq!(word(&consent.answered(&wish.asking(), answer)), now, "{answer:?}");
        assert_eq!(word(&consent.decide(&wish.asking())), next, "{answer:?}");
    }
}

#[test]
fn an_answer_is_for_one_principal_one_server_one_name_and_one_kind() {
    let consent = crate::consent(json!({ "default": "ask" }));
    let ada = Principal::new("https://id.example", "ada");
    let wish = || Wish::tool("write").by(ada.clone());
    consent.answered(&wish().asking(), Answer::Always);
    assert_eq!(word(&consent.decide(&wish().asking())), "allow");
    for other in [
        wish().by(Principal::new("https://id.example", "bob")),
        wish().by(Principal::new("https://evil.example", "ada")),
        wish().by(Principal::local()),
        wish().server("files2"),
        Wish { name: "writ".into(), ..wish() },
        Wish { kind: Kind::Prompt, ..wish() },
    ] {
        assert_eq!(word(&consent.decide(&other.asking())), "ask", "{:?} {}", other.principal, other.name);
    }
}

// covers: SEC-TOOL-UNDERSTAND
#[test]
fn a_changed_definition_asks_again_and_says_so() {
    let consent = crate::consent(json!({}));
    let wish = || Wish::tool("write").pin([1; 32]);
    consent.answered(&wish().asking(), Answer::Always);
    let asked = message(consent.decide(&wish().pin([2; 32]).asking()));
    assert!(asked.contains("has changed"), "{asked}");
    let mut moved = wish();
    moved.server.definition = [9; 32];
    assert!(message(consent.decide(&moved.asking())).contains("has changed"), "another server of that name");
    assert_eq!(word(&consent.decide(&wish().asking())), "allow", "the one that was allowed still is");
    assert!(!message(consent.decide(&Wish::tool("other").asking())).contains("has changed"));
    // The new definition takes the place of the old.
    consent.answered(&wish().pin([2; 32]).asking(), Answer::Always);
    assert_eq!(word(&consent.decide(&wish().pin([2; 32]).asking())), "allow");
    assert_eq!(word(&consent.decide(&wish().asking())), "ask");
}

#[test]
fn a_never_cannot_be_worn_down_by_changing() {
    let consent = crate::consent(json!({}));
    consent.answered(&Wish::tool("write").asking(), Answer::Never);
    for pin in 0..50 {
        assert_eq!(word(&consent.decide(&Wish::tool("write").pin([pin; 32]).asking())), "deny");
    }
}

#[test]
fn rules_go_before_answers() {
    let denying = json!({ "rules": [{ "tool": "write", "decision": "deny" }] });
    let consent = crate::consent(denying);
    consent.answered(&Wish::tool("write").asking(), Answer::Always);
    assert_eq!(word(&consent.decide(&Wish::tool("write").asking())), "deny");
}

#[test]
fn whoever_proved_nothing_is_asked_every_time() {
    let consent = crate::consent(json!({}));
    let wish = || Wish::tool("write").by(Principal::anonymous());
    for answer in [Answer::Always, Answer::Never] {
        consent.answered(&wish().asking(), answer);
        assert_eq!(word(&consent.decide(&wish().asking())), "ask", "{answer:?}");
    }
}

// covers: SEC-SAMPLING-CONSENT
#[test]
fn every_question_to_a_model_is_asked_about() {
    let consent = crate::consent(json!({}));
    let wish = Wish::of_kind(Kind::Sampling, "");
    assert_eq!(word(&consent.answered(&wish.asking(), Answer::Always)), "allow");
    assert_eq!(word(&consent.decide(&wish.asking())), "ask");
    assert_eq!(word(&consent.answered(&wish.asking(), Answer::Never)), "deny");
    assert_eq!(word(&consent.decide(&wish.asking())), "deny", "but no can be said for good");
}

#[test]
fn answers_outlive_the_process_and_reach_others() {
    let folder = Folder::new();
    let (one, other) = (at(&folder), at(&folder));
    one.answered(&Wish::tool("write").asking(), Answer::Always);
    assert_eq!(word(&other.decide(&Wish::tool("write").asking())), "allow", "beside it");
    other.answered(&Wish::tool("erase").asking(), Answer::Never);
    assert_eq!(word(&one.decide(&Wish::tool("erase").asking())), "deny");
    drop((one, other));
    let next = at(&folder);
    assert_eq!(word(&next.decide(&Wish::tool("write").asking())), "allow", "after it");
    assert_eq!(word(&next.decide(&Wish::tool("erase").asking())), "deny");
    assert_eq!(next.remembered().all().len(), 2);
    assert_eq!(next.remembered().forget("files", Some("erase")).expect("a file"), 1);
    assert_eq!(word(&next.decide(&Wish::tool("erase").asking())), "ask");
    assert_eq!(at(&folder).remembered().all().len(), 1);
    assert_eq!(next.remembered().forget("other", None).expect("a file"), 0);
    assert_eq!(next.remembered().forget("files", None).expect("a file"), 1);
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = Folder::new();
    at(&folder).answered(&Wish::tool("write").asking(), Answer::Always);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!((mode(&file(&folder)), mode(&folder.path().join("state"))), (0o600, 0o700));
    let names: Vec<_> = fs::read_dir(folder.path().join("state")).expect("a folder").collect();
    assert_eq!(names.len(), 1, "no draft stays: {names:?}");
    // What others could write to, others may have written.
    fs::set_permissions(file(&folder), fs::Permissions::from_mode(0o622)).expect("it is ours");
    assert_eq!(word(&at(&folder).decide(&Wish::tool("write").asking())), "ask");
}

#[test]
fn a_broken_file_is_set_aside_and_costs_questions_only() {
    let good = {
        let folder = Folder::new();
        at(&folder).answered(&Wish::tool("write").asking(), Answer::Always);
        fs::read(file(&folder)).expect("a file")
    };
    let newer = String::from_utf8(good.clone()).expect("text").replace("\"version\":1", "\"version\":2");
    let cases = [
        b"not JSON".to_vec(),
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        newer.into_bytes(),
        b"{\"version\":1,\"decisions\":[{\"allowed\":true}]}".to_vec(),
        vec![b' '; 17 * 1024 * 1024],
    ];
    for (number, broken) in cases.into_iter().enumerate() {
        let folder = Folder::new();
        fs::create_dir(folder.path().join("state")).expect("a folder");
        fs::write(file(&folder), &broken).expect("a file");
        let consent = at(&folder);
        assert_eq!(word(&consent.decide(&Wish::tool("write").asking())), "ask", "{number}");
        let aside = fs::read(file(&folder).with_extension("json.broken")).expect("it was kept");
        assert_eq!(aside.len(), broken.len(), "{number}");
        consent.answered(&Wish::tool("write").asking(), Answer::Always);
        assert_eq!(
            word(&at(&folder).decide(&Wish::tool("write").asking())),
            "allow",
            "{number}: works again"
        );
    }
}

#[test]
fn what_cannot_be_kept_is_not_fatal() {
    let folder = Folder::new();
    fs::write(folder.path().join("state"), "a file in the folder's place").expect("a file");
    let consent = at(&folder);
    assert_eq!(word(&consent.answered(&Wish::tool("write").asking(), Answer::Always)), "allow");
    assert_eq!(word(&consent.decide(&Wish::tool("write").asking())), "allow", "while this process lives");
}

#[test]
fn memory_is_bounded_and_yes_is_forgotten_before_no() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("state")).expect("a folder");
    let decided = |number: usize, allowed: bool| {
        json!({ "issuer": "", "subject": "local", "server": "files", "kind": "tool", "name": number.to_string(),
            "allowed": allowed, "pin": "", "entry": "", "since": number })
    };
    let all: Vec<Value> = (0..10_000).map(|number| decided(number, number != 0)).collect();
    fs::write(file(&folder), json!({ "version": 1, "decisions": all }).to_string()).expect("a file");
    private(&file(&folder));
    let consent = at(&folder);
    assert_eq!(consent.remembered().all().len(), 10_000);
    consent.answered(&Wish::tool("one more").asking(), Answer::Always);
    let kept = consent.remembered().all();
    assert_eq!(kept.len(), 10_000);
    let has = |name: &str| kept.iter().any(|said| said.name == name);
    assert!(has("one more") && has("0") && !has("1") && has("2"), "the oldest yes is gone");
    let endless = Wish::tool(&"x".repeat(100_000));
    consent.answered(&endless.asking(), Answer::Always);
    assert_eq!(word(&consent.decide(&endless.asking())), "ask", "names without end are not kept");
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

#[cfg(not(unix))]
fn private(_: &std::path::Path) {}
