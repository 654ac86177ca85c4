//! The verbs that use a server, as people and programs use them: in a real terminal, through pipes, and against servers that
//! do what servers do.

#[path = "verbs/bad.rs"]
mod bad;
#[path = "verbs/formats.rs"]
mod formats;
#[path = "verbs/interrupted.rs"]
mod interrupted;
#[path = "verbs/questions.rs"]
mod questions;
#[path = "screen/mod.rs"]
mod screen;
#[path = "verbs/scripted.rs"]
mod scripted;
#[path = "verbs/shown.rs"]
mod shown;
#[path = "verbs/watching.rs"]
mod watching;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with the scripted server, for what needs no terminal; gone with this.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("contexture-verbs-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a new folder");
        scripted::install(&folder);
        Self { folder }
    }

    /// The binary with these arguments, in the folder, without a terminal.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contexture"));
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("RUST_LOG").env_remove("NO_COLOR");
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env(variable, &self.folder);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.command(arguments).output().expect("the binary runs").into()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// How a run ended and what it said.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", self.stdout))
    }

    /// Every line as a document.
    fn lines(&self) -> Vec<Value> {
        let read =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        self.stdout.lines().map(read).collect()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// What the scripted server of this folder has heard, as soon as this is among it.
#[track_caller]
fn heard(folder: &Path, wanted: &str) -> String {
    let begun = Instant::now();
    loop {
        let heard = std::fs::read_to_string(folder.join("heard")).unwrap_or_default();
        if heard.contains(wanted) {
            return heard;
        }
        assert!(begun.elapsed() < PATIENCE, "the server never heard {wanted:?}: {heard}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
