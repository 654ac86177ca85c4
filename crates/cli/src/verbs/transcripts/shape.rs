//! Which of the messages that came is the one that came then; and what a replay found.

use serde::Serialize;
use serde_json::{Value, json};

use super::compare::{Difference, compare};
use super::differences;
use super::session::Got;
use crate::exit::Failure;
use crate::options::Format;
use crate::terminal;
use crate::terminal::style::Style;
use crate::terminal::text::{cut, safe_json, safe_line};
use crate::transcript::Kind;

/// How much of a value is shown.
const SHOWN: usize = 120;
/// How many differences of one message are shown to people.
const LISTED: usize = 5;

/// What a message must be to stand for another.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    kind: Kind,
    token: Option<Value>,
}

impl Shape {
    pub(super) fn of(message: &Value) -> Self {
        let kind = match Kind::of(message) {
            // The server's own business.
            Kind::Request { method, .. } => Kind::Request { id: Value::Null, method },
            kind => kind,
        };
        Self { kind, token: message.pointer("/params/progressToken").cloned() }
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.kind, Kind::Answer { .. })
    }

    pub(super) fn fits(&self, got: &Got) -> bool {
        self.fits_value(&got.value())
    }

    pub(super) fn fits_value(&self, value: &Value) -> bool {
        *self == Self::of(value)
    }

    /// Where in the inbox it is: the very same, or one that is not the very same as something that is still to come.
    pub(super) fn choose(
        &self,
        inbox: &[Got],
        recorded: &Value,
        later: &[Value],
        ignored: &[String],
    ) -> Option<usize> {
        let is_same = |got: &Got, recorded: &Value| {
            let shape = Self::of(recorded);
            compare(&shape.comparable(recorded), &shape.comparable(&got.value()), ignored).is_empty()
        };
        let mut fitting = inbox.iter().enumerate().filter(|(_, got)| self.fits(got));
        if self.is_answer() {
            return fitting.next().map(|(at, _)| at);
        }
        let same = fitting.clone().find(|(_, got)| is_same(got, recorded));
        let other =
            fitting.find(|(_, got)| !later.iter().any(|later| self.fits_value(later) && is_same(got, later)));
        same.or(other).map(|(at, _)| at)
    }

    /// Without what belongs to one conversation alone.
    pub(super) fn comparable(&self, message: &Value) -> Value {
        let mut message = message.clone();
        if let Kind::Request { .. } = self.kind {
            message["id"] = Value::Null;
            if let Some(meta) = message.pointer_mut("/params/_meta").and_then(Value::as_object_mut) {
                meta.remove("progressToken");
            }
        }
        message
    }
}

/// Something that is not as it was.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// In the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    /// `differs`, `missing` or `extra`.
    kind: &'static str,
    /// What it is about.
    what: String,
    differences: Vec<Difference>,
}

impl Finding {
    pub(super) fn differs(line: usize, what: String, differences: Vec<Difference>) -> Self {
        Self { line: Some(line), kind: "differs", what, differences }
    }

    pub(super) fn missing(line: usize, what: String, recorded: &Value) -> Self {
        let gone = Difference { pointer: String::new(), recorded: Some(recorded.clone()), now: None };
        Self { line: Some(line), kind: "missing", what, differences: vec![gone] }
    }

    pub(super) fn extra(what: String, now: &Value) -> Self {
        let new = Difference { pointer: String::new(), recorded: None, now: Some(now.clone()) };
        Self { line: None, kind: "extra", what, differences: vec![new] }
    }

    fn text(&self, style: Style) -> String {
        let place = self.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let how = match self.kind {
            "differs" => "differs",
            "missing" => "did not come",
            _ => "came and was not there then",
        };
        let mut out = format!("{}{} {how}\n", style.dim(&place), style.bold(&safe_line(&self.what)));
        for Difference { pointer, recorded, now } in self.differences.iter().take(LISTED) {
            if !pointer.is_empty() {
                out += &format!("    {}\n", safe_line(pointer));
            }
            for (word, value) in [("then", recorded), ("now ", now)] {
                if let Some(value) = value {
                    out += &format!("      {word}  {}\n", cut(&safe_line(&value.to_string()), SHOWN));
                }
            }
        }
        match self.differences.len().saturating_sub(LISTED) {
            0 => out,
            more => out + &format!("    and {more} more\n"),
        }
    }
}

/// What came of a replay.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// How many were said and compared.
    pub(super) messages: usize,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Prints it; differences are a failure.
    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        let count = self.findings.len();
        let text = match format {
            Format::Text => {
                let style = Style::of_stdout();
                let found: String = self.findings.iter().map(|finding| finding.text(style)).collect();
                let verdict =
                    if count == 0 { style.green("no difference") } else { format!("{count} not as then") };
                format!("{found}{} messages, {verdict}\n", self.messages)
            }
            Format::Json => {
                let report = json!({ "messages": self.messages, "findings": self.findings });
                safe_json(&report.to_string()) + "\n"
            }
            Format::Ndjson => {
                let lines = self.findings.iter().filter_map(|finding| serde_json::to_string(finding).ok());
                lines.map(|line| safe_json(&line) + "\n").collect()
            }
        };
        terminal::print(text.as_bytes())?;
        if count == 0 { Ok(()) } else { Err(differences(count)) }
    }
}
