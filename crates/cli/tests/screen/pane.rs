//! A terminal that a program drives: tmux, with a shell in it, in a folder of its own.
//!
//! Every terminal has its own tmux server, home and temporary folder, and knows nothing of the person's. It says what
//! went wrong and judges nothing: that is for those who look at it (tests by `Screen`, and `cargo xtask cli`).
//! The shell counts its prompts in the title, which nobody sees: once a prompt is counted, all that was written before it
//! is on the screen.
#![allow(dead_code, reason = "tests and `cargo xtask cli` each use another part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// For what has to happen sooner or later, on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked.
const GLANCE: Duration = Duration::from_millis(25);
/// How long processes may take to notice that their terminal is gone.
const FAREWELL: Duration = Duration::from_secs(5);

/// No line of its own, and so much of the past that nothing is lost.
const SETTINGS: &str =
    "set -g status off\nset -g history-limit 50000\nset -g default-terminal screen-256color\n";

/// Says before each prompt how many there were, and how the last command ended.
const COUNT: &str = r#"printf '\033]2;%s %s\033\\' "$((++_prompts))" "$?""#;

pub(crate) struct Pane {
    /// All that is its own.
    folder: PathBuf,
    /// Prompts that there were before the last line was typed.
    seen: std::cell::Cell<usize>,
}

impl Pane {
    /// Opens one of so many columns and rows, in a folder within this one. `contexture` is this program in it, and `path` is
    /// where others are found.
    pub(crate) fn open(
        program: &Path,
        within: &Path,
        (columns, rows): (u16, u16),
        path: &str,
    ) -> Result<Self, String> {
        let pane = Self { folder: furnish(program, within)?, seen: 0.into() };
        let home = pane.home();
        let mut command = pane.tmux(&["-f"]);
        command.arg(pane.folder.join("settings")).args(["new-session", "-d", "-x", &columns.to_string()]);
        command.args(["-y", &rows.to_string(), "exec bash --norc --noprofile"]).current_dir(&home);
        command.env("HOME", &home).env("PATH", format!("{}/bin:{path}", pane.folder.display()));
        command.env("LANG", "C.UTF-8").env("SHELL", "/bin/sh").env("TMPDIR", pane.temporary());
        for (name, place) in [("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state")] {
            command.env(format!("XDG_{name}_HOME"), home.join(place));
        }
        command.env("XDG_CACHE_HOME", home.join(".cache")).env("XDG_RUNTIME_DIR", pane.folder.join("run"));
        command.env("PS1", "$ ").env("PROMPT_COMMAND", COUNT);
        done(&mut command)?;
        pane.wait("the shell shows no prompt", || pane.prompts())?;
        Ok(pane)
    }

    /// The user's folder, in which the shell begins.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Where programs leave what nobody shall keep.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Types a line, and Enter.
    pub(crate) fn run(&self, line: &str) -> Result<(), String> {
        self.seen.set(self.prompts().map_or(0, |(count, _)| count));
        self.run_inside(line)
    }

    /// The same to a program that is at work: it is still the end of that program that is waited for.
    pub(crate) fn run_inside(&self, line: &str) -> Result<(), String> {
        // To tmux a semicolon at the end of a word is the end of a command.
        let line = line.strip_suffix(';').map_or_else(|| line.to_owned(), |line| format!("{line}\\;"));
        done(&mut self.tmux(&["send-keys", "-l", "--", &line]))?;
        self.keys(&["Enter"])
    }

    /// Presses keys, by the names that tmux has for them; what is no name is text.
    pub(crate) fn keys(&self, keys: &[&str]) -> Result<(), String> {
        let mut command = self.tmux(&["send-keys", "--"]);
        done(command.args(keys)).map(drop)
    }

    /// What it shows and has shown, a line for a line of whoever wrote it, however often it was broken.
    pub(crate) fn text(&self) -> Result<String, String> {
        let whole = done(&mut self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]))?;
        let lines: Vec<&str> = whole.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim_end().to_owned())
    }

    /// The same with colours, as escape sequences.
    pub(crate) fn coloured(&self) -> Result<String, String> {
        done(&mut self.tmux(&["capture-pane", "-p", "-e", "-J", "-S", "-"]))
    }

    /// Forgets what it has shown.
    pub(crate) fn clear(&self) -> Result<(), String> {
        done(&mut self.tmux(&["send-keys", "-R", ";", "clear-history"])).map(drop)
    }

    /// Waits until it shows this, and says all that it shows.
    pub(crate) fn shows(&self, text: &str) -> Result<String, String> {
        self.wait(&format!("never shown: {text:?}"), || self.text().ok().filter(|all| all.contains(text)))
    }

    /// Waits for the prompt after the last line that was run, and says how that ended.
    pub(crate) fn ended(&self) -> Result<i32, String> {
        let next = || self.prompts().filter(|(count, _)| *count > self.seen.get());
        self.wait("it does not end", next).map(|(_, code)| code)
    }

    /// Whether there is a prompt after the last line that was run.
    pub(crate) fn has_ended(&self) -> bool {
        self.prompts().is_some_and(|(count, _)| count > self.seen.get())
    }

    /// Takes the terminal away from all that run in it, as when its window is closed.
    pub(crate) fn hang_up(&self) {
        let _ = self.tmux(&["kill-server"]).output();
    }

    /// Programs that were begun in it and are still there, the shell and tmux among them.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mark = self.folder.display().to_string();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = all.filter_map(|process| {
            let number = process.file_name().to_str()?.parse().ok()?;
            // Its home, its path and its temporary folder: whatever the program, one of them is there.
            let environment = std::fs::read(process.path().join("environ")).ok()?;
            let words = std::fs::read(process.path().join("cmdline")).ok()?;
            let is_marked = |bytes: &[u8]| bytes.windows(mark.len()).any(|part| part == mark.as_bytes());
            let line = String::from_utf8_lossy(&words).replace('\0', " ");
            (is_marked(&environment) || is_marked(&words)).then_some((number, line))
        });
        ours.collect()
    }

    /// Waits until there is something, and otherwise says what is on the screen.
    pub(crate) fn wait<T>(&self, otherwise: &str, look: impl Fn() -> Option<T>) -> Result<T, String> {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if begun.elapsed() > PATIENCE {
                let screen = self.text().unwrap_or_else(|error| error);
                return Err(format!("{otherwise}; on the screen:\n{screen}"));
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// How many prompts there were, and how the command before the last one ended.
    fn prompts(&self) -> Option<(usize, i32)> {
        let title = done(&mut self.tmux(&["display-message", "-p", "#{pane_title}"])).ok()?;
        let (count, code) = title.trim().split_once(' ')?;
        Some((count.parse().ok()?, code.parse().ok()?))
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Text is of this kind on both ends, whatever the machine's language is.
        command.env("LC_ALL", "C.UTF-8").arg("-u").arg("-S").arg(self.folder.join("tmux")).args(words);
        command
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.hang_up();
        let begun = Instant::now();
        while !self.processes().is_empty() && begun.elapsed() < FAREWELL {
            std::thread::sleep(GLANCE);
        }
        for (number, _) in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &number.to_string()]).output();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Makes the folder with all that is in it before the shell begins.
fn furnish(program: &Path, within: &Path) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("contexture-screen-{}-{number}", std::process::id());
    let make = || {
        // Programs say where they are without links.
        let folder = within.canonicalize()?.join(name);
        for part in ["home", "bin", "tmp", "run"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        std::os::unix::fs::symlink(program, folder.join("bin/contexture"))?;
        std::fs::write(folder.join("settings"), SETTINGS)?;
        Ok(folder)
    };
    make().map_err(|error: std::io::Error| format!("no folder for a terminal: {error}"))
}

/// What it printed, if it did what it should.
fn done(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            "a terminal needs tmux and bash: install them (on Debian: apt-get install tmux bash)".to_owned()
        }
        _ => format!("tmux: {error}"),
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("tmux: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
