//! Where the project is and which files belong to it.
//!
//! Only tracked files count (and new ones that git does not ignore, so that a rule speaks before the
//! commit); build output and other people's packages are never read.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The five dated revisions, oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The root of the checkout.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    manifest.and_then(|path| path.parent().map(Path::to_path_buf)).unwrap_or_else(|| PathBuf::from("."))
}

/// The cargo that started us, so that every step uses the same toolchain.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // `cargo run` describes xtask in these; build scripts that watch them would run again and again.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    command
}

/// One text file of the project.
pub struct TextFile {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// The whole content.
    pub text: String,
}

/// Every text file of the project; what is not UTF-8 is left out.
pub fn files(root: &Path) -> Result<Vec<TextFile>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let listing = String::from_utf8_lossy(&output.stdout);
    let mut paths: Vec<&str> = listing.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    // A file that was deleted but not yet committed is still listed: it cannot be read and is left out.
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(TextFile { path: path.to_owned(), text })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}
