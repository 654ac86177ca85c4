//! What the binary said inside its own process, judged when it has ended.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::testing::{Side, Transcript};
use contexture_judge::{From, Watch};

/// Where the binary is told to keep it.
pub(crate) const VARIABLE: &str = "CONTEXTURE_TRANSCRIPT";

/// A file for one run.
pub(crate) struct Tape(PathBuf);

impl Tape {
    pub(crate) fn new() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("contexture-tape-{}-{number}.jsonl", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Judges both sides of every connection; returns how many there were.
    pub(crate) fn judge(&self) -> usize {
        let Ok(text) = std::fs::read_to_string(&self.0) else { return 0 };
        let connections: Vec<&str> = text.split("\n\n").filter(|part| !part.trim().is_empty()).collect();
        for connection in &connections {
            let transcript = Transcript::from_text(connection).expect("a transcript");
            for judged in [From::Client, From::Server] {
                let mut watch = Watch::new(judged);
                for entry in transcript.entries() {
                    let from = if entry.from == Side::Server { From::Server } else { From::Client };
                    watch.message(from, &entry.value());
                }
            }
        }
        connections.len()
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn the_story_and_calls_of_the_built_in_demo_are_judged() {
    for (arguments, connections) in
        [(&[][..], 2), (&["call", "demo", "add", "a=1", "b=2"], 1), (&["tools", "list", "demo"], 1)]
    {
        let tape = Tape::new();
        let output = crate::command(arguments).env(VARIABLE, tape.path()).output().expect("the binary runs");
        assert!(output.status.success());
        assert_eq!(tape.judge(), connections, "{arguments:?}");
    }
}
