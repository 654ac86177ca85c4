//! Writing down what happens, as it happens: into a private file, up to a bound, without what is secret.
//!
//! A file that is something else is not written over. A disk that is full ends the record, never the session.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use contexture::transport::{Failure as Unanswered, Passed, Side, Tap};
use contexture_host::consent::rfc3339;
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{Kind, named_revision};
use super::{Ending, Header, Line, MOST_BYTES, NAME, Redactor, Refusal, VERSION, is_transcript};
use crate::exit::Failure;
use crate::terminal::note;
use crate::terminal::text::safe_line;

/// Headers that matter to the protocol. Others are nobody's business.
const HEADERS: &[&str] =
    &["accept", "authorization", "content-type", "last-event-id", "location", "www-authenticate"];

/// Keeps a record. Clones write into the same file.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<Writing>>);

struct Writing {
    path: PathBuf,
    file: File,
    began: Instant,
    written: u64,
    redactor: Option<Redactor>,
    connections: u32,
    /// The request that opens a session, on each connection that has not agreed on a revision.
    handshakes: BTreeMap<u32, Option<Value>>,
    is_over: bool,
}

impl Recorder {
    /// Begins a file. Without a redactor everything is kept, which is said.
    pub(crate) fn create(
        path: &Path,
        (target, transport): (&str, &str),
        mut redactor: Option<Redactor>,
    ) -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
        let is_ours = match std::fs::metadata(path) {
            Ok(about) => about.is_file() && (about.len() == 0 || is_transcript(path)),
            Err(_) => true,
        };
        if !is_ours {
            let what = format!("{} is there already, and no transcript", path.display());
            return Err(Failure::usage(what).hint(Some("another name keeps both".to_owned())));
        }
        if redactor.is_none() {
            note(&format!(
                "contexture: nothing is redacted: {} will hold every secret that is said",
                path.display()
            ));
        }
        let target = redactor.as_mut().map_or_else(|| target.to_owned(), |redactor| redactor.plain(target));
        let header = Header {
            contexture: NAME.to_owned(),
            version: VERSION,
            target,
            transport: transport.to_owned(),
            began: rfc3339(SystemTime::now()),
            redacted: redactor.is_some(),
        };
        let file = private(path).map_err(cannot)?;
        let writing = Writing {
            path: path.to_owned(),
            file,
            began: Instant::now(),
            written: 0,
            redactor,
            connections: 0,
            handshakes: BTreeMap::new(),
            is_over: false,
        };
        let recorder = Self(Arc::new(Mutex::new(writing)));
        let first = serde_json::to_string(&header).map_err(|error| Failure::usage(error.to_string()))?;
        recorder.lock().write(&first).map_err(cannot)?;
        Ok(recorder)
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of one more connection.
    pub(crate) fn connection(&self) -> u32 {
        let mut writing = self.lock();
        writing.connections += 1;
        writing.connections
    }

    /// Somebody who listens to one more connection.
    pub(crate) fn tap(&self) -> Box<dyn Tap> {
        Box::new(Ear { recorder: self.clone(), connection: self.connection(), is_over: false })
    }

    /// A message. `of` is the request that it came with, over HTTP, if it is not its answer.
    pub(crate) fn message(
        &self,
        connection: u32,
        (from, line): (Side, &[u8]),
        of: Option<Value>,
        headers: &[(String, String)],
    ) {
        let text = String::from_utf8_lossy(line);
        let mut writing = self.lock();
        let kept = headers.iter().filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let matters = name.starts_with("mcp-") || HEADERS.contains(&name.as_str());
            let value = writing.redactor.as_mut().map_or_else(|| value.clone(), |it| it.header(&name, value));
            matters.then_some((name, value))
        });
        let mut line = Line { connection, from: Some(from), of, headers: kept.collect(), ..Line::default() };
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(_) => {
                // Line breaks between two tokens would be ends of ours.
                let flat = text.replace(['\n', '\r'], " ");
                let flat = writing.redactor.as_mut().map_or_else(|| flat.clone(), |it| it.message(&flat));
                line.message = RawValue::from_string(flat).ok();
            }
            Err(_) => {
                let plain = writing.redactor.as_mut().map(|redactor| redactor.plain(&text));
                line.text = Some(plain.unwrap_or_else(|| text.clone().into_owned()));
            }
        }
        writing.keep(line);
        writing.agree(connection, from, &text);
    }

    pub(crate) fn failed(&self, connection: u32, mut refusal: Refusal) {
        let mut writing = self.lock();
        if let Some(redactor) = writing.redactor.as_mut() {
            refusal.why = redactor.plain(&refusal.why);
            let error = refusal.error.map(|error| redactor.message(&error.to_string()));
            refusal.error = error.and_then(|error| serde_json::from_str(&error).ok());
        }
        writing.keep(Line { connection, failed: Some(refusal), ..Line::default() });
    }

    pub(crate) fn stderr(&self, line: &str) {
        let mut writing = self.lock();
        let line = writing.redactor.as_mut().map_or_else(|| line.to_owned(), |it| it.plain(line));
        writing.keep(Line { connection: 1, stderr: Some(line), ..Line::default() });
    }

    pub(crate) fn end(&self, connection: u32, how: Ending) {
        self.lock().keep(Line { connection, end: Some(how), ..Line::default() });
    }
}

impl Writing {
    fn keep(&mut self, mut line: Line) {
        if self.is_over {
            return;
        }
        line.at = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Ok(mut text) = serde_json::to_string(&line) else { return };
        if self.written + text.len() as u64 > MOST_BYTES - 1024 {
            self.is_over = true;
            let full = Line { at: line.at, connection: 1, end: Some(Ending::Full), ..Line::default() };
            text = serde_json::to_string(&full).unwrap_or_default();
            note(&format!("contexture: {} is full; what follows is not kept", self.path.display()));
        }
        if let Err(error) = self.write(&text) {
            self.is_over = true;
            note(&format!("contexture: {}: {error}; what follows is not kept", self.path.display()));
        }
    }

    /// At once, so that a crash leaves it.
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.written += text.len() as u64 + 1;
        self.file.write_all(format!("{text}\n").as_bytes())
    }

    /// Notes the revision as soon as it is known.
    fn agree(&mut self, connection: u32, from: Side, text: &str) {
        if matches!(self.handshakes.get(&connection), Some(None)) {
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(text) else { return };
        let agreed = match (from, Kind::of(&message)) {
            (Side::Client, Kind::Request { id, method }) if method == "initialize" => {
                self.handshakes.insert(connection, Some(id));
                None
            }
            (Side::Client, Kind::Request { method, .. }) if method != "server/discover" => {
                named_revision(&message).map(str::to_owned)
            }
            (Side::Server, Kind::Answer { id })
                if self.handshakes.get(&connection) == Some(&Some(id.clone())) =>
            {
                message.pointer("/result/protocolVersion").and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        };
        if agreed.is_some() {
            self.handshakes.insert(connection, None);
            self.keep(Line { connection, agreed, ..Line::default() });
        }
    }
}

/// Listens to one connection of a client of ours.
struct Ear {
    recorder: Recorder,
    connection: u32,
    /// Somebody has ended it.
    is_over: bool,
}

impl Tap for Ear {
    fn passed(&mut self, what: Passed<'_>) {
        let (recorder, connection) = (&self.recorder, self.connection);
        match what {
            Passed::Message { from, line, of, headers } => {
                let of = of.and_then(|id| serde_json::to_value(id).ok());
                recorder.message(connection, (from, line), of, headers);
            }
            Passed::Failed(id, failure) => recorder.failed(connection, refusal(id, failure)),
            Passed::Withdrawn(id) => {
                let withdrawn = serde_json::to_value(id).ok();
                recorder.lock().keep(Line { connection, withdrawn, ..Line::default() });
            }
            Passed::TooLong(limit) => {
                recorder.lock().keep(Line { connection, too_long: Some(limit), ..Line::default() });
            }
            Passed::Closing if !self.is_over => {
                self.is_over = true;
                recorder.end(connection, Ending::Client);
            }
            Passed::End if !self.is_over => {
                self.is_over = true;
                recorder.end(connection, Ending::Server);
            }
            _ => {}
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        if !self.is_over {
            self.recorder.end(self.connection, Ending::Client);
        }
    }
}

/// How a request was refused, in words of ours.
pub(crate) fn refusal(id: &impl serde::Serialize, failure: &Unanswered) -> Refusal {
    let of = serde_json::to_value(id).unwrap_or_default();
    let why = safe_line(&contexture::Error::from(failure.clone()).to_string());
    match failure {
        Unanswered::Refused(refusal) => Refusal {
            of,
            status: Some(refusal.status),
            error: refusal.error.as_ref().and_then(|error| serde_json::to_value(error).ok()),
            why,
        },
        _ => Refusal { of, status: None, error: None, why },
    }
}

/// A file that nobody else can read, and empty.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        let file = options.mode(0o600).open(path)?;
        if file.metadata()?.is_file() {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}
