//! The suite itself: installed from its pinned version, and asked to list and to run scenarios.
//!
//! Where node or npm is missing this fails and says what to install; it never passes by not running.

use super::{Side, Turn, visit};
use crate::{node, process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is installed, at which versions.
const PINS: [&str; 2] = ["package.json", "package-lock.json"];

/// The suite gives a scenario 30 seconds; this is for one that hangs for good.
const PATIENCE: Duration = Duration::from_secs(60);

/// As it is called in sentences.
const WHO: &str = "the conformance suite";

/// The suite, ready to run.
pub struct Suite {
    node: PathBuf,
    program: PathBuf,
    results: PathBuf,
}

/// What the suite said about one scenario.
pub struct Said {
    /// The text of `checks.json`, if it wrote one.
    pub checks: Option<String>,
    /// What it complained about.
    pub stderr: String,
    /// It did not end.
    pub hung: bool,
}

impl Suite {
    /// Installs it below `target/conformance`, unless it is there.
    pub fn install(root: &Path) -> Result<Self, String> {
        let home = root.join("target/conformance");
        let directory = home.join("suite");
        node::version(WHO)?;
        let pins = root.join("xtask/conformance");
        let read = |path: PathBuf| fs::read(&path).map_err(|error| format!("{}: {error}", path.display()));
        // Written last: what an interrupted installation left behind is made anew.
        let stamp = directory.join("node_modules/installed.json");
        let lock = read(pins.join(PINS[1]))?;
        if fs::read(&stamp).ok().as_ref() != Some(&lock) {
            fs::create_dir_all(&directory).map_err(|error| format!("target/conformance: {error}"))?;
            for file in PINS {
                fs::copy(pins.join(file), directory.join(file))
                    .map_err(|error| format!("{file}: {error}"))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&directory);
            process::run(&mut npm)?;
            fs::write(&stamp, lock).map_err(|error| format!("target/conformance: {error}"))?;
        }
        let node = node::new_enough(WHO, &directory)?;
        let program = directory.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node, program, results: home.join("results") })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.program);
        command
    }

    /// The names of the scenarios of one revision.
    pub fn scenarios(&self, side: Side, revision: &str) -> Result<Vec<String>, String> {
        let flag = format!("--{}", side.role());
        let text = process::capture(self.command().args(["list", &flag, "--spec-version", revision]))?;
        let names: Vec<String> = text.lines().filter_map(scenario_of).map(str::to_owned).collect();
        if names.is_empty() {
            return Err(format!("the suite lists no {} scenario of {revision}", side.name()));
        }
        Ok(names)
    }

    /// The names of the scenarios that belong to extensions.
    pub fn extensions(&self, side: Side) -> Result<Vec<String>, String> {
        let text = process::capture(self.command().args(["list", &format!("--{}", side.role())]))?;
        let extensions = text.lines().filter(|line| line.contains("[extension]"));
        Ok(extensions.filter_map(scenario_of).map(str::to_owned).collect())
    }

    /// Runs one scenario against a URL or a command.
    pub fn play(&self, turn: &Turn, target: &str) -> Result<Said, String> {
        let directory = self.results.join(turn.side.name()).join(turn.revision).join(&turn.scenario);
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        }
        fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let create =
            |name: &str| File::create(directory.join(name)).map_err(|error| format!("{name}: {error}"));
        let what = if turn.side == Side::Client { "--command" } else { "--url" };
        let mut command = self.command();
        command.args([turn.side.role(), what, target]);
        match turn.side {
            // Its scenarios build on each other: they cannot be run one by one.
            Side::Authorization => {
                command.args(["--client-id", "conformance", "--port", &visit::free_port()?])
            }
            // Extensions belong to no revision, and run in any.
            _ => command.args(["--scenario", &turn.scenario, "--force"]),
        };
        command.args(["--spec-version", turn.revision, "-o"]).arg(&directory);
        command.stdin(Stdio::null()).stdout(create("stdout.txt")?).stderr(create("stderr.txt")?);
        let mut visitor = visit::Visitor::new(directory.join("stdout.txt"));
        let hung = !ends(&mut command, || {
            if turn.side == Side::Authorization {
                visitor.look();
            }
        })?;
        let read = |path: PathBuf| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let place = match turn.side {
            Side::Authorization => one_of_several(&directory, &turn.scenario),
            _ => Some(directory.clone()),
        };
        let checks = place.and_then(|place| find_checks(&place)).and_then(|path| read(path).ok());
        Ok(Said { checks, stderr: read(directory.join("stderr.txt")).unwrap_or_default(), hung })
    }
}

/// Runs to the end; `false` if it had to be killed.
fn ends(command: &mut Command, mut meanwhile: impl FnMut()) -> Result<bool, String> {
    let mut child = command.spawn().map_err(|error| format!("node could not be started: {error}"))?;
    let start = Instant::now();
    loop {
        meanwhile();
        match child.try_wait() {
            Ok(Some(_)) => return Ok(true),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                return Ok(false);
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The name in a line of the listing: `  - tools-list [tags]`.
fn scenario_of(line: &str) -> Option<&str> {
    line.strip_prefix("  - ")?.split(' ').next()
}

/// The directory of one scenario, where several were run at once.
fn one_of_several(directory: &Path, scenario: &str) -> Option<PathBuf> {
    let start = format!("authorization-server-{scenario}-");
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    entries.find(|entry| entry.file_name().to_string_lossy().starts_with(&start)).map(|entry| entry.path())
}

/// Somewhere below the directory: the suite puts it into one with the time in its name.
fn find_checks(directory: &Path) -> Option<PathBuf> {
    let mut found = None;
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found = found.or_else(|| find_checks(&path));
        } else if path.ends_with("checks.json") {
            return Some(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::scenario_of;

    #[test]
    fn scenarios_are_the_indented_entries_of_the_listing() {
        let listing =
            "Server scenarios (test against a server):\n  - ping [2025-06-18]\n  - auth/a-b\n\nTotal: 2\n";
        let names: Vec<&str> = listing.lines().filter_map(scenario_of).collect();
        assert_eq!(names, ["ping", "auth/a-b"]);
    }
}
