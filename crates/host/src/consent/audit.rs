//! The audit: one line of JSON for every decision and every call.
//!
//! A decision is written before anything is sent; how the call ended, afterwards. JSON strings escape line breaks and control
//! characters, so no field can forge a line. Arguments are kept as a digest, and as they are only if somebody wants that.
//! Tokens and headers never come here. A log that cannot be written denies calls if it is required; otherwise that is
//! said once and counted. Lines are not forced to the disk one by one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asking::{Asking, NO_PIN, Outcome, Record};
use super::case::{Decision, Kind};
use super::remembered::{hex, private_file};
use super::text::cut;

/// Characters of one name.
const NAME: usize = 512;
/// Bytes of arguments that are written out.
const ARGUMENTS: usize = 64 * 1024;
/// No file is rotated before it has so many bytes.
const LEAST: u64 = 4 * 1024;

/// The section `audit` of a configuration: the path alone, or an object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Given")]
pub struct AuditConfig {
    /// Where lines are written.
    pub path: PathBuf,
    /// Whether nothing may be done that cannot be written down.
    pub required: bool,
    /// Whether arguments are written out, and not only their digest.
    pub arguments: bool,
    /// Bytes after which a new file is begun.
    pub max_bytes: u64,
    /// Files that are kept beside the current one, as `path.1` and so on.
    pub keep: u32,
}

impl AuditConfig {
    /// A log at this path, with everything else as it is if nothing is said.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), required: false, arguments: false, max_bytes: 64 * 1024 * 1024, keep: 5 }
    }
}

/// As it may be written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a path, or an object with path, required, arguments, maxBytes and keep")]
enum Given {
    Path(PathBuf),
    All(All),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct All {
    path: PathBuf,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    arguments: bool,
    max_bytes: Option<u64>,
    keep: Option<u32>,
}

impl From<Given> for AuditConfig {
    fn from(given: Given) -> Self {
        match given {
            Given::Path(path) => Self::new(path),
            Given::All(all) => {
                let plain = Self::new(all.path);
                Self {
                    required: all.required,
                    arguments: all.arguments,
                    max_bytes: all.max_bytes.unwrap_or(plain.max_bytes),
                    keep: all.keep.unwrap_or(plain.keep),
                    ..plain
                }
            }
        }
    }
}

/// The log, or none.
#[derive(Debug)]
pub(super) struct Audit {
    config: Option<AuditConfig>,
    /// The file while it works.
    file: Mutex<Option<File>>,
    /// Lines that were not written, here and in those before this one.
    lost: Arc<AtomicU64>,
    /// Whether people know that it fails.
    told: AtomicBool,
}

impl Audit {
    pub(super) fn open(config: Option<AuditConfig>, lost: Arc<AtomicU64>) -> Self {
        let audit = Self { config, file: Mutex::new(None), lost, told: AtomicBool::new(false) };
        if let Some(config) = &audit.config {
            match open(&config.path) {
                Ok(file) => *audit.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file),
                Err(error) => audit.tell(config, &error),
            }
        }
        audit
    }

    /// Another one takes its place, and goes on counting.
    pub(super) fn followed_by(&self, config: Option<AuditConfig>) -> Self {
        Self::open(config, Arc::clone(&self.lost))
    }

    pub(super) fn is_as(&self, config: Option<&AuditConfig>) -> bool {
        self.config.as_ref() == config
    }

    pub(super) fn is_on(&self) -> bool {
        self.config.is_some()
    }

    pub(super) fn is_required(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.required)
    }

    pub(super) fn keeps_arguments(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.arguments)
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes a line, all of it or, as far as anybody can tell, none.
    pub(super) fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let Some(config) = &self.config else { return Ok(()) };
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = append(&mut file, config, &bytes);
        if let Err(error) = &written {
            // The next line tries anew: a disk that was full may have room then.
            *file = None;
            self.lost.fetch_add(1, Ordering::Relaxed);
            self.tell(config, error);
        }
        written
    }

    fn tell(&self, config: &AuditConfig, error: &io::Error) {
        if !self.told.swap(true, Ordering::Relaxed) {
            let path = config.path.display();
            tracing::warn!(%path, %error, required = config.required, "the audit log cannot be written");
        }
    }
}

fn append(open_file: &mut Option<File>, config: &AuditConfig, bytes: &[u8]) -> io::Result<()> {
    let mut file = match open_file.take() {
        Some(file) => file,
        None => open(&config.path)?,
    };
    let found = file.metadata()?;
    if found.is_file() && found.len() > 0 && found.len() + bytes.len() as u64 > config.max_bytes.max(LEAST) {
        rotate(config, &found)?;
        file = open(&config.path)?;
    }
    file.write_all(bytes)?;
    *open_file = Some(file);
    Ok(())
}

/// Appends, so that lines of several processes do not write over one another. A pipe would make us wait for whoever reads it.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|found| is_pipe(&found)) {
        return Err(io::Error::other("it is a pipe or a socket, which could keep us waiting"));
    }
    private_file(OpenOptions::new().append(true).create(true)).open(path)
}

/// Moves files one number on, unless another process has done so already.
fn rotate(config: &AuditConfig, ours: &fs::Metadata) -> io::Result<()> {
    if !fs::metadata(&config.path).is_ok_and(|found| is_same(&found, ours)) {
        return Ok(());
    }
    if config.keep == 0 {
        return fs::remove_file(&config.path);
    }
    for number in (1..config.keep).rev() {
        let (from, to) = (numbered(&config.path, number), numbered(&config.path, number + 1));
        if from.exists() {
            fs::rename(from, to)?;
        }
    }
    fs::rename(&config.path, numbered(&config.path, 1))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(unix)]
fn is_pipe(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_fifo() || found.file_type().is_socket()
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.len() == other.len()
}

/// One line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    time: String,
    event: &'static str,
    issuer: &'a str,
    subject: &'a str,
    server: &'a str,
    kind: Kind,
    name: String,
    catalog_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn new(event: &'static str, asking: &Asking<'a>, with_arguments: bool) -> Self {
        let arguments = asking.arguments.map(|arguments| arguments.get());
        Self {
            time: rfc3339(SystemTime::now()),
            event,
            issuer: asking.principal.issuer(),
            subject: asking.principal.subject(),
            server: &asking.server.name,
            kind: asking.kind,
            name: cut(asking.tool, NAME),
            catalog_name: cut(asking.shown, NAME),
            decision: None,
            why: None,
            pin: (*asking.pin != NO_PIN).then(|| hex(asking.pin)),
            arguments_sha256: arguments.map(|text| hex(digest(&SHA256, text.as_bytes()).as_ref())),
            arguments: arguments.filter(|_| with_arguments).map(kept),
            outcome: None,
            error_code: None,
            duration_ms: None,
            trace_id: asking.trace,
        }
    }

    /// What was decided. Arguments are written out here and not again when the call has ended.
    pub(super) fn decision(asking: &Asking<'a>, decision: Decision, why: &str, with_arguments: bool) -> Self {
        let line = Self::new("decision", asking, with_arguments);
        Self { decision: Some(decision), why: Some(cut(why, NAME)), ..line }
    }

    /// How a call ended.
    pub(super) fn call(record: &Record<'a>) -> Self {
        let (outcome, error_code) = match record.outcome {
            Outcome::Done => ("done", None),
            Outcome::ToolError => ("toolError", None),
            Outcome::Error(code) => ("error", Some(code)),
            Outcome::Unavailable => ("unavailable", None),
            Outcome::Cancelled => ("cancelled", None),
            Outcome::Unknown => ("unknown", None),
        };
        Self {
            outcome: Some(outcome),
            error_code,
            duration_ms: Some(record.duration.as_secs_f64() * 1_000.0),
            ..Self::new("call", record.asking, false)
        }
    }
}

/// Arguments as JSON on one line; text, if they are too long or no JSON that we can write again.
fn kept(text: &str) -> Value {
    match text.len() {
        0..=ARGUMENTS => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        _ => format!("{}… ({} bytes in all)", cut(text, 1_024), text.len()).into(),
    }
}

/// A time of the civil calendar, in UTC, with milliseconds.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years begin in March, so that the leap day is the last; eras are of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), wanted);
        }
    }
}
