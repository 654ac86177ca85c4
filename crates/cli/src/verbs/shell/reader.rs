//! Where lines come from: a person at a terminal, with history and completion, or a script on standard input.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter as _};
use tokio::sync::oneshot;

use super::guide::Guide;
use super::line::is_open;
use crate::terminal;

/// So many lines are remembered from one shell to the next.
const HISTORY: usize = 1000;

/// What somebody typed.
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C on a line that is not finished.
    Nothing,
    End,
}

/// Reads on a thread of its own, one line whenever it is asked to: between two lines the terminal belongs to others.
pub(super) struct Reader {
    ask: mpsc::Sender<(String, oneshot::Sender<Typed>)>,
    /// How the terminal was before.
    _modes: Option<Modes>,
}

impl Reader {
    /// At a terminal. What was typed in earlier shells is in this file.
    pub(super) fn at_terminal(guide: Guide, history: PathBuf) -> rustyline::Result<Self> {
        let modes = Modes::now();
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_space(true)
            .auto_add_history(true)
            .completion_type(CompletionType::List);
        let mut editor: Editor<Guide, FileHistory> = Editor::with_config(config.build())?;
        editor.set_helper(Some(guide));
        // There is none the first time.
        let _ = editor.load_history(&history);
        let mut printer = editor.create_external_printer()?;
        terminal::typing::begin(Box::new(move |line| printer.print(line).is_ok()));
        let (ask, asked) = mpsc::channel::<(String, oneshot::Sender<Typed>)>();
        std::thread::spawn(move || {
            for (prompt, answer) in asked {
                terminal::typing::at_prompt(true);
                let typed = match editor.readline(&prompt) {
                    Ok(line) => Typed::Line(line),
                    Err(ReadlineError::Interrupted) => Typed::Nothing,
                    Err(_) => Typed::End,
                };
                terminal::typing::at_prompt(false);
                remember(&mut editor, &history);
                // Whoever asked may have left.
                let _ = answer.send(typed);
            }
        });
        Ok(Self { ask, _modes: modes })
    }

    /// From a script.
    pub(super) fn of_script() -> Self {
        let (ask, asked) = mpsc::channel::<(String, oneshot::Sender<Typed>)>();
        std::thread::spawn(move || {
            let mut lines = std::io::stdin().lock().lines();
            for (_, answer) in asked {
                // Whoever asked may have left.
                let _ = answer.send(whole_line(&mut lines).map_or(Typed::End, Typed::Line));
            }
        });
        Self { ask, _modes: None }
    }

    pub(super) async fn next(&self, prompt: &str) -> Typed {
        let (answer, typed) = oneshot::channel();
        if self.ask.send((prompt.to_owned(), answer)).is_err() {
            return Typed::End;
        }
        typed.await.unwrap_or(Typed::End)
    }
}

/// The modes of a terminal. Whoever leaves while a line is typed leaves it as it was.
#[cfg(unix)]
struct Modes(rustix::termios::Termios);

#[cfg(unix)]
impl Modes {
    fn now() -> Option<Self> {
        rustix::termios::tcgetattr(std::io::stdin()).ok().map(Self)
    }
}

#[cfg(unix)]
impl Drop for Modes {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // If the terminal is gone, so be it.
        if terminal::typing::leave() && tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0).is_ok() {
            // Pasted text comes as it is again, and what follows begins on a line of its own.
            let _ = terminal::print(b"\x1b[?2004l\r\n");
        }
    }
}

/// On other systems consoles are left alone.
#[cfg(not(unix))]
struct Modes;

#[cfg(not(unix))]
impl Modes {
    fn now() -> Option<Self> {
        None
    }
}

/// A line, with those that it goes on in.
fn whole_line(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Option<String> {
    let mut whole = lines.next()?.ok()?;
    while is_open(&whole) {
        let Some(Ok(more)) = lines.next() else { break };
        whole.push('\n');
        whole.push_str(&more);
    }
    Some(whole)
}

/// A history that cannot be kept is no reason to stop.
fn remember(editor: &mut Editor<Guide, FileHistory>, path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = private_folder(folder);
    }
    let _ = editor.save_history(path);
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}
