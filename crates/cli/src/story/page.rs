//! The page that the story is printed on: steps, plain words, and lines of the wire in the margin.
//!
//! It prints at once, so that a question finds its context above it. A reader who leaves ends the story.

use contexture::testing::{Side, Transcript};
use serde_json::Value;

use crate::exit::Failure;
use crate::terminal::style::Style;
use crate::terminal::text::{cut, safe_line};
use crate::terminal::{self, Reader, width};

/// What stands to the left of everything but titles.
pub(super) const MARGIN: &str = "   ";
const EXPLANATION: &str = "       ";

/// Why the story stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Nobody reads any more.
    Unread,
    Failed(Failure),
}

impl From<contexture::Error> for Stop {
    fn from(error: contexture::Error) -> Self {
        Self::Failed(error.into())
    }
}

pub(crate) struct Page {
    pub(crate) style: Style,
    width: usize,
    transcript: Transcript,
    steps: usize,
    /// How many entries of the transcript belong to earlier steps.
    told: usize,
}

impl Page {
    pub(crate) fn new() -> Self {
        Self {
            style: Style::of_stdout(),
            width: width::of_stdout(),
            transcript: Transcript::new(),
            steps: 0,
            told: 0,
        }
    }

    /// Where the wire is recorded.
    pub(crate) fn transcript(&self) -> Transcript {
        self.transcript.clone()
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), Stop> {
        match terminal::print(format!("{text}\n").as_bytes()) {
            Ok(Reader::Listening) => Ok(()),
            Ok(Reader::Gone) => Err(Stop::Unread),
            Err(error) => Err(Stop::Failed(error.into())),
        }
    }

    /// Begins a step.
    pub(crate) fn step(&mut self, title: &str) -> Result<(), Stop> {
        self.steps += 1;
        self.told = self.transcript.entries().len();
        self.line("")?;
        self.lines("", &format!("{}. {title}", self.steps), |line| self.style.bold(line))
    }

    /// Plain words that belong to no step.
    pub(crate) fn words(&self, text: &str) -> Result<(), Stop> {
        self.lines("", text, str::to_owned)
    }

    /// Plain words, broken to fit.
    pub(crate) fn say(&self, text: &str) -> Result<(), Stop> {
        self.lines(MARGIN, text, str::to_owned)
    }

    /// Something that came out.
    pub(crate) fn result(&self, text: &str) -> Result<(), Stop> {
        self.lines(MARGIN, text, |line| self.style.green(line))
    }

    /// Something to type, which must stay in one piece, and what it does.
    pub(crate) fn command(&self, command: &str, what: &str) -> Result<(), Stop> {
        self.line(&format!("{MARGIN}{command}"))?;
        self.lines(EXPLANATION, what, |line| self.style.dim(line))
    }

    fn lines(&self, margin: &str, text: &str, paint: impl Fn(&str) -> String) -> Result<(), Stop> {
        let lines = width::wrap(text, self.width.saturating_sub(margin.len()));
        lines.iter().try_for_each(|line| self.line(&format!("{margin}{}", paint(line))))
    }

    /// Shows the first message of this step that the client sent with this method.
    pub(crate) fn sent(&self, method: &str) -> Result<(), Stop> {
        self.wire(Side::Client, |message| message["method"] == method)
    }

    /// Shows the first message of this step from the server that fits.
    pub(crate) fn received(&self, fits: impl Fn(&Value) -> bool) -> Result<(), Stop> {
        self.wire(Side::Server, fits)
    }

    /// Shows the message that carries the answer to what the server asked.
    pub(crate) fn answered(&self) -> Result<(), Stop> {
        self.wire(Side::Client, |message| message["params"]["inputResponses"].is_object())
    }

    fn wire(&self, from: Side, fits: impl Fn(&Value) -> bool) -> Result<(), Stop> {
        let entries = self.transcript.entries();
        let step = entries.get(self.told..).unwrap_or_default();
        let Some(entry) = step.iter().find(|entry| entry.from == from && fits(&entry.value())) else {
            return Ok(());
        };
        let arrow = if from == Side::Client { "→" } else { "←" };
        let line = without_meta(&safe_line(entry.message.get()));
        let line = cut(&format!("{arrow} {line}"), self.width.saturating_sub(MARGIN.len()));
        self.line(&format!("{MARGIN}{}", self.style.dim(&line)))
    }
}

/// Metadata travels with everything; once is enough to have seen that it does.
fn without_meta(line: &str) -> String {
    const META: &str = "\"_meta\":";
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(META) {
        let (mut depth, mut quoted, mut escaped) = (0, false, false);
        let end = after.find(|char| {
            match char {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = !quoted,
                '{' if !quoted => depth += 1,
                '}' if !quoted => depth -= 1,
                _ => {}
            }
            depth == 0 && char == '}' && !quoted
        });
        out += &format!("{before}{META}{{…}}");
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::without_meta;

    #[test]
    fn metadata_is_left_out_and_nothing_else() {
        let line = r#"{"a":{"_meta":{"x":"}\"{","y":{}},"b":1},"_meta":{}}"#;
        assert_eq!(without_meta(line), r#"{"a":{"_meta":{…},"b":1},"_meta":{…}}"#);
        assert_eq!(without_meta("{}"), "{}");
    }
}
