//! Facts of this build for `contexture --version`. Where git cannot tell, it is not said.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(head) = said("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    let commit = said("git", &["describe", "--always", "--dirty", "--exclude=*"]).unwrap_or_default();
    println!("cargo::rustc-env=CONTEXTURE_COMMIT={commit}");
    let rustc = std::env::var("RUSTC").ok().and_then(|rustc| said(&rustc, &["--version"]));
    println!("cargo::rustc-env=CONTEXTURE_RUSTC={}", rustc.unwrap_or_default());
    for name in ["TARGET", "PROFILE"] {
        println!("cargo::rustc-env=CONTEXTURE_{name}={}", std::env::var(name).unwrap_or_default());
    }
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned())
}
