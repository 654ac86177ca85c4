//! One terminal, and what is played in it. Everything that is shown is kept in a file.

use super::pane::Pane;
use super::servers::Server;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Wide enough that lines with paths are not broken too often.
const SIZE: (u16, u16) = (120, 40);

/// A terminal in a home of its own.
pub struct Scene {
    pub(super) pane: Pane,
    log: PathBuf,
}

impl Scene {
    /// Opens it, with the files that the server wants to find.
    pub fn open(contexture: &Path, within: &Path, log: &Path, server: &Server) -> Result<Self, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let pane = Pane::open(contexture, within, SIZE, &path)?;
        let write = |path: PathBuf, text: &str| {
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        let files = pane.home().join("files");
        std::fs::create_dir_all(&files).map_err(|error| format!("{}: {error}", files.display()))?;
        write(files.join("hello.txt"), "read from a file\n")?;
        // What is typed to start it, by a name that is short enough to read.
        write(pane.home().join("serve"), &format!("#!/bin/sh\nexec {}\n", server.line))?;
        write(log.to_owned(), &format!("{}\n", server.title))?;
        let scene = Self { pane, log: log.to_owned() };
        scene.plays("chmod +x serve", 0, &[])?;
        Ok(scene)
    }

    /// The user's folder.
    pub fn home(&self) -> PathBuf {
        self.pane.home()
    }

    /// Begins the next story in the file.
    pub fn title(&self, name: &str) {
        self.keep(&format!("\n\n== {name}\n"));
    }

    /// Types a line and waits for its end, which must be this; shows what is wanted, and returns all that it shows.
    pub fn plays(&self, line: &str, code: i32, wanted: &[&str]) -> Result<String, String> {
        self.begins(line)?;
        self.ends(line, code, wanted)
    }

    /// Types a line and waits until it shows this.
    pub fn goes_on(&self, line: &str, shown: &str) -> Result<(), String> {
        self.begins(line)?;
        let seen = || self.pane.text().is_ok_and(|text| text.contains(shown));
        // One that has ended shows nothing more.
        let over = || self.pane.has_ended();
        let looked = || (seen() || over()).then(|| seen().then_some(()));
        let found = self.pane.wait(&format!("`{line}` does not show {shown:?}"), looked)?;
        found.ok_or_else(|| {
            let text = self.pane.text().unwrap_or_default();
            format!("`{line}` ended before it showed {shown:?}: {}", brief(&text))
        })
    }

    /// Types a line to a program that is at work, and waits until it shows this.
    pub fn says(&self, line: &str, shown: &str) -> Result<(), String> {
        self.pane.run_inside(line)?;
        self.pane.shows(shown).map(drop)
    }

    /// Waits until what is at work shows this, too.
    pub fn shows_again(&self, text: &str) -> Result<(), String> {
        self.pane.shows(text).map(drop)
    }

    /// Has a server at work in the background, whose URL is given to what is played meanwhile, and ends it as a
    /// person would.
    pub fn serving<T>(&self, line: &str, play: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
        self.plays(&format!("{line} 2>served & echo begun"), 0, &["begun"])?;
        let url = self.pane.wait(&format!("`{line}` does not listen"), || {
            let said = std::fs::read_to_string(self.home().join("served")).ok()?;
            let (_, rest) = said.split_once("listening on ")?;
            rest.split_once('\n').map(|(url, _)| url.trim().to_owned())
        });
        let played = url.and_then(|url| play(&url));
        self.plays("kill %%; wait", 0, &[])?;
        self.keep(&std::fs::read_to_string(self.home().join("served")).unwrap_or_default());
        played
    }

    /// Presses keys.
    pub fn keys(&self, keys: &[&str]) -> Result<(), String> {
        self.pane.keys(keys)
    }

    /// Waits for the end of what was begun.
    pub fn ends(&self, line: &str, code: i32, wanted: &[&str]) -> Result<String, String> {
        let ended = self.pane.ended()?;
        let text = self.pane.text()?;
        self.keep(&format!("$ {text}\n"));
        let shown = text.split_once('\n').map_or("", |(_, shown)| shown);
        if ended != code {
            return Err(format!("`{line}` ended with {ended}, not {code}: {}", brief(shown)));
        }
        match wanted.iter().find(|part| !shown.contains(**part)) {
            None => Ok(shown.to_owned()),
            Some(part) => Err(format!("`{line}` does not show {part:?}: {}", brief(shown))),
        }
    }

    /// Ends whatever is at work, so that there is a prompt.
    pub fn recover(&self) {
        self.keep(&format!("$ {}\n(FAILED)\n", self.pane.text().unwrap_or_default()));
        for (number, _) in self.strangers() {
            let _ = Command::new("kill").args(["-KILL", &number.to_string()]).output();
        }
        let _ = self.pane.keys(&["C-c"]).and_then(|()| self.plays("stty sane", 0, &[]));
    }

    /// Programs that run here beside the shell and its terminal.
    pub fn strangers(&self) -> Vec<(u32, String)> {
        let is_stage = |line: &str| line.starts_with("tmux") || line.starts_with("bash");
        self.pane.processes().into_iter().filter(|(_, line)| !is_stage(line)).collect()
    }

    fn begins(&self, line: &str) -> Result<(), String> {
        self.pane.clear()?;
        self.pane.run(line)
    }

    fn keep(&self, text: &str) {
        let file: std::io::Result<File> = OpenOptions::new().append(true).create(true).open(&self.log);
        let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
    }
}

/// The end of it, on one line.
fn brief(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "$")
        .collect::<Vec<_>>()
        .join(" | ");
    let skipped = line.chars().count().saturating_sub(400);
    line.chars().skip(skipped).collect()
}
