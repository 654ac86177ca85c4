//! Programs of the system's packages, installed where we may and asked for where we may not.

use crate::process;
use std::process::Command;

/// Installs Debian's packages of these names. `who` needs them; that is said when it cannot be done.
pub fn install(who: &str, packages: &[&str]) -> Result<(), String> {
    let list = packages.join(" ");
    let root_user = process::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root_user || !process::succeeds(Command::new("apt-get").arg("--version")) {
        return Err(format!("{who} {list}: install them (on Debian: apt-get install {list})"));
    }
    process::run(Command::new("apt-get").arg("update"))?;
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    process::run(command.env("DEBIAN_FRONTEND", "noninteractive"))
}
