//! Wrong uses of the macros: none compiles, and each has a message that says what to do, where it is wrong.
//!
//! The messages are partly the compiler's own words, so they are compared only under the version that wrote
//! them (`ui/compiler.txt`). After a change, `TRYBUILD=overwrite` writes messages and version anew.

use std::path::{Path, PathBuf};
use std::process::Command;

use contexture_judge::tell;

/// Set for a run of this test that only wants the cases in this directory to fail.
const COPIES: &str = "CONTEXTURE_UI_COPIES";

#[test]
fn wrong_code_is_told_what_to_do() {
    if let Some(copies) = std::env::var_os(COPIES) {
        return fails_to_compile(Path::new(&copies));
    }
    // Relative, as tests are run in the directory of their crate: it is a part of the messages.
    let cases = Path::new("tests/macros/ui");
    let record = cases.join("compiler.txt");
    let (compiler, recorded) = (compiler(), std::fs::read_to_string(&record).unwrap_or_default());
    let overwrites = std::env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite");
    if overwrites || compiler == recorded.trim() {
        fails_to_compile(cases);
        if overwrites {
            std::fs::write(record, compiler + "\n").expect("the record is written");
        }
        return;
    }
    tell(format_args!(
        "MESSAGES NOT COMPARED: they are those of rustc {}, and this is {compiler}",
        recorded.trim()
    ));
    let copies = copy(cases);
    // Messages that are overwritten are not compared; code that compiles still fails the run.
    let test = std::env::current_exe().expect("this binary has a path");
    let mut again = Command::new(test);
    again.args(["--exact", "ui::wrong_code_is_told_what_to_do", "--nocapture"]);
    let ended = again.env("TRYBUILD", "overwrite").env(COPIES, copies).output().expect("it runs again");
    assert!(ended.status.success(), "wrong code compiles:\n{}", String::from_utf8_lossy(&ended.stderr));
}

fn fails_to_compile(directory: &Path) {
    trybuild::TestCases::new().compile_fail(directory.join("*.rs"));
}

/// The compiler's version, as far as it matters: `1.95`.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("there is a compiler");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(1).unwrap_or_default();
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// The cases without their messages.
fn copy(cases: &Path) -> PathBuf {
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    std::fs::create_dir_all(&copies).expect("a directory");
    for entry in std::fs::read_dir(cases).expect("the cases").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "rs") {
            std::fs::copy(entry.path(), copies.join(entry.file_name())).expect("copied");
        }
    }
    copies
}
