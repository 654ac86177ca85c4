//! A real terminal for stories: what is typed, and what is on the screen.
//!
//! It waits for what has to happen, and panics with the whole screen if it does not. Everything in it is gone
//! with it, the processes first.
#![allow(dead_code, reason = "every test program uses another part of it")]

mod pane;

use std::path::{Path, PathBuf};

use pane::Pane;

/// A terminal with a shell, in a home of its own, with `contexture` on the path. Its prompt is `$ `.
pub(crate) struct Screen {
    pane: Pane,
    home: PathBuf,
}

impl Screen {
    /// 100 columns and 40 rows.
    pub(crate) fn open() -> Self {
        Self::sized(100, 40)
    }

    pub(crate) fn sized(columns: u16, rows: u16) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_contexture"));
        let path = "/usr/local/bin:/usr/bin:/bin";
        let pane = Pane::open(program, &std::env::temp_dir(), (columns, rows), path);
        let pane = pane.unwrap_or_else(|what| panic!("{what}"));
        let home = pane.home();
        Self { pane, home }
    }

    /// The user's folder, in which the shell begins.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Where programs leave what nobody shall keep.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.pane.temporary()
    }

    /// Types a line, and Enter.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) {
        self.pane.run(line).unwrap_or_else(|what| panic!("{what}"));
    }

    /// Presses keys, by the names that tmux has for them ("C-c", "Tab", "Up"); what is no name is text.
    #[track_caller]
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.pane.keys(keys).unwrap_or_else(|what| panic!("{what}"));
    }

    /// Waits until screen or scrollback have this, and returns both. The line that was typed counts, too.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.pane.shows(text).unwrap_or_else(|what| panic!("{what}"))
    }

    /// As it is now, scrollback included. Lines are as they were written, however often the terminal broke them.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        self.pane.text().unwrap_or_else(|what| panic!("{what}"))
    }

    /// The same with its colours, as escape sequences.
    #[track_caller]
    pub(crate) fn coloured(&self) -> String {
        self.pane.coloured().unwrap_or_else(|what| panic!("{what}"))
    }

    /// Forgets what was shown, scrollback included. The next prompt is not shown again.
    #[track_caller]
    pub(crate) fn clear(&self) {
        self.pane.clear().unwrap_or_else(|what| panic!("{what}"));
    }

    /// Waits for the next prompt, and returns how the command before it ended.
    #[track_caller]
    pub(crate) fn ended(&self) -> i32 {
        self.pane.ended().unwrap_or_else(|what| panic!("{what}"))
    }

    /// Takes the terminal away from all that run in it, as when its window is closed.
    pub(crate) fn hang_up(&self) {
        self.pane.hang_up();
    }

    /// Waits until no program is left that was begun in it, after it was hung up.
    #[track_caller]
    pub(crate) fn is_deserted(&self) {
        let nobody = || self.pane.processes().is_empty().then_some(());
        let wait = self.pane.wait("somebody is left", nobody);
        wait.unwrap_or_else(|what| panic!("{what}\n{:?}", self.pane.processes()));
    }

    /// Programs that were begun in it and are still there, the shell and tmux among them.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        self.pane.processes()
    }
}
