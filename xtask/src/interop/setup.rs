//! What the peers need before they can run: their languages, their packages, their programs. Installs from the
//! system's packages only where it may.

use crate::{packages, process};
use std::path::Path;
use std::process::Command;

/// Languages first (from the system's packages, if we may install them), then the peers' own packages and programs.
pub fn prepare(root: &Path) -> Result<(), String> {
    set_up(root, &[])
}

/// The same without the program that has to be compiled.
pub fn prepare_without_rmcp(root: &Path) -> Result<(), String> {
    set_up(root, &["--without-rmcp"])
}

fn set_up(root: &Path, flags: &[&str]) -> Result<(), String> {
    let missing = missing_languages();
    if !missing.is_empty() {
        packages::install("the peers need", &missing)?;
        if !missing_languages().is_empty() {
            return Err("the peers need python3 ≥ 3.11 with venv and node ≥ 20 with npm".to_owned());
        }
    }
    // Their programs are expected in their own target directory, wherever ours is.
    let mut setup = Command::new("bash");
    setup.arg("interop/setup.sh").args(flags).current_dir(root).env_remove("CARGO_TARGET_DIR");
    process::run(&mut setup)
}

/// Debian's names of what is not there, or too old.
fn missing_languages() -> Vec<&'static str> {
    let probe = |program: &str, args: &[&str]| process::succeeds(Command::new(program).args(args));
    let mut missing = Vec::new();
    if !probe("python3", &["-c", "import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 11))"]) {
        missing.extend(["python3", "python3-venv"]);
    }
    let node = probe("node", &["-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"]);
    if !node || !probe("npm", &["--version"]) {
        missing.extend(["nodejs", "npm"]);
    }
    missing
}
