//! What people have answered for good.
//!
//! An `always` belongs to one principal, one server as it is configured, and one definition: when the tool or the server's entry
//! is another, the person is asked again, and told so. A `never` holds whatever the definition becomes, so that a server cannot
//! nag by changing it. The file is small, private and replaced whole; one that is broken, or that others could have
//! written, is set aside, which costs questions and no consent.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use contexture::Principal;
use contexture::model::ToolAnnotations;
use serde::{Deserialize, Serialize};

use super::asking::{Answer, Asking};
use super::case::Kind;
use super::text::safe_line;

/// The file in the state folder.
const FILE: &str = "decisions.json";
/// Answers that are kept; the oldest go first.
const MOST: usize = 10_000;
/// Bytes of the file.
const BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a name or URI that is remembered. Longer ones are asked about every time.
const NAME: usize = 2_048;
/// The only form that this file has had.
const VERSION: u32 = 1;

/// Answers that hold until they are forgotten.
#[derive(Debug)]
pub struct Remembered {
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The file as we know it.
    seen: Option<Stamp>,
    entries: HashMap<Key, Decided>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    issuer: String,
    subject: String,
    server: String,
    kind: Kind,
    name: String,
}

/// One answer that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// Who vouches for whoever answered.
    pub issuer: String,
    /// Who answered.
    pub subject: String,
    /// About which server.
    pub server: String,
    /// About what.
    pub kind: Kind,
    /// The tool, prompt or resource; empty where there is none.
    pub name: String,
    /// Whether it is always allowed, or never.
    pub allowed: bool,
    /// The digest of the definition that was shown.
    pub pin: String,
    /// The digest of the server's entry at that time.
    pub entry: String,
    /// Seconds since 1970.
    pub since: u64,
    /// What the server said about the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
}

impl Decided {
    fn key(&self) -> Key {
        Key {
            issuer: self.issuer.clone(),
            subject: self.subject.clone(),
            server: self.server.clone(),
            kind: self.kind,
            name: self.name.clone(),
        }
    }
}

/// What is remembered about a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recalled {
    Nothing,
    Always,
    Never,
    /// It was always allowed when it was something else.
    Changed,
}

#[derive(Serialize, Deserialize)]
struct Page {
    version: u32,
    decisions: Vec<Decided>,
}

impl Remembered {
    /// What is remembered in a folder; in memory only, without one.
    pub fn open(folder: Option<&Path>) -> Self {
        let remembered = Self { file: folder.map(|folder| folder.join(FILE)), state: Mutex::default() };
        drop(remembered.fresh());
        remembered
    }

    /// Everything, in the order of servers and names.
    pub fn all(&self) -> Vec<Decided> {
        let mut all: Vec<Decided> = self.fresh().entries.values().cloned().collect();
        all.sort_by(|a, b| {
            (&a.server, &a.name, &a.issuer, &a.subject).cmp(&(&b.server, &b.name, &b.issuer, &b.subject))
        });
        all
    }

    /// Forgets what is remembered of a server, or of one name there; says how many answers that were.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&self, server: &str, name: Option<&str>) -> io::Result<usize> {
        let mut state = self.fresh();
        let before = state.entries.len();
        state.entries.retain(|key, _| key.server != server || name.is_some_and(|name| key.name != name));
        let forgotten = before - state.entries.len();
        if forgotten > 0 {
            self.save(&mut state)?;
        }
        Ok(forgotten)
    }

    /// What a server last said about a tool when somebody was asked about it.
    pub(super) fn annotations(&self, server: &str, tool: &str) -> Option<ToolAnnotations> {
        let state = self.fresh();
        let known = state.entries.values().filter(|it| {
            it.kind == Kind::Tool && it.server == server && it.name == tool && it.annotations.is_some()
        });
        known.max_by_key(|it| it.since).and_then(|it| it.annotations.clone())
    }

    /// What somebody said about a name, whatever it was at that time.
    pub(super) fn said(
        &self,
        principal: &Principal,
        server: &str,
        kind: Kind,
        name: &str,
    ) -> Option<Decided> {
        self.fresh().entries.get(&key(principal, server, kind, name)).cloned()
    }

    pub(super) fn recall(&self, asking: &Asking<'_>) -> Recalled {
        if !asking.can_be_remembered() {
            return Recalled::Nothing;
        }
        let key = key(asking.principal, &asking.server.name, asking.kind, asking.tool);
        match self.fresh().entries.get(&key) {
            None => Recalled::Nothing,
            Some(said) if !said.allowed => Recalled::Never,
            Some(said) if said.pin == hex(asking.pin) && said.entry == hex(&asking.server.definition) => {
                Recalled::Always
            }
            Some(_) => Recalled::Changed,
        }
    }

    /// Keeps an answer that is meant to last.
    pub(super) fn keep(&self, asking: &Asking<'_>, answer: Answer) {
        let allowed = match answer {
            Answer::Always => true,
            Answer::Never => false,
            _ => return,
        };
        if asking.tool.len() > NAME {
            return;
        }
        let said = Decided {
            issuer: asking.principal.issuer().to_owned(),
            subject: asking.principal.subject().to_owned(),
            server: asking.server.name.clone(),
            kind: asking.kind,
            name: asking.tool.to_owned(),
            allowed,
            pin: hex(asking.pin),
            entry: hex(&asking.server.definition),
            since: now(),
            annotations: asking
                .definition
                .map(|tool| tool.annotations.clone().unwrap_or_default())
                .map(plain),
        };
        let mut state = self.fresh();
        state.entries.insert(said.key(), said);
        while state.entries.len() > MOST {
            // A yes that is forgotten costs a question; a no that is forgotten could cost more.
            let oldest = state
                .entries
                .iter()
                .min_by_key(|(_, it)| (!it.allowed, it.since))
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            state.entries.remove(&oldest);
        }
        if let Err(error) = self.save(&mut state) {
            tracing::warn!(%error, "an answer cannot be remembered beyond the end of this process");
        }
    }

    /// What is known, after a look at what other processes have written.
    fn fresh(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &self.file else { return state };
        let found = stamp(file);
        if found != state.seen {
            let read = if found.is_some() { read(file) } else { Ok(HashMap::new()) };
            match read {
                Ok(entries) => state.entries = entries,
                Err(what) => {
                    set_aside(file, &what);
                    state.entries.clear();
                }
            }
            // What was set aside is gone; what could not be moved away is not read over and over.
            state.seen = stamp(file);
        }
        state
    }

    fn save(&self, state: &mut State) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let page = Page { version: VERSION, decisions: state.entries.values().cloned().collect() };
        replace(file, &serde_json::to_vec(&page)?)?;
        state.seen = stamp(file);
        Ok(())
    }
}

fn key(principal: &Principal, server: &str, kind: Kind, name: &str) -> Key {
    Key {
        issuer: principal.issuer().to_owned(),
        subject: principal.subject().to_owned(),
        server: server.to_owned(),
        kind,
        name: name.to_owned(),
    }
}

/// The hints without the title, which decides nothing and may be long.
fn plain(hints: ToolAnnotations) -> ToolAnnotations {
    ToolAnnotations { title: None, ..hints }
}

/// When a file was last changed, its length, and which one it is: another file takes its place with every answer, perhaps
/// within one tick of the clock.
type Stamp = (SystemTime, u64, u64);

fn stamp(file: &Path) -> Option<Stamp> {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len(), number(&found)))
}

fn read(file: &Path) -> Result<HashMap<Key, Decided>, String> {
    let open = fs::File::open(file).map_err(|error| error.to_string())?;
    let found = open.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no file".to_owned());
    }
    private(&found)?;
    let mut text = Vec::new();
    open.take(BYTES + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > BYTES {
        return Err("it is too long".to_owned());
    }
    let page: Page = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if page.version != VERSION {
        return Err(format!("it has the form {} and this program knows {VERSION}", page.version));
    }
    Ok(page.decisions.into_iter().take(MOST).map(|said| (said.key(), said)).collect())
}

/// Moves a file that cannot be used out of the way, so that somebody can look at it.
fn set_aside(file: &Path, what: &str) {
    let aside = file.with_extension("json.broken");
    let moved = fs::rename(file, &aside);
    let what = safe_line(what);
    match moved {
        Ok(()) => {
            tracing::warn!(what, aside = %aside.display(), "remembered decisions cannot be used and were set aside")
        }
        Err(error) => {
            tracing::warn!(what, %error, file = %file.display(), "remembered decisions cannot be used")
        }
    }
}

/// Whoever reads meanwhile sees the old file or the new one. Two processes that write at once: one answer may be lost, and is
/// asked for again.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        private_folder(folder)?;
    }
    let draft = file.with_extension(format!("json.draft-{}", std::process::id()));
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written =
        private_file(OpenOptions::new().write(true).create_new(true)).open(&draft).and_then(|mut draft| {
            draft.write_all(bytes)?;
            draft.sync_all()
        });
    let done = written.and_then(|()| fs::rename(&draft, file));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        out.extend([byte >> 4, byte & 15].map(|half| char::from_digit(half.into(), 16).unwrap_or('0')));
        out
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(unix)]
fn number(found: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.ino()
}

#[cfg(not(unix))]
fn number(_: &fs::Metadata) -> u64 {
    0
}

#[cfg(unix)]
fn private(found: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    if found.mode() & 0o022 == 0 { Ok(()) } else { Err("others can write to it".to_owned()) }
}

#[cfg(unix)]
pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private(_: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
