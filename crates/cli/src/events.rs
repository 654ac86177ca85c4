//! What a server says beside its answers, told as it happens: progress, log messages, questions.
//!
//! People read it on standard error. With `-o ndjson` it is part of what is printed: one JSON object a line, by the
//! name in `event`. `docs/output.md` has them all; what stands there does not change its meaning.

use std::io;

use contexture::model::{LoggingMessageParams, ProgressParams};
use serde::Serialize;
use serde_json::{Value, json};

use crate::options::Format;
use crate::terminal::bar::{self, Bar};
use crate::terminal::text::{safe_json, safe_line};
use crate::terminal::{self, Reader, note};

/// Where such things are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aside {
    /// On standard error, in words.
    Notes,
    /// On standard output, as events.
    Events,
    /// The verb listens itself.
    Nowhere,
}

impl Aside {
    /// As the format says, for verbs that have events.
    pub(crate) fn of(format: Format) -> Self {
        if format == Format::Ndjson { Self::Events } else { Self::Notes }
    }

    /// A log message.
    pub(crate) fn log(self, message: &LoggingMessageParams) {
        match self {
            Self::Notes => note(&log_line(message)),
            Self::Events => tell("log", message),
            Self::Nowhere => {}
        }
    }

    /// A question of a server, and what became of it. People have seen it already.
    pub(crate) fn question(self, kind: &str, server: &str, message: &str, answer: &str) {
        if self == Self::Events {
            tell(
                "question",
                &json!({ "kind": kind, "server": server, "message": message, "answer": answer }),
            );
        }
    }

    /// What hears of the progress of a call.
    pub(crate) fn progress(self) -> impl FnMut(ProgressParams) + Send + 'static {
        let mut bar = (self == Self::Notes && Bar::is_possible()).then(Bar::default);
        move |progress| match (self, &mut bar) {
            (Self::Events, _) => tell("progress", &without_token(&progress)),
            (Self::Notes, Some(bar)) => bar.show(&progress),
            (Self::Notes, None) => note(&bar::as_line(&progress)),
            (Self::Nowhere, _) => {}
        }
    }
}

/// Progress without the token, which is nobody's business.
fn without_token(progress: &ProgressParams) -> Value {
    let mut about = serde_json::to_value(progress).unwrap_or_default();
    if let Some(members) = about.as_object_mut() {
        members.remove("progressToken");
    }
    about
}

#[derive(Serialize)]
struct Line<'a, T> {
    event: &'a str,
    #[serde(flatten)]
    about: &'a T,
}

/// Prints an event, and says whether anybody reads it.
pub(crate) fn emit(event: &str, about: &impl Serialize) -> io::Result<Reader> {
    let line = serde_json::to_string(&Line { event, about }).map_err(io::Error::from)?;
    terminal::print((safe_json(&line) + "\n").as_bytes())
}

/// In the middle of a call nothing can be done about a reader that has left: the result finds out.
fn tell(event: &str, about: &impl Serialize) {
    let _ = emit(event, about);
}

/// A log message in words.
pub(crate) fn log_line(message: &LoggingMessageParams) -> String {
    let data = match message.data.as_str() {
        Some(text) => safe_line(text),
        None => safe_line(&message.data.to_string()),
    };
    let logger = message.logger.as_deref().map(|name| format!(" {}", safe_line(name)));
    format!("[{}]{} {data}", message.level.as_str(), logger.unwrap_or_default())
}
