//! Whether a command can be started, by looking: where it would be found, whether it may be run, and by what.
//!
//! Starts nothing. Programs are found as the system finds them: no shell is involved, so nothing that a shell would do is done.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use contexture_host::config::near;

use super::report::Report;
use super::step::Step;
use crate::place::is_program;

/// Words that only shells know.
const BUILTINS: &[&str] = &[
    ".", "alias", "bg", "cd", "eval", "exec", "export", "fg", "read", "set", "shift", "source", "trap",
    "ulimit", "umask", "unset",
];

/// Programs that servers are run with, and where they come from.
const INSTALLERS: &[(&[&str], &str)] = &[
    (&["npx", "node", "npm"], "install Node.js: https://nodejs.org"),
    (&["uvx", "uv"], "install uv: https://docs.astral.sh/uv"),
    (&["docker"], "install Docker: https://docs.docker.com/get-docker"),
    (&["podman"], "install Podman: https://podman.io"),
    (&["python", "python3", "pip", "pipx"], "install Python: https://www.python.org"),
    (&["bun", "bunx"], "install Bun: https://bun.sh"),
    (&["deno"], "install Deno: https://deno.com"),
    (&["dotnet", "dnx"], "install .NET: https://dotnet.microsoft.com"),
    (&["java"], "install a Java runtime"),
    (&["go"], "install Go: https://go.dev"),
    (&["cargo"], "install Rust: https://rustup.rs"),
];

/// Names on PATH that are compared with one that is not there.
const COMPARED: usize = 20_000;
/// An interpreter's line is no longer.
const FIRST_LINE: u64 = 512;

/// What is looked for, and where.
pub(super) struct Wanted<'a> {
    pub(super) program: &'a OsStr,
    /// Where it will run.
    pub(super) folder: Option<&'a Path>,
    /// The PATH that it will have.
    pub(super) path: Option<OsString>,
}

impl Wanted<'_> {
    /// The file that would be started.
    pub(super) fn look(&self, report: &mut Report) -> Option<PathBuf> {
        report.begin(Step::Command);
        if let Some(folder) = self.folder.filter(|folder| !folder.is_dir()) {
            let seen = format!("it is to run in {}, which is no folder", folder.display());
            return report.fail(Step::Command, seen, "create the folder, or correct \"cwd\"");
        }
        let found = match self.has_folder() {
            true => self.at_path(report)?,
            false => self.along_path(report)?,
        };
        self.interpreter(report, &found)?;
        report.passed(Step::Command, found.display().to_string());
        Some(found)
    }

    fn text(&self) -> std::borrow::Cow<'_, str> {
        self.program.to_string_lossy()
    }

    fn has_folder(&self) -> bool {
        self.text().contains(std::path::is_separator)
    }

    /// A path, as it is from where the program will run.
    fn at_path(&self, report: &mut Report) -> Option<PathBuf> {
        let written = Path::new(self.program);
        let here = std::env::current_dir().unwrap_or_default();
        let path = self.folder.unwrap_or(&here).join(written);
        match std::fs::metadata(&path) {
            Ok(about) if about.is_dir() => {
                let seen = format!("{} is a folder", path.display());
                report.fail(Step::Command, seen, "name the program in it")
            }
            Ok(about) if !is_program(&about) => {
                let seen = format!("{} may not be executed", path.display());
                report.fail(Step::Command, seen, not_executable(&path))
            }
            Ok(_) => Some(path),
            Err(_) if self.text().starts_with("~/") => {
                let next = "write the whole path, or ${HOME}/… in a configuration";
                report.fail(
                    Step::Command,
                    "`~` means a folder to shells only, and no shell is involved",
                    next,
                )
            }
            Err(error) => {
                let next = match written.is_relative() {
                    true => {
                        "it is relative to that folder: write the whole path, or correct \"cwd\"".to_owned()
                    }
                    false => "correct the path, or install the program there".to_owned(),
                };
                report.fail(
                    Step::Command,
                    format!("{}: {error}", path.display()),
                    self.windows().unwrap_or(next),
                )
            }
        }
    }

    fn along_path(&self, report: &mut Report) -> Option<PathBuf> {
        if let Some(found) = find(self.program, self.path.as_deref()) {
            return Some(found);
        }
        let name = self.text();
        let seen = match &self.path {
            Some(_) => format!("{name:?} is in no folder of PATH"),
            None => format!("{name:?} is not found: there is no PATH"),
        };
        let next = self.advice();
        report.fail::<()>(Step::Command, seen, next);
        if let Some(path) = &self.path {
            report.details([format!("PATH is {}", path.to_string_lossy())]);
        }
        None
    }

    /// What is probably wrong with a name that is not there.
    fn advice(&self) -> String {
        let name = self.text();
        if BUILTINS.contains(&&*name) {
            return format!(
                "`{name}` is a word of shells, and no shell is involved: name the program itself, use \"cwd\" and \"env\", or write `sh -c '…'`"
            );
        }
        if name.contains(char::is_whitespace) {
            return "this is a command and its arguments in one: put the arguments into \"args\", one by one"
                .to_owned();
        }
        if let Some(windows) = self.windows() {
            return windows;
        }
        if name == "python" && find(OsStr::new("python3"), self.path.as_deref()).is_some() {
            return "here it is called python3".to_owned();
        }
        if let Some((_, words)) = INSTALLERS.iter().find(|(names, _)| names.contains(&&*name)) {
            return format!(
                "{words}; hosts that are started from a desktop often have a shorter PATH than shells: then give the whole path"
            );
        }
        let names = self.names();
        match near(&name, names.iter().map(String::as_str)).first() {
            Some(near) if name.chars().count() > 2 => {
                format!("did you mean {near}? Or install it, or give the whole path")
            }
            _ => "install it, or give the whole path".to_owned(),
        }
    }

    /// Commands as they are on Windows.
    fn windows(&self) -> Option<String> {
        let name = self.text();
        let ends =
            [".exe", ".cmd", ".bat", ".ps1"].iter().find(|end| name.to_ascii_lowercase().ends_with(**end));
        let is_shell = matches!(&*name.to_ascii_lowercase(), "cmd" | "cmd.exe" | "powershell");
        if cfg!(windows) || !(ends.is_some() || is_shell || name.contains('\\')) {
            return None;
        }
        Some(match (is_shell, ends) {
            (true, _) => "this is how Windows starts things: leave out `cmd /c`, and name the program itself"
                .to_owned(),
            (false, Some(end)) => format!("this is how Windows calls it: leave out {end}"),
            (false, None) => "this is a path of Windows: write / for \\".to_owned(),
        })
    }

    /// What there is along PATH.
    fn names(&self) -> Vec<String> {
        let folders = self.path.iter().flat_map(std::env::split_paths);
        let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        entries.take(COMPARED).filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// A script names what runs it; that must be there, too.
    fn interpreter(&self, report: &mut Report, script: &Path) -> Option<()> {
        let Some(line) = first_line(script) else { return Some(()) };
        let shown = script.display();
        if line.ends_with('\r') {
            let seen = format!(
                "the first line of {shown} ends as lines do on Windows, so that nothing is found to run it"
            );
            return report.fail(Step::Command, seen, format!("sed -i 's/\\r$//' {shown}"));
        }
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        if !Path::new(program).is_file() {
            let seen = format!("{shown} is to be run by {program:?}, which is not there");
            return report.fail(Step::Command, seen, "correct its first line, or install that");
        }
        let by_name = words.find(|word| !word.starts_with('-') && !word.contains('='));
        match by_name.filter(|_| program.ends_with("/env")) {
            Some(name) if find(OsStr::new(name), self.path.as_deref()).is_none() => {
                let seen = format!("{shown} is to be run by {name:?}, which is in no folder of PATH");
                report.fail(Step::Command, seen, "install it, or correct the first line")
            }
            _ => Some(()),
        }
    }
}

/// The program of this name, along PATH.
fn find(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders = path.into_iter().flat_map(std::env::split_paths);
    let ends: &[&str] = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"] } else { &[""] };
    let with = |folder: &Path, end: &str| {
        let mut file = name.to_owned();
        file.push(end);
        folder.join(file)
    };
    folders
        .flat_map(|folder| ends.iter().map(move |end| with(&folder, end)))
        .find(|file| std::fs::metadata(file).is_ok_and(|about| about.is_file() && is_program(&about)))
}

/// What stands behind `#!`, with the carriage return that may be at its end.
fn first_line(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut bytes).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8(line.to_vec()).ok()
}

fn not_executable(path: &Path) -> String {
    match path.extension().and_then(OsStr::to_str) {
        Some("py") => "run it with python3, or make it executable: chmod +x".to_owned(),
        Some("js" | "mjs" | "cjs") => "run it with node, or make it executable: chmod +x".to_owned(),
        _ => format!("chmod +x {}", path.display()),
    }
}
