//! From a file to what happened. What is wrong with a file is said with its line, and nothing of it is used.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use contexture::transport::Side;
use serde_json::Value;

use super::{Entry, Event, Header, Line, MOST_BYTES, NAME, VERSION};
use crate::exit::Failure;

/// All that happened.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// Without it, the messages were kept by a test.
    pub(crate) header: Option<Header>,
    pub(crate) entries: Vec<Entry>,
    /// The last line was cut off.
    pub(crate) is_cut: bool,
}

/// Whether a file begins as transcripts do.
pub(crate) fn is_transcript(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = String::new();
    let read = BufReader::new(file).take(64 * 1024).read_line(&mut line);
    read.is_ok() && header(&line).is_some_and(|header| header.is_ok())
}

impl Transcript {
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let size = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
        if size > MOST_BYTES {
            return Err(wrong(format!("too large for a transcript: {size} bytes, at most {MOST_BYTES}")));
        }
        let mut bytes = Vec::new();
        // A file may grow while it is read.
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| wrong("this is no text in UTF-8".to_owned()))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().peekable();
        let header = match lines.peek().map(|(_, line)| header(line)) {
            None => return Err("the file is empty".to_owned()),
            Some(Some(header)) => {
                lines.next();
                Some(header?)
            }
            Some(None) => None,
        };
        let mut transcript = Self { header, entries: Vec::new(), is_cut: false };
        let whole = text.ends_with('\n');
        let mut connection = 1;
        while let Some((at, line)) = lines.next() {
            if line.trim().is_empty() {
                // Tapes of tests have an empty line after each connection.
                connection += u32::from(transcript.header.is_none());
                continue;
            }
            match serde_json::from_str::<Line>(line) {
                Ok(line) => transcript.entries.push(entry(line, at + 1, connection)?),
                Err(error) if error.is_eof() && !whole && lines.peek().is_none() => transcript.is_cut = true,
                Err(error) => return Err(format!("line {}: no line of a transcript: {error}", at + 1)),
            }
        }
        if transcript.entries.is_empty() {
            return Err("nothing was said in this transcript".to_owned());
        }
        Ok(transcript)
    }

    /// What was said, with who said it.
    pub(crate) fn said(&self) -> impl Iterator<Item = (Side, Value)> {
        self.entries.iter().filter_map(|entry| Some((entry.event.from()?, entry.event.value())))
    }
}

/// The first line: `None` if it is none, an error if it is one of a transcript that we do not know.
fn header(line: &str) -> Option<Result<Header, String>> {
    let value: Value = serde_json::from_str(line).ok()?;
    if value.get("from").is_some() {
        return None;
    }
    if value.get("contexture").and_then(Value::as_str) != Some(NAME) {
        return Some(Err("line 1: this is no transcript; `contexture record` writes them".to_owned()));
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(newer) => return Some(Err(format!("line 1: version {newer}; this program reads {VERSION}"))),
        None => return Some(Err("line 1: a transcript says its version".to_owned())),
    }
    Some(serde_json::from_value(value).map_err(|error| format!("line 1: {error}")))
}

fn entry(line: Line, number: usize, connection: u32) -> Result<Entry, String> {
    let connection = if line.connection == 1 { connection } else { line.connection };
    let said = match (line.message, line.text) {
        (Some(message), None) => Some(message.get().to_owned()),
        (None, text) => text,
        (Some(_), Some(_)) => return Err(format!("line {number}: a message and a text at once")),
    };
    let event = match (line.from, said) {
        (Some(from), Some(text)) => Event::Said { from, text, of: line.of, headers: line.headers },
        (None, Some(_)) => return Err(format!("line {number}: a message from nobody")),
        (_, None) => match (line.failed, line.withdrawn, line.end) {
            (Some(refusal), ..) => Event::Failed(refusal),
            (None, Some(id), _) => Event::Withdrawn(id),
            (None, None, Some(end)) => Event::End(end),
            _ if line.stderr.is_some() => Event::Stderr,
            _ if line.agreed.is_some() => Event::Agreed,
            _ if line.too_long.is_some() => Event::TooLong,
            _ => return Err(format!("line {number}: nothing happened there that is known here")),
        },
    };
    Ok(Entry { line: number, connection, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"contexture":"transcript","version":1,"target":"demo","transport":"stdio","began":"2026-01-01T00:00:00Z","redacted":true}"#;

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            (String::new(), "empty"),
            ("hello\n".to_owned(), "line 1"),
            ("{\"name\":\"package\"}\n".to_owned(), "no transcript"),
            (HEADER.replace("\"version\":1", "\"version\":9"), "version 9"),
            (format!("{HEADER}\n"), "nothing was said"),
            (format!("{HEADER}\n{{\"at\":1}}\n"), "line 2: nothing happened"),
            (format!("{HEADER}\n{{\"at\":1,\"message\":{{}}}}\n"), "line 2: a message from nobody"),
            (format!("{HEADER}\n{{\"at\":1,\"from\":\"me\",\"message\":{{}}}}\n"), "line 2"),
            (format!("{HEADER}\n{{\"at\":\n{{\"at\":1,\"stderr\":\"x\"}}\n"), "line 2"),
        ];
        for (text, wanted) in cases {
            let error = Transcript::parse(&text).expect_err(&text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn a_last_line_that_was_cut_off_is_left_out() {
        let text =
            format!("{HEADER}\n{{\"at\":1,\"from\":\"client\",\"message\":{{\"a\":1}}}}\n{{\"at\":2,\"fr");
        let transcript = Transcript::parse(&text).expect("what is whole");
        assert!(transcript.is_cut);
        assert_eq!(transcript.entries.len(), 1);
    }
}
