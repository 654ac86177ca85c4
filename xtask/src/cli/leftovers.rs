//! What must not be there any more: processes, temporary files, locks.

use super::scene::Scene;
use super::servers::Server;
use super::{Story, Told};
use std::path::{Path, PathBuf};

pub const ALL: [Story; 1] = [("nothing is left", of_column)];

/// Names that only what is temporary has.
const FLEETING: [&str; 5] = [".lock", ".tmp", ".new", ".part", "~"];

/// After a column: the shell and its terminal are all that runs, and nothing temporary is in any folder.
fn of_column(scene: &Scene, _: &Server) -> Told {
    let nobody = || scene.strangers().is_empty().then_some(());
    let left = |_| format!("still running: {:?}", scene.strangers());
    scene.pane.wait("somebody is left", nobody).map_err(left)?;
    let temporary = files(&scene.pane.temporary());
    if !temporary.is_empty() {
        return Err(format!("temporary files: {temporary:?}"));
    }
    let fleeting = |path: &PathBuf| FLEETING.iter().any(|end| path.to_string_lossy().ends_with(end));
    let left: Vec<PathBuf> = files(&scene.home()).into_iter().filter(fleeting).collect();
    if left.is_empty() { Ok(None) } else { Err(format!("left in the user's folder: {left:?}")) }
}

/// After the whole run: its folder is empty, and no process knows it.
pub fn of_run(within: &Path) -> Result<(), String> {
    let left = files(within);
    if !left.is_empty() {
        return Err(format!("files are left: {left:?}"));
    }
    let mark = within.display().to_string();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let strangers: Vec<String> = all
        .filter_map(|process| {
            let environment = std::fs::read(process.path().join("environ")).ok()?;
            let is_marked = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
            let line = std::fs::read(process.path().join("cmdline")).ok()?;
            is_marked.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect();
    if strangers.is_empty() { Ok(()) } else { Err(format!("processes are left: {strangers:?}")) }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}
