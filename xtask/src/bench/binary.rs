//! The binary as it is shipped: built for release, and whether it is as small as was promised.

use crate::process::run;
use crate::workspace;
use std::path::PathBuf;

/// What people download.
pub(super) const LARGEST: u64 = 25_000_000;

/// Builds it, and says where it is and how large.
pub(super) fn shipped() -> Result<(PathBuf, u64), String> {
    let target = workspace::root().join("target");
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--locked", "--quiet", "-p", "contexture-cli"]);
    run(build.env("CARGO_TARGET_DIR", &target))?;
    let program = target.join("release/contexture");
    let size =
        std::fs::metadata(&program).map_err(|error| format!("target/release/contexture: {error}"))?.len();
    Ok((program, size))
}

/// That it is no larger than was promised.
pub(super) fn is_small(size: u64) -> Result<(), String> {
    match size <= LARGEST {
        true => Ok(()),
        false => Err(format!("the binary has {size} bytes, and at most {LARGEST} were promised")),
    }
}
