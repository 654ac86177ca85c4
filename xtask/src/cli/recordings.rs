//! `cargo xtask recordings`: the five verbs that are used most, as a terminal shows them, for docs/cli.md.
//!
//! Every picture is what really was on the screen. Nothing is drawn that no program has printed.

mod svg;

use std::path::Path;

use super::pane::Pane;
use crate::{process, workspace};

/// As wide as a page can show.
const COLUMNS: u16 = 100;
const ROWS: u16 = 60;
/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;

/// What a person does at the terminal.
enum Step {
    /// Types a line, and waits until it has ended.
    Run(&'static str),
    /// Types a line, and waits for these words.
    Type(&'static str, &'static str),
    /// Presses keys, and waits for these words.
    Press(&'static [&'static str], &'static str),
}

use Step::{Press, Run, Type};

const RECORDINGS: [(&str, &[Step]); 5] = [
    ("tools", &[Run("contexture tools list demo")]),
    (
        "call",
        &[
            Run("contexture call demo weather city=Rome"),
            Run("contexture call demo add a=1 b=two"),
            Run("contexture call demo ad a=1 b=2"),
            Run("contexture call demo add a=1 b=2 -o json"),
        ],
    ),
    ("doctor", &[Run("contexture doctor demo --call add --arguments '{\"a\": 1, \"b\": 2}'")]),
    (
        "shell",
        &[
            Type("contexture shell demo", "demo>"),
            Type("sum = call add a=1 b=2", "($sum)"),
            Type("call add a=$sum.structuredContent b=10", "($2)"),
            Press(&["prompt gre", "Tab", "name=Ada style=", "Tab", "Tab"], "style=pirate"),
            Press(&["pi", "Tab", "Enter"], "($3)"),
            Type("vars", "$2 "),
            Type("exit", "\n$"),
        ],
    ),
    (
        "run",
        &[
            Run("contexture add notes -- contexture demo"),
            Type("contexture run --listen 127.0.0.1:8000", "/mcp"),
            Press(&["C-c"], "\n$"),
        ],
    ),
];

/// Plays them, and writes the pictures.
pub fn run(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("usage: cargo xtask recordings".to_owned());
    }
    let root = workspace::root();
    process::run(workspace::cargo().args(["build", "--locked", "-p", "contexture-cli", "--bins"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let folder = root.join("docs/recordings");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, steps) in RECORDINGS {
        let file = folder.join(format!("{name}.svg"));
        let shown = played(&target.join("debug/contexture"), steps)?;
        std::fs::write(&file, svg::picture(&shown, COLUMNS))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        println!("wrote docs/recordings/{name}.svg");
    }
    Ok(())
}

/// What is on the screen in the end, with its colours.
fn played(program: &Path, steps: &[Step]) -> Result<String, String> {
    let pane = Pane::open(program, &std::env::temp_dir(), (COLUMNS, ROWS), "/usr/local/bin:/usr/bin:/bin")?;
    for step in steps {
        match step {
            Run(line) => {
                pane.run(line)?;
                if pane.ended()? == NOT_FOUND {
                    return Err(format!("{line}: there is no such program"));
                }
            }
            Type(line, words) => {
                pane.run(line)?;
                pane.shows(words)?;
            }
            Press(keys, words) => {
                pane.keys(keys)?;
                pane.shows(words)?;
            }
        }
    }
    pane.coloured()
}
