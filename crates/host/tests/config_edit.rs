//! Files of servers, changed in one place: the rest stays as it was, whoever's file it is and however it is written; and entries
//! in the words of one host, said in those of another.

#[path = "config/stage.rs"]
#[allow(dead_code, reason = "other tests have other needs")]
mod stage;

#[path = "config_edit/bytes.rs"]
mod bytes;
#[path = "config_edit/mistakes.rs"]
mod mistakes;
#[path = "config_edit/saving.rs"]
mod saving;
#[path = "config_edit/secrets.rs"]
mod secrets;
#[path = "config_edit/words.rs"]
mod words;

use std::path::{Path, PathBuf};

use contexture_host::config::edit::{Document, Entry, Translated, Translation};
use contexture_host::config::{ConfigFile, HostKind, Scope};
use serde_json::Value;
use stage::Stage;

/// Where each host keeps what the user has.
pub(crate) fn place(host: HostKind) -> &'static str {
    match host {
        HostKind::ClaudeDesktop => "home/.config/Claude/claude_desktop_config.json",
        HostKind::ClaudeCode => "home/.claude.json",
        HostKind::VsCode => "home/.config/Code/User/mcp.json",
        HostKind::Cursor => "home/.cursor/mcp.json",
        HostKind::Windsurf => "home/.codeium/windsurf/mcp_config.json",
        HostKind::Gemini => "home/.gemini/settings.json",
        HostKind::Codex => "home/.codex/config.toml",
        _ => "home/.config/contexture/contexture.json",
    }
}

pub(crate) fn file(stage: &Stage, host: HostKind) -> ConfigFile {
    stage.sources().file_of(host, Scope::User).expect("every host has a file of the user's")
}

pub(crate) fn open(stage: &Stage, host: HostKind) -> Document {
    Document::open(&stage.sources(), &file(stage, host)).unwrap_or_else(|fault| panic!("{fault}"))
}

pub(crate) fn save(document: &Document) -> PathBuf {
    document.save().unwrap_or_else(|fault| panic!("{fault}")).file
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

/// An entry of these keys and values, in this order.
pub(crate) fn entry(json: &str) -> Entry {
    let value: Value = serde_json::from_str(json).expect("the entry is JSON");
    value.as_object().expect("the entry is an object").clone().into_iter().collect()
}

/// An entry from one host's words into another's.
pub(crate) fn translate(
    stage: &Stage,
    from: HostKind,
    to: HostKind,
    entry: &[(String, Value)],
) -> Result<Translated, String> {
    let (from, to) = (file(stage, from), file(stage, to));
    let way = Translation { sources: &stage.sources(), from: &from, to: &to, program: "/opt/contexture" };
    way.entry(entry)
}
