//! What `docs/gateway.md` shows can be done.

use serde_json::Value;

use crate::stage::Home;

const DOCUMENT: &str = include_str!("../../../../docs/gateway.md");

#[test]
fn the_configuration_in_the_document_is_one() {
    let home = Home::new();
    let (_, rest) = DOCUMENT.split_once("```jsonc\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let path = home.path().join("contexture.json");
    std::fs::write(&path, example).expect("it can be written");
    // Nothing of it is started.
    let command = ["config", "show", "--config", path.to_str().expect("text"), "-o", "json"];
    let run = home.command(&command).output().expect("the binary runs");
    let (shown, said) = [run.stdout, run.stderr].map(|text| String::from_utf8(text).expect("text")).into();
    assert_eq!(run.status.code(), Some(0), "{shown}{said}");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["servers"].as_array().map(Vec::len), Some(3), "{shown}");
    assert_eq!(shown["faults"], serde_json::json!([]), "{shown}");
}

#[test]
fn every_command_in_the_document_is_understood() {
    let home = Home::new();
    for line in DOCUMENT.lines().filter(|line| line.starts_with("contexture ")) {
        let command = line.split(" #").next().unwrap_or_default().trim();
        // Asked for help last, the command line is read up to there and nothing is done.
        let mut words: Vec<&str> = command.split(' ').skip(1).take_while(|word| *word != "--").collect();
        words.push("--help");
        let run = home.command(&words).output().expect("the binary runs");
        assert_eq!(run.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&run.stderr));
    }
}
