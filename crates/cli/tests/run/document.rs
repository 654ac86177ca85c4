//! What `docs/gateway.md` shows can be done.

use std::process::Stdio;

use crate::stage::Home;

const DOCUMENT: &str = include_str!("../../../../docs/gateway.md");

#[test]
fn the_configuration_in_the_document_is_one() {
    let home = Home::new();
    let (_, rest) = DOCUMENT.split_once("```jsonc\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let path = home.path().join("contexture.json");
    std::fs::write(&path, example).expect("it can be written");
    let mut command = home.command(&["run", "--config", path.to_str().expect("text")]);
    let run = command.stdin(Stdio::null()).output().expect("the binary runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!((run.status.code(), said.contains("error")), (Some(0), false), "{said}");
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
