//! A home and a project in a folder of their own, gone when the test is; and `contexture` run in them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// Our own file of the user.
pub(crate) const OURS: &str = "home/.config/contexture/contexture.json";

pub(crate) struct Stage {
    folder: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It was refused as a mistake of whoever typed it, or of a file, with these words.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {self:?}");
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("contexture-servers-{}-{number}", std::process::id()));
        for part in ["home", "project"] {
            fs::create_dir_all(folder.join(part)).expect("the folder can be made");
        }
        Self { folder: folder.canonicalize().expect("the folder is there") }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("there is a folder")).expect("folders can be made");
        fs::write(&path, text).expect("the file can be written");
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.path("project"));
        command
    }

    /// Runs `contexture` with these words.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, &[], "")
    }

    pub(crate) fn run_with(&self, words: &[&str], variables: &[(&str, &str)], input: &str) -> Ended {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_contexture")));
        command.args(words).envs(variables.iter().copied());
        finish(command, input)
    }

    /// No draft is left behind, anywhere.
    pub(crate) fn is_tidy(&self) {
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("it can be listed").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                assert!(!name.ends_with(".draft"), "{} is left behind", entry.path().display());
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
}

pub(crate) fn finish(mut command: Command, input: &str) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    // Whoever does not read it does not want it.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
