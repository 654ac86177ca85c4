//! Completions: for four shells, of verbs, options and the names of servers, and they start nothing.

use std::process::Stdio;

use crate::house::House;
use crate::{contexture, said};

#[test]
fn there_are_completions_for_four_shells() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = said(&["completions", shell]);
        assert!(script.contains("contexture"), "{shell}: {script}");
    }
    let unknown = contexture(&["completions", "tcsh"]);
    let noted = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(1) && noted.contains("bash"), "{noted}");
}

#[test]
fn shells_can_read_their_script() {
    let house = House::new();
    for (shell, file) in [("bash", "c.bash"), ("zsh", "c.zsh"), ("fish", "c.fish")] {
        std::fs::write(house.folder().join(file), said(&["completions", shell])).expect("it is written");
        let mut check = house.command(shell);
        // Shells that are not here cannot be asked; bash always is.
        match check.args(["-n", file]).output() {
            Ok(checked) => {
                assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr))
            }
            Err(error) => assert!(shell != "bash", "{error}"),
        }
    }
}

#[test]
fn bash_completes_verbs_options_and_servers() {
    let house = House::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["to"], &["tools"]),
        (&["call", "no"], &["notes"]),
        (&["tools", "list", "de"], &["demo"]),
        (&["call", "demo", "--unch"], &["--unchecked"]),
        (&["completions", "z"], &[]),
    ];
    for (words, wanted) in cases {
        let proposed = proposals(&house, words);
        for word in *wanted {
            assert!(proposed.iter().any(|one| one == word), "{words:?}: {proposed:?}");
        }
    }
}

/// What bash would show after these words, by the script that it was given.
fn proposals(house: &House, words: &[&str]) -> Vec<String> {
    let line = format!("contexture {}", words.join(" "));
    let script = format!(
        "source <(contexture completions bash)\n\
         COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9\n\
         read -ra COMP_WORDS <<<\"$COMP_LINE\"; COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n\
         function=$(complete -p contexture | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         \"$function\" contexture \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let mut bash = house.command("bash");
    let output = bash.args(["-c", &script]).stdin(Stdio::null()).output().expect("bash runs");
    assert!(output.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect()
}
