//! Which node runs other people's programs: the machine's, or where that is too old one that npm brought along.
//!
//! Nothing is installed here; where node or npm is missing, the sentence says what to install.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the programs need that do not run on every node. Where the machine's is older (but no older than 20), one
/// comes from npm.
const NEEDED: u32 = 22;

/// The machine's node, by its major version, and that npm is there too. `who` needs them.
pub fn version(who: &str) -> Result<u32, String> {
    let missing = |_| {
        format!(
            "{who} needs node 20 or later (better {NEEDED}) and npm: install them \
             (on Debian: apt-get install nodejs npm)"
        )
    };
    let version = process::capture(Command::new("node").arg("--version")).map_err(missing)?;
    process::capture(Command::new("npm").arg("--version")).map_err(missing)?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|it| it.parse().ok());
    match major {
        Some(major) if major >= 20 => Ok(major),
        _ => Err(format!("node {} is too old for {who}: install {NEEDED}", version.trim())),
    }
}

/// A node that is new enough: the machine's, or the one among the packages installed in the directory.
pub fn new_enough(who: &str, directory: &Path) -> Result<PathBuf, String> {
    if version(who)? >= NEEDED {
        return Ok("node".into());
    }
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let node = directory.join(format!("node_modules/node-{system}-{machine}/bin/node"));
    if node.is_file() {
        return Ok(node);
    }
    Err(format!("{who} needs node {NEEDED} or later, and npm has none for this machine: install it"))
}
