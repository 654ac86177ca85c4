//! Every example of every verb, and every command of the README, run through a shell as it stands there.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use crate::house::House;
use crate::{said, verbs};

/// What those say that go on until somebody ends them.
const GOES_ON: [&str; 3] = ["listening on ", "Ctrl-C ends", "at http://127.0.0.1:"];

#[test]
fn every_example_runs_as_it_stands() {
    let house = House::new().with_servers();
    let mut wrong = Vec::new();
    let mut count = 0;
    for verb in verbs() {
        let lines = examples(&verb);
        assert!(!lines.is_empty(), "{verb} has no example");
        for line in lines {
            count += 1;
            let (is_well, text) = run(&house, &line);
            if !is_well {
                wrong.push(format!("$ {line}\n{text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 50, "only {count}");
}

#[test]
fn every_command_of_the_readme_runs_as_it_stands() {
    let house = House::new().with_servers();
    let readme = include_str!("../../../../README.md");
    let section = readme.split("## On the command line").nth(1).expect("it is there");
    let section = section.split("\n## ").next().expect("it has an end");
    let blocks = section.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let lines: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.starts_with("contexture ")).collect();
    assert!(lines.len() > 10, "{lines:?}");
    let wrong: Vec<String> = lines
        .into_iter()
        .map(|line| (line, run(&house, line)))
        .filter(|(_, (is_well, _))| !is_well)
        .map(|(line, (_, text))| format!("$ {line}\n{text}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The lines under "Examples:", without what is said about them.
fn examples(verb: &str) -> Vec<String> {
    let help = said(&[verb, "--help"]);
    let lines = help.split("Examples:\n").nth(1).unwrap_or_default().lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Runs a line, and says whether all is well. What goes on by itself is ended by Ctrl-C when it says so.
fn run(house: &House, line: &str) -> (bool, String) {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    let mut command = house.command("bash");
    command
        .args(["-c", &house.line(line)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().expect("bash runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    let printed = std::thread::spawn(move || {
        let mut all = Vec::new();
        // What is no text was wanted so.
        let _ = stdout.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    });
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut noted = String::new();
    let mut is_ended = false;
    for note in stderr.lines().map_while(Result::ok) {
        if !is_ended && GOES_ON.iter().any(|words| note.contains(words)) {
            is_ended = true;
            interrupt(&child);
        }
        noted = noted + &note + "\n";
    }
    let status = child.wait().expect("it ends");
    let is_interrupted =
        is_ended && (status.signal() == Some(15) || matches!(status.code(), Some(130 | 143)));
    let text = format!("{status}\n{noted}{}", printed.join().expect("it was read"));
    (status.success() || is_interrupted, text)
}

/// The end of all that the line has started. Not by Ctrl-C: whoever runs the tests in the background has that ignored.
fn interrupt(child: &Child) {
    let group = format!("-{}", child.id());
    let done = Command::new("kill").args(["-TERM", "--", &group]).status().expect("kill runs");
    assert!(done.success());
}
