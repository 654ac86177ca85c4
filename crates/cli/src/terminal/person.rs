//! Whom servers may ask: the person at the terminal, for whom they leave room or not.
//!
//! Every question is shown with the name of the server that asks, one at a time. Without a terminal forms are left without an
//! answer, which is not to decline; with `--no-input` they are declined.

use std::io::{self, BufRead as _, IsTerminal, Write};
use std::path::Path;

use contexture::client::{ElicitAnswer, Elicitation, Question, Roots};
use contexture::model::Root;
use contexture::transport::{Asked, PersonTime};
use tokio::sync::{Mutex, MutexGuard};

use super::bar::Hidden;
use super::form::Sheet;
use super::keyboard::{self, Keyboard};
use super::note;
use super::text::{safe, safe_line};
use crate::events::Aside;

/// One question at a time, whatever it is about.
static TURN: Mutex<()> = Mutex::const_new(());

/// Held while somebody is asked; nothing else is drawn meanwhile.
pub(super) struct Turn {
    _turn: MutexGuard<'static, ()>,
    _hidden: Hidden,
    _asked: Asked,
}

/// Whoever asked does not wait for an answer any more.
impl Drop for Turn {
    fn drop(&mut self) {
        keyboard::leave();
    }
}

/// From when on somebody waits for their turn, the time is the person's.
pub(super) async fn turn(time: &PersonTime) -> Turn {
    let asked = time.ask();
    Turn { _turn: TURN.lock().await, _hidden: Hidden::new(), _asked: asked }
}

/// Whether there is somebody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    There,
    /// There is no terminal.
    Away,
    /// They do not want to be asked.
    Unwilling,
}

impl Presence {
    pub(crate) fn of(no_input: bool) -> Self {
        match is_there(no_input) {
            true => Self::There,
            false if no_input => Self::Unwilling,
            false => Self::Away,
        }
    }

    /// Why a question has no answer.
    pub(super) fn why_not(self) -> &'static str {
        match self {
            Self::Unwilling => "declined: --no-input",
            _ => "not answered: there is nobody at a terminal to ask",
        }
    }
}

/// How a person is asked.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) presence: Presence,
    /// Where it is told what became of it.
    pub(crate) aside: Aside,
    /// Where the time is counted that it takes.
    pub(crate) time: PersonTime,
}

/// Answers forms and URLs on the terminal, behind this margin.
pub(crate) fn elicitation(asking: Asking, margin: &'static str) -> Elicitation {
    Elicitation::new(move |question| form(asking.clone(), question, margin)).urls()
}

async fn form(asking: Asking, question: Question, margin: &'static str) -> ElicitAnswer {
    let Asking { presence, aside, time } = asking;
    let _turn = turn(&time).await;
    let about = question.clone();
    let answer = match presence {
        Presence::There => {
            // A thread of its own may wait for the keyboard.
            let asked = tokio::task::spawn_blocking(move || ask(&question, margin)).await;
            asked.ok().and_then(Result::ok).unwrap_or(ElicitAnswer::Cancel)
        }
        _ => {
            note(&heading(&question));
            note(&format!("  {}", presence.why_not()));
            if presence == Presence::Unwilling { ElicitAnswer::Decline } else { ElicitAnswer::Cancel }
        }
    };
    tell(&about, &answer, aside);
    answer
}

fn tell(question: &Question, answer: &ElicitAnswer, aside: Aside) {
    let kind = if matches!(question, Question::Form { .. }) { "form" } else { "url" };
    let answer = match answer {
        ElicitAnswer::Accept(_) => "accept",
        ElicitAnswer::Decline => "decline",
        _ => "cancel",
    };
    aside.question(kind, question.server().display_name(), question.message(), answer);
}

/// Whether somebody can be asked.
pub(crate) fn is_there(no_input: bool) -> bool {
    !no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether the person agrees: only a yes is one. `None` if nobody is there to say it.
pub(crate) fn agrees(question: &str) -> io::Result<Option<bool>> {
    if !is_there(false) {
        return Ok(None);
    }
    let mut out = io::stderr();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}

fn heading(question: &Question) -> String {
    format!("{} asks: {}", safe_line(question.server().display_name()), safe(question.message()))
}

fn ask(question: &Question, margin: &str) -> io::Result<ElicitAnswer> {
    // Standard error is not locked: others have something to say while the person thinks.
    let (mut input, mut out) = (Keyboard::open(), io::stderr());
    writeln!(out, "{margin}{}", heading(question))?;
    let mut sheet = Sheet { input: &mut input, out: &mut out, margin };
    match question {
        Question::Form { schema, .. } => sheet.fill(schema),
        Question::Url { url, host, .. } => {
            writeln!(sheet.out, "{margin}  It wants you to visit {}", safe_line(host))?;
            writeln!(sheet.out, "{margin}  {}", safe_line(url))?;
            writeln!(sheet.out, "{margin}  Nothing is opened for you.")?;
            sheet.consent()
        }
        _ => Ok(ElicitAnswer::Decline),
    }
}

/// The directories that servers may know of.
pub(crate) fn roots(directories: &[impl AsRef<Path>]) -> Result<Roots, String> {
    let mut roots = Roots::new();
    for directory in directories {
        let directory = directory.as_ref();
        let wrong = |error: &dyn std::fmt::Display| format!("--root {}: {error}", directory.display());
        let path = directory.canonicalize().map_err(|error| wrong(&error))?;
        let mut root = Root::new(file_uri(&path).ok_or_else(|| wrong(&"the path is not text"))?);
        root.name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        roots = roots.with(root).map_err(|error| wrong(&error))?;
    }
    Ok(roots)
}

fn file_uri(path: &Path) -> Option<String> {
    let mut uri = "file://".to_owned();
    for byte in path.to_str()?.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    #[test]
    fn directories_become_uris() {
        let uri = super::file_uri("/srv/a b/ü?#".as_ref());
        assert_eq!(uri.as_deref(), Some("file:///srv/a%20b/%C3%BC%3F%23"));
    }
}
